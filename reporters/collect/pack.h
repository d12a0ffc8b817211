/*
 * The pack thread: blocks of events and records go in, in any thread's hands; sections come out in
 * the order of the queue.
 *
 * A ring's slots are given back to its thread only here, after the section with their records has
 * been written: so what the collector has taken is in the file, or still in the ring. After a
 * failed write nothing is written any more, but slots are given back as before: the programs must
 * not wait for a full disk.
 */
#ifndef COLLECT_PACK_H
#define COLLECT_PACK_H

#include "base/error.h"
#include "capture/writer.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PACK_BLOCK_RECORDS = 4096, /* of EVENT_BYTES: 64 KiB */
};

/* What becomes of a ring once a block is written. */
struct ring_release {
    struct ring_entry *entry;    /* NULL: nothing */
    _Atomic uint64_t *released;  /* the collector's own copy of entry->consumed */
    _Atomic bool *is_given_back; /* NULL, or set when the ring has been made free */
    uint64_t consumed;
};

/*
 * Called in the pack thread between two sections.
 * raw_bytes: of EVENTS payloads that were written, before packing.
 */
typedef void pack_visit(void *user, const struct capture_writer *writer, uint64_t raw_bytes);

/* Events of one stream on their way to the file. */
struct pack_block {
    struct pack_block *next; /* the queue's */
    uint32_t process, stream, count;
    uint64_t first_segment;
    struct ring_release release;
    uint8_t *records; /* RECORDS payload instead of events; NULL: none; freed when written */
    uint32_t records_bytes;
    pack_visit *visit; /* instead of either; NULL: none */
    void *visitor;
    uint8_t events[PACK_BLOCK_RECORDS * EVENT_BYTES];
};

struct pack;

/*
 * Start the thread.
 * writer: used by the thread alone until pack_stop(); stays the caller's.
 * failure_fd: an eventfd that is told when a write has failed; -1: none. Stays the caller's.
 * Returns NULL with err. Context: main thread.
 */
struct pack *pack_start(struct capture_writer *writer, int failure_fd, struct error *err);

/* Get an empty block: count 0, no release. Context: any thread. */
struct pack_block *pack_block_get(struct pack *pack);

/*
 * Hand over a block; with count 0 only its release takes place. Waits while more blocks are queued
 * than the thread can keep up with. Context: drain thread.
 */
void pack_put(struct pack *pack, struct pack_block *block);

/*
 * Hand over a RECORDS payload, copied. Never waits. size_bytes 0: nothing is written.
 * Context: any thread.
 */
void pack_put_records(struct pack *pack, const void *payload, size_t size_bytes, uint32_t count);

/*
 * Have a function called once all that was handed over before has been written, or refused.
 * Never waits. Context: any thread.
 */
void pack_put_visit(struct pack *pack, pack_visit *visit, void *user);

/*
 * Have failure_fd told when the capture, closed then, would be larger. Replaces what was asked for
 * before. Context: any thread.
 */
void pack_watch_bytes(struct pack *pack, uint64_t watched_bytes);

/* Return how large the capture would be if it were closed behind the last section. Context: any thread. */
uint64_t pack_whole_bytes(const struct pack *pack);

/* Return where the last section in the file ends; 0 before the first. Context: any thread. */
uint64_t pack_file_bytes(const struct pack *pack);

/*
 * Return whether a write has failed; then err says why. Context: any thread.
 */
bool pack_has_failed(struct pack *pack, struct error *err);

/*
 * Say from how many events on pack_await_written() may return; 0 before. Context: any thread.
 */
void pack_tell_from(struct pack *pack, uint64_t event_count);

/*
 * Wait until more is in the file than was seen, and records are last: then the tables and bounds are
 * those of what stands before. written_bytes: what was seen, and gets what there is, up to the end of
 * a section.
 * Returns false once nothing more is to be waited for. Context: model thread.
 */
bool pack_await_written(struct pack *pack, uint64_t *written_bytes);

/*
 * Let the thread wait before it writes more events when so many bytes have been written and not been
 * noted as read, unless the reader waits itself. Before anything is handed over. Context: main thread.
 */
void pack_limit_unread(struct pack *pack, uint64_t most_bytes);

/* What stands below an offset has been read. Context: model thread. */
void pack_note_read(struct pack *pack, uint64_t read_bytes);

/* Nobody is to wait any more: pack_await_written() returns false from now on. Context: any thread. */
void pack_end_waiting(struct pack *pack);

/*
 * Write all that is queued, end the thread, free. NULL is allowed.
 * Returns the bytes of EVENTS payloads that were written, before packing. Context: main thread.
 */
uint64_t pack_stop(struct pack *pack);

#endif
