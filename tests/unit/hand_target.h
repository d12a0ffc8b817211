/*
 * What the library does in a target, done by hand: the handshake, a slot, a ring, records.
 *
 * One target a process; for the tests of the collector as a process.
 */
#ifndef UNIT_HAND_TARGET_H
#define UNIT_HAND_TARGET_H

#include "collect/slots.h"
#include "memtrack/protocol.h"
#include "test.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Of the session to join. */
static uint8_t target_uuid[UUID_BYTES], target_token[TOKEN_BYTES];

static inline int connect_to_collector(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *at = address.sun_path + 1;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    at += sprintf(at, "memtrack-");
    for (int i = 0; i < UUID_BYTES; i++)
        at += sprintf(at, "%02x", target_uuid[i]);
    CHECK(connect(fd, (struct sockaddr *)&address, (socklen_t)(at - (char *)&address)) == 0);
    return fd;
}

static inline struct handshake_hello right_hello(uint32_t how)
{
    struct handshake_hello hello = {
        .magic = HANDSHAKE_MAGIC, .major = PROTOCOL_MAJOR, .pid = (uint32_t)getpid(), .how = how};

    memcpy(hello.token, target_token, TOKEN_BYTES);
    return hello;
}

/* Returns the pool's descriptor, -1 when there is none. */
static inline int ask(const struct handshake_hello *hello, struct handshake_answer *ret_answer)
{
    struct iovec part = {ret_answer, sizeof(*ret_answer)};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof(control.room)};
    int guest_fd = connect_to_collector(), fd = -1;

    CHECK(send(guest_fd, hello, sizeof(*hello), 0) == sizeof(*hello));
    CHECK(recvmsg(guest_fd, &message, 0) == sizeof(*ret_answer));
    CHECK_EQUAL(ret_answer->magic, HANDSHAKE_MAGIC);
    if (message.msg_controllen > 0)
        memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
    close(guest_fd);
    return fd;
}

/* What a target has. */
static struct pool_header *header;
static struct pool_process *process;
static struct ring_entry *ring;
static struct slot *slots;

static inline void take_slot(struct pool_process *slot, uint32_t how, uint32_t parent)
{
    process = slot;
    process->pid = (uint32_t)getpid();
    process->how = (uint8_t)how;
    process->parent_number = parent;
    process->first_segment = 1;
    atomic_store(&process->number, atomic_fetch_add(&header->next_process, 1) + 1);
    atomic_store(&process->state, PROCESS_LIVE);
}

static inline void join(uint32_t how)
{
    struct handshake_hello hello = right_hello(how);
    struct handshake_answer answer;
    int fd = ask(&hello, &answer);

    CHECK_EQUAL(answer.status, HANDSHAKE_WELCOME);
    CHECK(fd >= 0);
    header = mmap(NULL, answer.pool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(header != MAP_FAILED);
    close(fd);
    CHECK_EQUAL(header->magic, PROTOCOL_MAGIC);
    CHECK_EQUAL(atomic_load(&header->state), POOL_RECORDING);
    process = (struct pool_process *)(void *)((char *)header + header->process_offset) +
              answer.process_slot;
    CHECK_EQUAL(process->outer_pid, (uint32_t)getpid());
    CHECK_EQUAL(atomic_load(&process->state), PROCESS_CLAIMED);
    CHECK(atomic_load(&process->epoch) != 0);
    take_slot(process, how, 0);
}

static inline void take_ring(void)
{
    struct ring_entry *entries = (void *)((char *)header + header->directory_offset);
    uint32_t index = 0, is_free = RING_FREE;

    while (!atomic_compare_exchange_strong(&entries[index].state, &is_free, RING_CLAIMING)) {
        is_free = RING_FREE;
        if (++index < atomic_load(&header->rings_ready))
            continue;
        index = 0;
        usleep(1000); /* the collector will provide */
    }
    ring = &entries[index];
    slots = (void *)((char *)header + header->rings_offset + (uint64_t)index * RING_BYTES);
    ring->process = atomic_load(&process->number);
    ring->tid = (uint32_t)getpid();
    ring->start = atomic_load(&ring->cursor);
    atomic_store(&ring->state, RING_OWNED);
}

/* Write a record when there is room. */
static inline void put(uint32_t op, uint64_t payload, uint64_t w1)
{
    uint64_t number = atomic_load(&ring->cursor);
    struct slot *slot = slots_at(slots, number);

    while (number >= atomic_load(&ring->consumed) + RING_SLOT_COUNT) {
        atomic_fetch_add(&header->doorbell, 1);
        usleep(100);
    }
    atomic_store(&ring->cursor, number + 1);
    atomic_store(&slot->w1, w1);
    atomic_store(&slot->w0,
                 SLOT_HEAD | (uint64_t)op << SLOT_OP_SHIFT | payload | slots_lap(number));
}

/* A target of so many events; its last word decides how it ends. */
static inline void record(uint64_t count)
{
    put(OP_SYNC, atomic_load(&process->number), atomic_load(&header->tick));
    for (uint64_t i = 0; i < count; i++)
        put(OP_ALLOC, i + 1, UINT64_C(1) << BLOCK_ALLOCATOR_SHIFT | 8);
}

/* What a forked child does at its first event: take any free slot. */
static inline void join_by_fork(void)
{
    struct pool_process *table = (void *)((char *)header + header->process_offset);
    uint32_t parent = atomic_load(&process->number), is_free = PROCESS_FREE;

    while (!atomic_compare_exchange_strong(&table->state, &is_free, PROCESS_CLAIMED)) {
        is_free = PROCESS_FREE;
        table++;
    }
    take_slot(table, PROCESS_BY_FORK, parent);
    take_ring();
}

#endif
