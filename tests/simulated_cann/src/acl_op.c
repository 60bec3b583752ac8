/* libacl_op_executor of the simulated CANN: kernels by their operator type, with the names of their registrations.
 *
 * A kernel that an aclnn entry of the simulation launches is that entry's, faults and times included; SquareSumAll has
 * none. A model DIR/N_TYPE_ANYTHING.om stands for the type alone: what is in it is not read. */
#include <dirent.h>
#include <stdio.h>

#include "acl/acl_op.h"
#include "acl_op.h"
#include "op.h"

#include "aclnnop/aclnn_amp_update_scale.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_elu_backward.h"
#include "aclnnop/aclnn_logit_grad.h"
#include "aclnnop/aclnn_threshold_backward.h"

#define MOST_ATTRIBUTES 16
#define MOST_TENSORS 64

typedef struct {
    int32_t dtype, format;
    int rank;
    int64_t dims[MOST_DIMS];
    char name[64];
} Description;

typedef struct {
    void *data;
    size_t size;
} Data;

typedef struct {
    char name[64];
    char kind; /* b, i, f, s; of a list B, I, F */
    double value;
    int count;
    double values[MOST_DIMS];
} Attribute;

typedef struct {
    int count;
    Attribute each[MOST_ATTRIBUTES];
} Attributes;

/* ---------------------------------------------------------------- what is passed */

aclTensorDesc *aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t *dims, aclFormat format)
{
    if (numDims < 0 || numDims > MOST_DIMS || (numDims && !dims))
        return NULL;
    Description *made = calloc(1, sizeof *made);
    *made = (Description){.dtype = dataType, .format = format, .rank = numDims};
    for (int i = 0; i < numDims; i++)
        made->dims[i] = dims[i];
    return sim_new_handle(SIM_TENSOR_DESC, made);
}

void aclDestroyTensorDesc(const aclTensorDesc *desc)
{
    free(sim_drop_handle(SIM_TENSOR_DESC, desc));
}

void aclSetTensorDescName(aclTensorDesc *desc, const char *name)
{
    Description *found = sim_object(SIM_TENSOR_DESC, desc);
    if (found)
        snprintf(found->name, sizeof found->name, "%s", name);
}

aclDataBuffer *aclCreateDataBuffer(void *data, size_t size)
{
    Data *made = malloc(sizeof *made);
    *made = (Data){data, size};
    return sim_new_handle(SIM_DATA_BUFFER, made);
}

aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer)
{
    void *object = sim_drop_handle(SIM_DATA_BUFFER, dataBuffer);
    free(object);
    return object ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}

aclopAttr *aclopCreateAttr(void)
{
    return sim_new_handle(SIM_OP_ATTR, calloc(1, sizeof(Attributes)));
}

void aclopDestroyAttr(const aclopAttr *attr)
{
    free(sim_drop_handle(SIM_OP_ATTR, attr));
}

static aclError set(aclopAttr *attr, const char *name, char kind, double value)
{
    Attributes *all = sim_object(SIM_OP_ATTR, attr);
    if (!all || !name || all->count == MOST_ATTRIBUTES)
        return ACL_ERROR_INVALID_PARAM;
    Attribute *made = &all->each[all->count++];
    snprintf(made->name, sizeof made->name, "%s", name);
    made->kind = kind;
    made->value = value;
    return ACL_SUCCESS;
}

aclError aclopSetAttrBool(aclopAttr *attr, const char *attrName, uint8_t attrValue)
{
    return set(attr, attrName, 'b', attrValue);
}

aclError aclopSetAttrInt(aclopAttr *attr, const char *attrName, int64_t attrValue)
{
    return set(attr, attrName, 'i', (double)attrValue);
}

aclError aclopSetAttrFloat(aclopAttr *attr, const char *attrName, float attrValue)
{
    return set(attr, attrName, 'f', attrValue);
}

aclError aclopSetAttrString(aclopAttr *attr, const char *attrName, const char *attrValue)
{
    return set(attr, attrName, 's', attrValue ? (double)strlen(attrValue) : 0);
}

#define SET_LIST(function, ctype, kind)                                                                            \
    aclError function(aclopAttr *attr, const char *attrName, int numValues, const ctype *values)                   \
    {                                                                                                              \
        if (numValues < 0 || numValues > MOST_DIMS || (numValues && !values) || set(attr, attrName, kind, 0))      \
            return ACL_ERROR_INVALID_PARAM;                                                                        \
        Attributes *all = sim_object(SIM_OP_ATTR, attr);                                                           \
        Attribute *made = &all->each[all->count - 1];                                                              \
        for (made->count = 0; made->count < numValues; made->count++)                                              \
            made->values[made->count] = (double)values[made->count];                                               \
        return ACL_SUCCESS;                                                                                        \
    }
