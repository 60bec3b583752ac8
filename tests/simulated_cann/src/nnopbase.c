/* libnnopbase of the simulated CANN: tensors, scalars, lists, arrays, executors, the two phases. */
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "op.h"

typedef struct {
    SimKind kind;
    const void *handle;
} Use;

typedef struct {
    char op[64];
    int call;
    bool generated, repeatable, cached;
    SimArg *args;
    int count;
    Use *objects; /* everything that phase 1 was given must still live in phase 2 */
    int object_count;
    SimKernel kernel;
    void *values;
    size_t values_size;
    uint64_t workspace;
} Executor;

struct SimBuild {
    Executor *executor;
    aclnnStatus status;
    char broken[128];
    int parameter;
    char inputs[8192], outputs[4096];
};

/* ---------------------------------------------------------------- objects */

static bool fill_tensor(SimTensor *tensor, const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType,
                        const int64_t *stride, int64_t offset, aclFormat format, const int64_t *storageDims,
                        uint64_t storageDimsNum, void *tensorData)
{
    if (viewDimsNum > MOST_DIMS || storageDimsNum > MOST_DIMS || (viewDimsNum && !viewDims) ||
        (storageDimsNum && !storageDims) || offset < 0)
        return false;
    *tensor = (SimTensor){.dtype = dataType,
                          .format = format,
                          .rank = (int)viewDimsNum,
                          .storage_rank = (int)storageDimsNum,
                          .offset = offset,
                          .data = (uint64_t)tensorData};
    int64_t step = 1;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        tensor->dims[i] = viewDims[i];
        tensor->strides[i] = stride ? stride[i] : step;
        step *= viewDims[i];
        if (tensor->dims[i] < 0 || tensor->strides[i] < 0)
            return false;
    }
    for (int i = 0; i < tensor->storage_rank; i++) {
        tensor->storage[i] = storageDims[i];
        if (storageDims[i] < 0)
            return false;
    }
    return true;
}

aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
                           int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum,
                           void *tensorData)
{
    SimTensor *tensor = malloc(sizeof *tensor);
    if (!fill_tensor(tensor, viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum,
                     tensorData)) {
        free(tensor);
        sim_error("EZ9999", "aclCreateTensor: dims missing, negative, or more than %d", MOST_DIMS);
        return NULL;
    }
    return sim_new_handle(SIM_TENSOR, tensor);
}

static aclnnStatus dead(SimKind kind, const void *handle, const char *where)
{
    if (!handle) {
        sim_error("EZ9999", "%s: a null pointer where a live %s is needed", where, sim_kind_name(kind));
    } else {
        sim_error("EZ9999", "%s: not a live %s", where, sim_kind_name(kind));
        sim_lifetime_fault("%s: %s %s", where, sim_kind_name(kind),
                           sim_was_destroyed(handle) ? "used after it was destroyed" : "never created");
    }
    return ACLNN_ERR_INNER_NULLPTR;
}

aclnnStatus aclInitTensor(aclTensor *handle, const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType,
                          const int64_t *stride, int64_t offset, aclFormat format, const int64_t *storageDims,
                          uint64_t storageDimsNum, void *tensorData)
{
    SimTensor *tensor = sim_object(SIM_TENSOR, handle);
    if (!tensor)
        return dead(SIM_TENSOR, handle, "aclInitTensor");
    return fill_tensor(tensor, viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum,
                       tensorData)
               ? ACLNN_SUCCESS
               : ACLNN_ERR_PARAM_INVALID;
}

aclScalar *aclCreateScalar(void *value, aclDataType dataType)
{
    size_t size = aclDataTypeSize(dataType);
    if (!value || !size)
        return NULL;
    SimScalar *scalar = calloc(1, sizeof *scalar);
    scalar->dtype = dataType;
    memcpy(scalar->bytes, value, size);
    return sim_new_handle(SIM_SCALAR, scalar);
}

static void *new_array(SimKind kind, const void *values, uint64_t count, size_t each)
{
    if (!values && count)
        return NULL;
    SimArray *array = malloc(sizeof *array);
    array->count = count;
    array->values = malloc(count * each + 1);
    if (count)
        memcpy(array->values, values, count * each);
    return sim_new_handle(kind, array);
}

aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size)
{
    return new_array(SIM_INT_ARRAY, value, size, sizeof *value);
}

aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size)
{
    return new_array(SIM_FLOAT_ARRAY, value, size, sizeof *value);
}

aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size)
{
    return new_array(SIM_BOOL_ARRAY, value, size, sizeof *value);
}

aclTensorList *aclCreateTensorList(const aclTensor *const *value, uint64_t size)
{
    return new_array(SIM_TENSOR_LIST, value, size, sizeof *value);
}

aclScalarList *aclCreateScalarList(const aclScalar *const *value, uint64_t size)
{
    return new_array(SIM_SCALAR_LIST, value, size, sizeof *value);
}

static aclnnStatus destroy(SimKind kind, const void *handle)
{
    if (!handle)
        return ACLNN_SUCCESS;
    void *object = sim_drop_handle(kind, handle);
    if (!object) {
        sim_error("EZ9999", "aclDestroy: not a live %s", sim_kind_name(kind));
        return ACLNN_ERR_INNER_NULLPTR;
    }
    aclnnStatus status = ACLNN_SUCCESS;
    if (kind >= SIM_INT_ARRAY && kind <= SIM_SCALAR_LIST) {
        SimArray *array = object;
        SimKind member = kind == SIM_TENSOR_LIST ? SIM_TENSOR : kind == SIM_SCALAR_LIST ? SIM_SCALAR : SIM_KINDS;
        for (uint64_t i = 0; member != SIM_KINDS && i < array->count; i++) /* a list owns its elements */
            if (destroy(member, ((void **)array->values)[i]))
                status = ACLNN_ERR_INNER_NULLPTR;
        free(array->values);
    }
    free(object);
    return status;
}

