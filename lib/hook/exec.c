/*
 * Other programs in this process's place, and beside it.
 *
 * Runs in the program's threads and in children of vfork, which have our thread's memory: nothing
 * here allocates. All of exec's forms are one of three real ones. What is recorded: that an exec
 * begins, and that it failed; a spawned child says itself that it is there.
 */
#include "base/syscalls.h"
#include "hook/environment.h"
#include "hook/program.h"
#include "hook/real.h"
#include "record/life.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LIST_FEW_COUNT = 32,
};

/* The arguments of execl(); on the stack when they are few, for that may be small. */
struct list {
    char *few[LIST_FEW_COUNT];
    char **arguments;
    size_t mapped_bytes;
};

/* One exec, in a form that all of them have. */
struct image {
    struct program program;
    char *const *arguments;
    char *const *environment;
};

typedef int exec_function(const struct image *image);

static int exec_path(const struct image *image)
{
    return real.execve != NULL
               ? real.execve(image->program.path, image->arguments, image->environment)
               : real_is_missing();
}

static int exec_search(const struct image *image)
{
    return real.execvpe != NULL
               ? real.execvpe(image->program.path, image->arguments, image->environment)
               : real_is_missing();
}

static int exec_fd(const struct image *image)
{
    return real.fexecve != NULL
               ? real.fexecve(image->program.fd, image->arguments, image->environment)
               : real_is_missing();
}

static int exec_at(const struct image *image)
{
    return real.execveat != NULL
               ? real.execveat(image->program.fd, image->program.path, image->arguments,
                               image->environment, image->program.flags)
               : real_is_missing();
}

/* Returns only when it failed. */
static int exec_image(exec_function *function, struct image image)
{
    struct environment environment;
    int result, error;

    environment_copy(&environment, image.environment, &image.program);
    image.environment = environment.vector;
    life_record(LIFE_EXEC, 0, !environment_has_session(image.environment));
    result = function(&image);
    error = errno;
    life_record(LIFE_EXEC_FAILED, (uint64_t)error, false);
    environment_finish(&environment);
    errno = error;
    return result;
}

static int exec_by_path(const char *path, char *const *arguments, char *const *environment)
{
    struct program program = {.path = path, .fd = AT_FDCWD};

    return exec_image(exec_path, (struct image){program, arguments, environment});
}

static int exec_by_name(const char *file, char *const *arguments, char *const *environment)
{
    struct program program = {.path = file, .fd = AT_FDCWD, .is_searched = true};

    return exec_image(exec_search, (struct image){program, arguments, environment});
}

HOOK int execve(const char *path, char *const *arguments, char *const *environment)
{
    return exec_by_path(path, arguments, environment);
}

HOOK int execv(const char *path, char *const *arguments)
{
    return exec_by_path(path, arguments, environ);
}

HOOK int execvp(const char *file, char *const *arguments)
{
    return exec_by_name(file, arguments, environ);
}

HOOK int execvpe(const char *file, char *const *arguments, char *const *environment)
{
    return exec_by_name(file, arguments, environment);
}

HOOK int fexecve(int fd, char *const *arguments, char *const *environment)
{
    struct program program = {.path = "", .fd = fd, .flags = AT_EMPTY_PATH};

    return exec_image(exec_fd, (struct image){program, arguments, environment});
}

HOOK int execveat(int fd, const char *path, char *const *arguments, char *const *environment,
                  int flags)
{
    struct program program = {.path = path, .fd = fd, .flags = flags};

    return exec_image(exec_at, (struct image){program, arguments, environment});
}

/*
 * Copy the arguments of execl(), the first one and the list up to its NULL.
 * list: afterwards behind the NULL.
 * Returns false when there is no memory for them; errno then says so.
 */
static bool take_list(struct list *copy, const char *first, va_list *list)
{
    size_t count = 1;
    va_list counted;

    va_copy(counted, *list);
    for (const char *argument = first; argument != NULL; count++)
        argument = va_arg(counted, const char *);
    va_end(counted);
    copy->arguments = copy->few;
    copy->mapped_bytes = 0;
    if (count > LIST_FEW_COUNT) {
        long address = sys_call(SYS_mmap, 0, (long)(count * sizeof(char *)), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (sys_failed(address)) {
            errno = ENOMEM;
            return false;
        }
        copy->arguments = (char **)address;
        copy->mapped_bytes = count * sizeof(char *);
    }
    copy->arguments[0] = (char *)(uintptr_t)first;
    for (size_t i = 1; i < count; i++)
        copy->arguments[i] = va_arg(*list, char *);
    return true;
}

/* The exec has failed. */
static int give_back_list(struct list *copy, int result)
{
    if (copy->mapped_bytes > 0)
        sys_unmap(copy->arguments, copy->mapped_bytes);
    return result;
}

HOOK int execl(const char *path, const char *first, ...)
{
    struct list copy;
    va_list list;
    int result = -1;

    va_start(list, first);
    if (take_list(&copy, first, &list))
        result = give_back_list(&copy, exec_by_path(path, copy.arguments, environ));
    va_end(list);
    return result;
}

HOOK int execlp(const char *file, const char *first, ...)
{
    struct list copy;
    va_list list;
    int result = -1;

    va_start(list, first);
    if (take_list(&copy, first, &list))
        result = give_back_list(&copy, exec_by_name(file, copy.arguments, environ));
    va_end(list);
    return result;
}

HOOK int execle(const char *path, const char *first, ...)
{
    struct list copy;
    va_list list;
    int result = -1;

    va_start(list, first);
    if (take_list(&copy, first, &list)) {
        char *const *environment = va_arg(list, char *const *);

        result = give_back_list(&copy, exec_by_path(path, copy.arguments, environment));
    }
    va_end(list);
    return result;
}

/* Which actions there are, libc keeps to itself; another folder may be among them. */
static struct program spawned_program(const char *path, const posix_spawn_file_actions_t *actions)
{
    return (struct program){.path = path, .fd = AT_FDCWD, .is_elsewhere = actions != NULL};
}

HOOK int posix_spawn(pid_t *ret_pid, const char *path, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attributes, char *const *arguments,
                     char *const *environment)
{
    struct program program = spawned_program(path, actions);
    struct environment copy;
    int error;

    if (real.posix_spawn == NULL)
        return ENOSYS;
    environment_copy(&copy, environment, &program);
    error = real.posix_spawn(ret_pid, path, actions, attributes, arguments, copy.vector);
    environment_finish(&copy);
    return error;
}

HOOK int posix_spawnp(pid_t *ret_pid, const char *file, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attributes, char *const *arguments,
                      char *const *environment)
{
    struct program program = spawned_program(file, actions);
    struct environment copy;
    int error;

    program.is_searched = true;
    if (real.posix_spawnp == NULL)
        return ENOSYS;
    environment_copy(&copy, environment, &program);
    error = real.posix_spawnp(ret_pid, file, actions, attributes, arguments, copy.vector);
    environment_finish(&copy);
    return error;
}
