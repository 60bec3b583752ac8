/* Faults and times that tests ask for by environment variable. The grammar stands in README.md. */
#include "sim.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST 64

typedef struct {
    char name[64];
    double time, noise, bytes_per_ns, host, first;
} Timing;

static SimFault faults[MOST];
static int fault_count;
static Timing timings[MOST];
static int timing_count;
static struct {
    char name[64];
    int calls;
} counters[128];
static int counter_count;
static uint64_t random_state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *const KINDS[] = {"phase1", "phase2", "sync",   "fail", "tail", "ulp",   "scale", "nan",
                                    "stale",  "round",  "overrun", "nothing", "input", "random", "abort",
                                    "segv",   "kill",   "hang",   "chatter", "underrun", "workspace", "onto", "unzeroed", "cleared",
                                    "shielded", "aligned", "tight", "bypass", "late",  "slow",   "blocks", NULL};

/* A test that asks for a fault that does not exist would pass for the wrong reason. */
static void reject(const char *variable, const char *item)
{
    fprintf(stderr, "simulated CANN: %s: cannot read '%s'\n", variable, item);
    abort();
}

static void copy(char *to, size_t size, const char *from, size_t length, const char *variable)
{
    if (length >= size)
        reject(variable, from);
    memcpy(to, from, length);
    to[length] = '\0';
}

static void read_fault(char *item)
{
    if (fault_count == MOST)
        reject("SIM_CANN_FAULT", item);
    SimFault *fault = &faults[fault_count++];
    fault->first = 1;
    fault->last = INT32_MAX;
    char *text = strstr(item, ",text=");
    if (text) {
        copy(fault->text, sizeof fault->text, text + 6, strlen(text + 6), "SIM_CANN_FAULT");
        *text = '\0';
    }
    char *colon = strchr(item, ':');
    if (!colon)
        reject("SIM_CANN_FAULT", item);
    copy(fault->name, sizeof fault->name, item, (size_t)(colon - item), "SIM_CANN_FAULT");
    char *at = strchr(colon, '@');
    if (at) {
        *at++ = '\0';
        char *end;
        fault->first = (int)strtol(at, &end, 10);
        if (end == at || fault->first < 1 || (*end && strcmp(end, "+") != 0))
            reject("SIM_CANN_FAULT", at);
        if (!*end)
            fault->last = fault->first;
    }
    char *equals = strchr(colon, '=');
    if (equals) {
        *equals++ = '\0';
        copy(fault->value, sizeof fault->value, equals, strlen(equals), "SIM_CANN_FAULT");
    }
    copy(fault->kind, sizeof fault->kind, colon + 1, strlen(colon + 1), "SIM_CANN_FAULT");
    for (int i = 0; KINDS[i]; i++)
        if (strcmp(KINDS[i], fault->kind) == 0)
            return;
    reject("SIM_CANN_FAULT", fault->kind);
}

static double read_duration(const char *text, const char **end)
{
    char *stop;
    double value = strtod(text, &stop);
    if (stop == text)
        reject("SIM_CANN_TIME", text);
    if (strncmp(stop, "ns", 2) == 0)
        stop += 2;
    else if (strncmp(stop, "us", 2) == 0)
        stop += 2, value *= 1e3;
    else if (strncmp(stop, "ms", 2) == 0)
        stop += 2, value *= 1e6;
    else if (*stop == 's')
        stop += 1, value *= 1e9;
    else
        reject("SIM_CANN_TIME", text);
    *end = stop;
    return value;
}

static void read_timing(char *item)
{
    if (timing_count == MOST)
        reject("SIM_CANN_TIME", item);
    Timing *timing = &timings[timing_count++];
    char *equals = strchr(item, '=');
    if (!equals)
        reject("SIM_CANN_TIME", item);
    copy(timing->name, sizeof timing->name, item, (size_t)(equals - item), "SIM_CANN_TIME");
    const char *at = equals + 1;
    timing->time = read_duration(at, &at);
    while (*at) {
        char *stop;
        if (*at == '+') {
            timing->bytes_per_ns = strtod(at + 1, &stop); /* one GB/s is one byte per ns */
            if (strncmp(stop, "GB/s", 4) != 0 || timing->bytes_per_ns <= 0)
                reject("SIM_CANN_TIME", at);
            at = stop + 4;
        } else if (*at == '~') {
            timing->noise = strtod(at + 1, &stop) / 100;
            if (*stop != '%')
                reject("SIM_CANN_TIME", at);
            at = stop + 1;
        } else if (strncmp(at, ",host=", 6) == 0) {
            timing->host = read_duration(at + 6, &at);
        } else if (strncmp(at, ",first=", 7) == 0) {
            timing->first = read_duration(at + 7, &at);
        } else {
            reject("SIM_CANN_TIME", at);
        }
    }
}

