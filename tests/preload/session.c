/*
 * A session served by a test: socket, clock, draining.
 *
 * MEMTRACK_MODULE and MEMTRACK_TRACKED are paths given by the build.
 */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LIMIT_ROUNDS = 60000, /* of 1 ms */
};

struct session {
    const struct session_options *options;
    struct session_result *result;
    uint8_t uuid[UUID_BYTES], token[TOKEN_BYTES];
    int listener;
};

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    printf("# session: %s (errno %d)\n", what, errno);
    fflush(stdout);
    _exit(1);
}

static void put_digits(char *text, const uint8_t *bytes, size_t count_bytes)
{
    for (size_t i = 0; i < count_bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static void listen_at_name(struct session *session)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *name = address.sun_path + 1;
    size_t prefix_bytes = strlen(HANDSHAKE_SOCKET_PREFIX);

    memcpy(name, HANDSHAKE_SOCKET_PREFIX, prefix_bytes);
    put_digits(name + prefix_bytes, session->uuid, UUID_BYTES);
    session->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    require(session->listener >= 0 &&
                bind(session->listener, (struct sockaddr *)&address,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + prefix_bytes +
                                 2 * UUID_BYTES)) == 0 &&
                listen(session->listener, 16) == 0,
            "no socket");
}

static uint32_t claim_process_slot(struct test_pool *pool)
{
    for (uint32_t i = 0; i < POOL_PROCESS_COUNT; i++) {
        uint32_t state = PROCESS_FREE;

        if (atomic_compare_exchange_strong(&pool->table[i].state, &state, PROCESS_CLAIMED))
            return i;
    }
    require(false, "no process slot");
    return 0;
}

static void answer(struct session *session, int fd)
{
    struct test_pool *pool = &session->result->pool;
    struct handshake_answer reply = {
        .magic = HANDSHAKE_MAGIC,
        .major = PROTOCOL_MAJOR,
        .status = session->options->refuses ? HANDSHAKE_REFUSED : HANDSHAKE_WELCOME,
        .pool_bytes = pool->header->pool_bytes,
    };
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec part = {&reply, sizeof(reply)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (!session->options->refuses) {
        reply.process_slot = claim_process_slot(pool);
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.header), &pool->fd, sizeof(int));
    }
    require(sendmsg(fd, &message, MSG_NOSIGNAL) == sizeof(reply), "cannot answer");
}

static void serve(struct session *session)
{
    struct session_result *result = session->result;
    struct handshake_hello hello;
    int fd = session->listener < 0 ? -1 : accept4(session->listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return;
    require(recv(fd, &hello, sizeof(hello), 0) == sizeof(hello), "no hello");
    require(hello.magic == HANDSHAKE_MAGIC && hello.major == PROTOCOL_MAJOR &&
                memcmp(hello.token, session->token, TOKEN_BYTES) == 0,
            "the hello is wrong");
    result->hello = hello;
    result->count_hellos++;
    if (session->options->is_silent)
        return; /* the connection stays open, and nothing comes */
    answer(session, fd);
    close(fd);
}

/* Replace this process by the program. */
static _Noreturn void become(const struct session *session, char *const *arguments)
{
    const struct session_options *options = session->options;
    char uuid[2 * UUID_BYTES + 1], token[2 * TOKEN_BYTES + 1];
    char locator[128], preload[1024];

    put_digits(uuid, session->uuid, UUID_BYTES);
    put_digits(token, session->token, TOKEN_BYTES);
    snprintf(locator, sizeof(locator), "%s:%s:/capture", uuid, token);
    snprintf(preload, sizeof(preload), "%s:%s:%s",
             options->preload_before != NULL ? options->preload_before : "", MEMTRACK_MODULE,
             options->preload_more != NULL ? options->preload_more : "");
    require(setenv(SESSION_VARIABLE, locator, 1) == 0 && setenv("LD_PRELOAD", preload, 1) == 0,
            "no environment");
    if (options->variable != NULL)
        putenv(strdup(options->variable));
    if (options->output_fd != 0)
        require(dup2(options->output_fd, STDOUT_FILENO) >= 0, "no output");
    if (options->in_child != NULL)
        options->in_child();
    execv(arguments[0], arguments);
    _exit(127);
}

/* Whether a process that wrote into the pool is still there. */
static bool has_living_process(const struct test_pool *pool)
{
    for (uint32_t i = 0; i < POOL_PROCESS_COUNT; i++) {
        struct pool_process *process = &pool->table[i];

        if (atomic_load(&process->state) != PROCESS_LIVE)
            continue;
        if (kill((pid_t)process->pid, 0) == 0)
            return true;
    }
    return false;
}

void session_run(const struct session_options *options, char *const *arguments,
                 struct session_result *ret_result)
{
    struct session session = {.options = options, .result = ret_result, .listener = -1};
    const struct timespec pause = {.tv_nsec = 1000000};
    bool has_ended = false;
    pid_t child;

    memset(ret_result, 0, sizeof(*ret_result));
    test_pool_make(&ret_result->pool, options->ring_count != 0 ? options->ring_count : 16,
                   options->pool_options);
    require(getrandom(session.uuid, UUID_BYTES, 0) == UUID_BYTES &&
                getrandom(session.token, TOKEN_BYTES, 0) == TOKEN_BYTES,
            "no random bytes");
    if (!options->has_no_socket)
        listen_at_name(&session);
    fflush(stdout);
    child = fork();
    require(child >= 0, "cannot fork");
    if (child == 0)
        become(&session, arguments);
    for (unsigned round = 0; !has_ended || has_living_process(&ret_result->pool); round++) {
        require(round < LIMIT_ROUNDS, "the program does not end");
        serve(&session);
        if (!options->is_stopped)
            test_pool_tick(&ret_result->pool);
        if (!options->lets_rings_fill)
            test_pool_drain(&ret_result->pool, false);
        if (!has_ended)
            has_ended = waitpid(child, &ret_result->status, WNOHANG) == child;
        nanosleep(&pause, NULL);
    }
    test_pool_drain(&ret_result->pool, true);
    close(session.listener);
}

void session_run_scene(const struct session_options *options, const char *scene,
                       struct session_result *ret_result)
{
    char *arguments[] = {strdup(MEMTRACK_TRACKED), strdup(scene), NULL};

    session_run(options, arguments, ret_result);
    free(arguments[0]);
    free(arguments[1]);
}

struct pool_cursor session_main_stream(const struct session_result *result, uint32_t process)
{
    for (uint32_t i = 0; i < result->pool.count_streams; i++)
        if (result->pool.streams[i].process == process)
            return (struct pool_cursor){.stream = &result->pool.streams[i]};
    require(false, "the process has no stream");
    return (struct pool_cursor){.stream = NULL};
}
