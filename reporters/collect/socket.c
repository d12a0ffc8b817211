/*
 * The handshake: hello in, pool out; control: request in, answer out. Main thread.
 *
 * Nobody can hold us up: nothing here waits, a guest that says nothing is sent away after a while,
 * and when too many stand there the one that has waited longest goes.
 */
#include "collect/socket.h"

#include "collect/processes.h"
#include "collect/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    GUEST_NS = 1000000000,
    BACKLOG = 128,
};

/* Abstract: a NUL, then the name; its length counts. */
static socklen_t make_address(const uint8_t uuid[UUID_BYTES], struct sockaddr_un *ret_address)
{
    char *at = ret_address->sun_path + 1;

    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    at += sprintf(at, "%s", HANDSHAKE_SOCKET_PREFIX);
    for (int i = 0; i < UUID_BYTES; i++)
        at += sprintf(at, "%02x", uuid[i]);
    return (socklen_t)(at - (char *)ret_address);
}

bool socket_open(struct socket_door *door, const uint8_t uuid[UUID_BYTES],
                 const uint8_t token[TOKEN_BYTES], struct error *err)
{
    struct sockaddr_un address;
    socklen_t length = make_address(uuid, &address);

    *door = (struct socket_door){.fd = -1};
    memcpy(door->token, token, TOKEN_BYTES);
    for (int i = 0; i < SOCKET_MAX_GUESTS; i++)
        door->guests[i].fd = -1;
    door->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (door->fd >= 0 && bind(door->fd, (struct sockaddr *)&address, length) == 0 &&
        listen(door->fd, BACKLOG) == 0)
        return true;
    error_set(err, "the session's socket cannot be made: %s", strerror(errno));
    socket_close(door);
    return false;
}

static void send_away(struct socket_guest *guest)
{
    close(guest->fd);
    guest->fd = -1;
}

void socket_close(struct socket_door *door)
{
    for (int i = 0; i < SOCKET_MAX_GUESTS; i++)
        if (door->fd >= 0 && door->guests[i].fd >= 0)
            send_away(&door->guests[i]);
    if (door->fd >= 0)
        close(door->fd);
    door->fd = -1;
}

size_t socket_polls(const struct socket_door *door, struct pollfd *ret_polls)
{
    size_t count = 0;

    ret_polls[count++] = (struct pollfd){.fd = door->fd, .events = POLLIN};
    for (int i = 0; i < SOCKET_MAX_GUESTS; i++)
        /* One who waits has nothing more to say; when he goes, his answer goes nowhere. */
        if (door->guests[i].fd >= 0 && door->guests[i].ticket == SNAPSHOT_NO_TICKET)
            ret_polls[count++] = (struct pollfd){.fd = door->guests[i].fd, .events = POLLIN};
    return count;
}

/* The kernel's word for who it is; pid 0 in a namespace that we do not see. */
static struct ucred peer_of(int fd)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t length = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || peer.pid < 0)
        return (struct ucred){.uid = (uid_t)-1};
    return peer;
}

static enum handshake_status judge(const struct socket_door *door,
                                   const struct handshake_hello *hello)
{
    if (hello->magic != HANDSHAKE_MAGIC || memcmp(hello->token, door->token, TOKEN_BYTES) != 0)
        return HANDSHAKE_REFUSED;
    if (hello->major != PROTOCOL_MAJOR)
        return HANDSHAKE_INCOMPATIBLE;
    return door->is_over ? HANDSHAKE_ENDED : HANDSHAKE_WELCOME;
}

