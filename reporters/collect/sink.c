/*
 * Blocks and tables on their way to the pack thread. Drain thread.
 */
#include "collect/sink.h"

#include "memtrack/protocol.h"

enum {
    RECORDS_MAX_BYTES = 1 << 20, /* of a section; a single record may be larger */
};

void sink_init(struct sink *sink, struct pack *pack, const _Atomic uint32_t *tick,
               uint64_t start_ns)
{
    *sink = (struct sink){.pack = pack, .tick = tick, .start_ns = start_ns};
    trie_init(&sink->trie);
    sink->handler_node = trie_node(&sink->trie.python, 0, SPECIAL_SIGNAL_HANDLER);
}

void sink_finish(struct sink *sink)
{
    trie_finish(&sink->trie);
    names_finish(&sink->names);
    modules_finish(&sink->modules);
    texts_finish(&sink->texts);
    records_finish(&sink->records);
}

static void put_records(struct sink *sink)
{
    struct records *records = &sink->records;

    pack_put_records(sink->pack, records->bytes, records->size_bytes, records->count);
    records_clear(records);
}

void sink_limit_records(struct sink *sink)
{
    if (sink->records.size_bytes > RECORDS_MAX_BYTES)
        put_records(sink);
}

void sink_put_records(struct sink *sink)
{
    while (trie_write_new(&sink->trie, &sink->records))
        sink_limit_records(sink);
    put_records(sink);
}

static uint64_t sync_w0(uint64_t segment)
{
    return segment | (uint64_t)EVENT_SYNC << EVENT_OP_SHIFT;
}

void stream_begin_block(struct stream *stream, struct sink *sink, bool with_sync)
{
    struct pack_block *block = pack_block_get(sink->pack);

    block->process = stream->process;
    block->stream = stream->number;
    block->first_segment = stream->segment;
    stream->block = block;
    if (with_sync)
        stream_put(stream, sync_w0(stream->segment), stream->tick | (uint64_t)SYNC_SECTION << 32);
}

void stream_flush(struct stream *stream, struct sink *sink, const struct ring_release *release)
{
    struct pack_block *block = stream->block;

    if (block == NULL && release->entry == NULL)
        return;
    sink_put_records(sink);
    if (block == NULL)
        block = pack_block_get(sink->pack);
    block->release = *release;
    stream->block = NULL;
    pack_put(sink->pack, block);
}
