/*
 * The pack thread and its queue.
 *
 * What holds: blocks are written in the order of the queue; the lock guards queue, spare blocks,
 * counts and error, and is never held while something is packed or written.
 */
#include "collect/pack.h"

#include "base/memory.h"
#include "capture/compact.h"
#include "capture/planes.h"
#include "collect/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    QUEUED_MAX_BLOCKS = 64, /* 4 MiB of events */
    SPARE_MAX_BLOCKS = 64,
    /*
     * Of a program whose addresses and sizes are chance the compact coder makes hardly less than planes
     * are behind LZ4, in twice the time. After a block that comes out so, some are written as planes
     * before it is tried again.
     */
    CHANCE_RECORD_BYTES = 3, /* programs do not come to more than 2.1 */
    CHANCE_MIN_RECORDS = 1024,
    PLANES_BLOCKS = 15,
    STREAM_SLOTS = 256, /* streams that share one are treated alike: no harm */
};

_Static_assert((int)EVENT_BYTES <= (int)COMPACT_RECORD_MAX_BYTES, "there is room for either coder");

struct pack {
    struct capture_writer *writer;
    int failure_fd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t has_work, has_room;
    struct pack_block *first, **last; /* the queue */
    struct pack_block *spare;
    uint32_t queued_count, spare_count; /* queued: blocks of events only */
    bool is_stopping, has_failed;
    struct error error;
    /*
     * For the model thread, which runs when nobody else wants to: it never has the lock, or others
     * would wait for it.
     */
    _Atomic uint64_t written_bytes; /* of the file, up to the last section of records */
    _Atomic uint64_t told_events;   /* with fewer in the file nobody is told */
    _Atomic bool is_waiting_over;
    _Atomic uint32_t written_bell; /* 1 is added after each change of these; a futex */
    _Atomic uint64_t file_bytes, whole_bytes, watched_bytes; /* pack_watch_bytes() */
    /* For the reader of what is only passing: who is beyond the limit waits for it. */
    uint64_t most_unread;
    _Atomic uint64_t read_bytes;
    _Atomic bool is_reader_waiting;
    _Atomic uint32_t read_bell; /* as written_bell */
    /* The thread's, until it has ended. */
    uint64_t raw_bytes, event_count;
    struct compact_encoder *encoder;
    uint8_t planes_left[STREAM_SLOTS]; /* blocks, by stream */
    uint8_t coded[PACK_BLOCK_RECORDS * COMPACT_RECORD_MAX_BYTES];
};

static void give_back(const struct ring_release *release)
{
    struct ring_entry *entry = release->entry;

    if (entry == NULL)
        return;
    atomic_store_explicit(release->released, release->consumed, memory_order_release);
    if (release->is_given_back != NULL) {
        atomic_store_explicit(&entry->consumed, release->consumed, memory_order_release);
        /* Release: the next owner sees consumed, and the slots filled up. */
        atomic_store_explicit(&entry->state, RING_FREE, memory_order_release);
        atomic_store_explicit(release->is_given_back, true, memory_order_release);
        return;
    }
    /* seq_cst with the thread's store of waiting and load of consumed: one of us sees the other. */
    atomic_store(&entry->consumed, release->consumed);
    if (atomic_load(&entry->waiting) != 0) {
        atomic_fetch_add(&entry->wake, 1);
        pool_wake(&entry->wake, 1);
    }
}

static void ring_read(struct pack *pack)
{
    atomic_fetch_add(&pack->read_bell, 1);
    pool_wake(&pack->read_bell, 1);
}

/*
 * Wait until the reader has read enough. One who waits for us has read all that he can: what else there
 * is must be written then, however much it is. seq_cst, all: either side sees what the other waits for.
 */
static void await_read(struct pack *pack)
{
    for (;;) {
        uint32_t heard = atomic_load(&pack->read_bell);
        uint64_t unread = capture_writer_bytes(pack->writer) - atomic_load(&pack->read_bytes);

        if (unread <= pack->most_unread || atomic_load(&pack->is_reader_waiting) ||
            atomic_load(&pack->is_waiting_over))
            return;
        pool_wait(&pack->read_bell, heard);
    }
}

