/* libopapi_math of the simulated CANN. */
#include "op.h"

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_amp_update_scale.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_div_mod.h"
#include "aclnnop/aclnn_nan_to_num.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_split_tensor.h"

#define MOST_MEMBERS 64

static bool is_simulated(int32_t dtype) /* what these operators compute with: no complex and no eight-bit floats */
{
    return is_floating(dtype) || IS_ONE_OF(dtype, ACL_INT8, ACL_UINT8, ACL_INT16, ACL_INT32, ACL_INT64, ACL_BOOL);
}

static bool is_integer(int32_t dtype)
{
    return is_simulated(dtype) && !is_floating(dtype);
}

/* ---------------------------------------------------------------- aclnnAmpUpdateScale (a generated entry) */

typedef struct {
    float growth, backoff;
    int64_t interval;
} Amp;

static int amp_update_scale(const SimLaunch *launch)
{
    const SimArg *args = launch->args;
    const Amp *values = launch->values;
    float scale = getf(&args[0], args[0].tensor.offset), found = getf(&args[2], args[2].tensor.offset);
    int32_t tracker = (int32_t)load_integer(place(&args[1], args[1].tensor.offset), ACL_INT32);
    if (found != 0) { /* NaN is found, -0.0 is not */
        scale *= values->backoff;
        tracker = 0;
    } else {
        int32_t successor = (int32_t)((uint32_t)tracker + 1);
        tracker = successor;
        if (successor == values->interval) {
            float grown = scale * values->growth;
            if (isfinite(grown)) /* in float32: what is stored in float16 may still become Inf */
                scale = grown;
            tracker = 0;
        }
    }
    put(&args[3], args[3].tensor.offset, scale);
    store_integer(place(&args[4], args[4].tensor.offset), ACL_INT32, tracker);
    return 0;
}

aclnnStatus aclnnAmpUpdateScaleGetWorkspaceSize(const aclTensor *currentScale, const aclTensor *growthTracker,
                                                const aclTensor *foundInf, double growthFactor, double backoffFactor,
                                                int64_t growthInterval, const aclTensor *updatedScale,
                                                const aclTensor *updatedGrowthTracker, uint64_t *workspaceSize,
                                                aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnAmpUpdateScale", true);
    const SimTensor *inputs[3] = {sim_tensor(build, "currentScale", currentScale, SIM_IN),
                                  sim_tensor(build, "growthTracker", growthTracker, SIM_IN),
                                  sim_tensor(build, "foundInf", foundInf, SIM_IN)};
    const SimTensor *scale = sim_tensor(build, "updatedScale", updatedScale, SIM_OUT),
                    *tracker = sim_tensor(build, "updatedGrowthTracker", updatedGrowthTracker, SIM_OUT);
    NOT_NULL(currentScale);
    NOT_NULL(growthTracker);
    NOT_NULL(foundInf);
    NOT_NULL(updatedScale);
    NOT_NULL(updatedGrowthTracker);
    NOT_NULL(executor);
    NOT_NULL(workspaceSize);
    int32_t dtype = inputs[0]->dtype;
    VALID(IS_ONE_OF(dtype, ACL_FLOAT, ACL_FLOAT16, ACL_BF16) && inputs[1]->dtype == ACL_INT32 &&
              inputs[2]->dtype == dtype && scale->dtype == dtype && tracker->dtype == ACL_INT32,
          "no kernel for the dtypes of currentScale, growthTracker, foundInf, updatedScale, updatedGrowthTracker");
    for (int i = 0; i < 3; i++)
        VALID(!is_private_format(inputs[i]->format), "no kernel for the format of an input");
    VALID(!is_private_format(scale->format) && !is_private_format(tracker->format),
          "no kernel for the format of an output");
    REQUIRE(has_bfloat(), ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "the SoC has no kernel of AmpUpdateScale");
    if (!count_of(scale) && !count_of(tracker))
        return sim_finish(build, NULL, NULL, 0, 0, workspaceSize, executor);
    REQUIRE(growthInterval >= 1 && growthInterval <= INT32_MAX, ACLNN_ERR_INNER_TILING_ERROR, "growthInterval is out of range");
    for (int i = 0; i < 3; i++)
        REQUIRE(inputs[i]->rank <= 1 && count_of(inputs[i]) == 1, ACLNN_ERR_INNER_TILING_ERROR, "an input is not of shape [1]");
    Amp values = {(float)growthFactor, (float)backoffFactor, growthInterval};
    return sim_finish(build, amp_update_scale, &values, sizeof values, 0, workspaceSize, executor);
}
PHASE_2(aclnnAmpUpdateScale)

