/*
 * The pool: made, sealed, filled in, and given memory ring by ring. Main thread at start-up; what
 * changes later says in pool.h which thread changes it.
 *
 * Every page that a target may store to is allocated before the target is told of it: a store to a
 * page that the system cannot give would be a SIGBUS in somebody else's program.
 */
#include "collect/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    RINGS_AT_START = 8,
};

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(((struct pool_header *)NULL)->death),
               "room for the death mutex");

static uint64_t rings_offset_of(uint32_t ring_count)
{
    uint64_t directory_end = POOL_HEADER_BYTES + (uint64_t)POOL_PROCESS_COUNT * POOL_PROCESS_BYTES +
                             (uint64_t)ring_count * POOL_RING_ENTRY_BYTES;
    uint64_t page = POOL_HEADER_BYTES;

    return (directory_end + page - 1) / page * page;
}

/* Size and map it. False with errno when the system's limits forbid that. */
static bool map_pool(struct pool *pool, uint32_t ring_count)
{
    uint64_t size_bytes = rings_offset_of(ring_count) + (uint64_t)ring_count * RING_BYTES;
    void *base;

    if (ftruncate(pool->fd, (off_t)size_bytes) < 0)
        return false;
    base = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, pool->fd, 0);
    if (base == MAP_FAILED)
        return false;
    pool->base = base;
    pool->size_bytes = size_bytes;
    pool->ring_count = ring_count;
    return true;
}

/*
 * Hold a robust mutex for good, and find its futex word: the first that holds our thread id. That
 * is __data.__lock in glibc (2.36) and _m_lock in musl (1.2).
 */
static bool hold_death_mutex(struct pool *pool, struct error *err)
{
    pthread_mutex_t *mutex = (pthread_mutex_t *)(void *)pool->header->death;
    uint32_t tid = (uint32_t)syscall(SYS_gettid), word;
    pthread_mutexattr_t attributes;
    size_t at = 0;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_mutex_lock(mutex);
    for (; at < sizeof(*mutex); at += sizeof(word)) {
        memcpy(&word, pool->header->death + at, sizeof(word));
        if ((word & FUTEX_TID_MASK) == tid)
            break;
    }
    if (at >= sizeof(*mutex)) {
        error_set(err, "this C library's robust mutex is not known: memtrack cannot be used here");
        return false;
    }
    pool->header->death_offset = (uint32_t)offsetof(struct pool_header, death);
    pool->header->death_word_offset = (uint32_t)(offsetof(struct pool_header, death) + at);
    return true;
}

static void fill_header(struct pool *pool, const struct pool_settings *settings)
{
    struct pool_header *header = pool->header;

    header->magic = PROTOCOL_MAGIC;
    header->major = PROTOCOL_MAJOR;
    header->minor = PROTOCOL_MINOR;
    header->header_bytes = POOL_HEADER_BYTES;
    memcpy(header->uuid, settings->uuid, UUID_BYTES);
    memcpy(header->token, settings->token, TOKEN_BYTES);
    header->pool_bytes = pool->size_bytes;
    header->process_offset = POOL_HEADER_BYTES;
    header->process_count = POOL_PROCESS_COUNT;
    header->process_bytes = POOL_PROCESS_BYTES;
    header->directory_offset =
        POOL_HEADER_BYTES + (uint64_t)POOL_PROCESS_COUNT * POOL_PROCESS_BYTES;
    header->rings_offset = rings_offset_of(pool->ring_count);
    header->ring_count = pool->ring_count;
    header->ring_slot_count = RING_SLOT_COUNT;
    header->options = settings->options;
    header->min_size = settings->min_size;
    header->sample_bytes = settings->sample_bytes;
    header->tick_period_us = TICK_PERIOD_US;
    header->collector_pid = (uint32_t)getpid();
    memcpy(header->capture_path, settings->capture_path,
           strnlen(settings->capture_path, POOL_PATH_BYTES - 1));
    for (uint32_t i = 0; i < POOL_PROCESS_COUNT; i++)
        atomic_store_explicit(&pool->processes[i].epoch, 1, memory_order_relaxed);
    atomic_store_explicit(&header->state, (uint32_t)settings->state, memory_order_release);
}

