/* aclnnReduceSum: the public prototypes. */
#ifndef SIM_ACLNN_REDUCE_SUM_H
#define SIM_ACLNN_REDUCE_SUM_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

ACLNN_API aclnnStatus aclnnReduceSumGetWorkspaceSize(const aclTensor *self, const aclIntArray *dims,
                                                     bool keepDims, aclDataType dtype, aclTensor *out,
                                                     uint64_t *workspaceSize, aclOpExecutor **executor);
ACLNN_API aclnnStatus aclnnReduceSum(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                     aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
