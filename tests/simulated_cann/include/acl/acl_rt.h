/* Runtime of the simulated CANN: the public names and values, our own text. */
#ifndef SIM_ACL_RT_H
#define SIM_ACL_RT_H

#include "acl/acl_base_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_EVENT_SYNC 0x00000001U
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002U
#define ACL_EVENT_TIME_LINE 0x00000008U

typedef enum { ACL_DEVICE = 0, ACL_HOST = 1 } aclrtRunMode;

typedef enum { ACL_STREAM_STATUS_COMPLETE = 0, ACL_STREAM_STATUS_NOT_READY = 1 } aclrtStreamStatus;

typedef enum {
    ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
    ACL_EVENT_RECORDED_STATUS_COMPLETE = 1
} aclrtEventRecordedStatus;

typedef enum { ACL_RT_THREAD_LEVEL = 0 } aclrtLastErrLevel;

typedef enum {
    ACL_MEM_MALLOC_HUGE_FIRST = 0,
    ACL_MEM_MALLOC_HUGE_ONLY = 1,
    ACL_MEM_MALLOC_NORMAL_ONLY = 2,
    ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,
    ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,
    ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
    ACL_MEM_MALLOC_HUGE1G_ONLY = 6,
    ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,
    ACL_MEM_TYPE_LOW_BAND_WIDTH = 0x0100,
    ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000
} aclrtMemMallocPolicy;

typedef enum {
    ACL_MEMCPY_HOST_TO_HOST = 0,
    ACL_MEMCPY_HOST_TO_DEVICE = 1,
    ACL_MEMCPY_DEVICE_TO_HOST = 2,
    ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
    ACL_MEMCPY_DEFAULT = 4
} aclrtMemcpyKind;

typedef enum {
    ACL_DDR_MEM = 0,
    ACL_HBM_MEM = 1,
    ACL_DDR_MEM_HUGE = 2,
    ACL_DDR_MEM_NORMAL = 3,
    ACL_HBM_MEM_HUGE = 4,
    ACL_HBM_MEM_NORMAL = 5
} aclrtMemAttr;

#define SIM_DECLARE(...) ACL_FUNC_VISIBILITY aclError __VA_ARGS__
SIM_DECLARE(aclrtSetDevice(int32_t deviceId));
SIM_DECLARE(aclrtResetDevice(int32_t deviceId));
SIM_DECLARE(aclrtResetDeviceForce(int32_t deviceId));
SIM_DECLARE(aclrtGetDevice(int32_t *deviceId));
SIM_DECLARE(aclrtGetDeviceCount(uint32_t *count));
SIM_DECLARE(aclrtGetRunMode(aclrtRunMode *runMode));
SIM_DECLARE(aclrtGetDeviceInfo(uint32_t deviceId, int32_t attr, int64_t *value));
SIM_DECLARE(aclrtCreateContext(aclrtContext *context, int32_t deviceId));
SIM_DECLARE(aclrtDestroyContext(aclrtContext context));
SIM_DECLARE(aclrtSetCurrentContext(aclrtContext context));
SIM_DECLARE(aclrtGetCurrentContext(aclrtContext *context));
SIM_DECLARE(aclrtCreateStream(aclrtStream *stream));
SIM_DECLARE(aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag));
SIM_DECLARE(aclrtDestroyStream(aclrtStream stream));
SIM_DECLARE(aclrtDestroyStreamForce(aclrtStream stream));
SIM_DECLARE(aclrtSynchronizeStream(aclrtStream stream));
SIM_DECLARE(aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout));
SIM_DECLARE(aclrtSynchronizeDevice(void));
SIM_DECLARE(aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status));
SIM_DECLARE(aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event));
SIM_DECLARE(aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy));
SIM_DECLARE(aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy));
SIM_DECLARE(aclrtFree(void *devPtr));
SIM_DECLARE(aclrtMallocHost(void **hostPtr, size_t size));
SIM_DECLARE(aclrtFreeHost(void *hostPtr));
SIM_DECLARE(aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind));
SIM_DECLARE(aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                             aclrtStream stream));
SIM_DECLARE(aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count));
SIM_DECLARE(aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream));
SIM_DECLARE(aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total));
SIM_DECLARE(aclrtCreateEvent(aclrtEvent *event));
SIM_DECLARE(aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag));
SIM_DECLARE(aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag));
SIM_DECLARE(aclrtDestroyEvent(aclrtEvent event));
SIM_DECLARE(aclrtRecordEvent(aclrtEvent event, aclrtStream stream));
SIM_DECLARE(aclrtSynchronizeEvent(aclrtEvent event));
SIM_DECLARE(aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout));
SIM_DECLARE(aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status));
SIM_DECLARE(aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent));
SIM_DECLARE(aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp));
SIM_DECLARE(aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value));
SIM_DECLARE(aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value));
SIM_DECLARE(aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value));
SIM_DECLARE(aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value));
SIM_DECLARE(aclrtSetOpExecuteTimeOut(uint32_t timeout));
SIM_DECLARE(aclrtPeekAtLastError(aclrtLastErrLevel level));
SIM_DECLARE(aclrtGetLastError(aclrtLastErrLevel level));
SIM_DECLARE(aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion));
ACL_FUNC_VISIBILITY const char *aclrtGetSocName(void);

#ifdef __cplusplus
}
#endif
#endif
