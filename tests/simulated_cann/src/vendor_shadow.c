/* libcust_opapi.so of a custom package that exports aclnnLogitGrad a second time. Its answer is 42 everywhere, so
 * that a test sees which library served the call. */
#include "op.h"

#include "aclnnop/aclnn_logit_grad.h"

static int forty_two(const SimLaunch *launch)
{
    const SimArg *out = &launch->args[2];
    for (int64_t i = 0; i < out->count; i++)
        put(out, own(out, i), 42);
    return 0;
}

aclnnStatus aclnnLogitGradGetWorkspaceSize(const aclTensor *x, const aclTensor *dy, double eps, const aclTensor *out,
                                           uint64_t *workspaceSize, aclOpExecutor **executor)
{
    SimBuild *build = sim_begin("aclnnLogitGrad", true);
    (void)eps;
    sim_tensor(build, "x", x, SIM_IN);
    sim_tensor(build, "dy", dy, SIM_IN);
    sim_tensor(build, "out", out, SIM_OUT);
    NOT_NULL(x);
    NOT_NULL(dy);
    NOT_NULL(out);
    return sim_finish(build, forty_two, NULL, 0, 0, workspaceSize, executor);
}
PHASE_2(aclnnLogitGrad)
