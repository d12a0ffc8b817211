/*
 * Takes so many bytes of memory for each line that it reads, for good. A line of "fork" goes on in a child,
 * of "orphan" in a child whose parent ends.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void note(int number)
{
    (void)number;
    if (write(STDOUT_FILENO, "signal\n", 7) < 0)
        _exit(9);
}

static char *volatile kept;

static void grow(size_t size_bytes)
{
    kept = malloc(size_bytes);
    if (kept == NULL)
        _exit(8);
    memset(kept, 1, size_bytes);
}

/* Returns in the child. */
static void go_on_in_child(int waits)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0)
        return;
    if (waits)
        waitpid(child, &status, 0);
    _exit(waits ? WEXITSTATUS(status) : 3);
}

static char *read_line(char *line, int size)
{
    int length = 0;

    while (length < size - 1 && read(STDIN_FILENO, line + length, 1) == 1 && line[length] != '\n')
        length++;
    line[length] = '\0';
    return length > 0 ? line : NULL;
}

int main(void)
{
    char line[64];

    signal(SIGUSR1, note);
    dprintf(STDOUT_FILENO, "ready %ld\n", (long)getpid());
    while (read_line(line, sizeof(line)) != NULL) {
        if (strcmp(line, "fork") == 0)
            go_on_in_child(1);
        else if (strcmp(line, "orphan") == 0)
            go_on_in_child(0);
        else
            grow(strtoul(line, NULL, 10));
        dprintf(STDOUT_FILENO, "done\n");
    }
    return 3;
}