/* fd: to be handed over, -1: none. */
static void answer(int guest_fd, const struct handshake_answer *given, int fd)
{
    struct handshake_answer bytes = *given;
    struct iovec part = {&bytes, sizeof(bytes)};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (fd >= 0) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof(control.room);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    }
    /* A guest that has gone meanwhile is noticed by its pidfd. */
    (void)sendmsg(guest_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void welcome(struct socket_door *door, struct session *session, int guest_fd,
                    const struct handshake_hello *hello)
{
    struct handshake_answer given = {
        .magic = HANDSHAKE_MAGIC,
        .major = PROTOCOL_MAJOR,
        .minor = PROTOCOL_MINOR,
        .status = judge(door, hello),
        .pool_bytes = session->pool.size_bytes,
    };
    int slot = PROCESSES_NO_SLOT;

    if (given.status == HANDSHAKE_WELCOME) {
        slot = processes_welcome(session, (uint32_t)peer_of(guest_fd).pid, hello->how);
        if (slot == PROCESSES_NO_SLOT)
            given.status = HANDSHAKE_FULL;
        else
            given.process_slot = (uint32_t)slot;
    }
    answer(guest_fd, &given, slot == PROCESSES_NO_SLOT ? -1 : session->pool.fd);
}

/* One request is served before the next is looked at, so two users do not meet. */
static void obey(struct socket_door *door, struct socket_guest *guest,
                 const struct control_request *request, size_t request_bytes)
{
    struct ucred peer = peer_of(guest->fd);
    struct control_answer given;

    if (door->control == NULL || door->is_over)
        return;
    guest->ticket = control_serve(door->control, request, request_bytes, &peer, &given);
    (void)send(guest->fd, &given, sizeof(given), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void socket_answer(struct socket_door *door)
{
    struct control_answer given;
    uint64_t ticket;

    while (door->control != NULL && control_take_answer(door->control, &ticket, &given)) {
        for (int i = 0; i < SOCKET_MAX_GUESTS; i++) {
            struct socket_guest *guest = &door->guests[i];

            if (guest->fd < 0 || ticket == SNAPSHOT_NO_TICKET || guest->ticket != ticket)
                continue;
            (void)send(guest->fd, &given, sizeof(given), MSG_NOSIGNAL | MSG_DONTWAIT);
            send_away(guest);
        }
    }
}

static void listen_to(struct socket_door *door, struct session *session, struct socket_guest *guest)
{
    union {
        uint32_t magic;
        struct handshake_hello hello;
        struct control_request request;
    } said;
    ssize_t received;

    if (guest->ticket != SNAPSHOT_NO_TICKET)
        return;
    received = recv(guest->fd, &said, sizeof(said), MSG_DONTWAIT | MSG_TRUNC);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) {
        if (session_now_ns() - guest->since_ns > GUEST_NS)
            send_away(guest);
        return;
    }
    /* A later minor version may say more. */
    if (received >= (ssize_t)sizeof(said.magic) && said.magic == CONTROL_MAGIC)
        obey(door, guest, &said.request, (size_t)received);
    else if (received >= (ssize_t)sizeof(said.hello))
        welcome(door, session, guest->fd, &said.hello);
    if (guest->ticket == SNAPSHOT_NO_TICKET)
        send_away(guest);
}

/* Fewer wait for snapshots than there are places. */
_Static_assert((int)SNAPSHOT_MOST_AT_ONCE < (int)SOCKET_MAX_GUESTS, "there is one to be sent away");

static struct socket_guest *place_for_guest(struct socket_door *door)
{
    struct socket_guest *oldest = NULL;

    for (int i = 0; i < SOCKET_MAX_GUESTS; i++) {
        struct socket_guest *guest = &door->guests[i];

        if (guest->fd < 0)
            return guest;
        if (guest->ticket == SNAPSHOT_NO_TICKET &&
            (oldest == NULL || guest->since_ns < oldest->since_ns))
            oldest = guest;
    }
    send_away(oldest);
    return oldest;
}

void socket_serve(struct socket_door *door, struct session *session)
{
    for (;;) {
        int fd = accept4(door->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct socket_guest *guest;

        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0)
            break;
        guest = place_for_guest(door);
        *guest = (struct socket_guest){.fd = fd, .since_ns = session_now_ns()};
        listen_to(door, session, guest); /* most have spoken already */
    }
    for (int i = 0; i < SOCKET_MAX_GUESTS; i++)
        if (door->guests[i].fd >= 0)
            listen_to(door, session, &door->guests[i]);
}
