/*
 * memtrack ctl: steers a recording that goes on, by its collector's socket.
 *
 * Which session a process is in only the collectors know: each one of this user is asked in turn, by
 * its abstract socket. Nothing is read of the process, and nothing is done to it.
 */
#include "commands.h"
#include "exit_status.h"
#include "memtrack/protocol.h"
#include "message.h"
#include "print/numbers.h"
#include "print/units.h"
#include "words.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    ANSWER_LIMIT_S = 10, /* a collector that is busy answers late */
    LISTENS =
        1 << 16, /* in the flags of /proc/net/unix: linux include/uapi/linux/net.h, SO_ACCEPTCON */
    NAME_HEX_DIGITS = 2 * UUID_BYTES,
};

enum outcome {
    NOT_FOUND,
    DONE,
    FAILED,      /* it has been said why */
    NOT_WRITTEN, /* likewise */
};

static const struct {
    const char *word;
    enum control_command command;
} words[] = {
    {"start", CONTROL_START},       {"stop", CONTROL_STOP},     {"mark", CONTROL_MARK},
    {"snapshot", CONTROL_SNAPSHOT}, {"status", CONTROL_STATUS},
};

/* Fill in what the user wants. Returns false with err. */
static bool parse_request(const struct option_values *values, struct control_request *request,
                          struct error *err)
{
    unsigned long pid;
    size_t index = 0;
    char *end;

    if (values->operand_count < 2) {
        error_set(err, "name a process and what to do: see memtrack ctl --help");
        return false;
    }
    errno = 0;
    pid = strtoul(values->operands[0], &end, 10);
    if (values->operands[0][0] < '1' || values->operands[0][0] > '9' || *end != '\0' ||
        errno != 0 || pid > INT_MAX) {
        error_set(err, "%s: is not the number of a process", values->operands[0]);
        return false;
    }
    while (index < sizeof(words) / sizeof(words[0]) &&
           strcmp(words[index].word, values->operands[1]) != 0)
        index++;
    if (index == sizeof(words) / sizeof(words[0])) {
        error_set(err, "%s: use start, stop, mark NAME, snapshot or status", values->operands[1]);
        return false;
    }
    *request = (struct control_request){.magic = CONTROL_MAGIC,
                                        .major = PROTOCOL_MAJOR,
                                        .minor = PROTOCOL_MINOR,
                                        .command = words[index].command,
                                        .pid = (uint32_t)pid};
    if (values->operand_count != (request->command == CONTROL_MARK ? 3 : 2)) {
        error_set(err, "%s: %s", words[index].word,
                  request->command == CONTROL_MARK ? "give the mark one name"
                                                   : "nothing more can be said with it");
        return false;
    }
    return true;
}

/* What -o and -f say is the snapshot's. */
static bool take_file(const struct option_values *values, struct control_request *request,
                      struct error *err)
{
    const char *name = values->values[OPTION_SNAPSHOT];
    char *path;
    bool is_taken;

    if (request->command != CONTROL_SNAPSHOT) {
        if (name == NULL && !values->is_set[OPTION_FORCE])
            return true;
        error_set(err, "%s: -o and -f are for snapshot", values->operands[1]);
        return false;
    }
    if (values->is_set[OPTION_FORCE])
        request->flags |= CONTROL_MAY_OVERWRITE;
    if (name == NULL)
        return true;
    if (name[0] == '\0' || strcmp(name, "-") == 0) {
        error_set(err, "-o %s: a snapshot needs the name of a file", name);
        return false;
    }
    path = words_absolute_path(name); /* the collector is elsewhere */
    is_taken = path != NULL && strlen(path) < sizeof(request->name);
    if (path == NULL)
        error_set(err, "%s: the working directory is gone", name);
    else if (!is_taken)
        error_set(err, "%s: the path is longer than %zu bytes", name, sizeof(request->name) - 1);
    else
        memcpy(request->name, path, strlen(path));
    request->name_bytes = (uint32_t)strlen(request->name);
    free(path);
    return is_taken;
}

static bool take_name(const char *name, struct control_request *request, struct error *err)
{
    size_t length = strlen(name);

    if (length == 0 || length > CONTROL_NAME_BYTES) {
        error_set(err, "the name of a mark has 1 to %d bytes", CONTROL_NAME_BYTES);
        return false;
    }
    request->name_bytes = (uint32_t)length;
    memcpy(request->name, name, length);
    return true;
}

/* Returns a socket connected to a collector of ours (or of anybody, for root); -1: it is none. */
static int connect_to(const char *name)
{
    struct timeval limit = {.tv_sec = ANSWER_LIMIT_S};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t peer_length = sizeof(peer);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    memcpy(address.sun_path + 1, name, strlen(name));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, (const struct sockaddr *)&address, length) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_length) == 0 &&
        (peer.uid == geteuid() || geteuid() == 0))
        return fd;
    close(fd);
    return -1;
}

