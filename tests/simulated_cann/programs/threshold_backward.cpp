#include "aclnnop/aclnn_threshold_backward.h"

#include "device_call.hpp"

int main()
{
    Device device;
    device.open();
    Tensor<float> self{{0.2f, 1.2f, 2.2f, 3.2f}, {2, 2}}, gradOutput{{4.5f, 4.4f, 4.3f, 4.2f}, {2, 2}},
        out{{0, 0, 0, 0}, {2, 2}};
    float thresholdValue = 1;
    self.create(ACL_FLOAT);
    gradOutput.create(ACL_FLOAT);
    aclScalar *threshold = aclCreateScalar(&thresholdValue, aclDataType::ACL_FLOAT);
    out.create(ACL_FLOAT);
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    CHECK(aclnnThresholdBackwardGetWorkspaceSize(gradOutput.handle, self.handle, threshold, out.handle, &workspaceSize,
                                                 &executor));
    execute(aclnnThresholdBackward, workspaceSize, executor, device.stream);
    out.fetch();
    print(out.host);
    self.release();
    gradOutput.release();
    CHECK(aclDestroyScalar(threshold));
    out.release();
    device.close();
    return 0;
}
