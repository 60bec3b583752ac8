#include "aclnnop/aclnn_logit_grad.h"

#include "device_call.hpp"

int main()
{
    Device device;
    device.open();
    Tensor<float> x{{0.1f, 0.2f, 0.3f, 0.4f}, {1, 4}}, dy{{1, 2, 3, 4}, {1, 4}}, dx{{1, 1, 1, 1}, {1, 4}};
    x.create(ACL_FLOAT);
    dy.create(ACL_FLOAT);
    dx.create(ACL_FLOAT);
    double eps = -1.0;
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    CHECK(aclnnLogitGradGetWorkspaceSize(x.handle, dy.handle, eps, dx.handle, &workspaceSize, &executor));
    execute(aclnnLogitGrad, workspaceSize, executor, device.stream);
    dx.fetch();
    print(dx.host);
    x.release();
    dy.release();
    dx.release();
    device.close();
    return 0;
}