SET_LIST(aclopSetAttrListBool, uint8_t, 'B')
SET_LIST(aclopSetAttrListInt, int64_t, 'I')
SET_LIST(aclopSetAttrListFloat, float, 'F')

/* ---------------------------------------------------------------- kernels */

typedef struct {
    int count;
    aclTensor *tensors[MOST_TENSORS];
    const Attributes *attributes;
    aclScalar *scalars[3];
    int scalar_count;
    aclTensorList *list; /* owns the tensors but the last */
    uint64_t workspace;
    aclOpExecutor *executor;
} Bound;

static double attribute(const Bound *bound, const char *name, double otherwise)
{
    for (int i = 0; bound->attributes && i < bound->attributes->count; i++)
        if (strcmp(bound->attributes->each[i].name, name) == 0)
            return bound->attributes->each[i].value;
    return otherwise;
}

static aclScalar *scalar(Bound *bound, float value)
{
    return bound->scalars[bound->scalar_count++] = aclCreateScalar(&value, ACL_FLOAT);
}

static aclnnStatus logit_grad(Bound *b)
{
    return aclnnLogitGradGetWorkspaceSize(b->tensors[0], b->tensors[1], attribute(b, "eps", -1), b->tensors[2],
                                          &b->workspace, &b->executor);
}

static aclnnStatus elu_grad(Bound *b)
{
    aclScalar *alpha = scalar(b, (float)attribute(b, "alpha", 1)), *scale = scalar(b, (float)attribute(b, "scale", 1)),
              *input_scale = scalar(b, (float)attribute(b, "input_scale", 1));
    return aclnnEluBackwardGetWorkspaceSize(b->tensors[0], alpha, scale, input_scale,
                                            attribute(b, "is_result", 0) != 0, b->tensors[1], b->tensors[2],
                                            &b->workspace, &b->executor);
}

static aclnnStatus threshold(Bound *b, float value)
{
    return aclnnThresholdBackwardGetWorkspaceSize(b->tensors[0], b->tensors[1], scalar(b, value), b->tensors[2],
                                                  &b->workspace, &b->executor);
}

static aclnnStatus threshold_grad(Bound *b)
{
    return threshold(b, (float)attribute(b, "threshold", 1));
}

static aclnnStatus relu_grad(Bound *b)
{
    return threshold(b, 0);
}

static aclnnStatus amp_update_scale(Bound *b)
{
    return aclnnAmpUpdateScaleGetWorkspaceSize(b->tensors[0], b->tensors[1], b->tensors[2],
                                               attribute(b, "growth_factor", 0), attribute(b, "backoff_factor", 0),
                                               (int64_t)attribute(b, "growth_interval", 0), b->tensors[3],
                                               b->tensors[4], &b->workspace, &b->executor);
}

static aclnnStatus concat(Bound *b)
{
    int members = b->count - 1;
    if ((int)attribute(b, "N", -1) != members)
        return ACLNN_ERR_PARAM_INVALID;
    b->list = aclCreateTensorList((const aclTensor *const *)b->tensors, (uint64_t)members);
    return aclnnCatGetWorkspaceSize(b->list, (int64_t)attribute(b, "concat_dim", 0), b->tensors[members],
                                    &b->workspace, &b->executor);
}

static int square_sums(const SimLaunch *launch)
{
    for (int which = 0; which < 2; which++) {
        const SimArg *x = &launch->args[which], *y = &launch->args[2 + which];
        double sum = 0;
        for (int64_t i = 0; i < x->count; i++)
            sum += getf(x, own(x, i)) * (double)getf(x, own(x, i));
        put(y, y->tensor.offset, sum);
    }
    return 0;
}

static aclnnStatus square_sum_all(Bound *b)
{
    static const char *const names[] = {"x1", "x2", "y1", "y2"};
    SimBuild *build = sim_begin("SquareSumAll", true);
    for (int i = 0; i < 4; i++) {
        const SimTensor *tensor = sim_tensor(build, names[i], b->tensors[i], i < 2 ? SIM_IN : SIM_OUT);
        VALID(tensor && tensor->dtype == ACL_FLOAT, "no kernel for the dtype of %s", names[i]);
        VALID(i < 2 || count_of(tensor) == 1, "%s holds more than one element", names[i]);
    }
    return sim_finish(build, square_sums, NULL, 0, 0, &b->workspace, &b->executor);
}

static aclnnStatus launch_square_sum_all(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream)
{
    return sim_phase2("SquareSumAll", workspace, size, executor, stream);
}

