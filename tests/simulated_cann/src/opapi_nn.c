/* libopapi_nn of the simulated CANN. Formulas and order of checks are those of the public documents and sources. */
#include <float.h>

#include "op.h"

#include "aclnnop/aclnn_ascend_quant.h"
#include "aclnnop/aclnn_avg_pool2d.h"
#include "aclnnop/aclnn_batch_norm_elemt_backward.h"
#include "aclnnop/aclnn_elu_backward.h"
#include "aclnnop/aclnn_foreach_mul_scalar_list.h"
#include "aclnnop/aclnn_gelu_backward_v2.h"
#include "aclnnop/aclnn_layer_norm_backward.h"
#include "aclnnop/aclnn_logit_grad.h"
#include "aclnnop/aclnn_relu.h"
#include "aclnnop/aclnn_threshold_backward.h"

/* ---------------------------------------------------------------- aclnnLogitGrad (a generated entry) */

/* The framework copies a strided input into the workspace first. */
static const unsigned char *contiguous(const SimLaunch *launch, const SimArg *arg, uint64_t *used)
{
    size_t size = aclDataTypeSize((aclDataType)arg->tensor.dtype);
    if (arg->flat)
        return place(arg, arg->tensor.offset);
    unsigned char *copy = launch->workspace + *used;
    *used += align32((uint64_t)arg->count * size);
    for (int64_t i = 0; i < arg->count; i++)
        memcpy(copy + (uint64_t)i * size, place(arg, own(arg, i)), size);
    return copy;
}

/* Nobody compares the shapes of dy and out with x: the kernel takes the count from x and runs past a shorter one. */
static bool reaches(const SimArg *arg, int64_t count)
{
    size_t size = aclDataTypeSize((aclDataType)arg->tensor.dtype);
    return arg->count >= count ||
           sim_device_memory(arg->tensor.data + (uint64_t)arg->tensor.offset * size, (uint64_t)count * size);
}

static int logit_grad(const SimLaunch *launch)
{
    const SimArg *x = &launch->args[0], *dy = &launch->args[1], *out = &launch->args[2];
    float eps = *(const float *)launch->values;
    bool clipped = eps >= 0; /* false for NaN */
    float low = clipped ? eps : 0, high = 1 - low, outside = clipped ? 0 : NAN;
    if (!x->count)
        return 0;
    if (!reaches(dy, x->count) || !reaches(out, x->count)) {
        sim_error("EZ9999", "%s: the aicore execution is abnormal: dy or out is smaller than x", launch->op);
        return ACL_ERROR_RT_AICORE_EXCEPTION;
    }
    uint64_t used = 0;
    int32_t dtype = x->tensor.dtype;
    const unsigned char *xs = contiguous(launch, x, &used), *dys = contiguous(launch, dy, &used);
    for (int64_t i = 0; i < x->count; i++) {
        int64_t step = i * (int64_t)aclDataTypeSize((aclDataType)dtype);
        float value = (float)load(xs + step, dtype), gradient = (float)load(dys + step, dtype);
        float quotient = gradient / (value * (value * -1.0f + 1.0f));
        put(out, i < out->count ? own(out, i) : out->tensor.offset + i, low <= value && value <= high ? quotient : outside);
    }
    return 0;
}

aclnnStatus aclnnLogitGradGetWorkspaceSize(const aclTensor *x, const aclTensor *dy, double eps, const aclTensor *out,
                                           uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnLogitGrad", true);
    const SimTensor *tx = sim_tensor(build, "x", x, SIM_IN);
    const SimTensor *tdy = sim_tensor(build, "dy", dy, SIM_IN);
    const SimTensor *tout = sim_tensor(build, "out", out, SIM_OUT);
    NOT_NULL(x);
    NOT_NULL(dy);
    NOT_NULL(out);
    NOT_NULL(executor);
    NOT_NULL(workspaceSize);
    VALID(IS_ONE_OF(tx->dtype, ACL_BF16, ACL_FLOAT16, ACL_FLOAT) && tdy->dtype == tx->dtype && tout->dtype == tx->dtype,
          "no kernel for the dtypes of x, dy, out");
    VALID(!is_private_format(tx->format) && !is_private_format(tdy->format) && !is_private_format(tout->format),
          "no kernel for the formats of x, dy, out");
    REQUIRE(has_bfloat(), ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "the SoC has no kernel of LogitGrad");
    float narrowed = (float)eps;
    if (!count_of(tout))
        return sim_finish(build, NULL, NULL, 0, 0, workspaceSize, executor);
    uint64_t size = aclDataTypeSize((aclDataType)tx->dtype);
    uint64_t workspace = (is_contiguous(tx) ? 0 : align32((uint64_t)count_of(tx) * size)) +
                         (is_contiguous(tdy) ? 0 : align32((uint64_t)count_of(tdy) * size));
    return sim_finish(build, logit_grad, &narrowed, sizeof narrowed, workspace, workspaceSize, executor);
}
PHASE_2(aclnnLogitGrad)

