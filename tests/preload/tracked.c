/*
 * The program that is tracked: plays one scene, named by its argument.
 */
#include "scenes.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct scene *const tables[] = {malloc_scenes, map_scenes, process_scenes};

int main(int argument_count, char **arguments)
{
    for (size_t i = 0; argument_count > 1 && i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const struct scene *scene = tables[i]; scene->name != NULL; scene++)
            if (strcmp(arguments[1], scene->name) == 0)
                return scene->run();
    fprintf(stderr, "tracked: no such scene\n");
    return 126;
}
