/* How an operator of the simulated CANN is written: checks in phase 1, a kernel that runs on the stream. */
#ifndef SIM_OP_H
#define SIM_OP_H

#include <math.h>
#include <stdlib.h>

#include "aclnn/aclnn_base.h"
#include "half.h"
#include "sim.h"

#define MOST_DIMS 32

typedef struct {
    int32_t dtype, format;
    int rank, storage_rank;
    int64_t dims[MOST_DIMS], strides[MOST_DIMS], storage[MOST_DIMS];
    int64_t offset;
    uint64_t data;
} SimTensor;

typedef struct {
    int32_t dtype;
    unsigned char bytes[16];
} SimScalar;

typedef struct {
    uint64_t count;
    void *values; /* int64_t, float, bool, or handles */
} SimArray;

typedef enum { SIM_IN = 1, SIM_OUT = 2, SIM_INOUT = 3 } SimRole;

/* One tensor of a call: a flat list, members of tensor lists one by one, NULL handle for an absent one. */
typedef struct {
    const char *name;
    const void *handle;
    SimRole role;
    int parameter, member;
    SimTensor tensor;
    /* At the launch: */
    unsigned char *memory;
    int64_t count;
    bool flat, truncate;
} SimArg;

typedef struct {
    const char *op;
    int count;
    SimArg *args;
    const void *values;
    unsigned char *workspace;
    uint64_t workspace_size;
} SimLaunch;

typedef int (*SimKernel)(const SimLaunch *launch); /* 0, or the code that the synchronisation shall return */
typedef struct SimBuild SimBuild;

/* Phase 1. `sim_begin` counts the call and applies a fault of phase 1; every look-up of a handle that is not alive
 * makes the next REQUIRE fail. */
SIM_API SimBuild *sim_begin(const char *op, bool generated);
SIM_API const SimTensor *sim_tensor(SimBuild *build, const char *name, const aclTensor *handle, SimRole role);
SIM_API int sim_tensors(SimBuild *build, const char *name, const aclTensorList *handle, SimRole role,
                        const SimTensor **members, int room); /* the number of members, -1 for NULL */
SIM_API const SimScalar *sim_scalar(SimBuild *build, const char *name, const aclScalar *handle);
SIM_API const SimScalar *sim_scalar_of_list(SimBuild *build, const aclScalarList *handle, int index);
SIM_API const SimArray *sim_array(SimBuild *build, const char *name, SimKind kind, const void *handle);
SIM_API void sim_attribute(SimBuild *build, const char *name, const char *format, ...) SIM_PRINTF(3);
SIM_API bool sim_broken(SimBuild *build);
SIM_API aclnnStatus sim_refuse(SimBuild *build, aclnnStatus code, const char *format, ...) SIM_PRINTF(3);
SIM_API aclnnStatus sim_finish(SimBuild *build, SimKernel kernel, const void *values, size_t size, uint64_t workspace,
                               uint64_t *workspaceSize, aclOpExecutor **executor);
SIM_API aclnnStatus sim_phase2(const char *op, void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                               aclrtStream stream);

#define REQUIRE(condition, code, ...)                      \
    do {                                                   \
        if (sim_broken(build) || !(condition))             \
            return sim_refuse(build, (code), __VA_ARGS__); \
    } while (0)
#define NOT_NULL(pointer) REQUIRE((pointer) != NULL, ACLNN_ERR_PARAM_NULLPTR, "%s is a null pointer", #pointer)
#define VALID(condition, ...) REQUIRE(condition, ACLNN_ERR_PARAM_INVALID, __VA_ARGS__)

#define PHASE_2(op)                                                                                              \
    aclnnStatus op(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, const aclrtStream stream)   \
    {                                                                                                            \
        return sim_phase2(#op, workspace, workspaceSize, executor, stream);                                      \
    }

/* ---------------------------------------------------------------- shapes */

static inline int64_t count_of(const SimTensor *tensor)
{
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++)
        count *= tensor->dims[i];
    return count;
}

