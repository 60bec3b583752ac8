/* aclnnThresholdBackward: the public prototypes. */
#ifndef SIM_ACLNN_THRESHOLD_BACKWARD_H
#define SIM_ACLNN_THRESHOLD_BACKWARD_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

ACLNN_API aclnnStatus aclnnThresholdBackwardGetWorkspaceSize(const aclTensor *gradOutput,
    const aclTensor *self, const aclScalar *threshold, aclTensor *out, uint64_t *workspaceSize,
    aclOpExecutor **executor);
ACLNN_API aclnnStatus aclnnThresholdBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                             aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
