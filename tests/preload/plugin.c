/* A library that a scene loads with dlopen(). */
#include <stdlib.h>

void plugin_allocate(void);

void plugin_allocate(void)
{
    free(malloc(54321));
}