static inline bool is_contiguous(const SimTensor *tensor)
{
    int64_t step = 1;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        if (tensor->dims[i] != 1 && tensor->strides[i] != step)
            return false;
        step *= tensor->dims[i];
    }
    return true;
}

static inline bool same_shape(const SimTensor *a, const SimTensor *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

/* The shape that both broadcast to, in `shape`; false where there is none. */
static inline bool broadcast(const SimTensor *a, const SimTensor *b, SimTensor *shape)
{
    shape->rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 1; i <= shape->rank; i++) {
        int64_t da = i <= a->rank ? a->dims[a->rank - i] : 1, db = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (da != db && da != 1 && db != 1)
            return false;
        shape->dims[shape->rank - i] = da == 1 ? db : da;
    }
    return true;
}

/* Where element `index` (row-major over `shape`) of a tensor that broadcasts to `shape` lies, in elements. */
static inline int64_t at(const SimArg *arg, const SimTensor *shape, int64_t index)
{
    const SimTensor *tensor = &arg->tensor;
    if (arg->flat && tensor->rank == shape->rank && arg->count == count_of(shape))
        return tensor->offset + index;
    int64_t offset = tensor->offset;
    for (int i = 1; i <= shape->rank; i++) {
        int64_t extent = shape->dims[shape->rank - i], position = index % extent;
        index /= extent;
        if (i <= tensor->rank && tensor->dims[tensor->rank - i] != 1)
            offset += position * tensor->strides[tensor->rank - i];
    }
    return offset;
}

static inline int64_t own(const SimArg *arg, int64_t index)
{
    return at(arg, &arg->tensor, index);
}

/* ---------------------------------------------------------------- elements */

static inline bool one_of(int32_t dtype, int count, const int32_t *allowed)
{
    for (int i = 0; i < count; i++)
        if (allowed[i] == dtype)
            return true;
    return false;
}
#define IS_ONE_OF(dtype, ...) \
    one_of(dtype, (int)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), (int32_t[]){__VA_ARGS__})

static inline bool is_floating(int32_t dtype)
{
    return IS_ONE_OF(dtype, ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE);
}

static inline bool is_complex(int32_t dtype)
{
    return IS_ONE_OF(dtype, ACL_COMPLEX32, ACL_COMPLEX64, ACL_COMPLEX128);
}

/* What opbase lets be cast: not complex to real, not floating to integer, nothing but bool to bool. */
static inline bool can_cast(int32_t from, int32_t to)
{
    if (is_complex(from) && !is_complex(to))
        return false;
    if (is_floating(from) && !is_floating(to) && !is_complex(to))
        return false;
    return from == ACL_BOOL || to != ACL_BOOL;
}

static inline double load(const unsigned char *memory, int32_t dtype)
{
#define LOAD(ctype)                          \
    {                                        \
        ctype value;                         \
        memcpy(&value, memory, sizeof value); \
        return (double)value;                \
    }
    uint16_t half;
    switch (dtype) {
    case ACL_FLOAT:
    case ACL_COMPLEX64:
        LOAD(float)
    case ACL_FLOAT16:
        memcpy(&half, memory, sizeof half);
        return (double)from_half(half);
    case ACL_BF16:
        memcpy(&half, memory, sizeof half);
        return (double)from_bfloat(half);
    case ACL_INT8:
        LOAD(int8_t)
    case ACL_UINT8:
        LOAD(uint8_t)
    case ACL_INT16:
        LOAD(int16_t)
    case ACL_UINT16:
        LOAD(uint16_t)
    case ACL_INT32:
        LOAD(int32_t)
    case ACL_UINT32:
        LOAD(uint32_t)
    case ACL_INT64:
        LOAD(int64_t)
    case ACL_UINT64:
        LOAD(uint64_t)
    case ACL_DOUBLE:
    case ACL_COMPLEX128:
        LOAD(double)
    case ACL_BOOL:
        return *memory != 0;
    default:
        return 0;
    }
#undef LOAD
}

