/*
 * The client of debuginfod, loaded when it is wanted: few have it, and it brings a whole HTTP library
 * along. Runs in the tools, in a process of its own.
 */
#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* From elfutils' debuginfod.h, the same since its first version. */
typedef void *begin_function(void);
typedef void end_function(void *client);
typedef int find_function(void *client, const unsigned char *build_id, int size_bytes,
                          char **ret_path);

char *debuginfod_fetch(const uint8_t *build_id, size_t size_bytes)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    char *path = NULL;
    begin_function *begin;
    find_function *find;
    end_function *end;
    void *library, *client;
    int fd;

    if (servers == NULL || servers[0] == '\0' || size_bytes == 0 || size_bytes > INT_MAX)
        return NULL;
    library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return NULL;
    begin = (begin_function *)dlsym(library, "debuginfod_begin");
    find = (find_function *)dlsym(library, "debuginfod_find_debuginfo");
    end = (end_function *)dlsym(library, "debuginfod_end");
    client = begin != NULL && find != NULL && end != NULL ? begin() : NULL;
    if (client == NULL)
        return NULL;
    fd = find(client, build_id, (int)size_bytes, &path);
    if (fd >= 0)
        close(fd);
    end(client);
    return fd >= 0 ? path : NULL;
}