/* ---------------------------------------------------------------- aclnnAdd, aclnnInplaceAdd */

typedef struct {
    double alpha;
    int64_t whole; /* alpha for integers: a double does not hold every int64 */
} Add;

static int add(const SimLaunch *launch)
{
    const SimArg *self = &launch->args[0], *other = &launch->args[1], *out = &launch->args[launch->count == 3 ? 2 : 0];
    const Add *values = launch->values;
    bool whole = is_integer(self->tensor.dtype) && is_integer(other->tensor.dtype);
    bool wide = self->tensor.dtype == ACL_DOUBLE || other->tensor.dtype == ACL_DOUBLE;
    for (int64_t i = 0; i < out->count; i++) {
        int64_t a = at(self, &out->tensor, i), b = at(other, &out->tensor, i), to = own(out, i);
        if (whole) {
            uint64_t sum = (uint64_t)load_integer(place(self, a), self->tensor.dtype) +
                           (uint64_t)values->whole * (uint64_t)load_integer(place(other, b), other->tensor.dtype);
            if (out->tensor.dtype == ACL_BOOL || is_floating(out->tensor.dtype))
                put(out, to, (double)(int64_t)sum);
            else
                store_integer(place(out, to), out->tensor.dtype, (int64_t)sum);
        } else if (wide) {
            put(out, to, get(self, a) + values->alpha * get(other, b));
        } else {
            put(out, to, getf(self, a) + (float)values->alpha * getf(other, b));
        }
    }
    return 0;
}

static aclnnStatus plan_add(SimBuild *build, const SimTensor *a, const SimTensor *b, const SimScalar *alpha,
                            const SimTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    VALID(is_simulated(a->dtype) && is_simulated(b->dtype), "the dtype of self or other is not supported");
    VALID(a->dtype == b->dtype || is_floating(a->dtype) == is_floating(b->dtype) || can_cast(b->dtype, a->dtype) ||
              can_cast(a->dtype, b->dtype),
          "self and other have no common dtype");
    int32_t promoted = is_floating(a->dtype) ? a->dtype : b->dtype;
    VALID(can_cast(promoted, out->dtype) && is_simulated(out->dtype), "the sum cannot be cast to the dtype of out");
    VALID(is_floating(promoted) || !is_floating(alpha->dtype), "alpha is floating and self and other are not");
    VALID(a->rank <= 8 && b->rank <= 8, "self or other has more than 8 dimensions");
    SimTensor shape;
    VALID(broadcast(a, b, &shape), "self and other do not broadcast");
    VALID(same_shape(out, &shape), "the shape of out is not the broadcast shape");
    Add values = {scalar_value(alpha), load_integer(alpha->bytes, alpha->dtype)};
    return sim_finish(build, count_of(out) ? add : NULL, &values, sizeof values, 0, workspaceSize, executor);
}

aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor *self, const aclTensor *other, const aclScalar *alpha, aclTensor *out,
                                     uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnAdd", false);
    const SimTensor *a = sim_tensor(build, "self", self, SIM_IN), *b = sim_tensor(build, "other", other, SIM_IN);
    const SimScalar *factor = sim_scalar(build, "alpha", alpha);
    const SimTensor *to = sim_tensor(build, "out", out, SIM_OUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(self);
    NOT_NULL(other);
    NOT_NULL(alpha);
    NOT_NULL(out);
    return plan_add(build, a, b, factor, to, workspaceSize, executor);
}
PHASE_2(aclnnAdd)

aclnnStatus aclnnInplaceAddGetWorkspaceSize(const aclTensor *selfRef, const aclTensor *other, const aclScalar *alpha,
                                            uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnInplaceAdd", false);
    const SimTensor *a = sim_tensor(build, "selfRef", selfRef, SIM_INOUT), *b = sim_tensor(build, "other", other, SIM_IN);
    const SimScalar *factor = sim_scalar(build, "alpha", alpha);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(selfRef);
    NOT_NULL(other);
    NOT_NULL(alpha);
    return plan_add(build, a, b, factor, a, workspaceSize, executor);
}
PHASE_2(aclnnInplaceAdd)