static void read_items(const char *variable, void (*read)(char *))
{
    const char *text = getenv(variable);
    if (!text)
        return;
    char *all = strdup(text), *rest = all;
    for (char *item; (item = strsep(&rest, ";"));)
        if (*item)
            read(item);
    free(all);
}

static void read_environment(void)
{
    read_items("SIM_CANN_FAULT", read_fault);
    read_items("SIM_CANN_TIME", read_timing);
    const char *seed = getenv("SIM_CANN_SEED");
    random_state = seed ? strtoull(seed, NULL, 10) : (uint64_t)getpid() ^ (uint64_t)time(NULL) << 20;
}

static double draw(void) /* uniform in [-1, 1) */
{
    sim_lock();
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    double value = (double)(random_state >> 11) * 0x1p-52 - 1;
    sim_unlock();
    return value;
}

int sim_count_call(const char *name)
{
    pthread_once(&once, read_environment);
    sim_lock();
    int i = 0, most = (int)(sizeof counters / sizeof *counters);
    while (i < counter_count && strcmp(counters[i].name, name) != 0)
        i++;
    if (i == counter_count && i < most)
        snprintf(counters[counter_count++].name, sizeof counters[0].name, "%s", name);
    int calls = i < most ? ++counters[i].calls : 1;
    sim_unlock();
    return calls;
}

const SimFault *sim_find_fault(const char *name, int call, const char *kind)
{
    pthread_once(&once, read_environment);
    for (int i = 0; i < fault_count; i++) {
        const SimFault *fault = &faults[i];
        bool named = strcmp(fault->name, name) == 0 || (strcmp(fault->name, "*") == 0 && strncmp(name, "aclnn", 5) == 0);
        if (named && strcmp(fault->kind, kind) == 0 && fault->first <= call && call <= fault->last)
            return fault;
    }
    return NULL;
}

long sim_fault_number(const SimFault *fault, long otherwise)
{
    return *fault->value ? strtol(fault->value, NULL, 10) : otherwise;
}

/* For the functions of the runtime: the code that this call shall return, or 0. */
int sim_function_fault(const char *name, int otherwise)
{
    pthread_once(&once, read_environment);
    if (!fault_count)
        return 0;
    int call = sim_count_call(name);
    const SimFault *fault = sim_find_fault(name, call, "slow");
    if (fault)
        sim_sleep_until(sim_now() + (uint64_t)sim_fault_number(fault, 6000) * 1000000);
    fault = sim_find_fault(name, call, "fail");
    if (!fault)
        return 0;
    int code = (int)sim_fault_number(fault, otherwise);
    sim_error("EE9999", "%s", *fault->text ? fault->text : "a fault that the environment asked for");
    return code;
}

/* A fault of another kind, of the call that `sim_function_fault` has counted last. */
const SimFault *sim_function_kind(const char *name, const char *kind)
{
    int calls = 1;
    sim_lock();
    for (int i = 0; i < counter_count; i++)
        if (strcmp(counters[i].name, name) == 0)
            calls = counters[i].calls;
    sim_unlock();
    return sim_find_fault(name, calls, kind);
}

static const Timing *timing_of(const char *name)
{
    pthread_once(&once, read_environment);
    for (int i = 0; i < timing_count; i++)
        if (strcmp(timings[i].name, name) == 0)
            return &timings[i];
    for (int i = 0; i < timing_count; i++)
        if (strcmp(timings[i].name, "*") == 0 && strncmp(name, "aclnn", 5) == 0)
            return &timings[i];
    return NULL;
}

double sim_device_time(const char *name, double bytes)
{
    const Timing *timing = timing_of(name);
    if (!timing)
        return -1;
    double time = timing->time + (timing->bytes_per_ns > 0 ? bytes / timing->bytes_per_ns : 0);
    return fmax(0, time * (1 + timing->noise * draw()));
}

uint64_t sim_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void sim_sleep_until(uint64_t moment)
{
    struct timespec until = {(time_t)(moment / 1000000000), (long)(moment % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

void sim_host_delay(const char *name, int call)
{
    const Timing *timing = timing_of(name);
    if (timing && (timing->host > 0 || timing->first > 0))
        sim_sleep_until(sim_now() + (uint64_t)(timing->host + (call == 1 ? timing->first : 0)));
}
