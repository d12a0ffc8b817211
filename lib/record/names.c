/*
 * The tables of names: open addressing, found by 128 bits of hash, never the text itself.
 *
 * Runs in the program's threads. A slot goes from free to taken (low is not 0) to known (id is not 0)
 * and stays so. What is taken and not known belongs to somebody who is announcing it, or who was left
 * on the way by siglongjmp() or had no room: it is passed over.
 *
 * Relaxed, where nothing is said: an id counts only once it has been stored with release.
 */
#include "record/names.h"

#include "base/syscalls.h"
#include "record/blob.h"

#include <stdatomic.h>
#include <string.h>

enum {
    MARK_SLOTS = 4096,
    POOL_SLOTS = 512,
    TABLE_COUNT = 2,
    PROBES_MAX = 64,
};

struct hash {
    uint64_t low, high;
};

struct name_slot {
    _Atomic uint64_t low, high;
    _Atomic uint32_t id;
};

/* Of one kind; in memory that a forked child finds zeroed. */
struct name_table {
    _Atomic uint32_t given; /* ids so far */
    struct name_slot slots[];
};

static struct name_table *_Atomic tables[TABLE_COUNT];
static _Atomic uint64_t memory_bytes;

static unsigned table_index(enum name_kind kind)
{
    return kind == NAME_POOL ? 1 : 0;
}

static uint32_t slot_count(enum name_kind kind)
{
    return kind == NAME_POOL ? POOL_SLOTS : MARK_SLOTS;
}

static size_t table_bytes(enum name_kind kind)
{
    return sizeof(struct name_table) + slot_count(kind) * sizeof(struct name_slot);
}

static uint64_t mix(uint64_t value)
{
    value ^= value >> 32;
    value *= UINT64_C(0x9e3779b97f4a7c15);
    value ^= value >> 29;
    return value;
}

/* Two hashes that have nothing to do with each other. */
static struct hash hash_of(const char *text, size_t length)
{
    struct hash hash = {UINT64_C(0xcbf29ce484222325), length};

    for (size_t i = 0; i < length; i++) {
        hash.low = (hash.low ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
        hash.high = mix(hash.high + (uint8_t)text[i] + 1);
    }
    hash.low = mix(hash.low);
    if (hash.low == 0)
        hash.low = 1;
    return hash;
}

/* At most NAMES_TEXT_BYTES, and no character cut in two. */
static size_t length_of(const char *text)
{
    size_t length = strnlen(text, NAMES_TEXT_BYTES + 1);

    if (length <= NAMES_TEXT_BYTES)
        return length;
    length = NAMES_TEXT_BYTES;
    while (length > 0 && ((uint8_t)text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

static struct name_table *table_of(enum name_kind kind)
{
    return atomic_load_explicit(&tables[table_index(kind)], memory_order_acquire);
}

/* Returns NULL when there is no memory for it. */
static struct name_table *open_table(enum name_kind kind)
{
    struct name_table *table = sys_map_wiped(table_bytes(kind)), *seen = NULL;

    if (table == NULL)
        return NULL;
    if (!atomic_compare_exchange_strong(&tables[table_index(kind)], &seen, table)) {
        sys_unmap(table, table_bytes(kind));
        return seen;
    }
    atomic_fetch_add_explicit(&memory_bytes, table_bytes(kind), memory_order_relaxed);
    return table;
}

static struct name_slot *slot_at(struct name_table *table, enum name_kind kind,
                                 const struct hash *hash, unsigned probe)
{
    return &table->slots[(hash->low + probe) % slot_count(kind)];
}

static uint32_t find(struct name_table *table, enum name_kind kind, const struct hash *hash)
{
    for (unsigned probe = 0; table != NULL && probe < PROBES_MAX; probe++) {
        struct name_slot *slot = slot_at(table, kind, hash, probe);
        uint64_t low = atomic_load_explicit(&slot->low, memory_order_relaxed);
        uint32_t id;

        if (low == 0)
            break;
        /* Acquire: with the id its whole hash is seen, and its announcement is in a ring. */
        id = low == hash->low ? atomic_load_explicit(&slot->id, memory_order_acquire) : NAMES_NONE;
        if (id != NAMES_NONE &&
            atomic_load_explicit(&slot->high, memory_order_relaxed) == hash->high)
            return id;
    }
    return NAMES_NONE;
}

/* Returns NULL when there is no place for it: its id is then not remembered. */
static struct name_slot *take_slot(struct name_table *table, enum name_kind kind,
                                   const struct hash *hash)
{
    for (unsigned probe = 0; probe < PROBES_MAX; probe++) {
        struct name_slot *slot = slot_at(table, kind, hash, probe);
        uint64_t seen = 0;

        if (atomic_compare_exchange_strong_explicit(&slot->low, &seen, hash->low,
                                                    memory_order_relaxed, memory_order_relaxed))
            return slot;
    }
    return NULL;
}

/* Returns NAMES_NONE when all have been given. */
static uint32_t next_id(struct name_table *table, enum name_kind kind)
{
    uint32_t first = kind == NAME_POOL ? ALLOCATOR_POOL_FIRST : 1;
    uint32_t most = kind == NAME_POOL ? ALLOCATOR_COUNT - ALLOCATOR_POOL_FIRST : UINT32_MAX - 1;
    uint32_t given = atomic_load_explicit(&table->given, memory_order_relaxed);

    do {
        if (given >= most)
            return NAMES_NONE;
    } while (!atomic_compare_exchange_weak_explicit(&table->given, &given, given + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return first + given;
}

/* Not inline: the caller's frame, deep in the program's stack, stays small. */
static __attribute__((noinline)) bool announce(struct context *context, enum name_kind kind,
                                               uint32_t id, const char *text, size_t length)
{
    uint8_t bytes[BLOB_NAME_HEADER_BYTES + NAMES_TEXT_BYTES] = {0};

    memcpy(bytes, &id, sizeof(id));
    bytes[4] = (uint8_t)kind;
    memcpy(bytes + BLOB_NAME_HEADER_BYTES, text, length);
    return blob_write(context, BLOB_NAME, bytes, BLOB_NAME_HEADER_BYTES + length);
}

uint32_t names_find(enum name_kind kind, const char *text)
{
    struct hash hash = hash_of(text, length_of(text));

    return find(table_of(kind), kind, &hash);
}

uint32_t names_get(struct context *context, enum name_kind kind, const char *text)
{
    size_t length = length_of(text);
    struct hash hash = hash_of(text, length);
    struct name_table *table = table_of(kind);
    struct name_slot *slot;
    uint32_t id = find(table, kind, &hash);

    if (id != NAMES_NONE)
        return id;
    if (table == NULL)
        table = open_table(kind);
    if (table == NULL)
        return NAMES_NONE;
    id = next_id(table, kind);
    if (id == NAMES_NONE)
        return kind == NAME_POOL ? ALLOCATOR_POOL : NAMES_NONE;
    slot = take_slot(table, kind, &hash);
    if (!announce(context, kind, id, text, length))
        return NAMES_NONE;
    if (slot == NULL)
        return id;
    atomic_store_explicit(&slot->high, hash.high, memory_order_relaxed);
    /* Release: who finds the id finds the hash, and the announcement stands before. */
    atomic_store_explicit(&slot->id, id, memory_order_release);
    return id;
}

uint64_t names_memory_bytes(void)
{
    return atomic_load_explicit(&memory_bytes, memory_order_relaxed);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "blobs are little-endian");
