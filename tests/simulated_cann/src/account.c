/* Error texts per thread, the plog file, lifetime faults, and the handles that are still alive. */
#include "sim.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "account.h"

#define ERROR_BYTES 8192

static _Thread_local char pending_error[ERROR_BYTES];
static _Thread_local char returned_error[ERROR_BYTES];
static FILE *log_file;
static char **lifetime;
static int lifetime_count;

static void timestamp(char *text, size_t size)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    struct tm parts;
    localtime_r(&now.tv_sec, &parts);
    size_t length = strftime(text, size, "%Y-%m-%d-%H:%M:%S", &parts);
    snprintf(text + length, size - length, ".%03d.%03d", (int)(now.tv_usec / 1000), (int)(now.tv_usec % 1000));
}

static bool flag(const char *name)
{
    const char *value = getenv(name);
    return value && strcmp(value, "1") == 0;
}

static int log_level(void)
{
    const char *level = getenv("ASCEND_GLOBAL_LOG_LEVEL");
    return level && *level ? atoi(level) : 3;
}

bool sim_log_wants_info(void)
{
    return log_level() <= 1;
}

static void make_folders(char *path)
{
    for (char *at = path + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0755);
        *at = '/';
    }
}

/* Real CANN falls back to $HOME/ascend/log; a simulation leaves the home folder alone. */
static FILE *open_log(void)
{
    const char *process = getenv("ASCEND_PROCESS_LOG_PATH"), *work = getenv("ASCEND_WORK_PATH");
    char path[4096], moment[64];
    time_t now = time(NULL);
    struct tm parts;
    localtime_r(&now, &parts);
    strftime(moment, sizeof moment, "%Y%m%d%H%M%S", &parts);
    if (process && *process)
        snprintf(path, sizeof path, "%s/debug/plog/plog-%d_%s000.log", process, (int)getpid(), moment);
    else if (work && *work)
        snprintf(path, sizeof path, "%s/log/debug/plog/plog-%d_%s000.log", work, (int)getpid(), moment);
    else
        return NULL;
    make_folders(path);
    return fopen(path, "a");
}

/* The log is written by a thread of its own, so that a line comes to its file late, as in CANN. */
static void *write_out(void *nothing)
{
    (void)nothing;
    for (;;) {
        const SimFault *late = sim_function_kind("DlogFlush", "late");
        sim_sleep_until(sim_now() + (uint64_t)(late ? sim_fault_number(late, 1500) : 200) * UINT64_C(1000000));
        sim_lock();
        fflush(log_file);
        sim_unlock();
    }
    return NULL;
}

SIM_API void DlogFlush(void);
void DlogFlush(void)
{
    sim_lock();
    if (log_file && !sim_function_kind("DlogFlush", "late"))
        fflush(log_file);
    sim_unlock();
}

static void begin_log(void)
{
    log_file = open_log();
    pthread_t writer;
    if (!log_file)
        return;
    setvbuf(log_file, NULL, _IOFBF, 1 << 20);
    if (pthread_create(&writer, NULL, write_out, NULL) == 0)
        pthread_detach(writer);
}

void sim_log_write(const char *level, const char *text)
{
    char moment[64];
    timestamp(moment, sizeof moment);
    const char *newer = getenv("ASCEND_LOG_PRINT_TO_STDOUT");
    bool to_stdout = newer && *newer ? flag("ASCEND_LOG_PRINT_TO_STDOUT") : flag("ASCEND_SLOG_PRINT_TO_STDOUT");
    sim_lock();
    if (!to_stdout && !log_file)
        begin_log();
    FILE *to = to_stdout ? stdout : log_file;
    if (to) {
        fprintf(to, "[%s] OP(%d,simulated):%s [simulated_cann.c:1]%d %s\n", level, (int)getpid(), moment,
                (int)gettid(), text);
        if (to_stdout)
            fflush(to);
    }
    sim_unlock();
}

void sim_log_info(const char *format, ...)
{
    if (!sim_log_wants_info())
        return;
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sim_log_write("INFO", text);
}

void sim_error(const char *code, const char *format, ...)
{
    char text[1024], moment[64], older[ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    timestamp(moment, sizeof moment);
    memcpy(older, pending_error, sizeof older);
    int length = snprintf(pending_error, sizeof pending_error, "%s: [PID: %d] %s %s\n", code, (int)getpid(), moment, text);
    snprintf(pending_error + length, sizeof pending_error - (size_t)length, "%.*s",
             (int)sizeof pending_error - length - 1, older);
    if (log_level() <= 3) {
        char line[1200];
        snprintf(line, sizeof line, "%s: %s", code, text);
        sim_log_write("ERROR", line);
    }
}

const char *aclGetRecentErrMsg(void)
{
    if (!*pending_error)
        return NULL;
    memcpy(returned_error, pending_error, sizeof returned_error);
    *pending_error = '\0';
    return returned_error;
}

void sim_lifetime_fault(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sim_lock();
    if (lifetime_count < 1000) {
        lifetime = realloc(lifetime, sizeof *lifetime * (size_t)(lifetime_count + 1));
        lifetime[lifetime_count++] = strdup(text);
    }
    sim_unlock();
}

static void write_text(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', to);
        if ((unsigned char)*text >= 0x20)
            fputc(*text, to);
        else
            fprintf(to, "\\u%04x", (unsigned)(unsigned char)*text);
    }
    fputc('"', to);
}

void sim_write_account(const char *at, const SimAccount *account)
{
    const char *path = getenv("SIM_CANN_REPORT");
    if (path && !*path)
        return;
    FILE *to = path ? fopen(path, "a") : stderr;
    if (!to)
        return;
    const char *const names[] = {"tensors", "scalars", "lists",   "arrays",       "executors", "streams",
                                 "events",  "contexts", "buffers", "host_buffers", "devices",   "bytes"};
    if (path) {
        fprintf(to, "{\"pid\": %d, \"at\": \"%s\", \"live\": {", (int)getpid(), at);
        for (int i = 0; i < SIM_ACCOUNTS; i++)
            fprintf(to, "%s\"%s\": %ld", i ? ", " : "", names[i], account->live[i]);
        fprintf(to, "}, \"faults\": [");
        for (int i = 0; i < lifetime_count; i++) {
            fputs(i ? ", " : "", to);
            write_text(to, lifetime[i]);
        }
        fprintf(to, "], \"peak_bytes\": %ld, \"launches\": %ld, \"deterministic\": %ld, \"device\": %ld}\n",
                account->peak, account->launches, account->deterministic, account->device);
        fclose(to);
        return;
    }
    fprintf(to, "simulated CANN at %s:", at);
    bool any = false;
    for (int i = 0; i < SIM_ACCOUNTS; i++)
        if (account->live[i])
            fprintf(to, "%s %ld %s", any ? "," : "", account->live[i], names[i]), any = true;
    fprintf(to, "%s still alive, %d lifetime faults, peak %ld bytes, %ld launches\n", any ? "" : " nothing",
            lifetime_count, account->peak, account->launches);
    for (int i = 0; i < lifetime_count; i++)
        fprintf(to, "  lifetime fault: %s\n", lifetime[i]);
}
