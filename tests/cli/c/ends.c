/*
 * Ends in the way that its argument says: a number is an exit code, a word the signal that kills it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile int *volatile nowhere;

int main(int argc, char **argv)
{
    struct rlimit no_core = {0, 0};
    const char *how = argc > 1 ? argv[1] : "0";

    setrlimit(RLIMIT_CORE, &no_core);
    if (strcmp(how, "segv") == 0)
        *nowhere = 1;
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "term") == 0)
        kill(getpid(), SIGTERM);
    else if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(how, "exit") == 0)
        _exit(9);
    return atoi(how);
}