aclnnStatus aclDestroyTensor(const aclTensor *tensor)
{
    return destroy(SIM_TENSOR, tensor);
}

aclnnStatus aclDestroyScalar(const aclScalar *scalar)
{
    return destroy(SIM_SCALAR, scalar);
}

aclnnStatus aclDestroyIntArray(const aclIntArray *array)
{
    return destroy(SIM_INT_ARRAY, array);
}

aclnnStatus aclDestroyFloatArray(const aclFloatArray *array)
{
    return destroy(SIM_FLOAT_ARRAY, array);
}

aclnnStatus aclDestroyBoolArray(const aclBoolArray *array)
{
    return destroy(SIM_BOOL_ARRAY, array);
}

aclnnStatus aclDestroyTensorList(const aclTensorList *array)
{
    return destroy(SIM_TENSOR_LIST, array);
}

aclnnStatus aclDestroyScalarList(const aclScalarList *array)
{
    return destroy(SIM_SCALAR_LIST, array);
}

static aclnnStatus give_dims(const aclTensor *handle, int which, int64_t **values, uint64_t *count)
{
    const SimTensor *tensor = sim_object(SIM_TENSOR, handle);
    if (!tensor || !values || !count)
        return tensor ? ACLNN_ERR_PARAM_NULLPTR : dead(SIM_TENSOR, handle, "aclGetView");
    const int64_t *from = which == 0 ? tensor->dims : which == 1 ? tensor->storage : tensor->strides;
    *count = (uint64_t)(which == 1 ? tensor->storage_rank : tensor->rank);
    *values = malloc(*count * sizeof **values + 1);
    memcpy(*values, from, *count * sizeof **values);
    return ACLNN_SUCCESS;
}

aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **viewDims, uint64_t *viewDimsNum)
{
    return give_dims(tensor, 0, viewDims, viewDimsNum);
}

aclnnStatus aclGetStorageShape(const aclTensor *tensor, int64_t **storageDims, uint64_t *storageDimsNum)
{
    return give_dims(tensor, 1, storageDims, storageDimsNum);
}

aclnnStatus aclGetViewStrides(const aclTensor *tensor, int64_t **stridesValue, uint64_t *stridesNum)
{
    return give_dims(tensor, 2, stridesValue, stridesNum);
}

