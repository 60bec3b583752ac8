/* libopapi_cv of the simulated CANN: the one operator of its library that takes an aclFloatArray. */
#include "op.h"

#include "aclnnop/aclnn_resize.h"

static int resize(const SimLaunch *launch)
{
    const SimArg *self = &launch->args[0], *out = &launch->args[1];
    const float *scales = launch->values;
    for (int64_t i = 0; i < out->count; i++) {
        int64_t rest = i, from = 0, step = 1;
        for (int axis = 3; axis >= 0; axis--) {
            int64_t position = rest % out->tensor.dims[axis], extent = self->tensor.dims[axis];
            rest /= out->tensor.dims[axis];
            int64_t nearest = (int64_t)floorf((float)position / scales[axis]);
            from += (nearest < extent ? nearest : extent - 1) * step;
            step *= extent;
        }
        put(out, own(out, i), get(self, own(self, from)));
    }
    return 0;
}

aclnnStatus aclnnResizeGetWorkspaceSize(const aclTensor *self, const aclFloatArray *scales, const char *mode, aclTensor *out,
                                        uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnResize", false);
    const SimTensor *from = sim_tensor(build, "self", self, SIM_IN);
    const SimArray *factors = sim_array(build, "scales", SIM_FLOAT_ARRAY, scales);
    sim_attribute(build, "mode", "%s", mode ? mode : "nullptr");
    const SimTensor *to = sim_tensor(build, "out", out, SIM_OUT);
    NOT_NULL(workspaceSize);
    NOT_NULL(executor);
    NOT_NULL(self);
    NOT_NULL(scales);
    NOT_NULL(mode);
    NOT_NULL(out);
    VALID(is_real_float(from->dtype) && from->dtype == to->dtype, "the dtypes are not supported or differ");
    VALID(from->rank == 4 && to->rank == 4 && from->format == to->format &&
              (from->format == ACL_FORMAT_NCHW || from->format == ACL_FORMAT_NHWC),
          "self and out must have 4 dimensions in NCHW or NHWC");
    VALID(strcmp(mode, "nearest") == 0, "only mode nearest is simulated");
    VALID(factors->count == 4, "scales must have 4 elements");
    const float *values = factors->values;
    for (int axis = 0; axis < 4; axis++)
        VALID(values[axis] > 0 && to->dims[axis] == (int64_t)floorf((float)from->dims[axis] * values[axis]),
              "the shape of out does not fit scales");
    return sim_finish(build, resize, values, 4 * sizeof *values, 0, workspaceSize, executor);
}
PHASE_2(aclnnResize)
