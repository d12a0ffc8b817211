/*
 * The table of code objects: levels of buckets, nothing ever moves, nobody ever waits.
 *
 * An address may stand in one bucket of each level, chosen by its hash; a level is opened when the
 * bucket is full in all levels before. A slot goes FREE -> TAKEN -> address and back to FREE; its id
 * is written while it is TAKEN and belongs to that thread. Two threads that meet a code object at
 * once both announce it and both remember it; either id is right. The release of an object clears
 * all of its slots, so an address that is found stands for the object that is alive.
 */
#include "python/code_names.h"

#include "base/syscalls.h"
#include "python/code_blob.h"
#include "python/load.h"

#include <memtrack/protocol.h>

enum {
    BUCKET_SLOTS = 8,
    FIRST_LEVEL_BUCKETS = 512, /* each level has twice as many as the one before */
    LEVEL_COUNT = 12,          /* 8 million code objects */
    SMALL_BLOB_BYTES = 2048,   /* of the thread's stack; larger ones get memory for the call */
};

/* Values of a slot's address that are none. */
enum {
    SLOT_FREE = 0,
    SLOT_TAKEN = 1,
};

struct bucket {
    _Atomic uintptr_t code[BUCKET_SLOTS];
    _Atomic uint32_t id[BUCKET_SLOTS];
};

/*
 * A level, once opened, stays. Written by compare-and-swap, release and acquire: its (zero) memory
 * is read through it. The memory is wiped in a forked child, the pointers are not.
 */
static struct bucket *_Atomic levels[LEVEL_COUNT];

/* Tallies and numbers that order nothing: relaxed. */
static _Atomic uint32_t last_id;
static _Atomic uint64_t lost;
_Atomic uint32_t code_names_releases = 1;
static _Atomic uint64_t memory_bytes;

static void (*_Atomic original_dealloc)(void *code);

static size_t level_buckets(unsigned level)
{
    return (size_t)FIRST_LEVEL_BUCKETS << level;
}

static struct bucket *bucket_of(struct bucket *buckets, unsigned level, uintptr_t code)
{
    /* Objects are 16 bytes apart at least; the product's upper half depends on all of the rest. */
    uint64_t hash = (uint64_t)(code >> 4) * UINT64_C(0x9e3779b97f4a7c15);

    return &buckets[(hash >> 32) & (level_buckets(level) - 1)];
}

uint32_t code_names_find(uintptr_t code)
{
    for (unsigned level = 0; level < LEVEL_COUNT; level++) {
        struct bucket *buckets = atomic_load_explicit(&levels[level], memory_order_acquire);
        struct bucket *bucket;

        if (buckets == NULL)
            break;
        bucket = bucket_of(buckets, level, code);
        for (unsigned i = 0; i < BUCKET_SLOTS; i++) {
            /* Acquire: pairs with the release in remember(); the id was written before. */
            if (atomic_load_explicit(&bucket->code[i], memory_order_acquire) == code)
                return atomic_load_explicit(&bucket->id[i], memory_order_relaxed);
        }
    }
    return CODE_ID_NONE;
}

/* Returns NULL when memory is refused. */
static struct bucket *open_level(unsigned level)
{
    size_t bytes = level_buckets(level) * sizeof(struct bucket);
    struct bucket *buckets = sys_map_wiped(bytes);
    struct bucket *seen = NULL;

    if (buckets == NULL)
        return NULL;
    if (!atomic_compare_exchange_strong_explicit(&levels[level], &seen, buckets,
                                                 memory_order_acq_rel, memory_order_acquire)) {
        sys_unmap(buckets, bytes);
        return seen;
    }
    atomic_fetch_add_explicit(&memory_bytes, bytes, memory_order_relaxed);
    return buckets;
}

/* Where a new entry will stand. */
struct place {
    struct bucket *bucket; /* NULL: there is no room */
    unsigned slot;
};

static struct place take_slot(uintptr_t code)
{
    for (unsigned level = 0; level < LEVEL_COUNT; level++) {
        struct bucket *buckets = atomic_load_explicit(&levels[level], memory_order_acquire);
        struct bucket *bucket;

        if (buckets == NULL)
            buckets = open_level(level);
        if (buckets == NULL)
            break;
        bucket = bucket_of(buckets, level, code);
        for (unsigned i = 0; i < BUCKET_SLOTS; i++) {
            uintptr_t seen = SLOT_FREE;

            if (atomic_compare_exchange_strong_explicit(&bucket->code[i], &seen, SLOT_TAKEN,
                                                        memory_order_relaxed, memory_order_relaxed))
                return (struct place){bucket, i};
        }
    }
    return (struct place){NULL, 0};
}

static void count_lost(void)
{
    atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
}