static bool make_pool(struct pool *pool, const struct pool_settings *settings, struct error *err)
{
    uint32_t ring_count = settings->ring_count;

    pool->fd = memfd_create("memtrack", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (pool->fd < 0) {
        error_set(err, "shared memory cannot be made: %s", strerror(errno));
        return false;
    }
    /* RLIMIT_FSIZE and RLIMIT_AS may be lower than the pool is large; it is mostly holes. */
    while (!map_pool(pool, ring_count)) {
        if (ring_count / 2 < RINGS_AT_START) {
            error_set(err, "shared memory cannot be sized: %s: look at ulimit -%c", strerror(errno),
                      errno == EFBIG ? 'f' : 'v');
            return false;
        }
        ring_count /= 2;
    }
    pool->header = (struct pool_header *)(void *)pool->base;
    pool->processes = (struct pool_process *)(void *)(pool->base + POOL_HEADER_BYTES);
    pool->rings = (struct ring_entry *)(void *)(pool->processes + POOL_PROCESS_COUNT);
    if (fcntl(pool->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0 ||
        fallocate(pool->fd, 0, 0, (off_t)rings_offset_of(ring_count)) < 0) {
        error_set(err, "shared memory cannot be made: %s", strerror(errno));
        return false;
    }
    fill_header(pool, settings);
    return hold_death_mutex(pool, err);
}

bool pool_init(struct pool *pool, const struct pool_settings *settings, struct error *err)
{
    *pool = (struct pool){.fd = -1};
    if (make_pool(pool, settings, err)) {
        if (pool_add_rings(pool, RINGS_AT_START))
            return true;
        error_set(err, "no memory for the rings: %s", strerror(errno));
    }
    pool_finish(pool);
    return false;
}

void pool_finish(struct pool *pool)
{
    if (pool->header != NULL && pool->header->death_word_offset != 0)
        pthread_mutex_unlock((pthread_mutex_t *)(void *)pool->header->death);
    if (pool->base != NULL)
        munmap(pool->base, pool->size_bytes);
    if (pool->fd >= 0)
        close(pool->fd);
    *pool = (struct pool){.fd = -1};
}

bool pool_add_rings(struct pool *pool, uint32_t count)
{
    uint32_t left = pool->ring_count - pool->rings_ready;
    uint64_t offset = rings_offset_of(pool->ring_count) + (uint64_t)pool->rings_ready * RING_BYTES;

    if (count > left)
        count = left;
    if (count == 0)
        return false;
    while (fallocate(pool->fd, 0, (off_t)offset, (off_t)count * RING_BYTES) < 0)
        if (errno != EINTR)
            return false;
    pool->rings_ready += count;
    /* Release: the entries and slots are zero before a target may take them. */
    atomic_store_explicit(&pool->header->rings_ready, pool->rings_ready, memory_order_release);
    /* As many as there are rings: all of those who wait would stand in each other's way. */
    pool_wake(&pool->header->rings_ready, (int)count);
    return true;
}

void pool_bump_epoch(struct pool_process *process)
{
    /* 0 would be taken for a wiped context. Release: tick and state are seen with the epoch. */
    if (atomic_fetch_add_explicit(&process->epoch, 1, memory_order_release) == UINT32_MAX)
        atomic_fetch_add_explicit(&process->epoch, 1, memory_order_release);
}

static void bump_all_epochs(struct pool *pool)
{
    for (uint32_t i = 0; i < POOL_PROCESS_COUNT; i++)
        pool_bump_epoch(&pool->processes[i]);
}

void pool_set_state(struct pool *pool, enum pool_state state)
{
    atomic_store_explicit(&pool->header->state, (uint32_t)state, memory_order_release);
    bump_all_epochs(pool);
}

void pool_set_level(struct pool *pool, uint32_t level)
{
    atomic_store_explicit(&pool->header->sample_level, level, memory_order_release);
    bump_all_epochs(pool);
}

void pool_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

void pool_wait(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

void pool_ring_doorbell(struct pool *pool)
{
    /* seq_cst, as the sleeper's: either it sees the new number or we see it sleeping. */
    atomic_fetch_add(&pool->header->doorbell, 1);
    if (atomic_load(&pool->header->collector_sleeping) != 0)
        pool_wake(&pool->header->doorbell, 1);
}

uint32_t pool_doorbell(struct pool *pool)
{
    return atomic_load(&pool->header->doorbell);
}

void pool_await_doorbell(struct pool *pool, uint32_t heard, uint64_t timeout_ns)
{
    struct timespec timeout = {(time_t)(timeout_ns / 1000000000), (long)(timeout_ns % 1000000000)};

    atomic_store(&pool->header->collector_sleeping, 1);
    syscall(SYS_futex, &pool->header->doorbell, FUTEX_WAIT, heard, &timeout, NULL, 0);
    atomic_store(&pool->header->collector_sleeping, 0);
}