/* Sums of squares over the axes of a list attribute. */
static int square_sums_along(const SimLaunch *launch)
{
    const SimArg *x = &launch->args[0], *y = &launch->args[1];
    const bool *summed = launch->values;
    double *sums = calloc((size_t)(y->count ? y->count : 1), sizeof *sums);
    for (int64_t i = 0; i < x->count; i++) {
        int64_t rest = i, to = 0, step = 1;
        for (int d = x->tensor.rank - 1; d >= 0; d--) {
            int64_t place = rest % x->tensor.dims[d];
            rest /= x->tensor.dims[d];
            if (summed[d])
                continue;
            to += place * step;
            step *= x->tensor.dims[d];
        }
        sums[to] += getf(x, own(x, i)) * (double)getf(x, own(x, i));
    }
    for (int64_t i = 0; i < y->count; i++)
        put(y, own(y, i), sums[i]);
    free(sums);
    return 0;
}

static aclnnStatus square_sum_along(Bound *b)
{
    SimBuild *build = sim_begin("SquareSumV1", true);
    const SimTensor *x = sim_tensor(build, "x", b->tensors[0], SIM_IN);
    const SimTensor *y = sim_tensor(build, "y", b->tensors[1], SIM_OUT);
    VALID(x && y && is_real_float(x->dtype) && y->dtype == x->dtype, "no kernel for these dtypes");
    const Attribute *axis = NULL;
    for (int i = 0; b->attributes && i < b->attributes->count; i++)
        if (strcmp(b->attributes->each[i].name, "axis") == 0 && b->attributes->each[i].kind == 'I')
            axis = &b->attributes->each[i];
    VALID(axis, "the list axis is missing");
    bool summed[MOST_DIMS] = {false}, all = !axis->count && !attribute(b, "noop_with_empty_axes", 0);
    int64_t left = 1;
    for (int i = 0; i < axis->count; i++) {
        int at = (int)axis->values[i] + (axis->values[i] < 0 ? x->rank : 0);
        VALID(at >= 0 && at < x->rank, "axis names no axis");
        summed[at] = true;
    }
    for (int d = 0; d < x->rank; d++) {
        summed[d] |= all;
        left *= summed[d] ? 1 : x->dims[d];
    }
    VALID(count_of(y) == left, "the output has another size");
    return sim_finish(build, square_sums_along, summed, sizeof summed, 0, &b->workspace, &b->executor);
}

static aclnnStatus launch_square_sum_along(void *workspace, uint64_t size, aclOpExecutor *executor,
                                           aclrtStream stream)
{
    return sim_phase2("SquareSumV1", workspace, size, executor, stream);
}

typedef struct {
    const char *type;
    int inputs; /* -1: a list x0, x1, ... */
    const char *names[MOST_ATTRIBUTES];
    aclnnStatus (*prepare)(Bound *bound);
    aclnnStatus (*launch)(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream);
} Kernel;

static const Kernel kernels[] = {
    {"LogitGrad", 2, {"x", "dy", "dx"}, logit_grad, aclnnLogitGrad},
    {"EluGradV2", 2, {"grads", "activations", "y"}, elu_grad, aclnnEluBackward},
    {"ThresholdGradV2D", 2, {"gradOutput", "self", "out"}, threshold_grad, aclnnThresholdBackward},
    {"ReluGrad", 2, {"gradients", "features", "backprops"}, relu_grad, aclnnThresholdBackward},
    {"AmpUpdateScale", 3, {"current_scale", "growth_tracker", "found_inf", "updated_scale", "updated_growth_tracker"},
     amp_update_scale, aclnnAmpUpdateScale},
    {"ConcatD", -1, {"x", "y"}, concat, aclnnCat},
    {"SquareSumAll", 2, {"x1", "x2", "y1", "y2"}, square_sum_all, launch_square_sum_all},
    {"SquareSumV1", 1, {"x", "y"}, square_sum_along, launch_square_sum_along},
};

static const Kernel *find(const char *type)
{
    for (size_t i = 0; type && i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].type, type) == 0)
            return &kernels[i];
    return NULL;
}

/* ---------------------------------------------------------------- execution */

