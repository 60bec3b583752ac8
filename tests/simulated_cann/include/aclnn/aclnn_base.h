/* What every operator header of the simulated CANN includes. */
#ifndef SIM_ACLNN_BASE_H
#define SIM_ACLNN_BASE_H

#include "acl/acl_rt.h"
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

ACLNN_API aclnnStatus aclnnInit(const char *configPath);
ACLNN_API aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}
#endif
#endif
