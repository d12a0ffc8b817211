/*
 * Requests, in the pool's header.
 *
 * Runs in the program's threads, inside the functions of memtrack.h, never in an allocation. What holds:
 * a request is one thread's from CLAIMED to READY, then the collector's. What the thread has recorded
 * before stands in its ring before the collector can see that it is READY.
 *
 * Relaxed, where nothing is said: words that say only themselves.
 */
#include "record/request.h"

#include "base/syscalls.h"
#include "record/process.h"

#include <string.h>

#define LIMIT_NS UINT64_C(100000000)
#define LOOK_NS  UINT64_C(5000000)
#define FULL_NS  UINT64_C(1000000)

/* Whether there is a collector, and this process is of its session. */
static bool may_ask(void)
{
    if (process.header == NULL || process.is_off || process_is_borrowed())
        return false;
    /* A forked child has no number yet; of those that are not to be followed none ever has. */
    if (process_is_refused() || (process.image->pid == 0 && !process_is_followed()))
        return false;
    return !process_lost_collector();
}

/*
 * Whether it is so already. A dormant recording may be one that begins by itself, so it is stopped; and
 * what others have asked for may change the state.
 */
static bool is_done(enum pool_request_command command)
{
    uint32_t state = atomic_load_explicit(&process.header->state, memory_order_relaxed);

    for (unsigned i = 0; i < POOL_REQUEST_COUNT; i++)
        if (atomic_load_explicit(&process.header->request[i].state, memory_order_relaxed) !=
            REQUEST_FREE)
            return state == POOL_ENDED;
    return state == POOL_ENDED || (command == REQUEST_START && state == POOL_RECORDING) ||
           (command == REQUEST_STOP && state == POOL_PAUSED);
}

/* Returns NULL when none is free. */
static struct pool_request *claim(void)
{
    for (unsigned i = 0; i < POOL_REQUEST_COUNT; i++) {
        struct pool_request *request = &process.header->request[i];
        uint32_t state = REQUEST_FREE;

        /* Acquire: the collector has taken what stood there. */
        if (atomic_compare_exchange_strong_explicit(&request->state, &state, REQUEST_CLAIMED,
                                                    memory_order_acquire, memory_order_relaxed))
            return request;
    }
    return NULL;
}

/* Wait until the collector has carried out what stood there. */
static void await(struct pool_request *request, uint32_t served_before, uint64_t began_ns)
{
    /* Acquire: the state is seen with it. */
    while (atomic_load_explicit(&request->served, memory_order_acquire) == served_before &&
           atomic_load_explicit(&process.header->state, memory_order_relaxed) != POOL_ENDED &&
           !sys_makes_no_calls() && sys_now_ns() - began_ns < LIMIT_NS && !process_lost_collector())
        sys_futex_wait(&request->served, served_before, LOOK_NS);
}

void request_make(enum pool_request_command command, const char *name)
{
    uint64_t began_ns;
    struct pool_request *request;
    uint32_t served;

    if (!may_ask() || is_done(command))
        return;
    began_ns = sys_now_ns();
    while ((request = claim()) == NULL) {
        if (sys_now_ns() - began_ns > LIMIT_NS || process_lost_collector()) {
            process_count(COUNTER_UNHEARD, 1);
            return;
        }
        process_ring_doorbell();
        sys_sleep(FULL_NS);
    }
    served = atomic_load_explicit(&request->served, memory_order_relaxed);
    request->command = command;
    request->number =
        atomic_fetch_add_explicit(&process.header->request_numbers, 1, memory_order_relaxed);
    request->name_bytes = name == NULL ? 0 : (uint32_t)strnlen(name, REQUEST_NAME_BYTES);
    if (name != NULL)
        memcpy(request->name, name, request->name_bytes);
    /* Release: who sees it READY sees the rest, and all that this thread has recorded. */
    atomic_store_explicit(&request->state, REQUEST_READY, memory_order_release);
    atomic_fetch_add_explicit(&process.header->requests, 1, memory_order_release);
    process_ring_doorbell();
    if (command != REQUEST_SNAPSHOT)
        await(request, served, began_ns);
}
