/*
 * Processes that the collector starts.
 */
#ifndef COLLECT_SPAWN_H
#define COLLECT_SPAWN_H

#include <spawn.h>
#include <sys/types.h>

/*
 * Start a program, with no signal blocked or ignored. Not by fork(): that of a process with threads has
 * their locks.
 * actions: the caller's, may be NULL. ret_pid: the child, to be waited for.
 * Returns 0 or an errno. Context: main thread.
 */
int spawn_program(const char *path, char *const *arguments, char *const *environment,
                  const posix_spawn_file_actions_t *actions, pid_t *ret_pid);

#endif
