/*
 * The pager. The stream keeps the first screen in memory; the line that no longer fits starts the
 * pager, and from then on all goes through a pipe.
 */
#include "pager.h"

#include "base/memory.h"
#include "executable.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    USUAL_ROWS = 24,
};

struct pager {
    FILE *stream;
    const char *command;
    size_t screen_rows;
    char *text; /* what has been written while the pager is not there */
    size_t length, capacity, line_count;
    pid_t pid; /* 0: not started */
    int fd;    /* to write to: the pipe, or standard output */
};

static const char *choose_command(void)
{
    const char *command = getenv("MEMTRACK_PAGER");
    char *less;

    if (command == NULL)
        command = getenv("PAGER");
    if (command != NULL)
        return command[0] == '\0' || strcmp(command, "cat") == 0 ? NULL : command;
    less = executable_find("less");
    if (less == NULL)
        return NULL;
    free(less);
    return "less";
}

static bool write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, text, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        text += written;
        length -= (size_t)written;
    }
    return true;
}

static _Noreturn void become_pager(const char *command, int input)
{
    dup2(input, STDIN_FILENO);
    setenv("LESS", "FRX", 0);
    setenv("LV", "-c", 0);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* Start it. When that fails, the text goes to the terminal as it is. */
static void start(struct pager *pager)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        return;
    pager->pid = fork();
    if (pager->pid == 0)
        become_pager(pager->command, fds[0]);
    close(fds[0]);
    if (pager->pid < 0) {
        pager->pid = 0;
        close(fds[1]);
        return;
    }
    pager->fd = fds[1];
    /* Ctrl-C is the pager's, and so is the end of the pipe. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

static bool flush_text(struct pager *pager)
{
    bool is_written = write_all(pager->fd, pager->text, pager->length);

    pager->length = 0;
    return is_written;
}

static ssize_t take_text(void *cookie, const char *text, size_t length)
{
    struct pager *pager = cookie;

    if (pager->pid != 0)
        return write_all(pager->fd, text, length) ? (ssize_t)length : 0;
    pager->text = memory_grow(pager->text, &pager->capacity, pager->length + length, 1);
    memcpy(pager->text + pager->length, text, length);
    pager->length += length;
    for (size_t i = 0; i < length; i++)
        pager->line_count += text[i] == '\n';
    if (pager->line_count < pager->screen_rows)
        return (ssize_t)length;
    start(pager);
    return flush_text(pager) ? (ssize_t)length : 0;
}

struct pager *pager_open(FILE **ret_file)
{
    static const cookie_io_functions_t functions = {.write = take_text};
    const char *command = choose_command();
    struct winsize size;
    struct pager *pager;

    if (command == NULL)
        return NULL;
    pager = memory_allocate(1, sizeof(*pager));
    pager->command = command;
    pager->fd = STDOUT_FILENO;
    pager->screen_rows = USUAL_ROWS;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0)
        pager->screen_rows = size.ws_row;
    pager->stream = fopencookie(pager, "w", functions);
    if (pager->stream == NULL) {
        free(pager);
        return NULL;
    }
    *ret_file = pager->stream;
    return pager;
}

void pager_close(struct pager *pager)
{
    fclose(pager->stream);
    if (pager->pid == 0) {
        flush_text(pager);
    } else {
        close(pager->fd);
        while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    free(pager->text);
    free(pager);
}
