/* Programs include either name. */
#ifndef SIM_ACL_BASE_H
#define SIM_ACL_BASE_H
#include "acl/acl_base_rt.h"
#endif
