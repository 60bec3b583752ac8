/* libascendcl of the simulated CANN: initialisation, devices, contexts, streams, events, memory.
 *
 * A stream is a queue that is worked off when somebody waits for it, never earlier: a copy that forgot to
 * synchronise reads old data every time, not once in a hundred runs. Times are those of a virtual device clock: a task
 * begins when it was queued or when the one before it ended, whichever is later, and a synchronisation returns
 * when the real clock has caught up. So events measure what they would measure on a device that runs ahead. */
#include "sim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "account.h"
#include "half.h"

#define DEVICE_RANGE (UINT64_C(1) << 38)
#define HANDLE_RANGE (UINT64_C(1) << 34)
#define HANDLE_STEP 64
#define ALIGNMENT 512
#define PADDING 32
#define GUARD_BYTE 0xEE
#define FRESH_BYTE 0xCD
#define MOST_DEVICES 16
#define NEVER UINT64_MAX

typedef struct Stream {
    struct Stream *next;
    void *context; /* handle */
    void *handle;  /* NULL for a default stream */
    SimTask *head, **tail;
    uint64_t time;
} Stream;

typedef struct Context {
    int device;
    bool is_default;
    int error; /* after an exception of the device every call in the context returns it */
    Stream *default_stream;
    int64_t options[8];
} Context;

typedef struct {
    bool recorded, done;
    int pending;
    uint64_t time;
    Stream *stream;
} Event;

typedef struct {
    uint64_t address, size, span, met;
} Block;

typedef struct {
    SimKind kind;
    void *object;
} Entry;

static pthread_mutex_t mutex;
static unsigned char *device_base, *shadow_base;
static unsigned char *handle_base;
static Entry *entries;
static size_t entry_count, entry_room;
static long live_handles[SIM_KINDS];
static long default_contexts;

static Block *blocks;
static size_t block_count, block_room;
static uint64_t cursor;
static long used_bytes, peak_bytes, launches;
static uint64_t flushes = 1; /* of the L2: what was met since the last one is in it */
static void **host_buffers;
static size_t host_buffer_count;

static Stream *streams;
static struct {
    int references;
    void *context;
} devices[MOST_DEVICES];
static int init_count;
static pid_t init_pid;
static int64_t process_options[8];
static bool changed; /* since the last account */
static int32_t last_device = -1;
static _Thread_local void *current;
static _Thread_local int last_error;

/* ---------------------------------------------------------------- handles */