static void ring_written(struct pack *pack)
{
    /* Release: who has heard it sees what has changed. */
    atomic_fetch_add_explicit(&pack->written_bell, 1, memory_order_release);
    pool_wake(&pack->written_bell, 1);
}

static void note_failure(struct pack *pack, const struct error *error)
{
    uint64_t one = 1;
    bool is_first;

    pthread_mutex_lock(&pack->lock);
    is_first = !pack->has_failed;
    if (is_first)
        pack->error = *error;
    pack->has_failed = true;
    pthread_mutex_unlock(&pack->lock);
    pack_end_waiting(pack);
    if (is_first && pack->failure_fd >= 0 && write(pack->failure_fd, &one, sizeof(one)) < 0)
        return; /* it is told already */
}

/* Encode a block's events. Returns the size; ret_coder: enum section_coder. */
static uint32_t encode(struct pack *pack, const struct pack_block *block, uint8_t *ret_coder,
                       const void **ret_payload)
{
    uint8_t *planes_left = &pack->planes_left[block->stream % STREAM_SLOTS];
    size_t size_bytes;

    *ret_payload = pack->coded;
    if (capture_writer_is_passing(pack->writer)) { /* it is read at once, and then gone */
        *ret_payload = block->events;
        *ret_coder = CODER_FIXED;
        return block->count * EVENT_BYTES;
    }
    if (*planes_left > 0) {
        (*planes_left)--;
        *ret_coder = CODER_PLANES;
        planes_split(block->events, block->count, pack->coded);
        return block->count * EVENT_BYTES;
    }
    *ret_coder = CODER_COMPACT;
    size_bytes = compact_encode(pack->encoder, block->events, block->count, pack->coded);
    if (block->count >= CHANCE_MIN_RECORDS &&
        size_bytes > (size_t)block->count * CHANCE_RECORD_BYTES)
        *planes_left = PLANES_BLOCKS;
    return (uint32_t)size_bytes;
}

static void write_block(struct pack *pack, const struct pack_block *block)
{
    struct writer_section section = {
        .type = SECTION_EVENTS,
        .process = block->process,
        .stream = block->stream,
        .record_count = block->count,
        .first_segment = block->first_segment,
    };
    struct error error;

    if (block->visit != NULL) {
        block->visit(block->visitor, pack->writer, pack->raw_bytes);
        return;
    }
    if (block->records != NULL) {
        section.type = SECTION_RECORDS;
        section.coder = CODER_NONE;
        section.payload = block->records;
        section.payload_bytes = block->records_bytes;
    } else if (block->count == 0) {
        return;
    } else {
        await_read(pack);
        section.payload_bytes = encode(pack, block, &section.coder, &section.payload);
        pack->raw_bytes += section.payload_bytes;
        pack->event_count += block->count;
    }
    if (!capture_writer_section(pack->writer, &section, &error))
        note_failure(pack, &error);
}

/* Tell the main thread when the file has become larger than it wants to know. */
static void look_at_size(struct pack *pack)
{
    uint64_t one = 1, whole_bytes = capture_writer_whole_bytes(pack->writer);

    /* Relaxed: the numbers say only themselves. */
    atomic_store_explicit(&pack->whole_bytes, whole_bytes, memory_order_relaxed);
    atomic_store_explicit(&pack->file_bytes, capture_writer_bytes(pack->writer),
                          memory_order_relaxed);
    if (whole_bytes <= atomic_load_explicit(&pack->watched_bytes, memory_order_relaxed))
        return;
    atomic_store_explicit(&pack->watched_bytes, UINT64_MAX, memory_order_relaxed);
    if (pack->failure_fd >= 0 && write(pack->failure_fd, &one, sizeof(one)) < 0)
        return; /* it is awake already */
}

