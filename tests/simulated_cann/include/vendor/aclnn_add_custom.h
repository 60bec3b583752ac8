/* aclnnAddCustom: goes into op_api/include of the custom package, not beside CANN's own headers. */
#ifndef ACLNN_ADD_CUSTOM_H_
#define ACLNN_ADD_CUSTOM_H_

#include "aclnn/acl_meta.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* function: aclnnAddCustomGetWorkspaceSize
 * x : required
 * y : required
 * z : required
 */
__attribute__((visibility("default"))) aclnnStatus aclnnAddCustomGetWorkspaceSize(
    const aclTensor *x,
    const aclTensor *y,
    const aclTensor *z,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);

__attribute__((visibility("default"))) aclnnStatus aclnnAddCustom(
    void *workspace,
    uint64_t workspaceSize,
    aclOpExecutor *executor,
    aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
