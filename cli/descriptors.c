/*
 * Descriptors: a pipe that somebody else holds open has no end, so nothing is kept by accident.
 */
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    FIRST_OTHER = STDERR_FILENO + 1,
    OLD_KERNEL_MAX = 65536, /* looked through where close_range() is missing (before Linux 5.9) */
};

static void close_between(unsigned first, unsigned last)
{
    if (first > last)
        return;
    if (syscall(SYS_close_range, first, last, 0) == 0 || errno != ENOSYS)
        return;
    for (unsigned descriptor = first; descriptor <= last && descriptor < OLD_KERNEL_MAX;
         descriptor++)
        close((int)descriptor);
}

void descriptors_close_others(const int *kept, size_t count)
{
    unsigned first = FIRST_OTHER;

    for (size_t i = 0; i < count; i++) {
        unsigned next = (unsigned)kept[i];

        if (next < first)
            continue;
        if (next > first)
            close_between(first, next - 1);
        first = next + 1;
    }
    close_between(first, UINT_MAX);
}

void descriptors_point_at_null(int descriptor)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0) {
        close(descriptor);
        return;
    }
    if (null == descriptor) { /* it was closed: keep it across exec as it would be otherwise */
        fcntl(null, F_SETFD, 0);
        return;
    }
    dup2(null, descriptor);
    close(null);
}
