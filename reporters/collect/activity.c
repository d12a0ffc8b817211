/*
 * Activity. Clock thread.
 *
 * The pool is the programs': what stands there is compared with what we know, and a wrong word makes
 * a process look at a tick that is not due to it, no more.
 */
#include "collect/activity.h"

#include <string.h>

/* Which process has this number? It may be too new to be known: then it is asked for again. */
static bool find_owner(struct activity *activity, struct session *session, uint32_t ring,
                       uint32_t *ret_owner)
{
    uint32_t number = session->pool.rings[ring].process, limit = session_process_limit(session);
    uint32_t owner = activity->owners[ring];

    for (uint32_t tried = 0; number != 0 && tried < limit; tried++, owner++) {
        if (owner >= limit)
            owner = 0;
        if (atomic_load_explicit(&session->processes[owner].number, memory_order_relaxed) ==
            number) {
            activity->owners[ring] = (uint16_t)owner;
            *ret_owner = owner;
            return true;
        }
    }
    return false;
}

static void look_at_rings(struct activity *activity, struct session *session, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t cursor =
            atomic_load_explicit(&session->pool.rings[i].cursor, memory_order_relaxed);
        uint32_t owner;

        if (cursor == activity->cursors[i] || !find_owner(activity, session, i, &owner))
            continue;
        activity->cursors[i] = cursor;
        activity->has_recorded[owner] = true;
    }
}

static void look_at_processes(struct activity *activity, struct session *session)
{
    for (uint32_t i = 0; i < session_process_limit(session); i++) {
        uint32_t drained =
            atomic_load_explicit(&session->processes[i].activity, memory_order_relaxed);

        activity->has_recorded[i] = drained != activity->drained[i];
        activity->drained[i] = drained;
    }
}

void activity_look(struct activity *activity, struct session *session)
{
    uint32_t ready = atomic_load_explicit(&session->pool.header->rings_ready, memory_order_acquire);

    if (ready <= ACTIVITY_MAX_RINGS && ready <= session->pool.ring_count) {
        memset(activity->has_recorded, 0, session_process_limit(session));
        look_at_rings(activity, session, ready);
    } else {
        look_at_processes(activity, session);
    }
}