/* Returns false when there is none: one of an earlier version, or that has just ended, hangs up. */
static bool receive(int fd, struct control_answer *ret_answer)
{
    ssize_t received;

    do
        received = recv(fd, ret_answer, sizeof(*ret_answer), 0);
    while (received < 0 && errno == EINTR);
    if (received < (ssize_t)sizeof(*ret_answer) || ret_answer->magic != CONTROL_MAGIC)
        return false;
    ret_answer->text[sizeof(ret_answer->text) - 1] = '\0';
    return true;
}

/* A collector that is at work says so at once, and then takes as long as it takes. */
static bool receive_last(int fd, struct control_answer *ret_answer)
{
    static const struct timeval no_limit;

    if (!receive(fd, ret_answer))
        return false;
    if (ret_answer->status != CONTROL_UNDER_WAY)
        return true;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &no_limit, sizeof(no_limit));
    if (receive(fd, ret_answer))
        return true;
    ret_answer->status = CONTROL_FAILED;
    strcpy(ret_answer->text, "the collector has ended before it was done");
    return true;
}

/* Ask one collector. */
static enum outcome ask(const char *name, const struct control_request *request,
                        struct control_answer *ret_answer)
{
    int fd = connect_to(name);
    bool is_answered;

    if (fd < 0)
        return NOT_FOUND;
    send(fd, request, sizeof(*request), MSG_NOSIGNAL);
    is_answered = receive_last(fd, ret_answer);
    close(fd);
    if (!is_answered)
        return NOT_FOUND;
    switch (ret_answer->status) {
    case CONTROL_DONE:
        return DONE;
    case CONTROL_INCOMPATIBLE:
        message_print("the collector is of another version: use the memtrack that started it");
        return FAILED;
    case CONTROL_FAILED:
        message_print("%s", ret_answer->text);
        return NOT_WRITTEN;
    default:
        return NOT_FOUND;
    }
}

/* Take a collector's name out of a line of /proc/net/unix. Returns NULL when it is none's. */
static const char *name_in(char *line)
{
    char *name = strchr(line, '@');
    unsigned flags = 0;

    if (name == NULL || sscanf(line, "%*s %*s %*s %x", &flags) != 1 || (flags & LISTENS) == 0)
        return NULL;
    name++;
    name[strcspn(name, "\n")] = '\0';
    if (strncmp(name, HANDSHAKE_SOCKET_PREFIX, strlen(HANDSHAKE_SOCKET_PREFIX)) != 0 ||
        strlen(name) != strlen(HANDSHAKE_SOCKET_PREFIX) + NAME_HEX_DIGITS)
        return NULL;
    return name;
}

/* Ask all collectors until one knows the process. */
static enum outcome ask_all(const struct control_request *request,
                            struct control_answer *ret_answer)
{
    FILE *sockets = fopen("/proc/net/unix", "re");
    enum outcome outcome = NOT_FOUND;
    char line[512];

    if (sockets == NULL) {
        message_print("/proc/net/unix: %s", strerror(errno));
        return FAILED;
    }
    while (outcome == NOT_FOUND && fgets(line, sizeof(line), sockets) != NULL) {
        const char *name = name_in(line);

        if (name != NULL)
            outcome = ask(name, request, ret_answer);
    }
    fclose(sockets);
    return outcome;
}

static void say_not_tracked(uint32_t pid)
{
    struct stat status;
    char path[32];

    snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
    if (stat(path, &status) != 0)
        message_print("process %" PRIu32 ": there is none of this number", pid);
    else if (geteuid() != 0 && status.st_uid != geteuid())
        message_print("process %" PRIu32 ": is another user's, who alone may steer it", pid);
    else
        message_print("process %" PRIu32 ": is not tracked: start it with memtrack run", pid);
}

static void print_status(const struct control_answer *answer)
{
    static const char *const states[] = {
        [POOL_DORMANT] = "dormant",
        [POOL_RECORDING] = "recording",
        [POOL_PAUSED] = "paused",
        [POOL_ENDED] = "ended",
    };

    printf("%s, %s process%s, %s after the start, into %s\n",
           answer->state <= POOL_ENDED ? states[answer->state] : "unknown",
           numbers_format_count(answer->processes).text, answer->processes == 1 ? "" : "es",
           units_format_time(answer->since_ns, 0).text, answer->text);
}

int command_ctl(enum command_id id, const struct option_values *values)
{
    struct control_request request;
    struct control_answer answer;
    enum outcome outcome;
    struct error err;

    (void)id;
    if (!parse_request(values, &request, &err) || !take_file(values, &request, &err) ||
        (request.command == CONTROL_MARK && !take_name(values->operands[2], &request, &err))) {
        message_print("%s", err.text);
        return EXIT_USAGE;
    }
    outcome = ask_all(&request, &answer);
    if (outcome == NOT_FOUND)
        say_not_tracked(request.pid);
    if (outcome != DONE)
        return outcome == NOT_WRITTEN ? EXIT_OUTPUT : EXIT_INPUT;
    if (request.command == CONTROL_STATUS)
        print_status(&answer);
    if (request.command == CONTROL_SNAPSHOT)
        puts(answer.text);
    return EXIT_DONE;
}
