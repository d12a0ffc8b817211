/*
 * Stored names, written. Runs in the tools.
 *
 * What holds: a record is of one module, its addresses rise, and none is in two records. Addresses that
 * nothing is known of are left out: somebody else may have the file.
 */
#include "symbol/stored.h"

#include "capture/answers.h"
#include "memtrack/format.h"
#include "memtrack/varint.h"

#include <stdlib.h>
#include <string.h>

enum {
    RECORD_ADDRESSES = 1024, /* of a record, at most */
    RECORD_MOST_BYTES = 4 << 20,
    SECTION_BYTES = 4 << 20, /* of records; one more may follow */
};

/* An address of which a name is known, and a node that has it. */
struct named {
    uint64_t address;
    uint32_t module, node;
};

struct writing {
    struct native_symbols *symbols;
    stored_put *put;
    void *user;
    struct named *named; /* by module and address */
    size_t count;
    struct answers row;
    uint8_t *records; /* of a section */
    size_t size_bytes, capacity;
    uint32_t record_count;
    struct error *err;
};

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left, *b = right;

    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

/* Resolve all nodes and keep one of each address that is worth a record. */
static void choose(struct writing *writing, const struct capture *capture,
                   struct stored_counts *counts)
{
    uint32_t *nodes = memory_allocate(capture->native_node_count, sizeof(*nodes));
    struct named *all = memory_allocate(capture->native_node_count, sizeof(*all));
    size_t used = 0;

    for (uint32_t i = 1; i < capture->native_node_count; i++) {
        const struct capture_native_node *node = &capture->native_nodes[i];

        if (node->module != 0) {
            all[used] = (struct named){native_symbols_address(node), node->module, i};
            nodes[used++] = i;
        }
    }
    native_symbols_resolve(writing->symbols, nodes, used);
    qsort(all, used, sizeof(*all), compare_named);
    for (size_t i = 0; i < used; i++) {
        enum native_source source = native_symbols_node_source(writing->symbols, all[i].node);

        if (i > 0 && compare_named(&all[i], &all[i - 1]) == 0)
            continue;
        counts->addresses++;
        counts->had += source == NATIVE_STORED;
        counts->has_names += source >= NATIVE_SYMBOLS;
        if (source == NATIVE_SYMBOLS || source == NATIVE_LINES)
            all[writing->count++] = all[i];
    }
    free(nodes);
    writing->named = all;
}

static bool put_section(struct writing *writing)
{
    struct writer_section section = {
        .type = SECTION_RECORDS,
        .record_count = writing->record_count,
        .payload = writing->records,
        .payload_bytes = (uint32_t)writing->size_bytes,
    };

    writing->record_count = 0;
    writing->size_bytes = 0;
    return section.record_count == 0 || writing->put(writing->user, &section, writing->err);
}

/* The row holds so many addresses of a module: make it a record. */
static bool put_record(struct writing *writing, uint32_t module, uint64_t count)
{
    uint8_t head[4 * VARINT_MAX_BYTES], own[2 * VARINT_MAX_BYTES];
    size_t own_bytes, head_bytes;

    own_bytes = varint_encode(module, own);
    own_bytes += varint_encode(count, own + own_bytes);
    head_bytes = varint_encode(RECORD_SYMBOLS, head);
    head_bytes += varint_encode(own_bytes + writing->row.size_bytes, head + head_bytes);
    memcpy(head + head_bytes, own, own_bytes);
    head_bytes += own_bytes;
    writing->records = memory_grow(writing->records, &writing->capacity,
                                   writing->size_bytes + head_bytes + writing->row.size_bytes, 1);
    memcpy(writing->records + writing->size_bytes, head, head_bytes);
    memcpy(writing->records + writing->size_bytes + head_bytes, writing->row.bytes,
           writing->row.size_bytes);
    writing->size_bytes += head_bytes + writing->row.size_bytes;
    writing->record_count++;
    return writing->size_bytes < SECTION_BYTES || put_section(writing);
}

static void put_places(struct writing *writing, uint32_t node)
{
    const struct native_place *places;
    uint32_t count = native_symbols_of_node(writing->symbols, node, &places);

    answers_number(&writing->row, count);
    for (uint32_t i = 0; i < count; i++)
        answers_place(&writing->row, places[i].function, places[i].file, places[i].line,
                      places[i].column);
}

/* Write a record that begins at an address of a module. ret_next: behind its last one. */
static bool put_addresses(struct writing *writing, size_t first, size_t *ret_next)
{
    uint32_t module = writing->named[first].module;
    uint64_t before = 0;
    size_t next = first;

    answers_begin(&writing->row);
    for (; next < writing->count && writing->named[next].module == module &&
           next - first < RECORD_ADDRESSES && writing->row.size_bytes < RECORD_MOST_BYTES;
         next++) {
        answers_number(&writing->row, writing->named[next].address - before);
        before = writing->named[next].address;
        put_places(writing, writing->named[next].node);
    }
    *ret_next = next;
    return put_record(writing, module, next - first);
}

bool stored_write(struct native_symbols *symbols, const struct capture *capture, stored_put *put,
                  void *user, struct stored_counts *ret_counts, struct error *err)
{
    struct writing writing = {.symbols = symbols, .put = put, .user = user, .err = err};
    struct stored_counts counts = {0};
    bool is_written = true;

    choose(&writing, capture, &counts);
    for (size_t next = 0; is_written && next < writing.count;)
        is_written = put_addresses(&writing, next, &next);
    is_written = is_written && put_section(&writing);
    answers_finish(&writing.row);
    free(writing.records);
    free(writing.named);
    if (is_written)
        *ret_counts = counts;
    return is_written;
}
