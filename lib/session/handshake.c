/*
 * One question and one answer over an abstract socket.
 *
 * Runs in our constructor, by direct system calls: errno, and whoever interposes the calls, see
 * nothing. No descriptor is left open but the pool's.
 */
#include "session/handshake.h"

#include "base/syscalls.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

enum {
    HANDSHAKE_LIMIT_US = 200 * 1000, /* each step; the first that waits is the last */
};

/* Repeat a call that a signal has interrupted. */
static long call(long number, long a, long b, long c, long d, long e)
{
    long result;

    do
        result = sys_call(number, a, b, c, d, e, 0);
    while (result == -4); /* EINTR, linux asm-generic/errno-base.h */
    return result;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* Returns a connected socket, or -1. */
static int connect_to(const struct locator *locator)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_usec = HANDSHAKE_LIMIT_US};
    char *name = address.sun_path + 1; /* abstract: a NUL comes first */
    size_t prefix_bytes = strlen(HANDSHAKE_SOCKET_PREFIX), name_bytes = strlen(locator->name);
    size_t address_bytes = offsetof(struct sockaddr_un, sun_path) + 1 + prefix_bytes + name_bytes;
    long fd = call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, 0, 0);

    if (sys_failed(fd))
        return -1;
    memcpy(name, HANDSHAKE_SOCKET_PREFIX, prefix_bytes);
    memcpy(name + prefix_bytes, locator->name, name_bytes);
    if (sys_failed(
            call(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, (long)&limit, sizeof(limit))) ||
        sys_failed(
            call(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, (long)&limit, sizeof(limit))) ||
        sys_failed(call(SYS_connect, fd, (long)&address, (long)address_bytes, 0, 0))) {
        close_fd((int)fd);
        return -1;
    }
    return (int)fd;
}

static bool send_hello(int fd, const struct locator *locator, enum pool_process_how how)
{
    struct handshake_hello hello = {
        .magic = HANDSHAKE_MAGIC,
        .major = PROTOCOL_MAJOR,
        .minor = PROTOCOL_MINOR,
        .pid = sys_process_id(),
        .how = how,
    };

    memcpy(hello.token, locator->token, sizeof(hello.token));
    return sys_call(SYS_sendto, fd, (long)&hello, sizeof(hello), MSG_NOSIGNAL, 0, 0) ==
           sizeof(hello);
}

/* Returns the pool's descriptor, or -1. */
static int receive_answer(int fd, struct handshake_answer *ret_answer)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct handshake_answer answer = {0};
    struct iovec part = {&answer, sizeof(answer)};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    long size = call(SYS_recvmsg, fd, (long)&message, MSG_CMSG_CLOEXEC, 0, 0);
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    int pool_fd = -1;

    if (!sys_failed(size) && header != NULL && header->cmsg_level == SOL_SOCKET &&
        header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&pool_fd, CMSG_DATA(header), sizeof(pool_fd));
    if (size < (long)sizeof(answer) || answer.magic != HANDSHAKE_MAGIC ||
        answer.major != PROTOCOL_MAJOR || answer.status != HANDSHAKE_WELCOME) {
        close_fd(pool_fd);
        return -1;
    }
    *ret_answer = answer;
    return pool_fd;
}

bool handshake_ask(const struct locator *locator, enum pool_process_how how,
                   struct handshake *ret_handshake)
{
    int fd = connect_to(locator);
    struct handshake_answer answer;
    int pool_fd = -1;

    if (fd >= 0 && send_hello(fd, locator, how))
        pool_fd = receive_answer(fd, &answer);
    close_fd(fd);
    if (pool_fd < 0)
        return false;
    ret_handshake->pool_fd = pool_fd;
    ret_handshake->pool_bytes = answer.pool_bytes;
    ret_handshake->process_slot = answer.process_slot;
    return true;
}