/* ---------------------------------------------------------------- aclnnAdds, aclnnInplaceAdds */

static int adds(const SimLaunch *launch)
{
    const SimArg *self = &launch->args[0], *out = &launch->args[launch->count - 1];
    const Add *term = launch->values;
    for (int64_t i = 0; i < out->count; i++) {
        int64_t from = own(self, i), to = own(out, i);
        if (is_integer(self->tensor.dtype) && is_integer(out->tensor.dtype)) {
            uint64_t sum = (uint64_t)load_integer(place(self, from), self->tensor.dtype) + (uint64_t)term->whole;
            store_integer(place(out, to), out->tensor.dtype, (int64_t)sum);
        } else {
            put(out, to, get(self, from) + term->alpha);
        }
    }
    return 0;
}

static aclnnStatus plan_adds(SimBuild *build, const SimTensor *a, const SimScalar *other, const SimScalar *alpha,
                             const SimTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    VALID(is_simulated(a->dtype) && is_simulated(out->dtype), "the dtype of self or out is not supported");
    VALID(is_floating(a->dtype) || (!is_floating(other->dtype) && !is_floating(alpha->dtype)),
          "other or alpha is floating and self is not: not simulated");
    VALID(can_cast(a->dtype, out->dtype), "the sum cannot be cast to the dtype of out");
    VALID(same_shape(a, out) && a->rank <= 8, "the shapes differ or have more than 8 dimensions");
    Add term = {scalar_value(other) * scalar_value(alpha),
                (int64_t)((uint64_t)load_integer(other->bytes, other->dtype) *
                          (uint64_t)load_integer(alpha->bytes, alpha->dtype))};
    return sim_finish(build, count_of(out) ? adds : NULL, &term, sizeof term, 0, workspaceSize, executor);
}

