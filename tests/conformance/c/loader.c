/*
 * Loads libraries in ways that a profiler may get wrong: loader constructor|rpath PATH.
 */
#include "say.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
    void *library;
    int (*load)(void);

    if (argc != 3)
        give_up("usage: loader constructor|rpath PATH");
    library = dlopen(argv[2], RTLD_NOW);
    if (library == NULL)
        give_up("%s", dlerror());
    if (strcmp(argv[1], "rpath") == 0) {
        *(void **)&load = dlsym(library, "rpath_load");
        say("loaded %d", load());
    }
    return 0;
}