__attribute__((constructor)) static void prepare(void)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex, &recursive);
    device_base = mmap(NULL, DEVICE_RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    shadow_base = mmap(NULL, DEVICE_RANGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    handle_base = mmap(NULL, HANDLE_RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (device_base == MAP_FAILED || shadow_base == MAP_FAILED || handle_base == MAP_FAILED) {
        fprintf(stderr, "simulated CANN: no address space for the device\n");
        abort();
    }
}

void sim_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void sim_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

const char *sim_kind_name(SimKind kind)
{
    static const char *const names[SIM_KINDS] = {
        "",           "aclrtContext", "aclrtStream",   "aclrtEvent",    "aclTensor",    "aclScalar", "aclIntArray",
        "aclFloatArray", "aclBoolArray", "aclTensorList", "aclScalarList", "aclOpExecutor",
        "aclTensorDesc", "aclDataBuffer", "aclopAttr"};
    return names[kind];
}

void *sim_new_handle(SimKind kind, void *object)
{
    sim_lock();
    const char *again = getenv("SIM_CANN_HANDLES");
    for (size_t i = entry_count; again && strcmp(again, "reused") == 0 && i > 0; i--)
        if (!entries[i - 1].object) {
            entries[i - 1] = (Entry){kind, object};
            live_handles[kind]++;
            changed = true;
            sim_unlock();
            return handle_base + i * HANDLE_STEP;
        }
    if (entry_count == entry_room) {
        entry_room = entry_room ? 2 * entry_room : 1024;
        entries = realloc(entries, entry_room * sizeof *entries);
    }
    if (!entries || (entry_count + 1) * HANDLE_STEP >= HANDLE_RANGE)
        abort();
    entries[entry_count] = (Entry){kind, object};
    live_handles[kind]++;
    changed = true;
    void *handle = handle_base + ++entry_count * HANDLE_STEP; /* never the first address of the range */
    sim_unlock();
    return handle;
}

static Entry *entry_of(const void *handle)
{
    uint64_t distance = (uint64_t)handle - (uint64_t)handle_base;
    if (distance % HANDLE_STEP || distance / HANDLE_STEP < 1 || distance / HANDLE_STEP > entry_count)
        return NULL;
    return &entries[distance / HANDLE_STEP - 1];
}

void *sim_object(SimKind kind, const void *handle)
{
    sim_lock();
    Entry *entry = entry_of(handle);
    void *object = entry && entry->kind == kind ? entry->object : NULL;
    sim_unlock();
    return object;
}

bool sim_was_destroyed(const void *handle)
{
    sim_lock();
    Entry *entry = entry_of(handle);
    bool destroyed = entry && !entry->object;
    sim_unlock();
    return destroyed;
}

void *sim_drop_handle(SimKind kind, const void *handle)
{
    sim_lock();
    Entry *entry = entry_of(handle);
    void *object = NULL;
    if (entry && entry->kind == kind && entry->object) {
        object = entry->object;
        entry->object = NULL;
        live_handles[kind]--;
        changed = true;
    } else if (entry && !entry->object) {
        sim_lifetime_fault("%s destroyed twice", sim_kind_name(entry->kind));
    } else {
        sim_lifetime_fault("something that is no %s was destroyed as one", sim_kind_name(kind));
    }
    sim_unlock();
    return object;
}

static int fail(int code, const char *format, const char *detail)
{
    sim_error("EE1001", format, detail);
    return last_error = code;
}

/* ---------------------------------------------------------------- device memory */

bool sim_is_device_address(uint64_t address)
{
    return address - (uint64_t)device_base < DEVICE_RANGE;
}

static size_t first_block_after(uint64_t address) /* the first whose address is greater */
{
    size_t low = 0, high = block_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (blocks[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static Block *block_with(uint64_t address)
{
    size_t after = first_block_after(address);
    Block *block = after ? &blocks[after - 1] : NULL;
    return block && address < block->address + block->span ? block : NULL;
}

static unsigned char *shadow(uint64_t address)
{
    return shadow_base + (address - (uint64_t)device_base);
}

void *sim_device_memory(uint64_t address, uint64_t bytes)
{
    sim_lock();
    Block *block = block_with(address);
    bool inside = block && bytes <= block->size && address + bytes <= block->address + block->size;
    sim_unlock();
    return inside ? shadow(address) : NULL;
}

/* Without regard to allocations, for kernels that write where they must not. */
unsigned char *sim_raw_device_memory(uint64_t address, uint64_t bytes)
{
    return address >= (uint64_t)device_base && address + bytes <= (uint64_t)device_base + DEVICE_RANGE ? shadow(address)
                                                                                                       : NULL;
}

/* A cache that knows blocks of memory alone: small ones are always in it, and what is as large as it drives all out. */
bool sim_out_of_cache(uint64_t address)
{
    sim_lock();
    Block *block = block_with(address);
    bool out = block && block->size >= 1u << 20 && block->met != flushes;
    if (block)
        block->met = flushes;
    sim_unlock();
    return out;
}

static int64_t capacity(void)
{
    const char *text = getenv("SIM_CANN_MEMORY");
    return text && *text ? strtoll(text, NULL, 10) : sim_soc()->memory;
}

static uint64_t find_room(uint64_t span)
{
    uint64_t from = cursor ? cursor : (uint64_t)device_base + ALIGNMENT;
    for (int round = 0; round < 2; round++) {
        size_t next = first_block_after(from);
        if (next && blocks[next - 1].address + blocks[next - 1].span > from)
            from = blocks[next - 1].address + blocks[next - 1].span;
        for (; next < block_count; next++) {
            if (from + span <= blocks[next].address)
                return from;
            from = blocks[next].address + blocks[next].span;
        }
        if (from + span <= (uint64_t)device_base + DEVICE_RANGE)
            return from;
        from = (uint64_t)device_base + ALIGNMENT; /* addresses are used again only after a whole round */
    }
    return 0;
}

static int allocate(void **result, size_t size, bool padded, const char *name)
{
    int code = sim_function_fault(name, ACL_ERROR_RT_MEMORY_ALLOCATION);
    if (code)
        return last_error = code;
    if (!result)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: the pointer to the pointer is null", name);
    if (!size)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: the size is 0", name);
    if ((code = sim_require_context()))
        return code;
    sim_lock();
    size_t padding = padded ? PADDING : 0;
    uint64_t span = (size + padding + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (sim_function_kind(name, "tight"))
        span = (size + 63) / 64 * 64;
    uint64_t address = size < DEVICE_RANGE / 2 && used_bytes + (int64_t)size <= capacity() ? find_room(span) : 0;
    if (!address) {
        sim_unlock();
        char text[128];
        snprintf(text, sizeof text, "%zu bytes asked for, %ld in use", size, used_bytes);
        sim_error("EL0004", "Failed to allocate device memory: %s", text);
        return last_error = ACL_ERROR_RT_MEMORY_ALLOCATION;
    }
    if (block_count == block_room) {
        block_room = block_room ? 2 * block_room : 64;
        blocks = realloc(blocks, block_room * sizeof *blocks);
        if (!blocks)
            abort();
    }
    size_t at = first_block_after(address);
    memmove(&blocks[at + 1], &blocks[at], (block_count - at) * sizeof *blocks);
    blocks[at] = (Block){.address = address, .size = size, .span = span};
    block_count++;
    cursor = address + span;
    used_bytes += (long)size;
    if (used_bytes > peak_bytes)
        peak_bytes = used_bytes;
    changed = true;
    /* Fresh memory is not zero. Of a large block the ends are enough to show it. */
    size_t shown = size <= 64u << 20 ? size : 1u << 20;
    const char *fresh = getenv("SIM_CANN_FRESH"); /* real memory is often zero, and as often what was there before */
    int byte = fresh && strcmp(fresh, "zero") == 0 ? 0 : FRESH_BYTE;
    memset(shadow(address), byte, shown);
    memset(shadow(address) + size - shown, byte, shown);
    memset(shadow(address) + size, GUARD_BYTE, span - size);
    sim_unlock();
    *result = (void *)address;
    return ACL_SUCCESS;
}

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    (void)policy;
    return allocate(devPtr, size, true, "aclrtMalloc");
}

aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    (void)policy;
    return allocate(devPtr, size, false, "aclrtMallocAlign32");
}

static const SimTask *pending_user(uint64_t address, uint64_t bytes, bool only_writers)
{
    for (Stream *stream = streams; stream; stream = stream->next)
        for (SimTask *task = stream->head; task; task = task->next)
            for (int i = 0; i < task->use_count; i++) {
                const SimUse *use = &task->uses[i];
                if (use->address < address + bytes && address < use->address + use->bytes && (use->written || !only_writers))
                    return task;
            }
    return NULL;
}

static void work_off_everything(void);

aclError aclrtFree(void *devPtr)
{
    int code = sim_function_fault("aclrtFree", ACL_ERROR_INTERNAL_ERROR);
    if (code)
        return last_error = code;
    if (!devPtr)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: the pointer is null", "aclrtFree");
    sim_lock();
    uint64_t address = (uint64_t)devPtr;
    Block *block = block_with(address);
    if (!block || block->address != address) {
        sim_lifetime_fault("aclrtFree of an address that is not, or no longer, an allocation");
        sim_unlock();
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: not the address of an allocation", "aclrtFree");
    }
    const SimTask *user = pending_user(address, block->size, false);
    if (user) {
        sim_lifetime_fault("aclrtFree of a buffer of %llu bytes before the stream was synchronised: %s still uses it",
                           (unsigned long long)block->size, user->name);
        work_off_everything(); /* as if the device had been quick: real CANN does not punish this at once */
        block = block_with(address);
    }
    const unsigned char *guard = shadow(address) + block->size;
    for (uint64_t i = 0; i < block->span - block->size; i++)
        if (guard[i] != GUARD_BYTE) {
            sim_lifetime_fault("a kernel wrote past the end of a buffer of %llu bytes", (unsigned long long)block->size);
            break;
        }
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t from = ((uint64_t)shadow(address) + page - 1) / page * page;
    uint64_t to = ((uint64_t)shadow(address) + block->span) / page * page;
    if (from < to)
        madvise((void *)from, to - from, MADV_DONTNEED);
    used_bytes -= (long)block->size;
    memmove(block, block + 1, (size_t)(&blocks[--block_count] - block) * sizeof *block);
    changed = true;
    sim_unlock();
    return ACL_SUCCESS;
}

aclError aclrtMallocHost(void **hostPtr, size_t size)
{
    int code = sim_function_fault("aclrtMallocHost", ACL_ERROR_RT_MEMORY_ALLOCATION);
    if (code)
        return last_error = code;
    if (!hostPtr || !size)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer or size 0", "aclrtMallocHost");
    void *memory = NULL;
    if (posix_memalign(&memory, 64, size))
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of host memory", "aclrtMallocHost");
    memset(memory, FRESH_BYTE, size);
    sim_lock();
    host_buffers = realloc(host_buffers, (host_buffer_count + 1) * sizeof *host_buffers);
    host_buffers[host_buffer_count++] = memory;
    changed = true;
    sim_unlock();
    *hostPtr = memory;
    return ACL_SUCCESS;
}

aclError aclrtFreeHost(void *hostPtr)
{
    sim_lock();
    for (size_t i = 0; i < host_buffer_count; i++)
        if (host_buffers[i] == hostPtr) {
            host_buffers[i] = host_buffers[--host_buffer_count];
            changed = true;
            sim_unlock();
            free(hostPtr);
            return ACL_SUCCESS;
        }
    sim_unlock();
    return fail(ACL_ERROR_INVALID_PARAM, "%s: not the address of a host buffer", "aclrtFreeHost");
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free_bytes, size_t *total)
{
    (void)attr;
    int code = sim_function_fault("aclrtGetMemInfo", ACL_ERROR_INTERNAL_ERROR);
    if (code || (code = sim_require_context()))
        return code;
    if (!free_bytes || !total)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer", "aclrtGetMemInfo");
    *total = (size_t)capacity();
    *free_bytes = (size_t)(capacity() - used_bytes);
    return ACL_SUCCESS;
}

/* ---------------------------------------------------------------- contexts */

static int context_error(void)
{
    Context *context = sim_object(SIM_CONTEXT, current);
    return context ? context->error : 0;
}

int sim_require_context(void)
{
    if (sim_object(SIM_CONTEXT, current))
        return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "%s", "this thread has no context: call aclrtSetDevice or aclrtSetCurrentContext in it");
}

static Stream *new_stream(void *context)
{
    Stream *stream = calloc(1, sizeof *stream);
    stream->context = context;
    stream->tail = &stream->head;
    stream->next = streams;
    streams = stream;
    return stream;
}

static void drop_tasks(Stream *stream)
{
    while (stream->head) {
        SimTask *task = stream->head;
        stream->head = task->next;
        task->release(task);
    }
    stream->tail = &stream->head;
}

static void free_stream(Stream *stream)
{
    drop_tasks(stream);
    for (Stream **at = &streams; *at; at = &(*at)->next)
        if (*at == stream) {
            *at = stream->next;
            break;
        }
    free(stream);
}

static void *new_context(int device, bool is_default)
{
    Context *context = calloc(1, sizeof *context);
    context->device = device;
    context->is_default = is_default;
    void *handle = sim_new_handle(SIM_CONTEXT, context);
    context->default_stream = new_stream(handle);
    default_contexts += is_default;
    return handle;
}

static void free_context(void *handle)
{
    Context *context = sim_drop_handle(SIM_CONTEXT, handle);
    if (!context)
        return;
    default_contexts -= context->is_default;
    free_stream(context->default_stream);
    free(context);
}


/* The devices that ASCEND_RT_VISIBLE_DEVICES leaves: reading stops at the first bad id. */
static int device_count(void)
{
    const char *text = getenv("SIM_CANN_DEVICES");
    int count = text && *text ? atoi(text) : 1;
    if (count > MOST_DEVICES)
        count = MOST_DEVICES;
    const char *visible = getenv("ASCEND_RT_VISIBLE_DEVICES");
    if (!visible)
        return count;
    int seen = 0, before = -1;
    for (const char *at = visible; *at; seen++) {
        char *end;
        long id = strtol(at, &end, 10);
        if (end == at || id <= before || id >= count)
            break;
        before = (int)id;
        if (*end && *end != ',')
            break;
        at = *end ? end + 1 : end;
    }
    return seen;
}

bool sim_initialised(void)
{
    return init_count > 0;
}

/* SIM_CANN_OPENS=N,FILE: the device opens N times, in whichever process; FILE has one byte an attempt. */
static bool opens(void)
{
    const char *text = getenv("SIM_CANN_OPENS");
    const char *comma = text ? strchr(text, ',') : NULL;
    if (!comma)
        return true;
    FILE *file = fopen(comma + 1, "ab");
    if (!file)
        return true;
    fputc('.', file);
    long attempts = ftell(file);
    fclose(file);
    return attempts <= atol(text);
}

aclError aclrtSetDevice(int32_t deviceId)
{
    int code = sim_function_fault("aclrtSetDevice", ACL_ERROR_RT_DEV_SETUP_ERROR);
    if (code)
        return last_error = code;
    if (!sim_initialised())
        return fail(ACL_ERROR_UNINITIALIZE, "%s before aclInit", "aclrtSetDevice");
    if (init_pid != getpid()) {
        sim_lifetime_fault("the process was forked after aclInit");
        return fail(ACL_ERROR_RT_DEV_SETUP_ERROR, "%s in a process that was forked after aclInit", "aclrtSetDevice");
    }
    if (deviceId < 0 || deviceId >= device_count())
        return fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s: no such device", "aclrtSetDevice");
    if (!opens())
        return fail(ACL_ERROR_RT_DEV_SETUP_ERROR, "%s: the device is lost", "aclrtSetDevice");
    sim_lock();
    if (!devices[deviceId].references++)
        devices[deviceId].context = new_context(deviceId, true);
    current = devices[deviceId].context;
    last_device = deviceId;
    changed = true;
    sim_unlock();
    return ACL_SUCCESS;
}

static int reset_device(int32_t id, const char *name, bool force)
{
    int code = sim_function_fault(name, ACL_ERROR_INTERNAL_ERROR);
    if (code)
        return last_error = code;
    if (id < 0 || id >= MOST_DEVICES || !devices[id].references)
        return fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s: the device is not set", name);
    sim_lock();
    changed = true;
    if (force || devices[id].references == 1) {
        if (block_count || live_handles[SIM_STREAM] || live_handles[SIM_EVENT])
            sim_lifetime_fault("device %d was reset with %zu buffers, %ld streams and %ld events alive", id, block_count,
                               live_handles[SIM_STREAM], live_handles[SIM_EVENT]);
        free_context(devices[id].context);
        devices[id].references = 0;
    } else {
        devices[id].references--;
    }
    sim_unlock();
    return ACL_SUCCESS;
}

aclError aclrtResetDevice(int32_t deviceId)
{
    return reset_device(deviceId, "aclrtResetDevice", false);
}

aclError aclrtResetDeviceForce(int32_t deviceId)
{
    return reset_device(deviceId, "aclrtResetDeviceForce", true);
}

aclError aclrtGetDevice(int32_t *deviceId)
{
    int code = sim_require_context();
    if (code)
        return code;
    if (!deviceId)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer", "aclrtGetDevice");
    *deviceId = ((Context *)sim_object(SIM_CONTEXT, current))->device;
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceCount(uint32_t *count)
{
    int code = sim_function_fault("aclrtGetDeviceCount", ACL_ERROR_INTERNAL_ERROR);
    if (code)
        return last_error = code;
    if (!count)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer", "aclrtGetDeviceCount");
    *count = (uint32_t)device_count();
    return ACL_SUCCESS;
}

aclError aclrtGetRunMode(aclrtRunMode *runMode)
{
    if (!runMode)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer", "aclrtGetRunMode");
    *runMode = ACL_HOST;
    return ACL_SUCCESS;
}

aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId)
{
    int code = sim_function_fault("aclrtCreateContext", ACL_ERROR_INTERNAL_ERROR);
    if (code)
        return last_error = code;
    if (!sim_initialised())
        return fail(ACL_ERROR_UNINITIALIZE, "%s before aclInit", "aclrtCreateContext");
    if (!context)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer", "aclrtCreateContext");
    if (deviceId < 0 || deviceId >= device_count())
        return fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s: no such device", "aclrtCreateContext");
    sim_lock();
    *context = current = new_context(deviceId, false);
    sim_unlock();
    return ACL_SUCCESS;
}

aclError aclrtDestroyContext(aclrtContext context)
{
    Context *object = sim_object(SIM_CONTEXT, context);
    if (!object)
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: not a live context", "aclrtDestroyContext");
    if (object->is_default)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the default context goes with aclrtResetDevice", "aclrtDestroyContext");
    sim_lock();
    free_context(context);
    sim_unlock();
    return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext context)
{
    if (!sim_object(SIM_CONTEXT, context))
        return fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: not a live context", "aclrtSetCurrentContext");
    current = context;
    return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext *context)
{
    int code = sim_require_context();
    if (code)
        return code;
    if (!context)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer", "aclrtGetCurrentContext");
    *context = current;
    return ACL_SUCCESS;
}

/* ---------------------------------------------------------------- streams */

static int find_stream(aclrtStream handle, Stream **stream)
{
    int code = sim_require_context();
    if (code)
        return code;
    if (!handle) {
        *stream = ((Context *)sim_object(SIM_CONTEXT, current))->default_stream;
        return ACL_SUCCESS;
    }
    *stream = sim_object(SIM_STREAM, handle);
    if (!*stream) {
        if (sim_was_destroyed(handle))
            sim_lifetime_fault("a stream was used after it was destroyed");
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "%s", "not a live stream");
    }
    if ((*stream)->context != current)
        return fail(ACL_ERROR_RT_STREAM_CONTEXT, "%s", "the stream belongs to another context than the one of this thread");
    return ACL_SUCCESS;
}

int sim_enqueue(aclrtStream handle, SimTask *task)
{
    sim_lock();
    Stream *stream;
    int code = find_stream(handle, &stream);
    if (!code && context_error())
        code = context_error();
    if (!code) {
        task->next = NULL;
        task->enqueued = sim_now();
        *stream->tail = task;
        stream->tail = &task->next;
    }
    sim_unlock();
    return code;
}

/* Works the queue off up to a task that hangs; the time of the stream is then "never". */
static void work_off(Stream *stream)
{
    while (stream->head && stream->time != NEVER) {
        SimTask *task = stream->head;
        if (task->hangs) {
            stream->time = NEVER;
            return;
        }
        uint64_t start = task->enqueued > stream->time ? task->enqueued : stream->time;
        uint64_t before = sim_now();
        stream->time = start; /* what the task sees; a wait for an event may move it on */
        int code = task->run(task, start);
        double duration = task->duration < 0 ? (double)(sim_now() - before) * (task->cold ? 4 : 1) : task->duration;
        if (stream->time != NEVER)
            stream->time += (uint64_t)duration;
        stream->head = task->next;
        if (!stream->head)
            stream->tail = &stream->head;
        task->release(task);
        Context *context = sim_object(SIM_CONTEXT, stream->context);
        if (code && context && !context->error)
            context->error = code;
        if (code)
            drop_tasks(stream);
    }
}

static void work_off_everything(void)
{
    for (Stream *stream = streams; stream; stream = stream->next)
        work_off(stream);
}

/* Called without the lock: sleeps until the real clock has reached `moment`, at most `timeout` ms. */
static bool wait_until(uint64_t moment, int32_t timeout)
{
    uint64_t limit = timeout < 0 ? NEVER : sim_now() + (uint64_t)timeout * 1000000;
    while (sim_now() < moment) {
        if (sim_now() >= limit)
            return false;
        uint64_t next = moment < limit ? moment : limit, step = sim_now() + 50000000;
        sim_sleep_until(next < step ? next : step);
    }
    return true;
}

static int synchronise(aclrtStream handle, int32_t timeout, const char *name)
{
    int code = sim_function_fault(name, ACL_ERROR_RT_AICORE_EXCEPTION);
    if (code)
        return last_error = code;
    sim_lock();
    Stream *stream;
    code = find_stream(handle, &stream);
    if (code) {
        sim_unlock();
        return code;
    }
    work_off(stream);
    uint64_t moment = stream->time;
    code = context_error();
    sim_unlock();
    if (code)
        return last_error = code;
    return wait_until(moment, timeout) ? ACL_SUCCESS
                                       : fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "%s: out of time", name);
}

aclError aclrtCreateStream(aclrtStream *stream)
{
    return aclrtCreateStreamWithConfig(stream, 0, 0);
}

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag)
{
    (void)priority, (void)flag;
    int code = sim_function_fault("aclrtCreateStream", ACL_ERROR_INTERNAL_ERROR);
    if (code)
        return last_error = code;
    if ((code = sim_require_context()))
        return code;
    if (!stream)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer", "aclrtCreateStream");
    sim_lock();
    Stream *object = new_stream(current);
    *stream = object->handle = sim_new_handle(SIM_STREAM, object);
    sim_unlock();
    return ACL_SUCCESS;
}