aclnnStatus aclnnAddsGetWorkspaceSize(const aclTensor *self, const aclScalar *other, const aclScalar *alpha, aclTensor *out,
                                      uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnAdds", false);
    const SimTensor *a = sim_tensor(build, "self", self, SIM_IN);
    const SimScalar *term = sim_scalar(build, "other", other), *factor = sim_scalar(build, "alpha", alpha);
    const SimTensor *to = sim_tensor(build, "out", out, SIM_OUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(self);
    NOT_NULL(other);
    NOT_NULL(alpha);
    NOT_NULL(out);
    return plan_adds(build, a, term, factor, to, workspaceSize, executor);
}
PHASE_2(aclnnAdds)

aclnnStatus aclnnInplaceAddsGetWorkspaceSize(const aclTensor *selfRef, const aclScalar *other, const aclScalar *alpha,
                                             uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnInplaceAdds", false);
    const SimTensor *a = sim_tensor(build, "selfRef", selfRef, SIM_INOUT);
    const SimScalar *term = sim_scalar(build, "other", other), *factor = sim_scalar(build, "alpha", alpha);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(selfRef);
    NOT_NULL(other);
    NOT_NULL(alpha);
    return plan_adds(build, a, term, factor, a, workspaceSize, executor);
}
PHASE_2(aclnnInplaceAdds)

/* ---------------------------------------------------------------- aclnnCat, aclnnSplitTensor */

typedef struct {
    int dim, members;
    bool split;
} Pieces;

/* Between a whole and its pieces along one axis, in either direction. */
static int copy_pieces(const SimLaunch *launch)
{
    const Pieces *values = launch->values;
    const SimArg *whole = &launch->args[values->split ? 0 : values->members];
    const SimArg *pieces = &launch->args[values->split ? 1 : 0];
    size_t size = aclDataTypeSize((aclDataType)whole->tensor.dtype);
    int64_t begin = 0, inner = 1, extent = whole->tensor.dims[values->dim];
    for (int i = values->dim + 1; i < whole->tensor.rank; i++)
        inner *= whole->tensor.dims[i];
    for (int member = 0; member < values->members; member++) {
        const SimArg *piece = &pieces[member];
        int64_t length = piece->tensor.dims[values->dim];
        for (int64_t i = 0; i < piece->count; i++) {
            int64_t outer = i / (length * inner), rest = i % (length * inner);
            unsigned char *in_whole = place(whole, own(whole, (outer * extent + begin) * inner + rest));
            unsigned char *in_piece = place(piece, own(piece, i));
            memcpy(values->split ? in_piece : in_whole, values->split ? in_whole : in_piece, size);
        }
        begin += length;
    }
    return 0;
}

static bool fits_but_for(const SimTensor *a, const SimTensor *b, int dim)
{
    for (int i = 0; a->rank == b->rank && i < a->rank; i++)
        if (i != dim && a->dims[i] != b->dims[i])
            return false;
    return a->rank == b->rank && a->dtype == b->dtype;
}

aclnnStatus aclnnCatGetWorkspaceSize(const aclTensorList *tensors, int64_t dim, aclTensor *out, uint64_t *workspaceSize,
                                     aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnCat", false);
    const SimTensor *members[MOST_MEMBERS];
    int count = sim_tensors(build, "tensors", tensors, SIM_IN, members, MOST_MEMBERS);
    sim_attribute(build, "dim", "%lld", (long long)dim);
    const SimTensor *to = sim_tensor(build, "out", out, SIM_OUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(tensors);
    NOT_NULL(out);
    VALID(count > 0, "tensors is empty");
    VALID(dim >= -to->rank && dim < to->rank, "dim is out of range");
    int axis = (int)(dim < 0 ? dim + to->rank : dim);
    int64_t extent = 0;
    for (int i = 0; i < count; i++) {
        REQUIRE(members[i], ACLNN_ERR_PARAM_NULLPTR, "member %d of tensors is a null pointer", i);
        VALID(aclDataTypeSize((aclDataType)members[i]->dtype) && fits_but_for(members[i], to, axis),
              "member %d of tensors does not fit out", i);
        extent += members[i]->dims[axis];
    }
    VALID(extent == to->dims[axis], "the shape of out does not fit");
    Pieces values = {axis, count, false};
    return sim_finish(build, count_of(to) ? copy_pieces : NULL, &values, sizeof values, 0, workspaceSize, executor);
}
PHASE_2(aclnnCat)

aclnnStatus aclnnSplitTensorGetWorkspaceSize(const aclTensor *self, uint64_t splitSections, int64_t dim, aclTensorList *out,
                                             uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnSplitTensor", false);
    const SimTensor *from = sim_tensor(build, "self", self, SIM_IN), *members[MOST_MEMBERS];
    sim_attribute(build, "splitSections", "%llu", (unsigned long long)splitSections);
    sim_attribute(build, "dim", "%lld", (long long)dim);
    int count = sim_tensors(build, "out", out, SIM_OUT, members, MOST_MEMBERS);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(self);
    NOT_NULL(out);
    VALID(from->rank >= 1 && from->rank <= 8, "self must have 1 to 8 dimensions");
    VALID(dim >= -from->rank && dim < from->rank, "dim is out of range");
    int axis = (int)(dim < 0 ? dim + from->rank : dim);
    VALID(splitSections > 0, "splitSections is 0");
    uint64_t extent = (uint64_t)from->dims[axis];
    VALID((uint64_t)count == (extent + splitSections - 1) / splitSections, "the number of outputs does not fit");
    for (int i = 0; i < count; i++) {
        uint64_t left = extent - (uint64_t)i * splitSections;
        REQUIRE(members[i], ACLNN_ERR_PARAM_NULLPTR, "member %d of out is a null pointer", i);
        VALID(fits_but_for(members[i], from, axis) &&
                  (uint64_t)members[i]->dims[axis] == (left < splitSections ? left : splitSections),
              "member %d of out does not fit", i);
    }
    Pieces values = {axis, count, true};
    return sim_finish(build, count_of(from) ? copy_pieces : NULL, &values, sizeof values, 0, workspaceSize, executor);
}
PHASE_2(aclnnSplitTensor)

/* ---------------------------------------------------------------- aclnnReduceSum */

typedef struct {
    bool reduced[8];
} Reduction;

static int reduce_sum(const SimLaunch *launch)
{
    const SimArg *self = &launch->args[0], *out = &launch->args[1];
    const Reduction *values = launch->values;
    bool whole = is_integer(self->tensor.dtype) && !is_floating(out->tensor.dtype);
    double *sums = (double *)(void *)launch->workspace;
    int64_t *counts = (int64_t *)(void *)launch->workspace;
    memset(launch->workspace, 0, (size_t)out->count * sizeof *sums);
    for (int64_t i = 0; i < self->count; i++) {
        int64_t rest = i, to = 0, step = 1;
        for (int axis = self->tensor.rank - 1; axis >= 0; axis--) {
            int64_t position = rest % self->tensor.dims[axis];
            rest /= self->tensor.dims[axis];
            if (!values->reduced[axis]) {
                to += position * step;
                step *= self->tensor.dims[axis];
            }
        }
        if (whole)
            counts[to] += load_integer(place(self, own(self, i)), self->tensor.dtype);
        else
            sums[to] += get(self, own(self, i));
    }
    for (int64_t i = 0; i < out->count; i++) {
        if (whole && out->tensor.dtype != ACL_BOOL)
            store_integer(place(out, own(out, i)), out->tensor.dtype, counts[i]);
        else
            put(out, own(out, i), whole ? (double)counts[i] : sums[i]);
    }
    return 0;
}

aclnnStatus aclnnReduceSumGetWorkspaceSize(const aclTensor *self, const aclIntArray *dims, bool keepDims, aclDataType dtype,
                                           aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnReduceSum", false);
    const SimTensor *from = sim_tensor(build, "self", self, SIM_IN);
    const SimArray *axes = sim_array(build, "dims", SIM_INT_ARRAY, dims);
    sim_attribute(build, "keepDims", "%d", keepDims);
    sim_attribute(build, "dtype", "%d", dtype);
    const SimTensor *to = sim_tensor(build, "out", out, SIM_OUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(self);
    NOT_NULL(dims);
    NOT_NULL(out);
    VALID(is_simulated(from->dtype), "the dtype of self is not supported");
    VALID((int32_t)dtype == to->dtype && is_simulated(dtype), "dtype is not supported or not that of out");
    VALID(from->rank <= 8, "self has more than 8 dimensions");
    Reduction values = {{0}};
    for (uint64_t i = 0; i < axes->count; i++) {
        int64_t axis = ((const int64_t *)axes->values)[i];
        VALID(axis >= -from->rank && axis < from->rank, "dims is out of range");
        axis = axis < 0 ? axis + from->rank : axis;
        VALID(!values.reduced[axis], "dims names an axis twice");
        values.reduced[axis] = true;
    }
    SimTensor shape = {.rank = 0};
    for (int i = 0; i < from->rank; i++) {
        values.reduced[i] = values.reduced[i] || !axes->count;
        if (!values.reduced[i] || keepDims)
            shape.dims[shape.rank++] = values.reduced[i] ? 1 : from->dims[i];
    }
    VALID(same_shape(to, &shape), "the shape of out does not fit");
    return sim_finish(build, count_of(to) ? reduce_sum : NULL, &values, sizeof values,
                      (uint64_t)count_of(to) * sizeof(double), workspaceSize, executor);
}
PHASE_2(aclnnReduceSum)

/* ---------------------------------------------------------------- aclnnCast */

static int cast(const SimLaunch *launch)
{
    const SimArg *self = &launch->args[0], *out = &launch->args[1];
    for (int64_t i = 0; i < self->count; i++) {
        if (is_floating(self->tensor.dtype) || is_floating(out->tensor.dtype) || out->tensor.dtype == ACL_BOOL)
            put(out, own(out, i), get(self, own(self, i)));
        else
            store_integer(place(out, own(out, i)), out->tensor.dtype,
                          load_integer(place(self, own(self, i)), self->tensor.dtype));
    }
    return 0;
}

aclnnStatus aclnnCastGetWorkspaceSize(const aclTensor *self, const aclDataType dtype, aclTensor *out,
                                      uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnCast", false);
    const SimTensor *from = sim_tensor(build, "self", self, SIM_IN);
    sim_attribute(build, "dtype", "%d", dtype);
    const SimTensor *to = sim_tensor(build, "out", out, SIM_OUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(self);
    NOT_NULL(out);
    VALID(is_simulated(from->dtype) || IS_ONE_OF(from->dtype, ACL_UINT16, ACL_UINT32, ACL_UINT64), "the dtype of self is not simulated");
    VALID((int32_t)dtype == to->dtype, "dtype is not that of out");
    VALID(is_simulated(to->dtype) || IS_ONE_OF(to->dtype, ACL_UINT16, ACL_UINT32, ACL_UINT64), "the dtype of out is not simulated");
    VALID(same_shape(from, to) && from->rank <= 8, "the shapes differ or have more than 8 dimensions");
    return sim_finish(build, count_of(from) ? cast : NULL, NULL, 0, 0, workspaceSize, executor);
}
PHASE_2(aclnnCast)

/* ---------------------------------------------------------------- aclnnNanToNum */

static int nan_to_num(const SimLaunch *launch)
{
    const SimArg *self = &launch->args[0], *out = &launch->args[launch->count - 1];
    const float *values = launch->values;
    for (int64_t i = 0; i < self->count; i++) {
        if (!is_floating(self->tensor.dtype)) {
            memmove(place(out, own(out, i)), place(self, own(self, i)), aclDataTypeSize((aclDataType)self->tensor.dtype));
            continue;
        }
        double value = get(self, own(self, i));
        put(out, own(out, i), isnan(value) ? values[0] : isinf(value) ? values[value > 0 ? 1 : 2] : value);
    }
    return 0;
}

aclnnStatus aclnnNanToNumGetWorkspaceSize(const aclTensor *self, float nan, float posinf, float neginf, aclTensor *out,
                                          uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnNanToNum", false);
    const SimTensor *from = sim_tensor(build, "self", self, SIM_IN);
    sim_attribute(build, "nan", "%g", (double)nan);
    sim_attribute(build, "posinf", "%g", (double)posinf);
    sim_attribute(build, "neginf", "%g", (double)neginf);
    const SimTensor *to = sim_tensor(build, "out", out, SIM_OUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(self);
    NOT_NULL(out);
    VALID(is_simulated(from->dtype) && from->dtype != ACL_DOUBLE && from->dtype == to->dtype,
          "the dtypes are not supported or differ");
    VALID(same_shape(from, to) && from->rank <= 8, "the shapes differ or have more than 8 dimensions");
    float values[3] = {nan, posinf, neginf};
    return sim_finish(build, count_of(from) ? nan_to_num : NULL, values, sizeof values, 0, workspaceSize, executor);
}
PHASE_2(aclnnNanToNum)

aclnnStatus aclnnInplaceNanToNumGetWorkspaceSize(const aclTensor *selfRef, float nan, float posinf, float neginf,
                                                 uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnInplaceNanToNum", false);
    const SimTensor *from = sim_tensor(build, "selfRef", selfRef, SIM_INOUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(selfRef);
    VALID(is_simulated(from->dtype) && from->dtype != ACL_DOUBLE && from->rank <= 8, "the dtype or rank is not supported");
    float values[3] = {nan, posinf, neginf};
    return sim_finish(build, count_of(from) ? nan_to_num : NULL, values, sizeof values, 0, workspaceSize, executor);
}
PHASE_2(aclnnInplaceNanToNum)

/* ---------------------------------------------------------------- aclnnDivMod */

static int div_mod(const SimLaunch *launch)
{
    const SimArg *self = &launch->args[0], *other = &launch->args[1], *out = &launch->args[2];
    int mode = *(const int *)launch->values;
    for (int64_t i = 0; i < out->count; i++) {
        double quotient = get(self, at(self, &out->tensor, i)) / get(other, at(other, &out->tensor, i));
        put(out, own(out, i), mode == 1 ? trunc(quotient) : mode == 2 ? floor(quotient) : quotient);
    }
    return 0;
}

aclnnStatus aclnnDivModGetWorkspaceSize(const aclTensor *self, const aclTensor *other, int mode, aclTensor *out,
                                        uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnDivMod", false);
    const SimTensor *a = sim_tensor(build, "self", self, SIM_IN), *b = sim_tensor(build, "other", other, SIM_IN);
    sim_attribute(build, "mode", "%d", mode);
    const SimTensor *to = sim_tensor(build, "out", out, SIM_OUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(self);
    NOT_NULL(other);
    NOT_NULL(out);
    VALID(is_simulated(a->dtype) && is_simulated(b->dtype) && is_simulated(to->dtype), "a dtype is not supported");
    VALID(mode >= 0 && mode <= 2, "mode must be 0, 1 or 2");
    VALID(mode || is_floating(to->dtype), "out must be floating for mode 0");
    SimTensor shape;
    VALID(a->rank <= 8 && b->rank <= 8 && broadcast(a, b, &shape) && same_shape(to, &shape), "the shapes do not fit");
    return sim_finish(build, count_of(to) ? div_mod : NULL, &mode, sizeof mode, 0, workspaceSize, executor);
}
PHASE_2(aclnnDivMod)
