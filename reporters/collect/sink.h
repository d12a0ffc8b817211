/*
 * Where decoded rings go: the tables of the capture, and the blocks on their way to the pack thread.
 *
 * Drain thread. What holds: names, nodes and stacks are handed over before the first block of events
 * that uses them; a block begins with the SYNC in force; segments never fall inside a stream.
 */
#ifndef COLLECT_SINK_H
#define COLLECT_SINK_H

#include "collect/modules.h"
#include "collect/names.h"
#include "collect/pack.h"
#include "collect/records.h"
#include "collect/texts.h"
#include "collect/trie.h"
#include "memtrack/format.h"
#include "memtrack/varint.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* For the SUMMARY. */
struct sink_counts {
    uint64_t events; /* allocations, releases, maps */
    uint64_t slots;  /* read */
    uint64_t lost;   /* events that the targets could not record */
    uint64_t holes;
    uint64_t faults; /* slots that say what no target writes */
    uint64_t forks;  /* announced */
};

struct sink {
    struct pack *pack;
    struct trie trie;
    struct names names;
    struct texts texts;
    struct modules modules;
    struct records records; /* not handed over yet */
    struct sink_counts counts;
    uint64_t start_ns;            /* CLOCK_MONOTONIC of the session's start */
    const _Atomic uint32_t *tick; /* the clock's own: no SYNC can know a later one */
    uint32_t handler_node;        /* stack of what a nested signal handler does */
    uint32_t stream_count;
};

/* A thread's life in one ring. */
struct stream {
    struct pack_block *block; /* NULL: nothing put since the last flush */
    uint64_t segment;
    uint32_t tick;
    uint32_t number; /* in the capture, from 1 */
    uint32_t process;
};

/*
 * Make an empty sink that writes through pack. sink_finish() gives it back; pack and tick stay
 * the caller's.
 * Context: drain thread.
 */
void sink_init(struct sink *sink, struct pack *pack, const _Atomic uint32_t *tick,
               uint64_t start_ns);
void sink_finish(struct sink *sink);

/* Hand over the records that are there, and the new nodes and stacks. Context: drain thread. */
void sink_put_records(struct sink *sink);

/* Hand over records when so many are there that a section would become large. */
void sink_limit_records(struct sink *sink);

/* Begin a block; with_sync: its first record repeats the SYNC in force. Context: drain thread. */
void stream_begin_block(struct stream *stream, struct sink *sink, bool with_sync);

/*
 * Hand over the stream's block and, when it is written, give slots back.
 * Without a block and without a release nothing happens. Context: drain thread.
 */
void stream_flush(struct stream *stream, struct sink *sink, const struct ring_release *release);

/* Does the block have room for a record with its WIDE? Context: drain thread. */
static inline bool stream_has_room(const struct stream *stream)
{
    return stream->block != NULL && stream->block->count <= PACK_BLOCK_RECORDS - 2;
}

/* Append a record; the block has room. Context: drain thread. */
static inline void stream_put(struct stream *stream, uint64_t w0, uint64_t w1)
{
    struct pack_block *block = stream->block;
    uint8_t *at = block->events + (size_t)block->count * EVENT_BYTES;

    le_store_u64(w0, at);
    le_store_u64(w1, at + 8);
    block->count++;
}

#endif
