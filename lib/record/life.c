/*
 * Exec, exit, fork and names in the ring of the thread that causes them.
 *
 * Runs in the program's threads, inside the hooks of lib/hook. These calls are rare: each enters as
 * an event on the slow path does.
 */
#include "record/life.h"

#include "base/syscalls.h"
#include "record/blob.h"
#include "record/chain.h"
#include "record/context.h"
#include "record/process.h"
#include "record/ring.h"
#include "record/segment.h"

#include <string.h>

enum {
    THREAD_NAME_BYTES = 15, /* linux TASK_COMM_LEN without the NUL */
};

#define LIFE_LACKS_SESSION (UINT64_C(1) << 53)

/* A filter is expected, and this thread's last exec has failed. */
static __thread bool has_failed __attribute__((tls_model("initial-exec")));

/*
 * Whether the thread is most likely a child of vfork that ends, when nobody can tell any more: such
 * a child executes or ends, or does both. Taken for one, a process lacks the code that it told.
 */
static bool is_end_of_another(enum life life)
{
    bool result = life == LIFE_EXIT && has_failed;

    has_failed = life == LIFE_EXEC_FAILED && sys_makes_no_calls();
    return result;
}

/* NULL: nothing to record to, or nothing to say from here. */
static struct context *enter(uintptr_t frame)
{
    if (process.header == NULL || process_is_borrowed())
        return NULL;
    return context_enter(frame, NULL);
}

void life_record(enum life life, uint64_t code, bool lacks_session)
{
    struct context *context =
        is_end_of_another(life) ? NULL : enter((uintptr_t)__builtin_frame_address(0));
    struct slot record = {
        slot_head(OP_LIFE) | (unsigned)life | (lacks_session ? LIFE_LACKS_SESSION : 0), code};

    if (context != NULL && !ring_write(context, &record, 1))
        context_lose_event(context);
}

void life_fork_ahead(void)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    struct context *context = enter(frame);
    struct slot record = {slot_head(OP_LIFE) | LIFE_FORK, 0};

    if (context == NULL)
        return;
    if (!segment_begin(context, SYNC_FORK, frame) || !ring_write(context, &record, 1))
        context_lose_event(context);
    /* What other threads record from now on is not in segments that they have begun before. */
    process_next_epoch();
}

static void put_u32(uint8_t *bytes, uint32_t value)
{
    for (unsigned i = 0; i < sizeof(value); i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

void life_thread_name(const char *name)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    struct context *context = enter(frame);
    uint8_t bytes[BLOB_NAME_HEADER_BYTES + THREAD_NAME_BYTES] = {0};
    size_t count_bytes = strnlen(name, THREAD_NAME_BYTES);

    /* In a handler on top of an event the scratch memory is in use: the name is then not told. */
    if (context == NULL || !chain_take(context, frame))
        return;
    put_u32(bytes, sys_thread_id());
    bytes[4] = NAME_THREAD;
    memcpy(bytes + BLOB_NAME_HEADER_BYTES, name, count_bytes);
    blob_write(context, BLOB_NAME, bytes, BLOB_NAME_HEADER_BYTES + count_bytes);
    chain_release(context);
}