static int destroy_stream(aclrtStream handle, bool force)
{
    sim_lock();
    Stream *stream;
    int code = handle ? find_stream(handle, &stream)
                      : fail(ACL_ERROR_INVALID_PARAM, "%s: the default stream cannot be destroyed", "aclrtDestroyStream");
    if (!code) {
        if (!force)
            work_off(stream);
        sim_drop_handle(SIM_STREAM, handle);
        free_stream(stream);
    }
    sim_unlock();
    return code;
}

aclError aclrtDestroyStream(aclrtStream stream)
{
    return destroy_stream(stream, false);
}

aclError aclrtDestroyStreamForce(aclrtStream stream)
{
    return destroy_stream(stream, true);
}

aclError aclrtSynchronizeStream(aclrtStream stream)
{
    return synchronise(stream, -1, "aclrtSynchronizeStream");
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout)
{
    return synchronise(stream, timeout, "aclrtSynchronizeStreamWithTimeout");
}

aclError aclrtSynchronizeDevice(void)
{
    int code = sim_function_fault("aclrtSynchronizeDevice", ACL_ERROR_RT_AICORE_EXCEPTION);
    if (code || (code = sim_require_context()))
        return code;
    sim_lock();
    work_off_everything();
    uint64_t moment = 0;
    for (Stream *stream = streams; stream; stream = stream->next)
        if (stream->time > moment)
            moment = stream->time;
    code = context_error();
    sim_unlock();
    if (code)
        return last_error = code;
    wait_until(moment, -1);
    return ACL_SUCCESS;
}

aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus *status)
{
    sim_lock();
    Stream *stream;
    int code = find_stream(handle, &stream);
    if (!code) {
        work_off(stream); /* whoever polls must see progress */
        code = context_error();
        *status = stream->time <= sim_now() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    }
    sim_unlock();
    return code;
}

/* ---------------------------------------------------------------- copies */

typedef struct {
    SimTask task;
    unsigned char *to;
    const unsigned char *from;
    int value;
    size_t count;
    bool past_the_cache;
    SimUse uses[2];
} Transfer;

static int run_transfer(SimTask *task, uint64_t start)
{
    (void)start;
    Transfer *transfer = (Transfer *)task;
    for (int i = 0; i < task->use_count; i++)
        if (!sim_device_memory(task->uses[i].address, task->uses[i].bytes)) {
            sim_error("EE9999", "%s: the device memory is gone", task->name);
            return ACL_ERROR_RT_AICORE_EXCEPTION;
        }
    if (transfer->from)
        memmove(transfer->to, transfer->from, transfer->count);
    else
        memset(transfer->to, transfer->value, transfer->count);
    flushes += transfer->count >= (size_t)sim_soc()->l2 && !transfer->past_the_cache;
    return 0;
}

static void release_transfer(SimTask *task)
{
    free(task);
}

