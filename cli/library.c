/*
 * Finding the library. The program may have been moved with its tree (a wheel, an unpacked archive,
 * a build folder), so what stands beside it comes first.
 */
#include "library.h"

#include "base/memory.h"
#include "words.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libmemtrack.so"

/* Relative to the folder of the program. */
static const char *const places[] = {
    "../" MEMTRACK_LIBDIR "/memtrack/" LIBRARY, /* installed */
    "../lib/memtrack/" LIBRARY,                 /* the same, on another system's layout */
    "../lib/" LIBRARY,                          /* a build folder */
};

static char *program_directory(void)
{
    char *program = realpath("/proc/self/exe", NULL);

    if (program != NULL)
        *strrchr(program, '/') = '\0';
    return program;
}

static char *find_file(void)
{
    char *directory = program_directory();
    char *found = NULL;

    for (size_t i = 0; directory != NULL && found == NULL && i < sizeof(places) / sizeof(places[0]);
         i++) {
        char *path = words_format("%s/%s", directory, places[i]);

        found = realpath(path, NULL);
        free(path);
    }
    free(directory);
    return found != NULL ? found : realpath(MEMTRACK_INSTALLED_LIBRARY, NULL);
}

char *library_find(struct error *err)
{
    char *path = find_file();

    if (path == NULL) {
        error_set(err, "%s not found beside this program, nor as %s: install memtrack again",
                  LIBRARY, MEMTRACK_INSTALLED_LIBRARY);
        return NULL;
    }
    if (strpbrk(path, " :") != NULL) {
        error_set(err,
                  "%s: LD_PRELOAD cannot carry a path with a space or a colon: "
                  "install memtrack in another folder",
                  path);
        free(path);
        return NULL;
    }
    if (access(path, R_OK) != 0) {
        error_set(err, "%s: cannot be read", path);
        free(path);
        return NULL;
    }
    return path;
}
