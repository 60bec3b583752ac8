// What the five programs share: the calls that every operator's document prints around its own two.
#ifndef DEVICE_CALL_HPP
#define DEVICE_CALL_HPP

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

inline void check(int code, const char *call)
{
    if (code == ACL_SUCCESS)
        return;
    const char *message = aclGetRecentErrMsg();
    std::printf("%s failed with %d: %s\n", call, code, message ? message : "no message");
    std::exit(1);
}
#define CHECK(call) check((call), #call)

struct Device {
    int32_t id = 0;
    aclrtStream stream = nullptr;
    void open()
    {
        CHECK(aclInit(nullptr));
        CHECK(aclrtSetDevice(id));
        CHECK(aclrtCreateStream(&stream));
    }
    void close()
    {
        CHECK(aclrtDestroyStream(stream));
        CHECK(aclrtResetDevice(id));
        CHECK(aclFinalize());
    }
};

template <typename T> struct Tensor {
    std::vector<T> host;
    std::vector<int64_t> shape;
    aclTensor *handle = nullptr;
    void *device = nullptr;

    void create(aclDataType type)
    {
        const size_t size = host.size() * sizeof(T);
        CHECK(aclrtMalloc(&device, size, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(aclrtMemcpy(device, size, host.data(), size, ACL_MEMCPY_HOST_TO_DEVICE));
        std::vector<int64_t> strides(shape.size(), 1);
        for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; i--)
            strides[i] = shape[i + 1] * strides[i + 1];
        handle = aclCreateTensor(shape.data(), shape.size(), type, strides.data(), 0, aclFormat::ACL_FORMAT_ND,
                                 shape.data(), shape.size(), device);
        check(handle ? ACL_SUCCESS : 1, "aclCreateTensor");
    }
    void fetch()
    {
        const size_t size = host.size() * sizeof(T);
        CHECK(aclrtMemcpy(host.data(), size, device, size, ACL_MEMCPY_DEVICE_TO_HOST));
    }
    void release()
    {
        CHECK(aclDestroyTensor(handle));
        CHECK(aclrtFree(device));
    }
};

// Phase 2 and the synchronisation; the workspace lives until the stream is idle.
template <typename Phase2> void execute(Phase2 phase2, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream)
{
    void *workspace = nullptr;
    if (workspaceSize > 0)
        CHECK(aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(phase2(workspace, workspaceSize, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));
    if (workspaceSize > 0)
        CHECK(aclrtFree(workspace));
}

inline void print(const std::vector<float> &values)
{
    for (size_t i = 0; i < values.size(); i++)
        std::printf("result[%zu] is: %f\n", i, static_cast<double>(values[i]));
}

#endif