/* ---------------------------------------------------------------- aclnnEluBackward */

typedef struct {
    float coefficient, scale, input_scale;
    bool is_result;
} Elu;

static int elu_backward(const SimLaunch *launch)
{
    const SimArg *gradient = &launch->args[0], *self = &launch->args[1], *out = &launch->args[2];
    const Elu *values = launch->values;
    for (int64_t i = 0; i < self->count; i++) {
        float g = getf(gradient, own(gradient, i)), x = getf(self, own(self, i)), result;
        if (x <= 0)
            result = values->is_result
                         ? (g * values->input_scale) * (x + values->coefficient)
                         : ((g * values->input_scale) * values->coefficient) * expf(x * values->input_scale);
        else /* NaN too */
            result = g * values->scale;
        put(out, own(out, i), held(result, gradient->tensor.dtype, gradient->truncate));
    }
    return 0;
}

aclnnStatus aclnnEluBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclScalar *alpha, const aclScalar *scale,
                                             const aclScalar *inputScale, bool isResult, const aclTensor *selfOrResult,
                                             aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnEluBackward", false);
    const SimTensor *gradient = sim_tensor(build, "gradOutput", gradOutput, SIM_IN);
    const SimScalar *a = sim_scalar(build, "alpha", alpha), *s = sim_scalar(build, "scale", scale),
                    *is = sim_scalar(build, "inputScale", inputScale);
    sim_attribute(build, "isResult", "%d", isResult);
    const SimTensor *self = sim_tensor(build, "selfOrResult", selfOrResult, SIM_IN);
    const SimTensor *out = sim_tensor(build, "gradInput", gradInput, SIM_OUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(gradOutput);
    NOT_NULL(alpha);
    NOT_NULL(scale);
    NOT_NULL(inputScale);
    NOT_NULL(selfOrResult);
    NOT_NULL(gradInput);
    VALID(gradient->dtype == self->dtype, "gradOutput and selfOrResult have different dtypes");
    VALID(is_real_float(gradient->dtype), "the dtype of gradOutput is not supported");
    VALID(can_cast(a->dtype, ACL_FLOAT), "alpha cannot be cast to FLOAT");
    VALID(can_cast(s->dtype, ACL_FLOAT), "scale cannot be cast to FLOAT");
    VALID(can_cast(is->dtype, ACL_FLOAT), "inputScale cannot be cast to FLOAT");
    VALID(can_cast(gradient->dtype, out->dtype), "gradOutput cannot be cast to the dtype of gradInput");
    VALID(same_shape(self, gradient), "the shapes of selfOrResult and gradOutput differ");
    VALID(same_shape(out, gradient), "the shapes of gradInput and gradOutput differ");
    VALID(gradient->rank <= 8, "gradOutput has more than 8 dimensions");
    Elu values = {(float)scalar_value(a) * (float)scalar_value(s), (float)scalar_value(s), (float)scalar_value(is),
                  isResult};
    VALID(!(isResult && (float)scalar_value(a) < 0), "alpha is negative and isResult is true");
    return sim_finish(build, count_of(gradient) ? elu_backward : NULL, &values, sizeof values, 0, workspaceSize, executor);
}
PHASE_2(aclnnEluBackward)

/* ---------------------------------------------------------------- aclnnBatchNormElemtBackward */

enum { GRAD_OUT, INPUT, MEAN, INVSTD, WEIGHT, SUM_DY, SUM_DY_XMU, COUNTER, GRAD_INPUT };

static int batch_norm(const SimLaunch *launch)
{
    const SimArg *args = launch->args, *input = &args[INPUT], *out = &args[GRAD_INPUT];
    int64_t channels = input->tensor.dims[1], inner = 1;
    for (int i = 2; i < input->tensor.rank; i++)
        inner *= input->tensor.dims[i];
    /* All seven half precision: the means are rounded to it, and so is the result. No weight means ones in float32. */
    bool half = args[WEIGHT].handle != NULL;
    for (int i = GRAD_OUT; i <= SUM_DY_XMU && half; i++)
        half = args[i].tensor.dtype == ACL_FLOAT16;
    int32_t promoted = half ? ACL_FLOAT16 : ACL_FLOAT;
    float total = 0, *means = (float *)(void *)launch->workspace;
    for (int64_t i = 0; i < args[COUNTER].count; i++)
        total += getf(&args[COUNTER], own(&args[COUNTER], i));
    for (int64_t c = 0; c < channels; c++) {
        means[c] = (float)held(getf(&args[SUM_DY], own(&args[SUM_DY], c)) / total, promoted, false);
        means[channels + c] = (float)held(getf(&args[SUM_DY_XMU], own(&args[SUM_DY_XMU], c)) / total, promoted, false);
    }
    for (int64_t i = 0; i < input->count; i++) {
        int64_t c = i / inner % channels;
        float g = getf(&args[GRAD_OUT], own(&args[GRAD_OUT], i)), x = getf(input, own(input, i));
        float mean = getf(&args[MEAN], own(&args[MEAN], c)), invstd = getf(&args[INVSTD], own(&args[INVSTD], c));
        float weight = args[WEIGHT].handle ? getf(&args[WEIGHT], own(&args[WEIGHT], c)) : 1;
        float result = ((g - means[c]) - (x - mean) * (means[channels + c] * (invstd * invstd))) * (invstd * weight);
        put(out, own(out, i), held(result, promoted, out->truncate));
    }
    return 0;
}