/* Under the lock. */
static struct pack_block *take_first(struct pack *pack)
{
    struct pack_block *block = pack->first;

    pack->first = block->next;
    if (pack->first == NULL)
        pack->last = &pack->first;
    return block;
}

/* Is there as much as somebody waits for? Relaxed: nothing else is said by it. */
static bool is_told(struct pack *pack)
{
    return pack->event_count >= atomic_load_explicit(&pack->told_events, memory_order_relaxed);
}

static void *pack_run(void *argument)
{
    struct pack *pack = argument;

    (void)prctl(PR_SET_NAME, "memtrack-pack"); /* for who looks at it; no matter if not */
    pthread_mutex_lock(&pack->lock);
    for (;;) {
        struct pack_block *block;

        while (pack->first == NULL && !pack->is_stopping)
            pthread_cond_wait(&pack->has_work, &pack->lock);
        if (pack->first == NULL)
            break;
        block = take_first(pack);
        pthread_mutex_unlock(&pack->lock);

        write_block(pack, block);
        look_at_size(pack);
        give_back(&block->release);
        if (block->records != NULL && is_told(pack)) {
            atomic_store_explicit(&pack->written_bytes, capture_writer_bytes(pack->writer),
                                  memory_order_relaxed);
            ring_written(pack);
        }

        pthread_mutex_lock(&pack->lock);
        if (block->records != NULL || block->visit != NULL) {
            free(block->records);
            free(block);
            continue;
        }
        pack->queued_count--;
        pthread_cond_signal(&pack->has_room);
        if (pack->spare_count < SPARE_MAX_BLOCKS) {
            block->next = pack->spare;
            pack->spare = block;
            pack->spare_count++;
        } else {
            free(block);
        }
    }
    pthread_mutex_unlock(&pack->lock);
    return NULL;
}

struct pack *pack_start(struct capture_writer *writer, int failure_fd, struct error *err)
{
    struct pack *pack = memory_allocate(1, sizeof(*pack));
    int status;

    pack->writer = writer;
    pack->failure_fd = failure_fd;
    pack->most_unread = UINT64_MAX;
    pack->last = &pack->first;
    pack->watched_bytes = UINT64_MAX;
    pthread_mutex_init(&pack->lock, NULL);
    pthread_cond_init(&pack->has_work, NULL);
    pthread_cond_init(&pack->has_room, NULL);
    pack->encoder = compact_encoder_create();
    status = pthread_create(&pack->thread, NULL, pack_run, pack);
    if (status == 0)
        return pack;
    error_set(err, "the collector cannot start a thread: %s", strerror(status));
    compact_encoder_destroy(pack->encoder);
    free(pack);
    return NULL;
}

/* The head of a block. A block of records has no room for events. */
static struct pack_block *new_block(size_t size_bytes)
{
    struct pack_block *block = malloc(size_bytes);

    if (block == NULL)
        block = memory_allocate(1, size_bytes); /* says so, and ends */
    memset(block, 0, offsetof(struct pack_block, events));
    return block;
}

struct pack_block *pack_block_get(struct pack *pack)
{
    struct pack_block *block;

    pthread_mutex_lock(&pack->lock);
    block = pack->spare;
    if (block != NULL) {
        pack->spare = block->next;
        pack->spare_count--;
    }
    pthread_mutex_unlock(&pack->lock);
    if (block == NULL)
        return new_block(sizeof(*block));
    memset(block, 0, offsetof(struct pack_block, events));
    return block;
}

/* Under the lock. */
static void append(struct pack *pack, struct pack_block *block)
{
    block->next = NULL;
    *pack->last = block;
    pack->last = &block->next;
    pthread_cond_signal(&pack->has_work);
}

void pack_put(struct pack *pack, struct pack_block *block)
{
    pthread_mutex_lock(&pack->lock);
    while (pack->queued_count >= QUEUED_MAX_BLOCKS)
        pthread_cond_wait(&pack->has_room, &pack->lock);
    pack->queued_count++;
    append(pack, block);
    pthread_mutex_unlock(&pack->lock);
}

