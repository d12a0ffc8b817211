/*
 * The functions behind the names that we interpose: of whoever comes after us in the search order.
 *
 * Never NULL where it says "always". Before real_resolve() they are stand-ins that need nobody: the
 * loader allocates through us before any constructor has run.
 */
#ifndef HOOK_REAL_H
#define HOOK_REAL_H

#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a name is exported with. */
#define HOOK __attribute__((visibility("default")))

/* In the order of the table in real.c. */
struct real_functions {
    /* Always there. */
    void *(*malloc)(size_t size_bytes);
    void (*free)(void *block);
    void *(*calloc)(size_t count, size_t size_bytes);
    void *(*realloc)(void *block, size_t size_bytes);
    int (*posix_memalign)(void **ret_block, size_t align_bytes, size_t size_bytes);
    void *(*aligned_alloc)(size_t align_bytes, size_t size_bytes);
    void *(*memalign)(size_t align_bytes, size_t size_bytes);
    void *(*mmap)(void *address, size_t size_bytes, int protection, int flags, int fd, off_t at);
    void *(*mmap64)(void *address, size_t size_bytes, int protection, int flags, int fd, off_t at);
    int (*munmap)(void *address, size_t size_bytes);
    void *(*mremap)(void *old, size_t old_bytes, size_t new_bytes, int flags, ...);
    int (*mprotect)(void *address, size_t size_bytes, int protection);
    /* NULL where libc has none; the name is then called by nobody, or made of the ones above. */
    void *(*valloc)(size_t size_bytes);
    void *(*pvalloc)(size_t size_bytes);
    void (*free_sized)(void *block, size_t size_bytes);
    void (*free_aligned_sized)(void *block, size_t align_bytes, size_t size_bytes);
    size_t (*malloc_usable_size)(void *block); /* of the object whose malloc it is */
    int (*brk)(void *end);
    void *(*sbrk)(intptr_t increment);
    int (*mlockall)(int flags);
    int (*prctl)(int option, ...);
    int (*pthread_setname_np)(pthread_t thread, const char *name);
    int (*execve)(const char *path, char *const *arguments, char *const *environment);
    int (*execvpe)(const char *file, char *const *arguments, char *const *environment);
    int (*fexecve)(int fd, char *const *arguments, char *const *environment);
    int (*execveat)(int fd, const char *path, char *const *arguments, char *const *environment,
                    int flags);
    int (*posix_spawn)(pid_t *ret_pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const *arguments,
                       char *const *environment);
    int (*posix_spawnp)(pid_t *ret_pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const *arguments,
                        char *const *environment);
    void (*exit)(int code);
    void (*_exit)(int code);
    void (*_Exit)(int code);
    void (*quick_exit)(int code);
    pid_t (*_Fork)(void);
    int (*clone)(int (*function)(void *argument), void *stack, int flags, void *argument, ...);
};

/* Hidden is said here too: a call then goes by it directly. */
extern struct real_functions real __attribute__((visibility("hidden")));

/* Our malloc, whatever the name resolves to. Context: hot path. */
void *hook_malloc(size_t size_bytes) __attribute__((visibility("hidden")));

/*
 * Take the ways that process.wanted_mode asks for: process.follow_mode. Safe to repeat; from the first
 * block on until stacks are walked nothing but PROCESS_WALKS_PYTHON may come to it.
 * Context: start-up, or any thread outside the loader's lock.
 */
void hook_follow_mode(void);

/* For a name that libc lacks: set errno to ENOSYS and return -1. Context: any thread. */
int real_is_missing(void);

/*
 * Find the real functions, and the object whose malloc it is (process.provider_start). Safe to
 * repeat.
 * Context: start-up.
 */
void real_resolve(void);

#endif