#define TENSOR_PROPERTY(function, type, field)                       \
    aclnnStatus function(const aclTensor *handle, type *value)       \
    {                                                                \
        const SimTensor *tensor = sim_object(SIM_TENSOR, handle);    \
        if (!tensor || !value)                                       \
            return tensor ? ACLNN_ERR_PARAM_NULLPTR : dead(SIM_TENSOR, handle, #function); \
        *value = (type)tensor->field;                                \
        return ACLNN_SUCCESS;                                        \
    }
TENSOR_PROPERTY(aclGetViewOffset, int64_t, offset)
TENSOR_PROPERTY(aclGetFormat, aclFormat, format)
TENSOR_PROPERTY(aclGetDataType, aclDataType, dtype)

#define ARRAY_SIZE(function, type, kind)                             \
    aclnnStatus function(const type *handle, uint64_t *size)         \
    {                                                                \
        const SimArray *array = sim_object(kind, handle);            \
        if (!array || !size)                                         \
            return array ? ACLNN_ERR_PARAM_NULLPTR : dead(kind, handle, #function); \
        *size = array->count;                                        \
        return ACLNN_SUCCESS;                                        \
    }
ARRAY_SIZE(aclGetIntArraySize, aclIntArray, SIM_INT_ARRAY)
ARRAY_SIZE(aclGetFloatArraySize, aclFloatArray, SIM_FLOAT_ARRAY)
ARRAY_SIZE(aclGetBoolArraySize, aclBoolArray, SIM_BOOL_ARRAY)
ARRAY_SIZE(aclGetTensorListSize, aclTensorList, SIM_TENSOR_LIST)
ARRAY_SIZE(aclGetScalarListSize, aclScalarList, SIM_SCALAR_LIST)

aclnnStatus aclSetRawTensorAddr(aclTensor *handle, void *addr)
{
    SimTensor *tensor = sim_object(SIM_TENSOR, handle);
    if (!tensor)
        return dead(SIM_TENSOR, handle, "aclSetRawTensorAddr");
    tensor->data = (uint64_t)addr;
    return ACLNN_SUCCESS;
}

aclnnStatus aclGetRawTensorAddr(const aclTensor *handle, void **addr)
{
    const SimTensor *tensor = sim_object(SIM_TENSOR, handle);
    if (!tensor || !addr)
        return tensor ? ACLNN_ERR_PARAM_NULLPTR : dead(SIM_TENSOR, handle, "aclGetRawTensorAddr");
    *addr = (void *)tensor->data;
    return ACLNN_SUCCESS;
}

/* aclInit includes it, so a call beside aclInit is no error; its end leaves the runtime to aclFinalize. */
static int aclnn_references;

aclnnStatus aclnnInit(const char *configPath)
{
    (void)configPath;
    if (!sim_initialised()) {
        aclnn_references++;
        return sim_initialise();
    }
    return ACLNN_SUCCESS;
}

aclnnStatus aclnnFinalize(void)
{
    if (!aclnn_references)
        return ACLNN_SUCCESS;
    aclnn_references--;
    return aclFinalizeReference(NULL);
}

/* ---------------------------------------------------------------- phase 1 */

/* CANN keeps what a phase 2 has run: phase 1 with equal arguments gives an executor of that cache, which cannot be
 * made repeatable. */
static uint64_t cache[1024];
static int cache_count;

static uint64_t mixed(uint64_t key, const void *from, size_t size)
{
    for (const unsigned char *at = from; size; size--)
        key = (key ^ *at++) * UINT64_C(1099511628211);
    return key;
}

static uint64_t key_of(const Executor *executor)
{
    uint64_t key = mixed(UINT64_C(14695981039346656037), executor->op, strlen(executor->op));
    for (int i = 0; i < executor->count; i++) {
        const SimTensor *tensor = &executor->args[i].tensor;
        size_t dims = sizeof *tensor->dims * (size_t)tensor->rank;
        key = mixed(key, &tensor->dtype, sizeof tensor->dtype);
        key = mixed(key, &tensor->format, sizeof tensor->format);
        key = mixed(mixed(key, tensor->dims, dims), tensor->strides, dims);
    }
    return mixed(key, executor->values, executor->values_size);
}

static bool is_cached(uint64_t key)
{
    bool found = false;
    sim_lock();
    for (int i = 0; i < cache_count; i++)
        found |= cache[i] == key;
    sim_unlock();
    return found;
}

static void keep_in_cache(uint64_t key)
{
    if (is_cached(key))
        return;
    sim_lock();
    if (cache_count < (int)(sizeof cache / sizeof *cache))
        cache[cache_count++] = key;
    sim_unlock();
}

static void *copy_of(const void *from, size_t size)
{
    void *to = malloc(size + 1);
    if (size)
        memcpy(to, from, size);
    return to;
}

static void free_executor(Executor *executor)
{
    free(executor->args);
    free(executor->objects);
    free(executor->values);
    free(executor);
}

static bool crash(const char *op, int call, const char *phase, const char *otherwise)
{
    static const char *const kinds[] = {"abort", "segv", "kill", "hang"};
    for (int i = 0; i < 4; i++) {
        const SimFault *fault = sim_find_fault(op, call, kinds[i]);
        if (!fault || strcmp(*fault->value ? fault->value : i == 3 ? "sync" : otherwise, phase) != 0)
            continue;
        if (i == 0) {
            fprintf(stderr, "%s\n", *fault->text ? fault->text : "terminate called after an exception of the operator");
            abort();
        }
        if (i == 1)
            raise(SIGSEGV);
        if (i == 2)
            raise(SIGKILL); /* as the system does where memory has run out */
        if (i == 3 && strcmp(phase, "sync") == 0)
            return true;
        for (;;)
            sim_sleep_until(sim_now() + 50000000);
    }
    return false;
}

static void chatter(const char *op, int call, const char *where)
{
    const SimFault *fault = sim_find_fault(op, call, "chatter");
    if (!fault || strcmp(*fault->value ? fault->value : "phase2", where) != 0)
        return;
    printf("%s\n", *fault->text ? fault->text : "kernel: block 0 of 8 begins");
    fflush(stdout);
    sim_log_write("ERROR", *fault->text ? fault->text : "kernel: block 0 of 8 begins");
}

static aclnnStatus asked(const char *op, int call, const char *phase, aclnnStatus otherwise)
{
    const SimFault *fault = sim_find_fault(op, call, phase);
    if (!fault)
        return ACLNN_SUCCESS;
    aclnnStatus code = (aclnnStatus)sim_fault_number(fault, otherwise);
    sim_error(code / 1000 == 161 ? "EZ1001" : "EZ9999", "%s: %s", op,
              *fault->text ? fault->text : "a fault that the environment asked for");
    return code;
}

SimBuild *sim_begin(const char *op, bool generated)
{
    SimBuild *build = calloc(1, sizeof *build);
    Executor *executor = build->executor = calloc(1, sizeof *executor);
    snprintf(executor->op, sizeof executor->op, "%s", op);
    executor->generated = generated;
    executor->call = sim_count_call(op);
    sim_host_delay(op, executor->call);
    chatter(op, executor->call, "phase1");
    crash(op, executor->call, "phase1", "phase2");
    if (!sim_initialised()) {
        build->status = ACLNN_ERR_INNER;
        snprintf(build->broken, sizeof build->broken, "aclInit or aclnnInit was not called");
    } else {
        build->status = asked(op, executor->call, "phase1", ACLNN_ERR_PARAM_INVALID);
    }
    return build;
}

bool sim_broken(SimBuild *build)
{
    return build->status != ACLNN_SUCCESS;
}

static void remember(SimBuild *build, SimKind kind, const void *handle)
{
    Executor *executor = build->executor;
    executor->objects = realloc(executor->objects, sizeof *executor->objects * (size_t)(executor->object_count + 1));
    executor->objects[executor->object_count++] = (Use){kind, handle};
}

static void *look_up(SimBuild *build, SimKind kind, const void *handle, const char *name)
{
    if (!handle)
        return NULL;
    void *object = sim_object(kind, handle);
    if (object) {
        remember(build, kind, handle);
    } else if (!build->status) {
        snprintf(build->broken, sizeof build->broken, "%s is not a live %s", name, sim_kind_name(kind));
        build->status = ACLNN_ERR_INNER_NULLPTR;
        sim_lifetime_fault("%s: %s: %s %s", build->executor->op, name, sim_kind_name(kind),
                           sim_was_destroyed(handle) ? "used after it was destroyed" : "never created");
    }
    return object;
}

static void append(char *text, size_t size, const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
}

static const char *dtype_word(int32_t dtype)
{
    switch (dtype) {
#define WORD(value, word) \
    case value:           \
        return word
        WORD(ACL_FLOAT, "float32");
        WORD(ACL_FLOAT16, "float16");
        WORD(ACL_BF16, "bfloat16");
        WORD(ACL_DOUBLE, "double");
        WORD(ACL_INT8, "int8");
        WORD(ACL_UINT8, "uint8");
        WORD(ACL_INT16, "int16");
        WORD(ACL_UINT16, "uint16");
        WORD(ACL_INT32, "int32");
        WORD(ACL_UINT32, "uint32");
        WORD(ACL_INT64, "int64");
        WORD(ACL_UINT64, "uint64");
        WORD(ACL_BOOL, "bool");
        WORD(ACL_COMPLEX64, "complex64");
        WORD(ACL_COMPLEX128, "complex128");
    default:
        return "unknown";
#undef WORD
    }
}

static const char *format_word(int32_t format)
{
    return format == ACL_FORMAT_ND     ? "ND"
           : format == ACL_FORMAT_NCHW ? "NCHW"
           : format == ACL_FORMAT_NHWC ? "NHWC"
           : format == ACL_FORMAT_NCL  ? "NCL"
                                       : "OTHER";
}

static void append_dims(char *text, size_t size, const char *name, const int64_t *dims, int rank)
{
    append(text, size, "%s = [", name);
    for (int i = 0; i < rank; i++)
        append(text, size, "%s%lld", i ? ", " : "", (long long)dims[i]);
    append(text, size, "], ");
}

static void describe(SimBuild *build, const char *name, const SimTensor *tensor, SimRole role)
{
    if (!sim_log_wants_info())
        return;
    bool out = role == SIM_OUT;
    char *text = out ? build->outputs : build->inputs;
    size_t size = out ? sizeof build->outputs : sizeof build->inputs;
    append(text, size, "%s", *text ? ", " : "");
    if (name)
        append(text, size, "%s: ", name);
    if (!tensor) {
        append(text, size, "nullptr");
        return;
    }
    append(text, size, "aclTensor(");
    append_dims(text, size, "view_shape", tensor->dims, tensor->rank);
    append_dims(text, size, "view_strides", tensor->strides, tensor->rank);
    append(text, size, "view_offset = %lld, view_format = %s, ", (long long)tensor->offset, format_word(tensor->format));
    append_dims(text, size, "storage_shape", tensor->storage, tensor->storage_rank);
    append(text, size, "storage_format = %s, ", format_word(tensor->format));
    append_dims(text, size, "ori_shape", tensor->dims, tensor->rank);
    append(text, size, "ori_format = %s, data_type = %s, device_ptr = 0x%llx)", format_word(tensor->format),
           dtype_word(tensor->dtype), (unsigned long long)tensor->data);
}

static const SimTensor *add_tensor(SimBuild *build, const char *name, const void *handle, SimRole role, int member)
{
    Executor *executor = build->executor;
    const SimTensor *tensor = look_up(build, SIM_TENSOR, handle, name);
    executor->args = realloc(executor->args, sizeof *executor->args * (size_t)(executor->count + 1));
    SimArg *arg = &executor->args[executor->count++];
    *arg = (SimArg){.name = name, .handle = tensor ? handle : NULL, .role = role, .parameter = build->parameter, .member = member};
    if (tensor)
        arg->tensor = *tensor;
    return tensor;
}

const SimTensor *sim_tensor(SimBuild *build, const char *name, const aclTensor *handle, SimRole role)
{
    const SimTensor *tensor = add_tensor(build, name, handle, role, 0);
    build->parameter++;
    describe(build, name, tensor, role);
    return tensor;
}

int sim_tensors(SimBuild *build, const char *name, const aclTensorList *handle, SimRole role, const SimTensor **members,
                int room)
{
    const SimArray *list = look_up(build, SIM_TENSOR_LIST, handle, name);
    int count = 0;
    if (list)
        for (; count < (int)list->count && count < room; count++) {
            members[count] = add_tensor(build, name, ((void **)list->values)[count], role, count);
            describe(build, count ? NULL : name, members[count], role);
        }
    build->parameter++;
    return list ? count : -1;
}

void sim_attribute(SimBuild *build, const char *name, const char *format, ...)
{
    if (!sim_log_wants_info())
        return;
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    append(build->inputs, sizeof build->inputs, "%s%s: %s", *build->inputs ? ", " : "", name, text);
}

const SimScalar *sim_scalar(SimBuild *build, const char *name, const aclScalar *handle)
{
    const SimScalar *scalar = look_up(build, SIM_SCALAR, handle, name);
    if (scalar)
        sim_attribute(build, name, "aclScalar(data_type = %s, value = %g)", dtype_word(scalar->dtype), scalar_value(scalar));
    else
        sim_attribute(build, name, "nullptr");
    return scalar;
}

const SimScalar *sim_scalar_of_list(SimBuild *build, const aclScalarList *handle, int index)
{
    const SimArray *list = look_up(build, SIM_SCALAR_LIST, handle, "scalars");
    return list && index < (int)list->count ? look_up(build, SIM_SCALAR, ((void **)list->values)[index], "scalars") : NULL;
}

const SimArray *sim_array(SimBuild *build, const char *name, SimKind kind, const void *handle)
{
    const SimArray *array = look_up(build, kind, handle, name);
    if (!sim_log_wants_info())
        return array;
    char text[256] = "";
    for (uint64_t i = 0; array && i < array->count && kind <= SIM_BOOL_ARRAY; i++) {
        double value = kind == SIM_INT_ARRAY     ? (double)((int64_t *)array->values)[i]
                       : kind == SIM_FLOAT_ARRAY ? (double)((float *)array->values)[i]
                                                 : (double)((bool *)array->values)[i];
        append(text, sizeof text, "%s%g", i ? ", " : "", value);
    }
    if (array)
        sim_attribute(build, name, "[%s]", text);
    else
        sim_attribute(build, name, "nullptr");
    return array;
}

static void log_list(const char *text, const char *which)
{
    for (size_t from = 0; from < strlen(text); from += 700)
        sim_log_info("Entering function params: %.700s.", text + from);
    sim_log_info("Entering function %s params end. 0", which);
}

static void log_entry(const SimBuild *build)
{
    if (!sim_log_wants_info() || build->executor->generated)
        return;
    sim_log_info("Entering function %sGetWorkspaceSize.", build->executor->op);
    log_list(build->inputs, "in");
    log_list(build->outputs, "out");
}

aclnnStatus sim_refuse(SimBuild *build, aclnnStatus code, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_entry(build);
    if (build->status)
        code = build->status;
    if (*build->broken)
        sim_error("EZ9999", "%sGetWorkspaceSize: %s.", build->executor->op, build->broken);
    else if (!build->status)
        sim_error(code / 1000 == 161 ? "EZ1001" : "EZ9999", "%sGetWorkspaceSize: %s.", build->executor->op, text);
    free_executor(build->executor);
    free(build);
    return code;
}

static uint64_t extent_bytes(const SimTensor *tensor);

/* What a phase 1 does that clears its outputs before any launch. */
static void clear_outputs(const Executor *executor)
{
    for (int i = 0; i < executor->count; i++) {
        const SimArg *arg = &executor->args[i];
        uint64_t bytes = arg->handle && arg->role == SIM_OUT ? extent_bytes(&arg->tensor) : 0;
        if (bytes && sim_device_memory(arg->tensor.data, bytes))
            memset(sim_device_memory(arg->tensor.data, bytes), 0, bytes);
    }
}

aclnnStatus sim_finish(SimBuild *build, SimKernel kernel, const void *values, size_t size, uint64_t workspace,
                       uint64_t *workspaceSize, aclOpExecutor **handle)
{
    if (build->status)
        return sim_refuse(build, build->status, "%s", "");
    log_entry(build);
    Executor *executor = build->executor;
    executor->kernel = kernel;
    executor->workspace = align32(workspace);
    executor->values = copy_of(values, size);
    executor->values_size = size;
    executor->cached = is_cached(key_of(executor));
    *workspaceSize = executor->workspace;
    *handle = sim_new_handle(SIM_EXECUTOR, executor);
    if (sim_find_fault(executor->op, executor->call, "cleared"))
        clear_outputs(executor);
    free(build);
    return ACLNN_SUCCESS;
}

/* ---------------------------------------------------------------- execution */

typedef struct {
    SimTask task;
    char op[64];
    int call;
    SimArg *args;
    int count;
    void *values;
    SimKernel kernel;
    uint64_t workspace, workspace_size;
    SimUse *uses;
    bool deterministic;
} Work;

/* The elements that a view reaches: from its offset up to the last one. */
static uint64_t extent_bytes(const SimTensor *tensor)
{
    int64_t last = tensor->offset;
    for (int i = 0; i < tensor->rank; i++) {
        if (!tensor->dims[i])
            return 0;
        last += (tensor->dims[i] - 1) * tensor->strides[i];
    }
    return (uint64_t)(last + 1) * aclDataTypeSize((aclDataType)tensor->dtype);
}

static int exception(const char *op, const char *what, const char *name)
{
    sim_error("EZ9999", "%s: the aicore execution is abnormal: %s %s", op, what, name);
    return ACL_ERROR_RT_AICORE_EXCEPTION;
}

/* Moves a value by whole steps of its own dtype. */
static void nudge(unsigned char *memory, int32_t dtype, long steps)
{
    size_t size = aclDataTypeSize((aclDataType)dtype);
    uint64_t bits = 0;
    memcpy(&bits, memory, size);
    bits += (uint64_t)steps;
    memcpy(memory, &bits, size);
}

static void scribble(uint64_t address, uint64_t length)
{
    unsigned char *memory = sim_raw_device_memory(address, length);
    if (memory)
        memset(memory, 0x5A, length);
}

static void spoil(const Work *work, SimArg *arg)
{
    int64_t n = arg->count;
    int32_t dtype = arg->tensor.dtype;
    size_t size = aclDataTypeSize((aclDataType)dtype);
    const SimFault *fault;
    if ((fault = sim_find_fault(work->op, work->call, "tail"))) {
        int64_t length = sim_fault_number(fault, (long)(n % 64 ? n % 64 : 64));
        for (int64_t i = length < n ? n - length : 0; i < n; i++)
            put(arg, own(arg, i), get(arg, own(arg, i)) == 0 ? 1 : 0);
    }
    if ((fault = sim_find_fault(work->op, work->call, "stale"))) {
        int64_t length = sim_fault_number(fault, (long)(n / 4 ? n / 4 : 1));
        for (int64_t i = length; i < 2 * length && i < n; i++)
            memcpy(place(arg, own(arg, i)), place(arg, own(arg, i - length)), size);
    }
    if ((fault = sim_find_fault(work->op, work->call, "ulp")))
        for (int64_t i = 0; i < n; i++)
            if (isfinite(get(arg, own(arg, i))))
                nudge(place(arg, own(arg, i)), dtype, sim_fault_number(fault, 1));
    if ((fault = sim_find_fault(work->op, work->call, "scale"))) {
        double factor = *fault->value ? strtod(fault->value, NULL) : 2;
        for (int64_t i = 0; i < n; i++)
            put(arg, own(arg, i), get(arg, own(arg, i)) * factor);
    }
    if ((fault = sim_find_fault(work->op, work->call, "nan"))) {
        int64_t index = sim_fault_number(fault, (long)(n / 2));
        if (index >= 0 && index < n) {
            if (is_floating(dtype))
                put(arg, own(arg, index), (double)NAN);
            else
                memset(place(arg, own(arg, index)), 0x7f, size);
        }
    }
    if ((fault = sim_find_fault(work->op, work->call, "random")) &&
        !(work->deterministic && strcmp(fault->value, "unless-deterministic") == 0)) {
        static uint64_t state;
        if (!state)
            state = sim_now();
        for (int64_t i = 0; i < n; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            nudge(place(arg, own(arg, i)), dtype, (long)(state >> 62));
        }
    }
    if ((fault = sim_find_fault(work->op, work->call, "overrun"))) {
        uint64_t length = (uint64_t)sim_fault_number(fault, 96);
        scribble(arg->tensor.data + extent_bytes(&arg->tensor), length);
    }
    if ((fault = sim_find_fault(work->op, work->call, "underrun"))) {
        uint64_t length = (uint64_t)sim_fault_number(fault, 32);
        scribble(arg->tensor.data - length, length);
    }
}

/* What a kernel does that takes more scratch than phase 1 asked for, or addresses it from the wrong end. */
static void spoil_workspace(const Work *work)
{
    const SimFault *fault = sim_find_fault(work->op, work->call, "workspace");
    if (!fault || !work->workspace_size)
        return;
    long length = sim_fault_number(fault, 96);
    if (length < 0)
        scribble(work->workspace - (uint64_t)-length, (uint64_t)-length);
    else
        scribble(work->workspace + work->workspace_size, (uint64_t)length);
}

/* What the outputs held before the kernel of a fault `onto`; NULL without it. */
static double **old_outputs(const Work *work)
{
    if (!sim_find_fault(work->op, work->call, "onto"))
        return NULL;
    double **old = calloc((size_t)work->count, sizeof *old);
    for (int i = 0; i < work->count; i++) {
        SimArg *arg = &work->args[i];
        if (!arg->handle || !arg->count || arg->role != SIM_OUT)
            continue;
        old[i] = calloc((size_t)arg->count, sizeof **old);
        for (int64_t k = 0; k < arg->count; k++)
            old[i][k] = get(arg, own(arg, k));
    }
    return old;
}

/* The first float of the workspace for a fault `unzeroed`. Memory that nobody wrote counts as zero, as it mostly is on
 * a device: that such a kernel works there is the point of the fault. */
static double workspace_value(const Work *work, const unsigned char *workspace)
{
    float value = 0;
    const uint32_t fresh = 0xCDCDCDCDu;
    if (work->workspace_size < sizeof value || !sim_find_fault(work->op, work->call, "unzeroed") ||
        memcmp(workspace, &fresh, sizeof fresh) == 0)
        return 0;
    memcpy(&value, workspace, sizeof value);
    return value;
}

/* A fault `shielded`: what is written to the first and the last bytes of an output does not reach the memory. */
static uint64_t shielded(const Work *work, const SimArg *arg)
{
    const SimFault *fault = sim_find_fault(work->op, work->call, "shielded");
    if (!fault || !arg->handle || !arg->count || arg->role != SIM_OUT)
        return 0;
    uint64_t bytes = (uint64_t)sim_fault_number(fault, 256), extent = extent_bytes(&arg->tensor);
    return bytes < extent ? bytes : extent;
}

static unsigned char *edges_of(const Work *work)
{
    unsigned char *kept = NULL;
    for (int i = 0; i < work->count && !kept; i++) {
        const SimArg *arg = &work->args[i];
        uint64_t bytes = shielded(work, arg);
        if (!bytes)
            continue;
        kept = malloc(2 * bytes);
        memcpy(kept, arg->memory, bytes);
        memcpy(kept + bytes, arg->memory + extent_bytes(&arg->tensor) - bytes, bytes);
    }
    return kept;
}

static void restore_edges(const Work *work, unsigned char *kept)
{
    for (int i = 0; i < work->count && kept; i++) {
        const SimArg *arg = &work->args[i];
        uint64_t bytes = shielded(work, arg);
        if (!bytes)
            continue;
        memcpy(arg->memory, kept, bytes);
        memcpy(arg->memory + extent_bytes(&arg->tensor) - bytes, kept + bytes, bytes);
        break; /* of the first output alone */
    }
    free(kept);
}

static void add_onto(const Work *work, double **old, double found)
{
    if (!old && found == 0)
        return;
    for (int i = 0; i < work->count; i++) {
        SimArg *arg = &work->args[i];
        if (!arg->handle || !arg->count || arg->role != SIM_OUT)
            continue;
        for (int64_t k = 0; k < arg->count; k++)
            put(arg, own(arg, k), get(arg, own(arg, k)) + (old && old[i] ? old[i][k] : 0) + found);
    }
}

static int compute(Work *work)
{
    const SimFault *fault = sim_find_fault(work->op, work->call, "sync");
    if (fault)
        return (int)asked(work->op, work->call, "sync", ACL_ERROR_RT_AICORE_EXCEPTION);
    for (int i = 0; i < work->count; i++) {
        SimArg *arg = &work->args[i];
        if (!arg->handle)
            continue;
        arg->count = count_of(&arg->tensor);
        arg->flat = is_contiguous(&arg->tensor);
        arg->memory = sim_raw_device_memory(arg->tensor.data, 1);
        if (!arg->count)
            continue;
        if (!sim_device_memory(arg->tensor.data, extent_bytes(&arg->tensor)))
            return exception(work->op, "an address out of any live allocation:", arg->name);
        arg->truncate = sim_find_fault(work->op, work->call, "round") != NULL;
    }
    SimLaunch launch = {.op = work->op, .count = work->count, .args = work->args, .values = work->values,
                        .workspace_size = work->workspace_size};
    if (work->workspace_size) {
        launch.workspace = sim_device_memory(work->workspace, work->workspace_size);
        if (!launch.workspace)
            return exception(work->op, "an address out of any live allocation:", "workspace");
    }
    if (!work->kernel || sim_find_fault(work->op, work->call, "nothing"))
        return 0;
    double found = workspace_value(work, launch.workspace), **old = old_outputs(work);
    unsigned char *edges = edges_of(work);
    int code = work->kernel(&launch);
    restore_edges(work, edges);
    if (!code)
        add_onto(work, old, found);
    for (int i = 0; old && i < work->count; i++)
        free(old[i]);
    free(old);
    if (code)
        return code;
    for (int i = 0; i < work->count; i++) {
        SimArg *arg = &work->args[i];
        if (arg->handle && arg->count && arg->role & SIM_OUT)
            spoil(work, arg);
    }
    spoil_workspace(work);
    if (sim_find_fault(work->op, work->call, "input"))
        for (int i = 0; i < work->count; i++)
            if (work->args[i].handle && work->args[i].count && work->args[i].role == SIM_IN) {
                *place(&work->args[i], own(&work->args[i], 0)) ^= 0x55;
                break;
            }
    return 0;
}

static int run_work(SimTask *task, uint64_t start)
{
    (void)start;
    Work *work = (Work *)task;
    chatter(work->op, work->call, "sync");
    crash(work->op, work->call, "sync", "phase2");
    for (int i = 0; i < work->count; i++)
        if (work->args[i].handle && sim_out_of_cache(work->args[i].tensor.data))
            task->cold = true;
    return compute(work);
}

static void release_work(SimTask *task)
{
    Work *work = (Work *)task;
    free(work->args);
    free(work->values);
    free(work->uses);
    free(work);
}

static aclnnStatus launch(const Executor *executor, void *workspace, aclrtStream stream)
{
    Work *work = calloc(1, sizeof *work);
    snprintf(work->op, sizeof work->op, "%s", executor->op);
    work->call = executor->call;
    work->count = executor->count;
    work->args = copy_of(executor->args, sizeof *executor->args * (size_t)executor->count);
    work->values = copy_of(executor->values, executor->values_size);
    work->kernel = executor->kernel;
    work->workspace = (uint64_t)workspace;
    work->workspace_size = executor->kernel ? executor->workspace : 0;
    work->deterministic = sim_deterministic();
    work->uses = calloc((size_t)executor->count + 1, sizeof *work->uses);
    double bytes = 0;
    int uses = 0;
    for (int i = 0; i < executor->count; i++) {
        const SimArg *arg = &executor->args[i];
        if (!arg->handle)
            continue;
        uint64_t extent = extent_bytes(&arg->tensor);
        if (extent && arg->tensor.data % 32)
            sim_lifetime_fault("%s: the address of %s is not a multiple of 32", work->op, arg->name);
        work->uses[uses++] = (SimUse){arg->tensor.data, extent, (arg->role & SIM_OUT) != 0};
        bytes += (double)extent;
    }
    if (work->workspace_size)
        work->uses[uses++] = (SimUse){work->workspace, work->workspace_size, true};
    work->task = (SimTask){.name = work->op, .run = run_work, .release = release_work, .uses = work->uses, .use_count = uses};
    work->task.duration = sim_device_time(work->op, bytes);
    const SimFault *hang = sim_find_fault(work->op, work->call, "hang");
    work->task.hangs = hang && (!*hang->value || strcmp(hang->value, "sync") == 0);
    int code = sim_enqueue(stream, &work->task);
    if (code) {
        release_work(&work->task);
        sim_error("EZ9999", "%s: the launch failed, the runtime returned %d", executor->op, code);
        return ACLNN_ERR_RUNTIME_ERROR;
    }
    sim_count_launch();
    return ACLNN_SUCCESS;
}

static aclnnStatus checked_launch(Executor *executor, void *workspace, uint64_t workspaceSize, aclrtStream stream)
{
    if (executor->workspace && (!workspace || !workspaceSize)) {
        sim_error("EZ9999", "%s: workspace is a null pointer, %llu bytes are needed", executor->op,
                  (unsigned long long)executor->workspace);
        return ACLNN_ERR_PARAM_NULLPTR;
    }
    if (executor->generated && workspaceSize < executor->workspace) {
        sim_error("EZ9999", "%s: workspaceSize is %llu, %llu bytes are needed", executor->op,
                  (unsigned long long)workspaceSize, (unsigned long long)executor->workspace);
        return ACLNN_ERR_PARAM_INVALID;
    }
    for (int i = 0; i < executor->object_count; i++)
        if (!sim_object(executor->objects[i].kind, executor->objects[i].handle))
            return dead(executor->objects[i].kind, executor->objects[i].handle, executor->op);
    chatter(executor->op, executor->call, "phase2");
    crash(executor->op, executor->call, "phase2", "phase2");
    aclnnStatus status = asked(executor->op, executor->call, "phase2", ACLNN_ERR_INNER);
    return status ? status : launch(executor, workspace, stream);
}

aclnnStatus sim_phase2(const char *op, void *workspace, uint64_t workspaceSize, aclOpExecutor *handle, aclrtStream stream)
{
    if (!handle) {
        sim_error("EZ9999", "%s: executor is a null pointer", op);
        return ACLNN_ERR_PARAM_NULLPTR;
    }
    Executor *executor = sim_object(SIM_EXECUTOR, handle);
    if (!executor)
        return dead(SIM_EXECUTOR, handle, op);
    aclnnStatus status;
    if (strcmp(executor->op, op) != 0) {
        sim_error("EZ9999", "%s: the executor is one of %s", op, executor->op);
        sim_lifetime_fault("%s was given the executor of %s", op, executor->op);
        status = ACLNN_ERR_INNER_NULLPTR;
    } else {
        status = checked_launch(executor, workspace, workspaceSize, stream);
    }
    if (!executor->repeatable) { /* used up, whether it went well or not */
        if (!status)
            keep_in_cache(key_of(executor));
        sim_drop_handle(SIM_EXECUTOR, handle);
        free_executor(executor);
    }
    return status;
}

/* ---------------------------------------------------------------- executors in the hands of the caller */

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *handle)
{
    Executor *executor = sim_object(SIM_EXECUTOR, handle);
    if (!executor)
        return dead(SIM_EXECUTOR, handle, "aclSetAclOpExecutorRepeatable");
    if (executor->cached || sim_function_kind("aclSetAclOpExecutorRepeatable", "fail"))
        return ACLNN_ERR_INNER; /* a line of the log at the most, no text */
    executor->repeatable = true;
    return ACLNN_SUCCESS;
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *handle)
{
    Executor *executor = sim_object(SIM_EXECUTOR, handle);
    if (!executor)
        return dead(SIM_EXECUTOR, handle, "aclDestroyAclOpExecutor");
    sim_drop_handle(SIM_EXECUTOR, handle);
    free_executor(executor);
    return ACLNN_SUCCESS;
}

/* Flat index: inputs first, then outputs; an in-place tensor counts as an input. */
static aclnnStatus set_flat(aclOpExecutor *handle, size_t index, void *addr, bool inputs, bool outputs, const char *where)
{
    Executor *executor = sim_object(SIM_EXECUTOR, handle);
    if (!executor)
        return dead(SIM_EXECUTOR, handle, where);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 0 ? !inputs : !outputs)
            continue;
        for (int i = 0; i < executor->count; i++) {
            SimArg *arg = &executor->args[i];
            bool input = (arg->role & SIM_IN) != 0;
            if (input != (pass == 0) || index-- > 0)
                continue;
            arg->tensor.data = (uint64_t)addr;
            return ACLNN_SUCCESS;
        }
    }
    return ACLNN_ERR_PARAM_INVALID;
}