static bool is_per_channel(const SimTensor *tensor, int64_t channels)
{
    return !tensor || (tensor->rank == 1 && tensor->dims[0] == channels);
}

aclnnStatus aclnnBatchNormElemtBackwardGetWorkspaceSize(
    const aclTensor *gradOut, const aclTensor *input, const aclTensor *mean, const aclTensor *invstd,
    const aclTensor *weight, const aclTensor *sumDy, const aclTensor *sumDyXmu, aclTensor *counter, aclTensor *gradInput,
    uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnBatchNormElemtBackward", false);
    const SimTensor *g = sim_tensor(build, "gradOut", gradOut, SIM_IN), *x = sim_tensor(build, "input", input, SIM_IN),
                    *m = sim_tensor(build, "mean", mean, SIM_IN), *is = sim_tensor(build, "invstd", invstd, SIM_IN),
                    *w = sim_tensor(build, "weight", weight, SIM_IN), *sd = sim_tensor(build, "sumDy", sumDy, SIM_IN),
                    *sx = sim_tensor(build, "sumDyXmu", sumDyXmu, SIM_IN),
                    *n = sim_tensor(build, "counter", counter, SIM_IN),
                    *out = sim_tensor(build, "gradInput", gradInput, SIM_OUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(gradOut);
    NOT_NULL(input);
    NOT_NULL(mean);
    NOT_NULL(invstd);
    NOT_NULL(sumDy);
    NOT_NULL(sumDyXmu);
    NOT_NULL(counter);
    NOT_NULL(gradInput);
    VALID(is_real_float(g->dtype), "the dtype of gradOut is not supported");
    VALID(is_real_float(x->dtype), "the dtype of input is not supported");
    VALID(is_real_float(m->dtype), "the dtype of mean is not supported");
    VALID(is_real_float(is->dtype), "the dtype of invstd is not supported");
    VALID(!w || is_real_float(w->dtype), "the dtype of weight is not supported");
    VALID(is_real_float(sd->dtype), "the dtype of sumDy is not supported");
    VALID(is_real_float(sx->dtype), "the dtype of sumDyXmu is not supported");
    VALID(IS_ONE_OF(n->dtype, ACL_INT32, ACL_FLOAT16, ACL_FLOAT), "the dtype of counter is not supported");
    VALID(is_real_float(out->dtype), "the dtype of gradInput is not supported");
    VALID(!is_private_format(g->format), "the format of gradOut is private");
    VALID(!is_private_format(x->format), "the format of input is private");
    VALID(!is_private_format(out->format), "the format of gradInput is private");
    VALID(x->rank >= 2, "input has fewer than 2 dimensions");
    VALID(x->rank <= 8, "input has more than 8 dimensions");
    VALID(g->rank <= 8, "gradOut has more than 8 dimensions");
    VALID(out->rank <= 8, "gradInput has more than 8 dimensions");
    VALID(n->rank <= 8, "counter has more than 8 dimensions");
    VALID(x->dims[1] != 0, "the channel axis of input is 0");
    VALID(same_shape(g, x), "the shapes of gradOut and input differ");
    VALID(same_shape(out, x), "the shapes of gradInput and input differ");
    VALID(is_per_channel(m, x->dims[1]), "the shape of mean is not [C]");
    VALID(is_per_channel(is, x->dims[1]), "the shape of invstd is not [C]");
    VALID(is_per_channel(w, x->dims[1]), "the shape of weight is not [C]");
    VALID(is_per_channel(sd, x->dims[1]), "the shape of sumDy is not [C]");
    VALID(is_per_channel(sx, x->dims[1]), "the shape of sumDyXmu is not [C]");
    if (!count_of(x))
        return sim_finish(build, NULL, NULL, 0, 0, workspaceSize, executor);
    return sim_finish(build, batch_norm, NULL, 0, 2 * (uint64_t)x->dims[1] * sizeof(float), workspaceSize, executor);
}
PHASE_2(aclnnBatchNormElemtBackward)

/* ---------------------------------------------------------------- aclnnThresholdBackward */

static int threshold_backward(const SimLaunch *launch)
{
    const SimArg *gradient = &launch->args[0], *self = &launch->args[1], *out = &launch->args[2];
    float threshold = *(const float *)launch->values;
    int32_t dtype = self->tensor.dtype;
    for (int64_t i = 0; i < out->count; i++) {
        int64_t from = at(gradient, &out->tensor, i), by = at(self, &out->tensor, i), to = own(out, i);
        if (fabsf(threshold) <= FLT_EPSILON) { /* the kernel ReluGrad: a product, so NaN times 0 stays NaN */
            if (is_floating(dtype))
                put(out, to, getf(gradient, from) * (getf(self, by) <= 0 ? 0.0f : 1.0f));
            else
                store_integer(place(out, to), dtype,
                              load_integer(place(self, by), dtype) <= 0 ? 0 : load_integer(place(gradient, from), dtype));
            continue;
        }
        float result = getf(self, by) <= threshold ? 0.0f : getf(gradient, from);
        if (dtype == ACL_INT32) {
            double rounded = nearbyint((double)result);
            store_integer(place(out, to), dtype, (int64_t)(rounded > INT32_MAX ? INT32_MAX : rounded));
        } else {
            put(out, to, result);
        }
    }
    return 0;
}

aclnnStatus aclnnThresholdBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclTensor *self,
                                                   const aclScalar *threshold, aclTensor *out, uint64_t *workspaceSize,
                                                   aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnThresholdBackward", false);
    const SimTensor *g = sim_tensor(build, "gradOutput", gradOutput, SIM_IN), *x = sim_tensor(build, "self", self, SIM_IN);
    const SimScalar *t = sim_scalar(build, "threshold", threshold);
    const SimTensor *to = sim_tensor(build, "out", out, SIM_OUT);
    NOT_NULL(threshold);
    NOT_NULL(out);
    NOT_NULL(workspaceSize);
    NOT_NULL(gradOutput);
    NOT_NULL(self);
    float value = (float)scalar_value(t);
    bool wide = product_is("ascend950", NULL, NULL) && fabsf(value) <= FLT_EPSILON;
#define SUPPORTED(dtype)                                                                                              \
    (is_real_float(dtype) || IS_ONE_OF(dtype, ACL_INT32, ACL_INT8, ACL_UINT8) || ((dtype) == ACL_INT64 && wide))
    VALID(SUPPORTED(g->dtype), "the dtype of gradOutput is not supported");
    VALID(SUPPORTED(x->dtype), "the dtype of self is not supported");
#undef SUPPORTED
    VALID(g->dtype == x->dtype, "gradOutput and self have different dtypes");
    VALID(to->dtype == x->dtype, "out and self have different dtypes");
    VALID(g->rank <= 8, "gradOutput has more than 8 dimensions");
    VALID(x->rank <= 8, "self has more than 8 dimensions");
    SimTensor shape;
    VALID(broadcast(g, x, &shape), "gradOutput and self do not broadcast");
    VALID(same_shape(to, &shape), "the shape of out is not the broadcast shape");
    return sim_finish(build, count_of(g) && count_of(x) ? threshold_backward : NULL, &value, sizeof value, 0, workspaceSize,
                      executor);
}
PHASE_2(aclnnThresholdBackward)

