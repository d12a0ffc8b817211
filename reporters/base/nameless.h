/*
 * Files that have no name until they are complete: nothing is left of them however the tool ends.
 */
#ifndef BASE_NAMELESS_H
#define BASE_NAMELESS_H

#include <stdbool.h>

enum {
    NAMELESS_MODE = 0666, /* of new files, less the mask of the user */
};

/*
 * Create a file without a name, close-on-exec. access_mode: O_WRONLY or O_RDWR.
 * Returns its descriptor, or -1 where the folder's file system has no such thing, or /proc is not
 * there to name it by. Context: tool, any thread.
 */
int nameless_create(const char *folder, int access_mode);

/*
 * Give it its name, which must be free. Returns false with errno. Context: tool, any thread.
 */
bool nameless_link(int fd, const char *name);

#endif
