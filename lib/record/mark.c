/*
 * Marks, phases and the names of pools, in the ring of the thread that tells of them.
 *
 * Runs in the program's threads, inside the functions of memtrack.h. What holds: a mark begins a
 * segment, and every thread begins another at its next event. So what happened before the mark, in
 * whatever thread, stands before it, and what happens after it behind it.
 */
#include "record/mark.h"

#include "record/chain.h"
#include "record/context.h"
#include "record/names.h"
#include "record/process.h"
#include "record/ring.h"
#include "record/segment.h"

#define MARK_KIND_SHIFT SLOT_DOMAIN_SHIFT

/* NULL: nothing to record to, or nothing to say from here. */
static struct context *enter(uintptr_t frame, const void *caller)
{
    if (process.header == NULL || process_is_borrowed())
        return NULL;
    return context_enter(frame, caller);
}

/* Write a mark with the thread's stack; its chain is taken. Returns false when it did not go out. */
static bool write_with_stack(struct context *context, struct slot mark, const void *caller)
{
    const struct call_site site = {caller, NULL};
    struct chain_news news = {0};

    if ((process.mode & PROCESS_HAS_STACKS) != 0 && !chain_update(context, &site, &news))
        return false;
    context->scratch[news.count_slots] = mark;
    return ring_write(context, context->scratch, news.count_slots + 1);
}

void mark_record(enum mark_kind kind, const char *name, uint64_t number, const void *caller)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    struct context *context = enter(frame, caller);
    uint64_t w0 = slot_head(OP_MARK) | (uint64_t)kind << MARK_KIND_SHIFT;
    uint32_t id = NAMES_NONE;
    bool has_chain, is_written = false;

    if (context == NULL)
        return;
    has_chain = chain_take(context, frame);
    if (name != NULL)
        id = has_chain ? names_get(context, NAME_MARK, name) : names_find(NAME_MARK, name);
    if ((name == NULL || id != NAMES_NONE) && segment_begin(context, SYNC_MARK, frame)) {
        struct slot mark = {w0 | id | (has_chain ? 0 : SLOT_DETACHED), number};

        is_written =
            has_chain ? write_with_stack(context, mark, caller) : ring_write(context, &mark, 1);
    }
    if (has_chain && context->slots != NULL)
        chain_release(context);
    if (!is_written)
        context_lose_event(context);
    process_next_epoch();
}

uint64_t mark_next_phase(void)
{
    if (process.header == NULL || process_is_borrowed() || !process_is_recording())
        return 0;
    return atomic_fetch_add_explicit(&process.image->phases, 1, memory_order_relaxed) + 1;
}

enum allocator mark_pool_allocator(const char *pool, const void *caller)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    uint32_t id = names_find(NAME_POOL, pool);
    struct context *context;

    if (id != NAMES_NONE)
        return (enum allocator)id;
    context = enter(frame, caller);
    if (context == NULL || !chain_take(context, frame))
        return ALLOCATOR_POOL;
    id = names_get(context, NAME_POOL, pool);
    if (context->slots != NULL)
        chain_release(context);
    return id != NAMES_NONE ? (enum allocator)id : ALLOCATOR_POOL;
}
