/*
 * Preloaded before the command: a file system that knows no files without names.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

int open64(const char *path, int flags, ...);

static int open_named(const char *call, const char *path, int flags, mode_t mode)
{
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, call);

    if ((flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return real(path, flags, mode);
}

static mode_t mode_of(va_list arguments, int flags)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

#undef open
int open(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = mode_of(arguments, flags);
    va_end(arguments);
    return open_named("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = mode_of(arguments, flags);
    va_end(arguments);
    return open_named("open64", path, flags, mode);
}