static inline int64_t load_integer(const unsigned char *memory, int32_t dtype)
{
    int64_t wide;
    if (dtype == ACL_INT64 || dtype == ACL_UINT64) {
        memcpy(&wide, memory, sizeof wide);
        return wide;
    }
    return (int64_t)load(memory, dtype);
}

static inline void store_integer(unsigned char *memory, int32_t dtype, int64_t value)
{
    memcpy(memory, &value, aclDataTypeSize((aclDataType)dtype)); /* little endian: the low bytes come first */
}

/* Floating types to nearest even; integers towards zero, kept within int64, then wrapped. */
static inline void store(unsigned char *memory, int32_t dtype, double value, bool truncate)
{
    float single = (float)value;
    uint16_t half;
    switch (dtype) {
    case ACL_FLOAT:
    case ACL_COMPLEX64:
        if (truncate)
            single = float_of(bits_of(single) & ~3u);
        memcpy(memory, &single, sizeof single);
        if (dtype == ACL_COMPLEX64)
            memset(memory + sizeof single, 0, sizeof single);
        return;
    case ACL_FLOAT16:
        half = to_half(single, truncate);
        memcpy(memory, &half, sizeof half);
        return;
    case ACL_BF16:
        half = to_bfloat(single, truncate);
        memcpy(memory, &half, sizeof half);
        return;
    case ACL_DOUBLE:
    case ACL_COMPLEX128:
        memcpy(memory, &value, sizeof value);
        if (dtype == ACL_COMPLEX128)
            memset(memory + sizeof value, 0, sizeof value);
        return;
    case ACL_BOOL:
        *memory = value != 0;
        return;
    default:
        if (isnan(value))
            value = 0;
        value = value > 9.2233720368547748e18 ? 9.2233720368547748e18 : value < -0x1p63 ? -0x1p63 : value;
        store_integer(memory, dtype, (int64_t)value);
    }
}

static inline unsigned char *place(const SimArg *arg, int64_t offset)
{
    return arg->memory + offset * (int64_t)aclDataTypeSize((aclDataType)arg->tensor.dtype);
}

static inline double get(const SimArg *arg, int64_t offset)
{
    return load(place(arg, offset), arg->tensor.dtype);
}

static inline float getf(const SimArg *arg, int64_t offset)
{
    return (float)get(arg, offset);
}

static inline void put(const SimArg *arg, int64_t offset, double value)
{
    store(place(arg, offset), arg->tensor.dtype, value, arg->truncate);
}

static inline double scalar_value(const SimScalar *scalar)
{
    return load(scalar->bytes, scalar->dtype);
}

static inline bool product_is(const char *first, const char *second, const char *third)
{
    const char *product = sim_soc()->product;
    return strcmp(product, first) == 0 || (second && strcmp(product, second) == 0) ||
           (third && strcmp(product, third) == 0);
}

static inline bool has_bfloat(void)
{
    return product_is("atlas_a2", "atlas_a3", "ascend950");
}

static inline bool is_real_float(int32_t dtype) /* what the float operators take */
{
    return dtype == ACL_FLOAT || dtype == ACL_FLOAT16 || (dtype == ACL_BF16 && has_bfloat());
}

/* A value as it is after being held in `dtype`. */
static inline double held(double value, int32_t dtype, bool truncate)
{
    unsigned char bytes[16];
    store(bytes, dtype, value, truncate);
    return load(bytes, dtype);
}

static inline bool is_private_format(int32_t format)
{
    return format == ACL_FORMAT_NC1HWC0 || format == ACL_FORMAT_FRACTAL_Z || format == ACL_FORMAT_NC1HWC0_C04 ||
           format == ACL_FORMAT_FRACTAL_NZ || format == ACL_FORMAT_NDC1HWC0 || format == ACL_FRACTAL_Z_3D ||
           format >= ACL_FORMAT_FRACTAL_NZ_C0_16;
}

static inline uint64_t align32(uint64_t bytes)
{
    return (bytes + 31) / 32 * 32;
}

#endif
