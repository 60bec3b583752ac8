#include "aclnnop/aclnn_batch_norm_elemt_backward.h"

#include "device_call.hpp"

int main()
{
    Device device;
    device.open();
    const std::vector<float> ramp{0, 1, 2, 3, 4, 5, 6, 7};
    Tensor<float> gradOut{ramp, {1, 2, 4}}, input{ramp, {1, 2, 4}}, mean{{0, 0}, {2}}, invstd{{1, 1}, {2}},
        weight{{1, 1}, {2}}, sumDy{{0, 0}, {2}}, sumDyXmu{{1, 1}, {2}}, counter{{5, 5}, {2}},
        gradInput{std::vector<float>(8, 0), {1, 2, 4}};
    std::vector<Tensor<float> *> all{&gradOut, &input, &mean, &invstd, &weight, &sumDy, &sumDyXmu, &counter, &gradInput};
    for (auto *tensor : all)
        tensor->create(ACL_FLOAT);
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    CHECK(aclnnBatchNormElemtBackwardGetWorkspaceSize(gradOut.handle, input.handle, mean.handle, invstd.handle,
                                                      weight.handle, sumDy.handle, sumDyXmu.handle, counter.handle,
                                                      gradInput.handle, &workspaceSize, &executor));
    execute(aclnnBatchNormElemtBackward, workspaceSize, executor, device.stream);
    gradInput.fetch();
    print(gradInput.host);
    for (auto *tensor : all)
        tensor->release();
    device.close();
    return 0;
}
