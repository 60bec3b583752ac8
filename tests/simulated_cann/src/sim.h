/* What the libraries of the simulated CANN share with each other and with nobody else. */
#ifndef SIM_H
#define SIM_H

#include "acl/acl.h"

#define SIM_API ACL_FUNC_VISIBILITY
#define SIM_PRINTF(n) __attribute__((format(printf, n, n + 1)))

/* Handles are addresses in a reserved, inaccessible range and are never used twice, so a handle that was
 * destroyed is told from a live one for as long as the process lives. */
typedef enum {
    SIM_CONTEXT = 1,
    SIM_STREAM,
    SIM_EVENT,
    SIM_TENSOR,
    SIM_SCALAR,
    SIM_INT_ARRAY,
    SIM_FLOAT_ARRAY,
    SIM_BOOL_ARRAY,
    SIM_TENSOR_LIST,
    SIM_SCALAR_LIST,
    SIM_EXECUTOR,
    SIM_TENSOR_DESC,
    SIM_DATA_BUFFER,
    SIM_OP_ATTR,
    SIM_KINDS
} SimKind;

SIM_API void *sim_new_handle(SimKind kind, void *object);
SIM_API void *sim_object(SimKind kind, const void *handle);      /* NULL where not a live one of that kind */
SIM_API void *sim_drop_handle(SimKind kind, const void *handle); /* the object, for the caller to free */
SIM_API bool sim_was_destroyed(const void *handle);
SIM_API const char *sim_kind_name(SimKind kind);

SIM_API void sim_lock(void);
SIM_API void sim_unlock(void);

/* Device memory. `sim_device_memory` is NULL unless the range lies inside one live allocation. */
SIM_API void *sim_device_memory(uint64_t address, uint64_t bytes);
SIM_API bool sim_is_device_address(uint64_t address);
SIM_API unsigned char *sim_raw_device_memory(uint64_t address, uint64_t bytes);
SIM_API bool sim_out_of_cache(uint64_t address); /* and it is in the L2 from now on */

/* Errors, lifetime faults, logs. */
SIM_API void sim_error(const char *code, const char *format, ...) SIM_PRINTF(2);
SIM_API void sim_lifetime_fault(const char *format, ...) SIM_PRINTF(1);
SIM_API void sim_log_info(const char *format, ...) SIM_PRINTF(1);
SIM_API bool sim_log_wants_info(void);
SIM_API void sim_log_write(const char *level, const char *text);

/* Faults by environment, fault.c. A call is numbered from 1 per name. */
typedef struct {
    char name[64];
    char kind[24];
    char value[64];
    char text[512];
    int first, last;
} SimFault;

SIM_API int sim_count_call(const char *name);
SIM_API const SimFault *sim_find_fault(const char *name, int call, const char *kind);
SIM_API long sim_fault_number(const SimFault *fault, long otherwise);
SIM_API int sim_function_fault(const char *name, int otherwise);
SIM_API const SimFault *sim_function_kind(const char *name, const char *kind);

/* Times by environment. */
SIM_API double sim_device_time(const char *name, double bytes); /* ns, negative where it is not set */
SIM_API void sim_host_delay(const char *name, int call);
SIM_API uint64_t sim_now(void);
SIM_API void sim_sleep_until(uint64_t moment);

/* What a stream holds. `run` answers 0 or the code that the next synchronisation shall return. */
typedef struct SimTask SimTask;
typedef struct {
    uint64_t address, bytes;
    bool written;
} SimUse;

struct SimTask {
    SimTask *next;
    const char *name;
    int (*run)(SimTask *task, uint64_t start);
    void (*release)(SimTask *task);
    void *payload;
    SimUse *uses;
    int use_count;
    uint64_t enqueued;
    double duration; /* ns; negative: as long as `run` took, and four times that where `cold` */
    bool cold;
    bool hangs;
};

SIM_API int sim_enqueue(aclrtStream stream, SimTask *task);
SIM_API int sim_require_context(void);
SIM_API bool sim_initialised(void);
SIM_API int sim_initialise(void);
SIM_API void sim_count_launch(void);
SIM_API bool sim_deterministic(void);

typedef struct {
    const char *name, *product;
    int ai_cores, vector_cores;
    int64_t l2, memory;
} SimSoc;
SIM_API const SimSoc *sim_soc(void);

#endif
