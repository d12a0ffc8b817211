/*
 * Sessions, as their starter sees them. The identity goes over the socket, not into the collector's
 * arguments, which every user of the machine can read.
 */
#include "session.h"

#include "base/memory.h"
#include "descriptors.h"
#include "environment.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    COLLECTOR_FD = 3,
    COMMAND_FD = 4,
    COLLECTOR_ARGUMENTS = 20, /* beside the program's, and --on-exceed */
};

static bool make_identity(char *identity, struct error *err)
{
    uint8_t bytes[UUID_BYTES + TOKEN_BYTES];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        error_set(err, "no random numbers for the session: %s", strerror(errno));
        return false;
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        if (i == UUID_BYTES)
            *identity++ = ':';
        identity += snprintf(identity, 3, "%02x", bytes[i]);
    }
    return true;
}

/* Return the collector's arguments; the texts made here live as long as this process. */
static char **collector_arguments(const struct session_request *request, int fd)
{
    size_t count = 0, program_count = 0;
    char *directory = getcwd(NULL, 0);
    char **arguments;

    while (request->arguments[program_count] != NULL)
        program_count++;
    arguments = memory_allocate(COLLECTOR_ARGUMENTS + request->exceed_count + program_count,
                                sizeof(char *));
    arguments[count++] = words_format("memtrack");
    arguments[count++] = words_format("collect");
    arguments[count++] = words_format("--starter=%d", fd);
    arguments[count++] = words_format("--output=%s", request->output);
    arguments[count++] = words_format("--directory=%s", directory == NULL ? "" : directory);
    arguments[count++] = words_format("--pool-options=%" PRIu64, request->pool_options);
    arguments[count++] = words_format("--min-size=%" PRIu64, request->min_size);
    arguments[count++] = words_format("--sample-bytes=%" PRIu64, request->sample_bytes);
    if (request->has_no_symbols)
        arguments[count++] = words_format("--no-symbols");
    if (request->index != NULL)
        arguments[count++] = words_format("--index=%s", request->index);
    if (request->max_file != NULL)
        arguments[count++] = words_format("--max-file=%s", request->max_file);
    if (request->max_overhead != NULL)
        arguments[count++] = words_format("--max-overhead=%s", request->max_overhead);
    if (request->is_aggregated)
        arguments[count++] = words_format("--aggregate");
    if (request->last_ns > 0)
        arguments[count++] = words_format("--last=%" PRIu64 "ns", request->last_ns);
    if (request->is_dormant)
        arguments[count++] = words_format("--dormant");
    if (request->delay_ns > 0)
        arguments[count++] = words_format("--delay=%" PRIu64 "ns", request->delay_ns);
    if (request->duration_ns > 0)
        arguments[count++] = words_format("--duration=%" PRIu64 "ns", request->duration_ns);
    for (unsigned i = 0; i < request->exceed_count; i++)
        arguments[count++] = words_format("--on-exceed=%s", request->exceed[i]);
    if (request->has_commands)
        arguments[count++] = words_format("--command-output=%d", COMMAND_FD);
    if (request->may_overwrite)
        arguments[count++] = words_format("--force");
    arguments[count++] = words_format("--");
    memcpy(arguments + count, request->arguments, program_count * sizeof(char *));
    free(directory);
    return arguments;
}

/* In the child: drop all that belongs to the program's surroundings, then be the collector. */
static _Noreturn void become_collector(const struct session_request *request, int fd)
{
    static const int kept[] = {COLLECTOR_FD, COMMAND_FD};
    static const int terminal_signals[] = {SIGINT,  SIGQUIT, SIGHUP,  SIGTSTP,
                                           SIGTTIN, SIGTTOU, SIGWINCH};
    char **arguments = collector_arguments(request, COLLECTOR_FD);
    sigset_t terminal;

    if (fd == COLLECTOR_FD)
        fcntl(fd, F_SETFD, 0);
    else
        dup2(fd, COLLECTOR_FD);
    if (request->has_commands)
        dup2(STDERR_FILENO, COMMAND_FD);
    descriptors_close_others(kept, request->has_commands ? 2 : 1);
    for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; standard++)
        descriptors_point_at_null(standard);
    if (chdir("/") != 0) /* no file system is kept busy; where that fails, one is */
        errno = 0;
    /* The terminal's are its own to unblock, once it has left the terminal's session. */
    sigemptyset(&terminal);
    for (size_t i = 0; i < sizeof(terminal_signals) / sizeof(terminal_signals[0]); i++)
        sigaddset(&terminal, terminal_signals[i]);
    sigprocmask(SIG_SETMASK, &terminal, NULL);
    execve("/proc/self/exe", arguments, environment_of_collector());
    dprintf(COLLECTOR_FD, "error the collector cannot be executed: %s", strerror(errno));
    _exit(1);
}

