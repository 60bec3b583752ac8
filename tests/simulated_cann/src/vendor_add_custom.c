/* libcust_opapi.so of a custom package: aclnnAddCustom, an operator that no catalog knows. A generated entry. */
#include "aclnn_add_custom.h"

#include "op.h"

static int add_custom(const SimLaunch *launch)
{
    const SimArg *x = &launch->args[0], *y = &launch->args[1], *z = &launch->args[2];
    for (int64_t i = 0; i < z->count; i++)
        put(z, own(z, i), getf(x, own(x, i)) + getf(y, own(y, i)));
    return 0;
}

aclnnStatus aclnnAddCustomGetWorkspaceSize(const aclTensor *x, const aclTensor *y, const aclTensor *z,
                                           uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnAddCustom", true);
    const SimTensor *a = sim_tensor(build, "x", x, SIM_IN), *b = sim_tensor(build, "y", y, SIM_IN);
    const SimTensor *out = sim_tensor(build, "z", z, SIM_OUT);
    NOT_NULL(x);
    NOT_NULL(y);
    NOT_NULL(z);
    NOT_NULL(executor);
    NOT_NULL(workspaceSize);
    VALID(IS_ONE_OF(a->dtype, ACL_FLOAT16, ACL_FLOAT) && b->dtype == a->dtype && out->dtype == a->dtype,
          "no kernel for the dtypes of x, y, z");
    REQUIRE(same_shape(a, b) && same_shape(a, out), ACLNN_ERR_INNER_TILING_ERROR, "the shapes differ");
    return sim_finish(build, add_custom, NULL, 0, 0, workspaceSize, executor);
}
PHASE_2(aclnnAddCustom)
