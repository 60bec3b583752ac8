/* aclnnAscendQuant: the public prototypes. */
#ifndef SIM_ACLNN_ASCEND_QUANT_H
#define SIM_ACLNN_ASCEND_QUANT_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

ACLNN_API aclnnStatus aclnnAscendQuantGetWorkspaceSize(const aclTensor *x, const aclTensor *scale,
                                                       const aclTensor *offset, bool sqrtMode,
                                                       const char *roundMode, int32_t dstType,
                                                       const aclTensor *y, uint64_t *workspaceSize,
                                                       aclOpExecutor **executor);
ACLNN_API aclnnStatus aclnnAscendQuant(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                       aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
