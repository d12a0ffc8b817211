/*
 * Where it all begins: our constructor.
 *
 * Runs once in the loader, before the constructors of all other libraries and of the program. When
 * anything at all is not as it should be, the hooks stay what they are without a session: names for
 * the real functions.
 */
#include "base/syscalls.h"
#include "hook/filter.h"
#include "hook/loader.h"
#include "hook/pymem.h"
#include "hook/real.h"
#include "record/life.h"
#include "record/process.h"
#include "session/clock.h"
#include "session/handshake.h"
#include "session/leave.h"
#include "session/locator.h"
#include "session/pool_map.h"

/* Returns false when we take no part in the session. */
static bool join(const struct locator *locator)
{
    struct handshake handshake;
    struct pool_map map;
    bool is_mapped;

    /* Whether we are the first program is for process_open() to see: nobody numbered came before. */
    if (!handshake_ask(locator, PROCESS_BY_EXEC, &handshake))
        return false;
    is_mapped =
        pool_map_open(handshake.pool_fd, handshake.pool_bytes, handshake.process_slot, &map);
    sys_call(SYS_close, handshake.pool_fd, 0, 0, 0, 0, 0);
    if (!is_mapped)
        return false;
    if (!process_open(map.header, map.mapped_bytes, map.ring_count, handshake.process_slot)) {
        pool_map_close(&map);
        return false;
    }
    process_begin_alone();
    process_find_python();
    return true;
}

/*
 * What pthread_atfork() is in glibc. Weak, for musl lacks it, and its loader ends a program that a
 * name is missing for.
 */
extern int __register_atfork(void (*ahead)(void), void (*in_parent)(void), void (*in_child)(void),
                             void *object) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/* The loader of glibc passes what main() will get; libc itself may not have it yet. */
__attribute__((constructor)) static void start(int argument_count, char **arguments,
                                               char **environment)
{
    const char *text;
    struct locator locator;

    (void)argument_count;
    /* A program of musl's: its loader passes nothing to us. The hooks hand on what they are called. */
    if (__register_atfork == NULL) {
        real_resolve();
        loader_resolve();
        return;
    }
    leave_sanitizer(arguments, environment);
    real_resolve();
    loader_resolve();
    text = locator_find(environment, SESSION_VARIABLE);
    if (text == NULL)
        return;
    if (!filter_allows(text))
        return;
    text = filter_skip_mark(text);
    if (!locator_parse(text, &locator))
        return;
    if (!loader_finds_our_malloc())
        process.flags |= PROCESS_HAS_OTHER_MALLOC;
    clock_use_kernel();
    process.follow_mode = hook_follow_mode;
    pymem_offer();
    if (!join(&locator))
        return;
    loader_strip_deepbind();
    /* First to register, last to be called: nothing of the program's comes between it and fork. */
    __register_atfork(life_fork_ahead, NULL, NULL, __dso_handle);
}
