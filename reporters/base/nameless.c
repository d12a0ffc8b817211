/*
 * Files without a name. Runs in the tools, on any thread.
 */
#include "base/nameless.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* The name in /proc by which such a file gets one. */
struct descriptor_name {
    char text[32];
};

static struct descriptor_name name_of_descriptor(int fd)
{
    struct descriptor_name name;

    snprintf(name.text, sizeof(name.text), "/proc/self/fd/%d", fd);
    return name;
}

int nameless_create(const char *folder, int access_mode)
{
    int fd = open(folder, O_TMPFILE | O_CLOEXEC | access_mode, NAMELESS_MODE);

    if (fd >= 0 && access(name_of_descriptor(fd).text, F_OK) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool nameless_link(int fd, const char *name)
{
    return linkat(AT_FDCWD, name_of_descriptor(fd).text, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}
