/* aclnnForeachMulScalarList: the public prototypes. */
#ifndef SIM_ACLNN_FOREACH_MUL_SCALAR_LIST_H
#define SIM_ACLNN_FOREACH_MUL_SCALAR_LIST_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

ACLNN_API aclnnStatus aclnnForeachMulScalarListGetWorkspaceSize(const aclTensorList *x,
    const aclScalarList *scalars, const aclTensorList *out, uint64_t *workspaceSize, aclOpExecutor **executor);
ACLNN_API aclnnStatus aclnnForeachMulScalarList(void *workspace, uint64_t workspaceSize,
                                                aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