void pack_put_records(struct pack *pack, const void *payload, size_t size_bytes, uint32_t count)
{
    struct pack_block *block;

    if (size_bytes == 0)
        return;
    block = new_block(offsetof(struct pack_block, events));
    block->records = memory_allocate(1, size_bytes);
    memcpy(block->records, payload, size_bytes);
    block->records_bytes = (uint32_t)size_bytes;
    block->count = count;
    pthread_mutex_lock(&pack->lock);
    append(pack, block);
    pthread_mutex_unlock(&pack->lock);
}

void pack_put_visit(struct pack *pack, pack_visit *visit, void *user)
{
    struct pack_block *block = new_block(offsetof(struct pack_block, events));

    block->visit = visit;
    block->visitor = user;
    pthread_mutex_lock(&pack->lock);
    append(pack, block);
    pthread_mutex_unlock(&pack->lock);
}

void pack_watch_bytes(struct pack *pack, uint64_t watched_bytes)
{
    atomic_store_explicit(&pack->watched_bytes, watched_bytes, memory_order_relaxed);
}

uint64_t pack_whole_bytes(const struct pack *pack)
{
    return atomic_load_explicit(&pack->whole_bytes, memory_order_relaxed);
}

uint64_t pack_file_bytes(const struct pack *pack)
{
    return atomic_load_explicit(&pack->file_bytes, memory_order_relaxed);
}

bool pack_has_failed(struct pack *pack, struct error *err)
{
    bool has_failed;

    pthread_mutex_lock(&pack->lock);
    has_failed = pack->has_failed;
    if (has_failed && err != NULL)
        *err = pack->error;
    pthread_mutex_unlock(&pack->lock);
    return has_failed;
}

void pack_tell_from(struct pack *pack, uint64_t event_count)
{
    atomic_store_explicit(&pack->told_events, event_count, memory_order_relaxed);
}

bool pack_await_written(struct pack *pack, uint64_t *written_bytes)
{
    uint64_t seen_bytes = *written_bytes;

    for (;;) {
        uint32_t heard = atomic_load_explicit(&pack->written_bell, memory_order_acquire);

        *written_bytes = atomic_load_explicit(&pack->written_bytes, memory_order_relaxed);
        if (atomic_load_explicit(&pack->is_waiting_over, memory_order_relaxed))
            return false;
        if (*written_bytes > seen_bytes)
            return true;
        atomic_store(&pack->is_reader_waiting, true);
        if (pack->most_unread != UINT64_MAX)
            ring_read(pack);
        pool_wait(&pack->written_bell, heard);
        atomic_store(&pack->is_reader_waiting, false);
    }
}

void pack_limit_unread(struct pack *pack, uint64_t most_bytes)
{
    pack->most_unread = most_bytes;
}

void pack_note_read(struct pack *pack, uint64_t read_bytes)
{
    atomic_store(&pack->read_bytes, read_bytes);
    ring_read(pack);
}

void pack_end_waiting(struct pack *pack)
{
    atomic_store(&pack->is_waiting_over, true);
    ring_written(pack);
    ring_read(pack);
}

uint64_t pack_stop(struct pack *pack)
{
    uint64_t raw_bytes;

    if (pack == NULL)
        return 0;
    pthread_mutex_lock(&pack->lock);
    pack->is_stopping = true;
    pthread_cond_signal(&pack->has_work);
    pthread_mutex_unlock(&pack->lock);
    pthread_join(pack->thread, NULL);
    while (pack->spare != NULL) {
        struct pack_block *next = pack->spare->next;

        free(pack->spare);
        pack->spare = next;
    }
    pthread_cond_destroy(&pack->has_room);
    pthread_cond_destroy(&pack->has_work);
    pthread_mutex_destroy(&pack->lock);
    raw_bytes = pack->raw_bytes;
    compact_encoder_destroy(pack->encoder);
    free(pack);
    return raw_bytes;
}