/* ---------------------------------------------------------------- aclnnGeluBackwardV2 */

static int gelu_backward(const SimLaunch *launch)
{
    const SimArg *gradient = &launch->args[0], *self = &launch->args[1], *out = &launch->args[2];
    bool approximate = *(const bool *)launch->values;
    for (int64_t i = 0; i < out->count; i++) {
        double x = get(self, at(self, &out->tensor, i)), slope;
        if (approximate) {
            double k = sqrt(2 / acos(-1)), inner = k * (x + 0.044715 * x * x * x), t = tanh(inner);
            slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x);
        } else {
            slope = 0.5 * (1 + erf(x / sqrt(2))) + x * exp(-0.5 * x * x) / sqrt(2 * acos(-1));
        }
        put(out, own(out, i), get(gradient, at(gradient, &out->tensor, i)) * slope);
    }
    return 0;
}

aclnnStatus aclnnGeluBackwardV2GetWorkspaceSize(const aclTensor *gradOutput, const aclTensor *self, char *approximate,
                                                aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnGeluBackwardV2", false);
    const SimTensor *g = sim_tensor(build, "gradOutput", gradOutput, SIM_IN), *x = sim_tensor(build, "self", self, SIM_IN);
    sim_attribute(build, "approximate", "%s", approximate ? approximate : "nullptr");
    const SimTensor *out = sim_tensor(build, "gradInput", gradInput, SIM_OUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(gradOutput);
    NOT_NULL(self);
    NOT_NULL(approximate);
    NOT_NULL(gradInput);
    VALID(is_real_float(g->dtype) && g->dtype == x->dtype && out->dtype == g->dtype, "the dtypes are not supported or differ");
    bool tanh_form = strcmp(approximate, "tanh") == 0;
    VALID(tanh_form || strcmp(approximate, "none") == 0, "approximate must be none or tanh");
    SimTensor shape;
    VALID(g->rank <= 8 && x->rank <= 8 && broadcast(g, x, &shape) && same_shape(out, &shape), "the shapes do not fit");
    return sim_finish(build, count_of(out) ? gelu_backward : NULL, &tanh_form, sizeof tanh_form, 0, workspaceSize, executor);
}
PHASE_2(aclnnGeluBackwardV2)

/* ---------------------------------------------------------------- aclnnForeachMulScalarList (generated) */

#define MOST_MEMBERS 64

typedef struct {
    int count;
    double factors[MOST_MEMBERS];
} Foreach;

static int foreach_mul(const SimLaunch *launch)
{
    const Foreach *values = launch->values;
    for (int member = 0; member < values->count; member++) {
        const SimArg *x = &launch->args[member], *out = &launch->args[values->count + member];
        for (int64_t i = 0; i < x->count; i++) {
            if (x->tensor.dtype == ACL_INT32)
                store_integer(place(out, own(out, i)), ACL_INT32,
                              load_integer(place(x, own(x, i)), ACL_INT32) * (int64_t)values->factors[member]);
            else
                put(out, own(out, i), getf(x, own(x, i)) * (float)values->factors[member]);
        }
    }
    return 0;
}

aclnnStatus aclnnForeachMulScalarListGetWorkspaceSize(const aclTensorList *x, const aclScalarList *scalars,
                                                      const aclTensorList *out, uint64_t *workspaceSize,
                                                      aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnForeachMulScalarList", true);
    const SimTensor *xs[MOST_MEMBERS], *outs[MOST_MEMBERS];
    int count = sim_tensors(build, "x", x, SIM_IN, xs, MOST_MEMBERS);
    const SimArray *list = sim_array(build, "scalars", SIM_SCALAR_LIST, scalars);
    int out_count = sim_tensors(build, "out", out, SIM_OUT, outs, MOST_MEMBERS);
    NOT_NULL(x);
    NOT_NULL(scalars);
    NOT_NULL(out);
    NOT_NULL(executor);
    NOT_NULL(workspaceSize);
    Foreach values = {.count = count};
    REQUIRE(count == out_count && (int)list->count == count && count > 0, ACLNN_ERR_INNER_TILING_ERROR,
            "x, scalars and out differ in length");
    for (int i = 0; i < count; i++) {
        const SimScalar *scalar = sim_scalar_of_list(build, scalars, i);
        VALID(xs[i] && outs[i] && scalar, "a member is a null pointer");
        VALID(is_real_float(xs[i]->dtype) || xs[i]->dtype == ACL_INT32, "the dtype of x is not supported");
        VALID(xs[i]->dtype == xs[0]->dtype && outs[i]->dtype == xs[0]->dtype, "the dtypes of x and out differ");
        VALID(IS_ONE_OF(scalar->dtype, ACL_FLOAT, ACL_INT64, ACL_DOUBLE), "the dtype of scalars is not supported");
        REQUIRE(same_shape(xs[i], outs[i]), ACLNN_ERR_INNER_TILING_ERROR, "the shapes of x and out differ");
        values.factors[i] = scalar_value(scalar);
    }
    return sim_finish(build, foreach_mul, &values, sizeof values, 0, workspaceSize, executor);
}
PHASE_2(aclnnForeachMulScalarList)

/* ---------------------------------------------------------------- aclnnRelu, aclnnInplaceRelu */

static int relu(const SimLaunch *launch)
{
    const SimArg *self = &launch->args[0], *out = &launch->args[launch->count - 1];
    for (int64_t i = 0; i < self->count; i++) {
        if (is_floating(self->tensor.dtype)) {
            double value = get(self, own(self, i));
            put(out, own(out, i), value <= 0 ? 0 : value);
        } else {
            int64_t value = load_integer(place(self, own(self, i)), self->tensor.dtype);
            store_integer(place(out, own(out, i)), self->tensor.dtype, value < 0 ? 0 : value);
        }
    }
    return 0;
}

static bool relu_takes(int32_t dtype)
{
    return is_real_float(dtype) || IS_ONE_OF(dtype, ACL_INT8, ACL_UINT8, ACL_INT32, ACL_INT64);
}

aclnnStatus aclnnReluGetWorkspaceSize(const aclTensor *self, aclTensor *out, uint64_t *workspaceSize,
                                      aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnRelu", false);
    const SimTensor *from = sim_tensor(build, "self", self, SIM_IN), *to = sim_tensor(build, "out", out, SIM_OUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(self);
    NOT_NULL(out);
    VALID(relu_takes(from->dtype) && from->dtype == to->dtype, "the dtypes are not supported or differ");
    VALID(same_shape(from, to) && from->rank <= 8, "the shapes differ or have more than 8 dimensions");
    return sim_finish(build, count_of(from) ? relu : NULL, NULL, 0, 0, workspaceSize, executor);
}
PHASE_2(aclnnRelu)

aclnnStatus aclnnInplaceReluGetWorkspaceSize(aclTensor *selfRef, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnInplaceRelu", false);
    const SimTensor *self = sim_tensor(build, "selfRef", selfRef, SIM_INOUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(selfRef);
    VALID(relu_takes(self->dtype), "the dtype of selfRef is not supported");
    VALID(self->rank <= 8, "selfRef has more than 8 dimensions");
    return sim_finish(build, count_of(self) ? relu : NULL, NULL, 0, 0, workspaceSize, executor);
}
PHASE_2(aclnnInplaceRelu)

/* ---------------------------------------------------------------- aclnnAvgPool2d */

typedef struct {
    int64_t kernel[2], step[2], padding[2], divisor;
    bool count_padding;
} Pool;

static int avg_pool(const SimLaunch *launch)
{
    const SimArg *self = &launch->args[0], *out = &launch->args[1];
    const Pool *pool = launch->values;
    int rank = self->tensor.rank;
    const int64_t *from = self->tensor.dims + rank - 2, *to = out->tensor.dims + rank - 2;
    for (int64_t i = 0; i < out->count; i++) {
        int64_t plane = i / (to[0] * to[1]), place_of[2] = {i / to[1] % to[0], i % to[1]};
        int64_t begin[2], end[2], whole = 1, inside = 1;
        for (int axis = 0; axis < 2; axis++) {
            int64_t first = place_of[axis] * pool->step[axis] - pool->padding[axis];
            int64_t last = first + pool->kernel[axis], bound = from[axis] + pool->padding[axis];
            whole *= (last < bound ? last : bound) - first;
            begin[axis] = first > 0 ? first : 0;
            end[axis] = last < from[axis] ? last : from[axis];
            inside *= end[axis] - begin[axis];
        }
        float sum = 0;
        for (int64_t y = begin[0]; y < end[0]; y++)
            for (int64_t x = begin[1]; x < end[1]; x++)
                sum += getf(self, own(self, (plane * from[0] + y) * from[1] + x));
        put(out, own(out, i), sum / (float)(pool->divisor ? pool->divisor : pool->count_padding ? whole : inside));
    }
    return 0;
}

static bool read_pair(const SimArray *array, int64_t *pair, int64_t least)
{
    const int64_t *values = array->values;
    if (array->count != 1 && array->count != 2)
        return false;
    pair[0] = values[0];
    pair[1] = values[array->count - 1];
    return pair[0] >= least && pair[1] >= least;
}

aclnnStatus aclnnAvgPool2dGetWorkspaceSize(const aclTensor *self, const aclIntArray *kernelSize, const aclIntArray *strides,
                                           const aclIntArray *paddings, const bool ceilMode, const bool countIncludePad,
                                           const int64_t divisorOverride, const int8_t cubeMathType, aclTensor *out,
                                           uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnAvgPool2d", false);
    const SimTensor *from = sim_tensor(build, "self", self, SIM_IN);
    const SimArray *kernel = sim_array(build, "kernelSize", SIM_INT_ARRAY, kernelSize),
                   *step = sim_array(build, "strides", SIM_INT_ARRAY, strides),
                   *padding = sim_array(build, "paddings", SIM_INT_ARRAY, paddings);
    sim_attribute(build, "ceilMode", "%d", ceilMode);
    sim_attribute(build, "countIncludePad", "%d", countIncludePad);
    sim_attribute(build, "divisorOverride", "%lld", (long long)divisorOverride);
    sim_attribute(build, "cubeMathType", "%d", cubeMathType);
    const SimTensor *to = sim_tensor(build, "out", out, SIM_OUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(self);
    NOT_NULL(kernelSize);
    NOT_NULL(strides);
    NOT_NULL(paddings);
    NOT_NULL(out);
    VALID(is_real_float(from->dtype) && from->dtype == to->dtype, "the dtypes are not supported or differ");
    VALID((from->rank == 4 && from->format == ACL_FORMAT_NCHW && to->format == ACL_FORMAT_NCHW) ||
              (from->rank == 3 && from->format == ACL_FORMAT_NCL && to->format == ACL_FORMAT_NCL),
          "the format must be NCHW for 4 dimensions and NCL for 3");
    Pool pool = {.divisor = divisorOverride, .count_padding = countIncludePad};
    VALID(read_pair(kernel, pool.kernel, 1), "kernelSize must be one or two positive numbers");
    VALID(read_pair(padding, pool.padding, 0), "paddings must be one or two numbers that are not negative");
    if (step->count)
        VALID(read_pair(step, pool.step, 1), "strides must be one or two positive numbers");
    else
        memcpy(pool.step, pool.kernel, sizeof pool.step);
    VALID(pool.padding[0] * 2 <= pool.kernel[0] && pool.padding[1] * 2 <= pool.kernel[1], "paddings exceed half of kernelSize");
    VALID(divisorOverride >= 0 && cubeMathType >= 0 && cubeMathType <= 3, "divisorOverride or cubeMathType is out of range");
    VALID(to->rank == from->rank, "out and self differ in rank");
    for (int axis = 0; axis < from->rank; axis++) {
        int64_t expected = from->dims[axis];
        int spatial = axis - (from->rank - 2);
        if (spatial >= 0) {
            int64_t room = expected + 2 * pool.padding[spatial] - pool.kernel[spatial];
            expected = (room + (ceilMode ? pool.step[spatial] - 1 : 0)) / pool.step[spatial] + 1;
            if (ceilMode && (expected - 1) * pool.step[spatial] >= from->dims[axis] + pool.padding[spatial])
                expected--;
        }
        VALID(to->dims[axis] == expected && expected > 0, "the shape of out does not fit");
    }
    return sim_finish(build, avg_pool, &pool, sizeof pool, 0, workspaceSize, executor);
}
PHASE_2(aclnnAvgPool2d)

/* ---------------------------------------------------------------- aclnnLayerNormBackward */

typedef struct {
    int64_t rows, columns;
    bool wanted[3];
} LayerNorm;

static int layer_norm(const SimLaunch *launch)
{
    const SimArg *gradient = &launch->args[0], *input = &launch->args[1], *mean = &launch->args[2], *rstd = &launch->args[3],
                 *weight = &launch->args[4], *outputs = &launch->args[6];
    const LayerNorm *values = launch->values;
    float *sums = (float *)(void *)launch->workspace; /* gradWeight, then gradBias */
    memset(sums, 0, 2 * (size_t)values->columns * sizeof *sums);
    for (int64_t row = 0; row < values->rows; row++) {
        float m = getf(mean, own(mean, row)), r = getf(rstd, own(rstd, row)), first = 0, second = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t column = 0; column < values->columns; column++) {
                int64_t i = row * values->columns + column;
                float g = getf(gradient, own(gradient, i)), normal = (getf(input, own(input, i)) - m) * r;
                float scaled = g * (weight->handle ? getf(weight, own(weight, column)) : 1);
                if (pass == 0) {
                    first += scaled;
                    second += scaled * normal;
                    sums[column] += g * normal;
                    sums[values->columns + column] += g;
                } else if (values->wanted[0]) {
                    float n = (float)values->columns;
                    put(&outputs[0], own(&outputs[0], i), r * (scaled - first / n - normal * (second / n)));
                }
            }
    }
    for (int which = 1; which < 3; which++)
        for (int64_t column = 0; values->wanted[which] && column < values->columns; column++)
            put(&outputs[which], own(&outputs[which], column), sums[(which - 1) * values->columns + column]);
    return 0;
}

aclnnStatus aclnnLayerNormBackwardGetWorkspaceSize(const aclTensor *gradOut, const aclTensor *input,
                                                   const aclIntArray *normalizedShape, const aclTensor *mean,
                                                   const aclTensor *rstd, const aclTensor *weightOptional,
                                                   const aclTensor *biasOptional, const aclBoolArray *outputMask,
                                                   aclTensor *gradInputOut, aclTensor *gradWeightOut, aclTensor *gradBiasOut,
                                                   uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnLayerNormBackward", false);
    const SimTensor *g = sim_tensor(build, "gradOut", gradOut, SIM_IN), *x = sim_tensor(build, "input", input, SIM_IN);
    const SimArray *shape = sim_array(build, "normalizedShape", SIM_INT_ARRAY, normalizedShape);
    const SimTensor *m = sim_tensor(build, "mean", mean, SIM_IN), *r = sim_tensor(build, "rstd", rstd, SIM_IN),
                    *w = sim_tensor(build, "weightOptional", weightOptional, SIM_IN);
    sim_tensor(build, "biasOptional", biasOptional, SIM_IN);
    const SimArray *mask = sim_array(build, "outputMask", SIM_BOOL_ARRAY, outputMask);
    const SimTensor *outs[3] = {sim_tensor(build, "gradInputOut", gradInputOut, SIM_OUT),
                                sim_tensor(build, "gradWeightOut", gradWeightOut, SIM_OUT),
                                sim_tensor(build, "gradBiasOut", gradBiasOut, SIM_OUT)};
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(gradOut);
    NOT_NULL(input);
    NOT_NULL(normalizedShape);
    NOT_NULL(mean);
    NOT_NULL(rstd);
    NOT_NULL(outputMask);
    VALID(mask->count == 3, "outputMask must have 3 elements");
    LayerNorm values = {1, 1, {0}};
    for (int i = 0; i < 3; i++) {
        values.wanted[i] = ((const bool *)mask->values)[i];
        REQUIRE(!values.wanted[i] || outs[i], ACLNN_ERR_PARAM_NULLPTR, "output %d is asked for and a null pointer", i);
    }
    VALID(is_real_float(g->dtype) && is_real_float(x->dtype) && is_real_float(m->dtype) && is_real_float(r->dtype),
          "a dtype is not supported");
    VALID(same_shape(g, x) && x->rank <= 8 && (int)shape->count <= x->rank && shape->count > 0, "the shapes do not fit");
    int split = x->rank - (int)shape->count;
    for (int i = 0; i < x->rank; i++) {
        *(i < split ? &values.rows : &values.columns) *= x->dims[i];
        VALID(i < split || ((const int64_t *)shape->values)[i - split] == x->dims[i], "normalizedShape does not fit input");
    }
    VALID(count_of(m) == values.rows && count_of(r) == values.rows, "the shapes of mean and rstd do not fit input");
    VALID(!w || count_of(w) == values.columns, "the shape of weightOptional does not fit normalizedShape");
    VALID(!values.wanted[0] || same_shape(outs[0], x), "the shape of gradInputOut differs from input");
    for (int i = 1; i < 3; i++)
        VALID(!values.wanted[i] || count_of(outs[i]) == values.columns, "the shape of output %d does not fit", i);
    return sim_finish(build, count_of(x) ? layer_norm : NULL, &values, sizeof values,
                      2 * (uint64_t)values.columns * sizeof(float), workspaceSize, executor);
}
PHASE_2(aclnnLayerNormBackward)

/* ---------------------------------------------------------------- aclnnAscendQuant */

typedef struct {
    bool root;
    char mode;
} Quant;

static int ascend_quant(const SimLaunch *launch)
{
    const SimArg *x = &launch->args[0], *scale = &launch->args[1], *offset = &launch->args[2], *y = &launch->args[3];
    const Quant *values = launch->values;
    int64_t last = x->tensor.dims[x->tensor.rank - 1];
    for (int64_t i = 0; i < x->count; i++) {
        float factor = getf(scale, own(scale, scale->count == 1 ? 0 : i % last));
        float value = getf(x, own(x, i)) * factor * (values->root ? factor : 1);
        if (offset->handle)
            value += getf(offset, own(offset, offset->count == 1 ? 0 : i % last));
        value = values->mode == 'f'   ? floorf(value)
                : values->mode == 'c' ? ceilf(value)
                : values->mode == 't' ? truncf(value)
                                      : rintf(value);
        put(y, own(y, i), value > 127 ? 127 : value < -128 ? -128 : value);
    }
    return 0;
}

aclnnStatus aclnnAscendQuantGetWorkspaceSize(const aclTensor *x, const aclTensor *scale, const aclTensor *offset,
                                             bool sqrtMode, const char *roundMode, int32_t dstType, const aclTensor *y,
                                             uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnAscendQuant", false);
    const SimTensor *from = sim_tensor(build, "x", x, SIM_IN), *by = sim_tensor(build, "scale", scale, SIM_IN),
                    *shift = sim_tensor(build, "offset", offset, SIM_IN);
    sim_attribute(build, "sqrtMode", "%d", sqrtMode);
    sim_attribute(build, "roundMode", "%s", roundMode ? roundMode : "nullptr");
    sim_attribute(build, "dstType", "%d", dstType);
    const SimTensor *to = sim_tensor(build, "y", y, SIM_OUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(x);
    NOT_NULL(scale);
    NOT_NULL(y);
    VALID(is_real_float(from->dtype) && by->dtype == from->dtype && (!shift || shift->dtype == from->dtype),
          "the dtypes of x, scale, offset are not supported or differ");
    VALID(dstType == ACL_INT8 && to->dtype == ACL_INT8, "only dstType 2 (INT8) with y of INT8 is simulated");
    VALID(from->rank >= 1 && from->rank <= 8 && same_shape(from, to), "the shapes of x and y do not fit");
    int64_t last = from->dims[from->rank - 1];
    VALID((count_of(by) == 1 || count_of(by) == last) && (!shift || count_of(shift) == 1 || count_of(shift) == last),
          "the shapes of scale and offset do not fit the last axis of x");
    const char *mode = roundMode ? roundMode : "round";
    VALID(!*mode || strcmp(mode, "round") == 0 || strcmp(mode, "floor") == 0 || strcmp(mode, "ceil") == 0 ||
              strcmp(mode, "trunc") == 0,
          "roundMode must be round, floor, ceil or trunc");
    Quant values = {sqrtMode, *mode ? *mode : 'r'};
    return sim_finish(build, count_of(from) ? ascend_quant : NULL, &values, sizeof values, 0, workspaceSize, executor);
}
PHASE_2(aclnnAscendQuant)
