/*
 * Preflight. A program that cannot be tracked is refused, with the reason: starting it untracked
 * would give an empty capture, and half a preload could change how it runs.
 */
#include "preflight.h"

#include "executable.h"
#include "exit_status.h"
#include "memtrack/sanitizer.h"
#include "words.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    SCRIPT_MAX_DEPTH = 5, /* Linux gives up there */
};

/* What this program is built for; a preloaded library must fit the program it goes into. */
#if defined(__x86_64__)
enum {
    OWN_MACHINE = EM_X86_64,
};
#elif defined(__aarch64__)
enum {
    OWN_MACHINE = EM_AARCH64,
};
#else
#error "memtrack runs on x86_64 and aarch64"
#endif

static bool check(const char *path, unsigned depth, int *ret_status, struct error *err);

static bool refuse(int status, int *ret_status)
{
    *ret_status = status;
    return false;
}

/*
 * Whether the kernel would give the program rights that its starter has not. The loader then
 * ignores LD_PRELOAD. Root gains nothing by file capabilities.
 */
static bool check_rights(const char *path, const struct stat *file, int *ret_status,
                         struct error *err)
{
    const char *kind = NULL;

    if ((file->st_mode & S_ISUID) != 0 && file->st_uid != geteuid())
        kind = "setuid";
    else if ((file->st_mode & S_ISGID) != 0 && (file->st_mode & S_IXGRP) != 0 &&
             file->st_gid != getegid())
        kind = "setgid";
    else if (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
        kind = "given capabilities";
    if (kind == NULL)
        return true;
    error_set(err,
              "%s: is %s, and nothing can be preloaded into such a program: "
              "run memtrack as the user it would become, or make a copy without that right",
              path, kind);
    return refuse(EXIT_NOT_EXECUTABLE, ret_status);
}

/* Return the loader that this program itself was started with, by name; NULL when not known. */
static const char *own_loader_name(void)
{
    static struct executable_elf own;
    struct executable_script script;

    if (executable_read("/proc/self/exe", &own, &script) != EXECUTABLE_ELF || !own.has_loader)
        return NULL;
    return words_base_name(own.loader);
}

static bool is_built_with(const char *path, const struct sanitizer *sanitizer)
{
    return (sanitizer->gcc != NULL && executable_needs(path, sanitizer->gcc)) ||
           (sanitizer->clang != NULL && executable_needs(path, sanitizer->clang)) ||
           executable_exports(path, sanitizer->in_static);
}

static bool begins_with(const char *text, const char *prefix)
{
    return prefix != NULL && strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Whether LD_PRELOAD loads it into the program: memtrack's library would come before it. */
static bool is_preloaded(const struct sanitizer *sanitizer)
{
    const char *list = getenv("LD_PRELOAD");

    for (size_t length; list != NULL && *list != '\0';
         list += length + strspn(list + length, ": ")) {
        const char *name = list;

        length = strcspn(list, ": ");
        for (size_t i = 0; i < length; i++)
            if (list[i] == '/')
                name = list + i + 1;
        if (begins_with(name, sanitizer->gcc) || begins_with(name, sanitizer->clang))
            return true;
    }
    return false;
}

static bool check_sanitizers(const char *path, int *ret_status, struct error *err)
{
    for (size_t i = 0; i < SANITIZER_COUNT; i++) {
        if (is_built_with(path, &sanitizers[i])) {
            error_set(err,
                      "%s: is built with %s, which cannot have another library before its own: "
                      "build it without",
                      path, sanitizers[i].name);
            return refuse(EXIT_NOT_EXECUTABLE, ret_status);
        }
        if (is_preloaded(&sanitizers[i])) {
            error_set(err,
                      "%s: LD_PRELOAD gives it %s, which cannot have another library before its "
                      "own: take that out",
                      path, sanitizers[i].name);
            return refuse(EXIT_NOT_EXECUTABLE, ret_status);
        }
    }
    return true;
}

static bool check_elf(const char *path, const struct executable_elf *elf, int *ret_status,
                      struct error *err)
{
    const char *own_loader;

    if (elf->machine != OWN_MACHINE || !elf->is_64_bit) {
        error_set(err, "%s: is a program for %s; this memtrack tracks programs for %s only", path,
                  executable_machine_name(elf->machine, elf->is_64_bit),
                  executable_machine_name(OWN_MACHINE, true));
        return refuse(EXIT_NOT_EXECUTABLE, ret_status);
    }
    if (!elf->has_loader) {
        error_set(err,
                  "%s: is statically linked, and nothing can be preloaded into such a program: "
                  "link it dynamically",
                  path);
        return refuse(EXIT_NOT_EXECUTABLE, ret_status);
    }
    if (access(elf->loader, F_OK) != 0) {
        error_set(err, "%s: needs the loader %s, which is not there", path, elf->loader);
        return refuse(EXIT_NOT_FOUND, ret_status);
    }
    if (!check_sanitizers(path, ret_status, err))
        return false;
    own_loader = own_loader_name();
    if (own_loader != NULL && strcmp(own_loader, words_base_name(elf->loader)) != 0) {
        error_set(err, "%s: is built for another C library (%s); this memtrack is built for %s",
                  path, elf->loader, own_loader);
        return refuse(EXIT_NOT_EXECUTABLE, ret_status);
    }
    return true;
}

static bool check_interpreter(const char *path, const char *name, unsigned depth, int *ret_status,
                              struct error *err)
{
    char *interpreter = executable_find(name);
    bool is_good;

    if (interpreter == NULL || access(interpreter, F_OK) != 0) {
        error_set(err, "%s: its first line names %s, which is not there", path, name);
        free(interpreter);
        return refuse(EXIT_NOT_FOUND, ret_status);
    }
    is_good = check(interpreter, depth + 1, ret_status, err);
    free(interpreter);
    return is_good;
}

static bool check_script(const char *path, const struct executable_script *script, unsigned depth,
                         int *ret_status, struct error *err)
{
    if (depth >= SCRIPT_MAX_DEPTH || script->interpreter[0] == '\0') {
        error_set(err, "%s: its first line names no interpreter that can be used", path);
        return refuse(EXIT_NOT_EXECUTABLE, ret_status);
    }
    if (!check_interpreter(path, script->interpreter, depth, ret_status, err))
        return false;
    return script->program[0] == '\0' ||
           check_interpreter(path, script->program, depth, ret_status, err);
}

static bool check(const char *path, unsigned depth, int *ret_status, struct error *err)
{
    struct stat file;
    struct executable_elf elf;
    struct executable_script script;

    if (stat(path, &file) != 0) {
        error_set(err, "%s: %s", path, strerror(errno));
        return refuse(errno == ENOENT || errno == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE,
                      ret_status);
    }
    if (S_ISDIR(file.st_mode)) {
        error_set(err, "%s: is a directory", path);
        return refuse(EXIT_NOT_EXECUTABLE, ret_status);
    }
    if (access(path, X_OK) != 0) {
        error_set(err, "%s: is not executable: chmod +x, or name the program that runs it", path);
        return refuse(EXIT_NOT_EXECUTABLE, ret_status);
    }
    switch (executable_read(path, &elf, &script)) {
    case EXECUTABLE_ELF:
        return check_rights(path, &file, ret_status, err) && check_elf(path, &elf, ret_status, err);
    case EXECUTABLE_SCRIPT: /* rights of scripts are ignored by Linux */
        return check_script(path, &script, depth, ret_status, err);
    case EXECUTABLE_UNREADABLE:
        return check_rights(path, &file, ret_status, err);
    case EXECUTABLE_OTHER:
        break;
    }
    return true;
}

bool preflight_check(const char *path, int *ret_status, struct error *err)
{
    return check(path, 0, ret_status, err);
}
