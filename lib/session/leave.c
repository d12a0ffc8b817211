/*
 * Leaving a program that a sanitizer is in (memtrack/sanitizer.h).
 *
 * Runs first in our constructor, which is the first of all: the sanitizer has not begun, and most of
 * what it stands before in libc would make it begin, or crash. So libc is hardly called here: direct
 * system calls, and those few that sanitizers serve at any time (memcpy, memcmp, strlen).
 *
 * Why here, and not where the program is executed: nobody else knows so well what is loaded, however
 * it was started, and no other program's start pays for it.
 */
#include "session/leave.h"

#include "base/syscalls.h"
#include "hook/environment.h"
#include "memtrack/sanitizer.h"
#include "python/loaded_symbol.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/stat.h>

enum {
    DESCRIPTOR_MAX = 1 << 20,
};

static const char own_file[] = "/proc/self/exe";
static const char descriptors[] = "/dev/fd/"; /* linux fs/exec.c, alloc_bprm() */

/* Describe the program as dl_iterate_phdr() would. Returns false when it does not say where it is. */
static bool find_program(struct dl_phdr_info *ret_info)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    unsigned long count = getauxval(AT_PHNUM);

    for (unsigned long i = 0; headers != NULL && i < count; i++) {
        if (headers[i].p_type != PT_PHDR)
            continue;
        ret_info->dlpi_addr = (uintptr_t)headers - headers[i].p_vaddr;
        ret_info->dlpi_phdr = headers;
        ret_info->dlpi_phnum = (ElfW(Half))count;
        return true;
    }
    return false;
}

/* Return the loader's list of what is loaded; NULL when the program has none. */
static const struct link_map *loaded_list(const struct dl_phdr_info *program)
{
    const ElfW(Dyn) *entry = NULL;
    const struct r_debug *debug = NULL;

    for (unsigned i = 0; i < program->dlpi_phnum; i++)
        if (program->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(program->dlpi_addr + program->dlpi_phdr[i].p_vaddr);
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_DEBUG)
            debug = (const struct r_debug *)entry->d_un.d_ptr;
    return debug != NULL ? debug->r_map : NULL;
}

static bool begins_with(const char *text, const char *prefix)
{
    while (*prefix != '\0' && *text == *prefix) {
        text++;
        prefix++;
    }
    return *prefix == '\0';
}

static bool is_sanitizer(const char *path)
{
    const char *name = path;

    for (const char *p = path; *p != '\0'; p++)
        if (*p == '/')
            name = p + 1;
    for (unsigned i = 0; i < SANITIZER_COUNT; i++)
        if ((sanitizers[i].gcc != NULL && begins_with(name, sanitizers[i].gcc)) ||
            (sanitizers[i].clang != NULL && begins_with(name, sanitizers[i].clang)))
            return true;
    return false;
}

static bool has_sanitizer(void)
{
    struct dl_phdr_info program = {0};
    struct loaded_module module;

    if (!find_program(&program))
        return false;
    for (const struct link_map *map = loaded_list(&program); map != NULL; map = map->l_next)
        if (map->l_name != NULL && is_sanitizer(map->l_name))
            return true;
    if (!loaded_module_read(&program, &module))
        return false;
    for (unsigned i = 0; i < SANITIZER_COUNT; i++)
        if (loaded_symbol(&module, sanitizers[i].in_static) != 0)
            return true;
    return false;
}

static bool read_status(const char *path, struct stat *ret_status)
{
    return !sys_failed(sys_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)ret_status, 0, 0, 0));
}

static bool is_equal(const char *left, const char *right)
{
    return begins_with(left, right) && begins_with(right, left);
}

/* How this program was executed. */
struct execution {
    const char *path;
    char *const *arguments;
    int fd; /* -1, or of fexecve(): the path then only says so */
};

/* Take the descriptor out of the path that Linux makes of one. */
static int descriptor_of(const char *path)
{
    const char *digit = path + sizeof(descriptors) - 1;
    int fd = -1;

    if (!begins_with(path, descriptors))
        return -1;
    for (; *digit >= '0' && *digit <= '9' && fd < DESCRIPTOR_MAX; digit++)
        fd = (fd < 0 ? 0 : 10 * fd) + (*digit - '0');
    return *digit == '\0' ? fd : -1;
}

/*
 * Find out what was executed: of a program its path, for the process is named after it; of a script
 * the arguments from its own name on, before which its interpreter and that one's stand.
 * arguments: main()'s. Returns false when it is not known, or when the loader was executed to load
 * the program.
 */
static bool find_execution(char *const *arguments, struct execution *execution)
{
    const char *path = (const char *)getauxval(AT_EXECFN);
    struct stat given = {0}, own = {0};

    *execution = (struct execution){own_file, arguments, -1};
    if (getauxval(AT_BASE) == 0 || !read_status(own_file, &own))
        return false;
    if (path == NULL || !read_status(path, &given))
        return true;
    if (given.st_dev == own.st_dev && given.st_ino == own.st_ino) {
        execution->path = path;
        execution->fd = descriptor_of(path);
        return true;
    }
    for (char *const *argument = arguments; *argument != NULL; argument++)
        if (argument != arguments && is_equal(*argument, path)) {
            execution->path = path;
            execution->arguments = argument;
            break;
        }
    return true;
}

void leave_sanitizer(char *const *arguments, char *const *environment)
{
    struct environment copy;
    struct execution execution;

    if (!environment_has_library(environment) || !has_sanitizer() ||
        !find_execution(arguments, &execution) || !environment_copy_without_us(&copy, environment))
        return;
    /* A filter that is in force has let this very program be executed. */
    if (execution.fd >= 0)
        sys_call(SYS_execveat, execution.fd, (long)"", (long)execution.arguments, (long)copy.vector,
                 AT_EMPTY_PATH, 0);
    else
        sys_call(SYS_execve, (long)execution.path, (long)execution.arguments, (long)copy.vector, 0,
                 0, 0);
    environment_finish(&copy);
}