static aclnnStatus set_member(aclOpExecutor *handle, size_t parameter, size_t member, void *addr, int which, const char *where)
{
    Executor *executor = sim_object(SIM_EXECUTOR, handle);
    if (!executor)
        return dead(SIM_EXECUTOR, handle, where);
    size_t seen = 0;
    for (int i = 0; i < executor->count; i++) {
        SimArg *arg = &executor->args[i];
        bool input = (arg->role & SIM_IN) != 0;
        if ((which == 1 && !input) || (which == 2 && input))
            continue;
        if (arg->member == 0 && i > 0 && arg->parameter != executor->args[i - 1].parameter &&
            (which != 2 || (executor->args[i - 1].role & SIM_IN) == 0))
            seen++;
        if (seen == parameter && (size_t)arg->member == member) {
            arg->tensor.data = (uint64_t)addr;
            return ACLNN_SUCCESS;
        }
    }
    return ACLNN_ERR_PARAM_INVALID;
}

static aclnnStatus set_object(aclTensor *handle, void *addr, aclnnStatus status)
{
    SimTensor *tensor = handle ? sim_object(SIM_TENSOR, handle) : NULL;
    if (!status && tensor)
        tensor->data = (uint64_t)addr;
    return status;
}

aclnnStatus aclSetTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr)
{
    return set_object(tensor, addr, set_flat(executor, index, addr, true, true, "aclSetTensorAddr"));
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr)
{
    return set_object(tensor, addr, set_flat(executor, index, addr, true, false, "aclSetInputTensorAddr"));
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr)
{
    return set_object(tensor, addr, set_flat(executor, index, addr, false, true, "aclSetOutputTensorAddr"));
}

aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex,
                                    aclTensorList *tensors, void *addr)
{
    (void)tensors;
    return set_member(executor, irIndex, relativeIndex, addr, 0, "aclSetDynamicTensorAddr");
}

aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex,
                                         aclTensorList *tensors, void *addr)
{
    (void)tensors;
    return set_member(executor, irIndex, relativeIndex, addr, 1, "aclSetDynamicInputTensorAddr");
}

aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex,
                                          aclTensorList *tensors, void *addr)
{
    (void)tensors;
    return set_member(executor, irIndex, relativeIndex, addr, 2, "aclSetDynamicOutputTensorAddr");
}