/* Checks one side of a copy and finds the memory behind it. */
static unsigned char *side(const void *pointer, size_t bytes, bool should_be_device, const char *name, int *code)
{
    uint64_t address = (uint64_t)pointer;
    if (sim_is_device_address(address) != should_be_device) {
        *code = fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the kind of the copy does not fit the pointers", name);
        return NULL;
    }
    if (!should_be_device)
        return (unsigned char *)address;
    unsigned char *memory = sim_device_memory(address, bytes);
    if (!memory)
        *code = fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the range is not inside one live allocation", name);
    return memory;
}

static int transfer(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind, bool fill, int value,
                    bool async, aclrtStream stream, const char *name)
{
    int code = sim_function_fault(name, ACL_ERROR_RT_PARAM_INVALID);
    if (code || (code = sim_require_context()))
        return last_error = code;
    if (!dst || (!fill && !src))
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer", name);
    if (!count || count > destMax)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the count is 0 or more than the destination holds", name);
    bool to_device = sim_is_device_address((uint64_t)dst), from_device = !fill && sim_is_device_address((uint64_t)src);
    if (!fill && kind != ACL_MEMCPY_DEFAULT) {
        to_device = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
        from_device = kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
    }
    if (fill)
        to_device = true;
    sim_lock();
    Transfer work = {.value = value, .count = count};
    work.to = side(dst, count, to_device, name, &code);
    if (!code && !fill)
        work.from = side(src, count, from_device, name, &code);
    if (!code)
        code = context_error();
    if (code) {
        sim_unlock();
        return code;
    }
    const SimFault *odd = sim_function_kind(name, "aligned"), *blocks_of = sim_function_kind(name, "blocks");
    if (odd && to_device)
        work.to -= (uint64_t)dst % (uint64_t)sim_fault_number(odd, 32);
    uint64_t whole = blocks_of ? (uint64_t)sim_fault_number(blocks_of, 32) : 1;
    work.count = (count + whole - 1) / whole * whole;
    work.past_the_cache = sim_function_kind(name, "bypass") != NULL;
    int uses = 0;
    if (to_device)
        work.uses[uses++] = (SimUse){(uint64_t)dst, count, true};
    if (from_device)
        work.uses[uses++] = (SimUse){(uint64_t)src, count, false};
    if (async) {
        Transfer *task = malloc(sizeof *task);
        *task = work;
        task->task = (SimTask){.name = name, .run = run_transfer, .release = release_transfer, .duration = -1};
        task->task.uses = task->uses;
        task->task.use_count = uses;
        code = sim_enqueue(stream, &task->task);
        if (code)
            free(task);
        sim_unlock();
        return code;
    }
    for (int i = 0; i < uses; i++) {
        const SimTask *user = pending_user(work.uses[i].address, count, !work.uses[i].written);
        if (user) {
            sim_lifetime_fault("%s %s a buffer before the stream was synchronised: %s is still pending", name,
                               work.uses[i].written ? "writes" : "reads", user->name);
            break;
        }
    }
    if (work.from)
        memmove(work.to, work.from, work.count);
    else
        memset(work.to, value, work.count);
    sim_unlock();
    return ACL_SUCCESS;
}

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind)
{
    return transfer(dst, destMax, src, count, kind, false, 0, false, NULL, "aclrtMemcpy");
}

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream)
{
    return transfer(dst, destMax, src, count, kind, false, 0, true, stream, "aclrtMemcpyAsync");
}

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count)
{
    return transfer(devPtr, maxCount, NULL, count, ACL_MEMCPY_DEFAULT, true, value, false, NULL, "aclrtMemset");
}

aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream)
{
    return transfer(devPtr, maxCount, NULL, count, ACL_MEMCPY_DEFAULT, true, value, true, stream, "aclrtMemsetAsync");
}

/* ---------------------------------------------------------------- events */

typedef struct {
    SimTask task;
    void *event; /* handle: the event may be gone when the task runs */
    Stream *stream;
} Marker;

static int run_record(SimTask *task, uint64_t start)
{
    Event *event = sim_object(SIM_EVENT, ((Marker *)task)->event);
    if (event && --event->pending == 0) {
        event->done = true;
        event->time = start;
    }
    return 0;
}

static int run_wait(SimTask *task, uint64_t start)
{
    Marker *marker = (Marker *)task;
    Event *event = sim_object(SIM_EVENT, marker->event);
    if (!event || !event->recorded)
        return 0;
    if (!event->done && event->stream != marker->stream)
        work_off(event->stream);
    if (!event->done)
        marker->stream->time = NEVER;
    else if (event->time > start)
        marker->stream->time = event->time;
    return 0;
}

static int mark(aclrtEvent handle, aclrtStream stream_handle, bool wait)
{
    const char *name = wait ? "aclrtStreamWaitEvent" : "aclrtRecordEvent";
    int code = sim_function_fault(name, ACL_ERROR_INTERNAL_ERROR);
    if (code)
        return last_error = code;
    Event *event = sim_object(SIM_EVENT, handle);
    if (!event)
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: not a live event", name);
    sim_lock();
    Stream *stream;
    code = find_stream(stream_handle, &stream);
    if (!code) {
        Marker *marker = calloc(1, sizeof *marker);
        marker->event = handle;
        marker->stream = stream;
        marker->task = (SimTask){.name = name, .run = wait ? run_wait : run_record, .release = release_transfer};
        code = sim_enqueue(stream_handle, &marker->task);
        if (code) {
            free(marker);
        } else if (!wait) {
            event->recorded = true;
            event->done = false;
            event->pending++;
            event->stream = stream;
        }
    }
    sim_unlock();
    return code;
}

aclError aclrtCreateEvent(aclrtEvent *event)
{
    return aclrtCreateEventWithFlag(event, 0);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag)
{
    return aclrtCreateEventWithFlag(event, flag);
}

aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag)
{
    (void)flag;
    int code = sim_function_fault("aclrtCreateEvent", ACL_ERROR_INTERNAL_ERROR);
    if (code || (code = sim_require_context()))
        return code;
    if (!event)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer", "aclrtCreateEvent");
    *event = sim_new_handle(SIM_EVENT, calloc(1, sizeof(Event)));
    return ACL_SUCCESS;
}

aclError aclrtDestroyEvent(aclrtEvent event)
{
    Event *object = sim_drop_handle(SIM_EVENT, event);
    if (!object)
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: not a live event", "aclrtDestroyEvent");
    free(object);
    return ACL_SUCCESS;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream)
{
    return mark(event, stream, false);
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event)
{
    return mark(event, stream, true);
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent handle, int32_t timeout)
{
    int code = sim_function_fault("aclrtSynchronizeEvent", ACL_ERROR_RT_AICORE_EXCEPTION);
    if (code || (code = sim_require_context()))
        return code;
    sim_lock();
    Event *event = sim_object(SIM_EVENT, handle);
    if (!event) {
        sim_unlock();
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: not a live event", "aclrtSynchronizeEvent");
    }
    if (event->recorded && !event->done)
        work_off(event->stream);
    uint64_t moment = !event->recorded ? 0 : event->done ? event->time : NEVER;
    code = context_error();
    sim_unlock();
    if (code)
        return last_error = code;
    return wait_until(moment, timeout) ? ACL_SUCCESS
                                       : fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "%s: out of time", "aclrtSynchronizeEvent");
}

aclError aclrtSynchronizeEvent(aclrtEvent event)
{
    return aclrtSynchronizeEventWithTimeout(event, -1);
}

