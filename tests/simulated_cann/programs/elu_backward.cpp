#include "aclnnop/aclnn_elu_backward.h"

#include "device_call.hpp"

int main()
{
    Device device;
    device.open();
    Tensor<float> gradOutput{{-2, -1, 0, 1}, {2, 2}}, result{{-2, -1, 0, 1}, {2, 2}}, gradInput{{0, 0, 0, 0}, {2, 2}};
    float alphaValue = 1, scaleValue = 1, inputScaleValue = 1;
    gradOutput.create(ACL_FLOAT);
    aclScalar *alpha = aclCreateScalar(&alphaValue, aclDataType::ACL_FLOAT);
    aclScalar *scale = aclCreateScalar(&scaleValue, aclDataType::ACL_FLOAT);
    aclScalar *inputScale = aclCreateScalar(&inputScaleValue, aclDataType::ACL_FLOAT);
    result.create(ACL_FLOAT);
    gradInput.create(ACL_FLOAT);
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    CHECK(aclnnEluBackwardGetWorkspaceSize(gradOutput.handle, alpha, scale, inputScale, true, result.handle,
                                           gradInput.handle, &workspaceSize, &executor));
    execute(aclnnEluBackward, workspaceSize, executor, device.stream);
    gradInput.fetch();
    print(gradInput.host);
    gradOutput.release();
    CHECK(aclDestroyScalar(alpha));
    CHECK(aclDestroyScalar(scale));
    CHECK(aclDestroyScalar(inputScale));
    result.release();
    gradInput.release();
    device.close();
    return 0;
}