bool session_start(const struct session_request *request, struct session *ret_session,
                   struct error *err)
{
    struct session session = {.fd = -1};
    int fds[2];

    if (!make_identity(session.identity, err))
        return false;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
        error_set(err, "no socket to the collector: %s", strerror(errno));
        return false;
    }
    session.collector = fork();
    if (session.collector == 0)
        become_collector(request, fds[1]);
    close(fds[1]);
    session.fd = fds[0];
    if (session.collector < 0) {
        error_set(err, "the collector cannot be started: %s", strerror(errno));
        session_close(&session);
        return false;
    }
    session_send(&session, "session %s", session.identity);
    *ret_session = session;
    return true;
}

/* Return why the collector has gone, as far as its exit status tells. */
static void set_gone(const struct session *session, struct error *err)
{
    int status = 0;

    if (waitpid(session->collector, &status, 0) == session->collector && WIFSIGNALED(status))
        error_set(err, "the collector was killed by signal %d before it was ready",
                  WTERMSIG(status));
    else
        error_set(err, "the collector ended before it was ready");
}

bool session_wait_ready(struct session *session, int given_up_fd, struct error *err)
{
    struct pollfd fds[] = {
        {.fd = session->fd, .events = POLLIN},
        {.fd = given_up_fd, .events = 0},
    };
    struct session_message message;

    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            error_set(err, "waiting for the collector: %s", strerror(errno));
            return false;
        }
        session_receive(session, &message);
        switch (message.word) {
        case SESSION_READY:
            return true;
        case SESSION_CLOSED:
            set_gone(session, err);
            return false;
        case SESSION_ERROR:
            error_set(err, "%s", message.text);
            return false;
        case SESSION_NOTHING:
        case SESSION_FINISHED:
        case SESSION_RUNNING:
        case SESSION_FAILED:
            break;
        }
        if (fds[1].revents != 0) {
            error_set(err, "interrupted before the program was started");
            return false;
        }
    }
}

char *session_variable(const struct session *session, const char *output)
{
    return words_format("%s:%s", session->identity, output);
}

void session_send(const struct session *session, const char *format, ...)
{
    char line[SESSION_MESSAGE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    send(session->fd, line, strlen(line), MSG_NOSIGNAL);
}

void session_receive(struct session *session, struct session_message *ret_message)
{
    static const struct {
        const char *word;
        enum session_word meaning;
    } words[] = {
        {"ready", SESSION_READY},     {"error", SESSION_ERROR},   {"finished", SESSION_FINISHED},
        {"running", SESSION_RUNNING}, {"failed", SESSION_FAILED},
    };
    char line[SESSION_MESSAGE_BYTES];
    ssize_t length = -1;

    ret_message->word = SESSION_CLOSED;
    ret_message->text[0] = '\0';
    if (session->fd < 0)
        return;
    length = recv(session->fd, line, sizeof(line) - 1, MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
        ret_message->word = SESSION_NOTHING;
        return;
    }
    if (length <= 0) {
        session_close(session);
        return;
    }
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    ret_message->word = SESSION_NOTHING; /* a word of a later version */
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t word_length = strlen(words[i].word);

        if (strncmp(line, words[i].word, word_length) != 0 ||
            (line[word_length] != ' ' && line[word_length] != '\0'))
            continue;
        ret_message->word = words[i].meaning;
        if (line[word_length] == ' ')
            memcpy(ret_message->text, line + word_length + 1, strlen(line + word_length));
    }
}

void session_close(struct session *session)
{
    if (session->fd >= 0)
        close(session->fd);
    session->fd = -1;
}