/* Returns CODE_ID_NONE when all have been given. */
static uint32_t next_id(void)
{
    uint32_t id = atomic_load_explicit(&last_id, memory_order_relaxed);

    do {
        if (id == CODE_ID_MAX)
            return CODE_ID_NONE;
    } while (!atomic_compare_exchange_weak_explicit(&last_id, &id, id + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return id + 1;
}

/* Not inline: the caller's frame, deep in the program's stack, stays small. */
static __attribute__((noinline)) bool announce_small(const struct python_layout *layout,
                                                     const struct code_blob *blob, uint32_t id,
                                                     const struct announcer *announcer)
{
    uint8_t bytes[SMALL_BLOB_BYTES];

    code_blob_write(layout, blob, id, bytes);
    return announcer->write(announcer->owner, BLOB_CODE, bytes, blob->total_bytes);
}

static bool announce(const struct python_layout *layout, uintptr_t code, uint32_t id,
                     const struct announcer *announcer)
{
    struct code_blob blob = code_blob_measure(layout, code);
    uint8_t *bytes;
    bool is_done;

    if (blob.is_cut)
        count_lost();
    if (blob.total_bytes <= SMALL_BLOB_BYTES)
        return announce_small(layout, &blob, id, announcer);
    bytes = sys_map_wiped(blob.total_bytes);
    if (bytes == NULL)
        return false;
    code_blob_write(layout, &blob, id, bytes);
    is_done = announcer->write(announcer->owner, BLOB_CODE, bytes, blob.total_bytes);
    sys_unmap(bytes, blob.total_bytes);
    return is_done;
}

static __attribute__((noinline)) uint32_t
remember(const struct python_runtime *runtime, uintptr_t code, const struct announcer *announcer)
{
    struct place place = take_slot(code);
    uint32_t id;

    if (place.bucket == NULL) {
        count_lost();
        return CODE_ID_NONE;
    }
    id = next_id();
    if (id == CODE_ID_NONE || !announce(&runtime->layout, code, id, announcer)) {
        atomic_store_explicit(&place.bucket->code[place.slot], SLOT_FREE, memory_order_relaxed);
        count_lost();
        return CODE_ID_NONE;
    }
    atomic_store_explicit(&place.bucket->id[place.slot], id, memory_order_relaxed);
    /* Release: who finds the address finds its id, and the announcement stands before. */
    atomic_store_explicit(&place.bucket->code[place.slot], code, memory_order_release);
    return id;
}

uint32_t code_names_get(const struct python_runtime *runtime, uintptr_t code,
                        const struct announcer *announcer)
{
    uint32_t id;

    if (code == 0)
        return CODE_ID_NONE;
    id = code_names_find(code);
    if (id != CODE_ID_NONE)
        return id;
    /* From 3.13 on other things can stand in for a frame's code. */
    if (load_word(code, runtime->layout.object.type) != runtime->code_type)
        return CODE_ID_NONE;
    return remember(runtime, code, announcer);
}

/* Returns true when the address was known. */
static bool forget(uintptr_t code)
{
    bool was_known = false;

    for (unsigned level = 0; level < LEVEL_COUNT; level++) {
        struct bucket *buckets = atomic_load_explicit(&levels[level], memory_order_acquire);
        struct bucket *bucket;

        if (buckets == NULL)
            break;
        bucket = bucket_of(buckets, level, code);
        for (unsigned i = 0; i < BUCKET_SLOTS; i++) {
            /* Relaxed: the last reference to the object came to this thread, and all else with it. */
            if (atomic_load_explicit(&bucket->code[i], memory_order_relaxed) != code)
                continue;
            atomic_store_explicit(&bucket->code[i], SLOT_FREE, memory_order_relaxed);
            was_known = true;
        }
    }
    return was_known;
}

/* In the place of PyCode_Type.tp_dealloc: called by any thread, in any interpreter. */
static void dealloc_code(void *code)
{
    void (*original)(void *) = atomic_load_explicit(&original_dealloc, memory_order_acquire);

    /* The generation moves before the memory can be used again, so whoever gets it sees that. */
    if (forget((uintptr_t)code))
        atomic_fetch_add_explicit(&code_names_releases, 2, memory_order_release);
    original(code);
}

void code_names_watch(const struct python_runtime *runtime)
{
    uintptr_t slot = runtime->code_type + runtime->layout.object.type_dealloc;
    void (*original)(void *) = (void (*)(void *))load_word(slot, 0);

    atomic_store_explicit(&original_dealloc, original, memory_order_release);
    /* One word, always a valid function: whoever calls through it meanwhile gets either. */
    __atomic_store_n((uintptr_t *)slot, (uintptr_t)dealloc_code, __ATOMIC_RELEASE);
}

uint64_t code_names_lost(void)
{
    return atomic_load_explicit(&lost, memory_order_relaxed);
}

uint64_t code_names_memory_bytes(void)
{
    return atomic_load_explicit(&memory_bytes, memory_order_relaxed);
}
