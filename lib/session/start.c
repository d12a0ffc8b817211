/*
 * Where it all begins: our constructor.
 *
 * Runs once in the loader, before the constructors of all other libraries and of the program. When
 * anything at all is not as it should be, the hooks stay what they are without a session: names for
 * the real functions.
 */
#include "base/syscalls.h"
#include "hook/loader.h"
#include "hook/real.h"
#include "record/life.h"
#include "record/process.h"
#include "session/handshake.h"
#include "session/locator.h"
#include "session/pool_map.h"

#include <pthread.h>

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
    process_find_python();
    return true;
}

/* The loader of glibc and of musl passes what main() will get; libc itself may not have it yet. */
__attribute__((constructor)) static void start(int argument_count, char **arguments,
                                               char **environment)
{
    const char *text = locator_find(environment, SESSION_VARIABLE);
    struct locator locator;

    (void)argument_count;
    (void)arguments;
    real_resolve();
    loader_resolve();
    if (text == NULL || !locator_parse(text, &locator))
        return;
    if (!loader_finds_our_malloc())
        process.flags |= PROCESS_HAS_OTHER_MALLOC;
    if (!join(&locator))
        return;
    loader_strip_deepbind();
    /* First to register, last to be called: nothing of the program's comes between it and fork. */
    pthread_atfork(life_fork_ahead, NULL, NULL);
}
