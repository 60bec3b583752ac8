/* libacl_op_compiler of the simulated CANN: every kernel that it has counts as compiled at once. */
#include "acl_op.h"

aclError aclopCompileAndExecute(const char *opType, int numInputs, const aclTensorDesc *const inputDesc[],
                                const aclDataBuffer *const inputs[], int numOutputs,
                                const aclTensorDesc *const outputDesc[], aclDataBuffer *const outputs[],
                                const aclopAttr *attr, aclopEngineType engineType, aclopCompileType compileFlag,
                                const char *opPath, aclrtStream stream)
{
    int fault = sim_function_fault("aclopCompileAndExecute", ACL_ERROR_GE_FAILURE);
    if (fault)
        return fault;
    if (engineType != ACL_ENGINE_SYS || compileFlag != ACL_COMPILE_SYS || opPath || numInputs < 0 || numOutputs < 0)
        return ACL_ERROR_INVALID_PARAM;
    return sim_execute_by_type(opType, numInputs, inputDesc, inputs, numOutputs, outputDesc,
                               (const aclDataBuffer *const *)outputs, attr, stream);
}
