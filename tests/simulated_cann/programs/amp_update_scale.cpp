#include "aclnnop/aclnn_amp_update_scale.h"

#include "device_call.hpp"

int main()
{
    Device device;
    device.open();
    Tensor<float> currentScale{{65536}, {1}}, foundInf{{0}, {1}}, updatedScale{{0}, {1}};
    Tensor<int32_t> growthTracker{{900}, {1}}, updatedGrowthTracker{{0}, {1}};
    currentScale.create(ACL_FLOAT);
    growthTracker.create(ACL_INT32);
    foundInf.create(ACL_FLOAT);
    updatedScale.create(ACL_FLOAT);
    updatedGrowthTracker.create(ACL_INT32);
    float growthFactor = 2, backoffFactor = 0.5f;
    int64_t growthInterval = 1000;
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    CHECK(aclnnAmpUpdateScaleGetWorkspaceSize(currentScale.handle, growthTracker.handle, foundInf.handle, growthFactor,
                                              backoffFactor, growthInterval, updatedScale.handle,
                                              updatedGrowthTracker.handle, &workspaceSize, &executor));
    execute(aclnnAmpUpdateScale, workspaceSize, executor, device.stream);
    updatedScale.fetch();
    updatedGrowthTracker.fetch();
    std::printf("updatedScale = %f, updatedGrowthTracker = %d\n", static_cast<double>(updatedScale.host[0]),
                updatedGrowthTracker.host[0]);
    currentScale.release();
    growthTracker.release();
    foundInf.release();
    updatedScale.release();
    updatedGrowthTracker.release();
    device.close();
    return 0;
}
