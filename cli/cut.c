/*
 * memtrack cut: makes the last part of a capture that goes on, for the collector (reporters/collect/last.h).
 * A process of its own: neither what it takes of memory nor its end are the collector's.
 */
#include "profile/cut.h"
#include "collect/last.h"
#include "commands.h"
#include "exit_status.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    OPERANDS = 4,
    NUMBER_BASE = 10,
};

/* Where memory is short, this one is to end, and not the program. At worst it is chosen as any other. */
static void stand_first_to_end(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    if (write(fd, "1000", strlen("1000")) < 0)
        errno = 0;
    close(fd);
}

int command_cut(enum command_id id, const struct option_values *values)
{
    struct cut_reached reached;
    struct error err;
    uint64_t size_bytes, time_ns;

    (void)id;
    if (values->operand_count != OPERANDS || fcntl(LAST_RESULT_FD, F_GETFD) < 0) {
        message_print("cut: is started by the collector, not by hand");
        return EXIT_USAGE;
    }
    (void)prctl(PR_SET_NAME, "memtrack-cut"); /* for who looks at it; no matter if not */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* else it ends by itself, and what it wrote is gone */
    (void)setpriority(PRIO_PROCESS, 0, atoi(values->operands[3]));
    stand_first_to_end();
    size_bytes = strtoull(values->operands[0], NULL, NUMBER_BASE);
    time_ns = strtoull(values->operands[1], NULL, NUMBER_BASE);
    if (!cut_along(LAST_FROM_FD, size_bytes, LAST_TO_FD, values->operands[2], time_ns, &reached,
                   &err)) {
        dprintf(LAST_RESULT_FD, LAST_FAILED " %s\n", err.text);
        return EXIT_OUTPUT;
    }
    dprintf(LAST_RESULT_FD, LAST_DONE " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", reached.time_ns,
            reached.from_bytes, reached.to_bytes);
    return EXIT_DONE;
}