static aclError bind(Bound *bound, const Kernel *kernel, int count, const aclTensorDesc *const *descs,
                     const aclDataBuffer *const *buffers, bool outputs)
{
    for (int i = 0; i < count; i++) {
        const Description *desc = sim_object(SIM_TENSOR_DESC, descs[i]);
        const Data *data = sim_object(SIM_DATA_BUFFER, buffers[i]);
        if (!desc || !data || bound->count == MOST_TENSORS) {
            sim_error("EH0002", "a description or a buffer is no live one");
            return ACL_ERROR_INVALID_PARAM;
        }
        char wanted[64];
        if (kernel->inputs < 0 && !outputs)
            snprintf(wanted, sizeof wanted, "%s%d", kernel->names[0], i);
        else
            snprintf(wanted, sizeof wanted, "%s", kernel->names[outputs ? abs(kernel->inputs) + i : i]);
        if (strcmp(wanted, desc->name) != 0) {
            sim_error("E19999", "%s has no %s: %s is wanted", kernel->type, desc->name, wanted);
            return ACL_ERROR_GE_FAILURE;
        }
        uint64_t bytes = aclDataTypeSize((aclDataType)desc->dtype);
        for (int d = 0; d < desc->rank; d++)
            bytes *= (uint64_t)desc->dims[d];
        if (data->size < bytes) {
            sim_error("EH0002", "the buffer of %s is smaller than its description says", wanted);
            return ACL_ERROR_INVALID_PARAM;
        }
        bound->tensors[bound->count++] =
            aclCreateTensor(desc->dims, (uint64_t)desc->rank, (aclDataType)desc->dtype, NULL, 0,
                            (aclFormat)desc->format, desc->dims, (uint64_t)desc->rank, data->data);
    }
    return ACL_SUCCESS;
}

aclError sim_execute_by_type(const char *type, int input_count, const aclTensorDesc *const *input_descs,
                             const aclDataBuffer *const *inputs, int output_count,
                             const aclTensorDesc *const *output_descs, const aclDataBuffer *const *outputs,
                             const aclopAttr *attr, aclrtStream stream)
{
    const Kernel *kernel = find(type);
    if (!kernel) {
        sim_error("E40021", "no kernel of the type %s can be compiled", type ? type : "(null)");
        return ACL_ERROR_GE_FAILURE;
    }
    Bound bound = {.attributes = sim_object(SIM_OP_ATTR, attr)};
    aclError code = bind(&bound, kernel, input_count, input_descs, inputs, false);
    if (!code)
        code = bind(&bound, kernel, output_count, output_descs, outputs, true);
    if (!code && kernel->inputs >= 0 && (input_count != kernel->inputs || !kernel->names[bound.count - 1]))
        code = ACL_ERROR_INVALID_PARAM;
    if (!code && (kernel->prepare(&bound) || bound.workspace))
        code = ACL_ERROR_GE_FAILURE;
    if (!code && kernel->launch(NULL, 0, bound.executor, stream))
        code = ACL_ERROR_GE_FAILURE;
    for (int i = bound.list ? bound.count - 1 : 0; i < bound.count; i++)
        aclDestroyTensor(bound.tensors[i]);
    aclDestroyTensorList(bound.list);
    for (int i = 0; i < bound.scalar_count; i++)
        aclDestroyScalar(bound.scalars[i]);
    return code;
}

static char *models;

aclError aclopSetModelDir(const char *modelDir)
{
    int fault = sim_function_fault("aclopSetModelDir", ACL_ERROR_READ_MODEL_FAILURE);
    if (fault)
        return fault;
    if (models)
        return ACL_ERROR_REPEAT_INITIALIZE;
    DIR *folder = modelDir ? opendir(modelDir) : NULL;
    if (!folder) {
        sim_error("EH0003", "the folder of models cannot be read");
        return ACL_ERROR_READ_MODEL_FAILURE;
    }
    closedir(folder);
    models = strdup(modelDir);
    return ACL_SUCCESS;
}

static bool has_model(const char *type)
{
    DIR *folder = models && type ? opendir(models) : NULL;
    char part[128];
    bool found = false;
    snprintf(part, sizeof part, "_%s_", type ? type : "");
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry && !found; entry = readdir(folder))
        found = strstr(entry->d_name, part) && strstr(entry->d_name, ".om");
    if (folder)
        closedir(folder);
    return found;
}

aclError aclopExecuteV2(const char *opType, int numInputs, aclTensorDesc *inputDesc[], aclDataBuffer *inputs[],
                        int numOutputs, aclTensorDesc *outputDesc[], aclDataBuffer *outputs[], aclopAttr *attr,
                        aclrtStream stream)
{
    int fault = sim_function_fault("aclopExecuteV2", ACL_ERROR_RT_PARAM_INVALID);
    if (fault)
        return fault;
    if (!has_model(opType)) {
        sim_error("EH0004", "no model of the operator %s is loaded", opType ? opType : "(null)");
        return ACL_ERROR_OP_NOT_FOUND;
    }
    return sim_execute_by_type(opType, numInputs, (const aclTensorDesc *const *)inputDesc,
                               (const aclDataBuffer *const *)inputs, numOutputs,
                               (const aclTensorDesc *const *)outputDesc, (const aclDataBuffer *const *)outputs, attr,
                               stream);
}