aclError aclrtQueryEventStatus(aclrtEvent handle, aclrtEventRecordedStatus *status)
{
    sim_lock();
    Event *event = sim_object(SIM_EVENT, handle);
    if (!event || !status) {
        sim_unlock();
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: not a live event", "aclrtQueryEventStatus");
    }
    if (event->recorded && !event->done)
        work_off(event->stream);
    bool complete = !event->recorded || (event->done && event->time <= sim_now());
    *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    int code = context_error();
    sim_unlock();
    return code;
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent)
{
    int code = sim_function_fault("aclrtEventElapsedTime", ACL_ERROR_INTERNAL_ERROR);
    if (code)
        return last_error = code;
    Event *start = sim_object(SIM_EVENT, startEvent), *end = sim_object(SIM_EVENT, endEvent);
    if (!ms || !start || !end)
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: not two live events", "aclrtEventElapsedTime");
    if (!start->done || !end->done)
        return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "%s: an event is not recorded or not complete", "aclrtEventElapsedTime");
    if (end->time < start->time)
        return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "%s: the end lies before the start", "aclrtEventElapsedTime");
    const SimFault *unit = sim_function_kind("aclrtEventElapsedTime", "scale");
    *ms = (float)((double)(end->time - start->time) / 1e6 * (unit ? (double)sim_fault_number(unit, 1000) : 1));
    return ACL_SUCCESS;
}

aclError aclrtEventGetTimestamp(aclrtEvent handle, uint64_t *timestamp)
{
    Event *event = sim_object(SIM_EVENT, handle);
    if (!event || !timestamp)
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: not a live event", "aclrtEventGetTimestamp");
    if (!event->done)
        return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "%s: the event is not complete", "aclrtEventGetTimestamp");
    *timestamp = event->time / 1000;
    return ACL_SUCCESS;
}

/* ---------------------------------------------------------------- initialisation, the account */

static void account(const char *at)
{
    sim_lock();
    SimAccount sums = {
        .peak = peak_bytes, .launches = launches, .deterministic = (long)process_options[0], .device = last_device};
    long *live = sums.live;
    live[LIVE_TENSORS] = live_handles[SIM_TENSOR] + live_handles[SIM_TENSOR_DESC] + live_handles[SIM_DATA_BUFFER];
    live[LIVE_SCALARS] = live_handles[SIM_SCALAR];
    live[LIVE_LISTS] = live_handles[SIM_TENSOR_LIST] + live_handles[SIM_SCALAR_LIST];
    live[LIVE_ARRAYS] = live_handles[SIM_INT_ARRAY] + live_handles[SIM_FLOAT_ARRAY] + live_handles[SIM_BOOL_ARRAY] +
                        live_handles[SIM_OP_ATTR];
    live[LIVE_EXECUTORS] = live_handles[SIM_EXECUTOR];
    live[LIVE_STREAMS] = live_handles[SIM_STREAM];
    live[LIVE_EVENTS] = live_handles[SIM_EVENT];
    live[LIVE_CONTEXTS] = live_handles[SIM_CONTEXT] - default_contexts;
    live[LIVE_BUFFERS] = (long)block_count;
    live[LIVE_HOST_BUFFERS] = (long)host_buffer_count;
    live[LIVE_BYTES] = used_bytes;
    for (int i = 0; i < MOST_DEVICES; i++)
        live[LIVE_DEVICES] += devices[i].references;
    sim_write_account(at, &sums);
    changed = false;
    sim_unlock();
}

__attribute__((destructor)) static void account_at_exit(void)
{
    if (changed && init_pid == getpid())
        account("exit");
}

int sim_initialise(void)
{
    sim_lock();
    init_count++;
    init_pid = getpid();
    changed = true;
    sim_unlock();
    return ACL_SUCCESS;
}

aclError aclInit(const char *configPath)
{
    int code = sim_function_fault("aclInit", ACL_ERROR_INTERNAL_ERROR);
    if (code)
        return last_error = code;
    if (configPath && *configPath && access(configPath, R_OK))
        return fail(ACL_ERROR_INVALID_PARAM, "aclInit: cannot read %s", configPath);
    bool again = sim_initialised();
    sim_initialise();
    return again ? fail(ACL_ERROR_REPEAT_INITIALIZE, "%s called again", "aclInit") : ACL_SUCCESS;
}

aclError aclFinalizeReference(uint64_t *refCount)
{
    int code = sim_function_fault("aclFinalize", ACL_ERROR_INTERNAL_ERROR);
    if (code)
        return last_error = code;
    if (!sim_initialised())
        return fail(ACL_ERROR_REPEAT_FINALIZE, "%s without aclInit, or again", "aclFinalize");
    sim_lock();
    init_count--;
    int left = init_count;
    changed = true;
    sim_unlock();
    if (refCount)
        *refCount = (uint64_t)left;
    if (!left)
        account("finalize");
    return ACL_SUCCESS;
}

aclError aclFinalize(void)
{
    sim_lock();
    if (init_count > 1)
        init_count = 1; /* aclFinalize ends it however often aclInit was called */
    sim_unlock();
    return aclFinalizeReference(NULL);
}

/* ---------------------------------------------------------------- what is asked about the device */

static const SimSoc SOCS[] = {
    {"Ascend910B1", "atlas_a2", 24, 48, INT64_C(201326592), INT64_C(68719476736)},
    {"Ascend910B2", "atlas_a2", 24, 48, INT64_C(201326592), INT64_C(68719476736)},
    {"Ascend910B3", "atlas_a2", 20, 40, INT64_C(201326592), INT64_C(68719476736)},
    {"Ascend910B4", "atlas_a2", 20, 40, INT64_C(100663296), INT64_C(34359738368)},
    {"Ascend910_9391", "atlas_a3", 24, 48, INT64_C(201326592), INT64_C(68719476736)},
    {"Ascend910_9382", "atlas_a3", 24, 48, INT64_C(201326592), INT64_C(68719476736)},
    {"Ascend950DT_9595", "ascend950", 36, 72, INT64_C(134217728), INT64_C(103079215104)},
    {"Ascend950PR_9599", "ascend950", 36, 72, INT64_C(134217728), INT64_C(137438953472)},
    {"Ascend310P3", "atlas_inference", 8, 7, INT64_C(16777216), INT64_C(24000000000)},
    {"Ascend310B1", "atlas_200i_500_a2", 1, 1, INT64_C(4194304), INT64_C(34359738368)},
    {"Ascend910A", "atlas_training", 32, 32, INT64_C(33554432), INT64_C(34359738368)},
};

