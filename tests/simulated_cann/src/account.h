/* What the account at the end counts; filled by runtime.c, written by account.c. */
#ifndef SIM_ACCOUNT_H
#define SIM_ACCOUNT_H

enum {
    LIVE_TENSORS,
    LIVE_SCALARS,
    LIVE_LISTS,
    LIVE_ARRAYS,
    LIVE_EXECUTORS,
    LIVE_STREAMS,
    LIVE_EVENTS,
    LIVE_CONTEXTS,
    LIVE_BUFFERS,
    LIVE_HOST_BUFFERS,
    LIVE_DEVICES,
    LIVE_BYTES,
    SIM_ACCOUNTS
};

typedef struct {
    long live[SIM_ACCOUNTS];
    long peak, launches, deterministic, device; /* device: the last one set, -1 for none */
} SimAccount;

void sim_write_account(const char *at, const SimAccount *account);

#endif
