/*
 * A library that loads another, which only its own RUNPATH leads to.
 */
#include <dlfcn.h>
#include <stddef.h>

int rpath_load(void);

int rpath_load(void)
{
    return dlopen("conformance_private.so", RTLD_NOW) != NULL;
}