const SimSoc *sim_soc(void)
{
    const char *name = getenv("SIM_CANN_SOC");
    for (size_t i = 0; i < sizeof SOCS / sizeof *SOCS; i++)
        if (strcmp(name && *name ? name : "Ascend910B2", SOCS[i].name) == 0)
            return &SOCS[i];
    fprintf(stderr, "simulated CANN: SIM_CANN_SOC: no such SoC '%s'\n", name);
    abort();
}

const char *aclrtGetSocName(void)
{
    return sim_soc()->name;
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t *value)
{
    if (!value || deviceId >= (uint32_t)device_count() || deviceInfo < 0 || deviceInfo > 2)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer, no such device or no such property", "aclGetDeviceCapability");
    const SimSoc *soc = sim_soc();
    *value = deviceInfo == 0 ? soc->ai_cores : deviceInfo == 1 ? soc->vector_cores : soc->l2;
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, int32_t attr, int64_t *value)
{
    if (!value || deviceId >= (uint32_t)device_count())
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer or no such device", "aclrtGetDeviceInfo");
    const SimSoc *soc = sim_soc();
    switch (attr) {
    case 1: /* AI cores */
    case 101:
        *value = soc->ai_cores;
        return ACL_SUCCESS;
    case 201: /* vector cores */
        *value = soc->vector_cores;
        return ACL_SUCCESS;
    default:
        return fail(ACL_ERROR_INVALID_PARAM, "%s: no such property", "aclrtGetDeviceInfo");
    }
}

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t *value)
{
    if (!value || cannAttr < 0 || cannAttr > ACL_CANN_ATTR_JIT_COMPILE)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer or no such attribute", "aclGetCannAttribute");
    bool recent = strncmp(sim_soc()->name, "Ascend910B", 10) == 0 || strncmp(sim_soc()->name, "Ascend910_", 10) == 0 ||
                  strncmp(sim_soc()->name, "Ascend950", 9) == 0;
    *value = cannAttr == ACL_CANN_ATTR_JIT_COMPILE ? 0 : recent;
    return ACL_SUCCESS;
}

static const char *cann_version(void)
{
    const char *version = getenv("SIM_CANN_VERSION");
    return version && *version ? version : "9.1.0";
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion *version)
{
    (void)name;
    if (!version)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer", "aclsysGetCANNVersion");
    memset(version, 0, sizeof *version);
    snprintf(version->version, sizeof version->version, "%s", cann_version());
    sscanf(cann_version(), "%63[^.].%63[^.].%63s", version->majorVersion, version->minorVersion, version->releaseVersion);
    return ACL_SUCCESS;
}

aclError aclsysGetVersionStr(char *pkgName, char *versionStr)
{
    if (!pkgName || !versionStr)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer", "aclsysGetVersionStr");
    strcpy(versionStr, cann_version());
    return ACL_SUCCESS;
}

aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion)
{
    if (!majorVersion || !minorVersion || !patchVersion)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer", "aclrtGetVersion");
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return ACL_SUCCESS;
}

static int option(int64_t *options, aclSysParamOpt opt, int64_t value)
{
    if (opt < 0 || opt > ACL_OPT_ENABLE_KERNEL_EARLY_START)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: no such option", "aclrtSetSysParamOpt");
    options[opt] = value;
    return ACL_SUCCESS;
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value)
{
    int code = sim_function_fault("aclrtSetSysParamOpt", ACL_ERROR_RT_PARAM_INVALID);
    return code ? code : option(process_options, opt, value);
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value)
{
    if (!value || opt < 0 || opt > ACL_OPT_ENABLE_KERNEL_EARLY_START)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: null pointer or no such option", "aclrtGetSysParamOpt");
    *value = process_options[opt];
    return ACL_SUCCESS;
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value)
{
    int code = sim_require_context();
    return code ? code : option(((Context *)sim_object(SIM_CONTEXT, current))->options, opt, value);
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value)
{
    int code = sim_require_context();
    if (code)
        return code;
    if (!value || opt < 0 || opt > ACL_OPT_ENABLE_KERNEL_EARLY_START)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: null pointer or no such option", "aclrtCtxGetSysParamOpt");
    *value = ((Context *)sim_object(SIM_CONTEXT, current))->options[opt];
    return ACL_SUCCESS;
}

bool sim_deterministic(void)
{
    Context *context = sim_object(SIM_CONTEXT, current);
    return process_options[0] || (context && context->options[0]);
}

void sim_count_launch(void)
{
    sim_lock();
    launches++;
    sim_unlock();
}

aclError aclrtSetOpExecuteTimeOut(uint32_t timeout)
{
    (void)timeout;
    return sim_require_context();
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level)
{
    (void)level;
    return last_error;
}

aclError aclrtGetLastError(aclrtLastErrLevel level)
{
    (void)level;
    int code = last_error;
    last_error = 0;
    return code;
}

/* The sizes of the real function, its oddities included: 1 for four-bit and one-bit types, 8 for fp6 and fp4. */
size_t aclDataTypeSize(aclDataType dataType)
{
    switch (dataType) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
    case ACL_INT4:
    case ACL_UINT1:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
        return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
        return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
        return 4;
    case ACL_COMPLEX128:
        return 16;
    case ACL_STRING:
    case ACL_DT_UNDEFINED:
        return 0;
    default:
        return 8;
    }
}

float aclFloat16ToFloat(aclFloat16 value)
{
    return from_half(value);
}

aclFloat16 aclFloatToFloat16(float value)
{
    return to_half(value, false);
}
