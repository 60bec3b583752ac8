/* What libacl_op_executor and libacl_op_compiler of the simulated CANN share. */
#ifndef SIM_OP_BY_TYPE_H
#define SIM_OP_BY_TYPE_H

#include "acl/acl_op.h"
#include "sim.h"

SIM_API aclError sim_execute_by_type(const char *type, int input_count, const aclTensorDesc *const *input_descs,
                                     const aclDataBuffer *const *inputs, int output_count,
                                     const aclTensorDesc *const *output_descs, const aclDataBuffer *const *outputs,
                                     const aclopAttr *attr, aclrtStream stream);
#endif
