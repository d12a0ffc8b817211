/*
 * Starting processes. Main thread; nothing here is shared.
 */
#include "collect/spawn.h"

#include <signal.h>

int spawn_program(const char *path, char *const *arguments, char *const *environment,
                  const posix_spawn_file_actions_t *actions, pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    sigset_t all, none;
    int status;

    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    status = posix_spawn(ret_pid, path, actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    return status;
}
