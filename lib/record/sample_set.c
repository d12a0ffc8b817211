/*
 * The set: tables of buckets, each table twice the one before.
 *
 * Runs in the program's threads. A bucket is a cache line, and an element is in one of two buckets of
 * one of the tables, so a search looks at two lines a table and nothing has to be left behind where
 * an element was taken out. When a table has no room in both, the next one is tried, and mapped when
 * it is not there yet: it stays. So memory is bounded by the largest set there ever was.
 *
 * What holds between any two instructions: an element is there or not. A handler that leaves for good
 * while a block is put in leaves an element or a count too many; the block is nobody's then, and will
 * not be released.
 */
#include "record/sample_set.h"

#include "base/syscalls.h"

#include <stddef.h>

enum {
    FILTER_FULL = UINT8_MAX,
    WAYS = 8,
    FIRST_BUCKET_BITS = 9,
    TABLE_COUNT = 13, /* the last one has 128 MiB */
    DOMAIN_SHIFT = 57,
};

struct bucket {
    _Atomic uintptr_t elements[WAYS]; /* 0: free */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct bucket) == 64, "a bucket is a cache line");

_Atomic uint8_t sample_filter[SAMPLE_FILTER_COUNT];

static struct bucket first_table[1 << FIRST_BUCKET_BITS];
/* From the second one on; never taken back. */
static struct bucket *_Atomic later_tables[TABLE_COUNT - 1];

/*
 * Relaxed throughout: whoever looks for a block has got it from the thread that put it in, behind
 * that. Only a new table is published, with release, to threads that have nothing to do with it.
 */

static size_t table_bytes(unsigned table)
{
    return sizeof(first_table) << table;
}

/* A table, or NULL when there is none yet. */
static struct bucket *find_table(unsigned table)
{
    if (table == 0)
        return first_table;
    return atomic_load_explicit(&later_tables[table - 1], memory_order_acquire);
}

/* A table, mapped when it is not there. NULL: no memory. */
static struct bucket *make_table(unsigned table)
{
    struct bucket *found = find_table(table), *made;

    if (found != NULL)
        return found;
    made = sys_map(table_bytes(table));
    if (made == NULL)
        return NULL;
    if (atomic_compare_exchange_strong_explicit(&later_tables[table - 1], &found, made,
                                                memory_order_acq_rel, memory_order_acquire))
        return made;
    /* Another thread, or a handler, was faster. */
    sys_unmap(made, table_bytes(table));
    return found;
}

static uintptr_t element_of(enum domain domain, uintptr_t address)
{
    return (uintptr_t)domain << DOMAIN_SHIFT ^ address;
}

/* One of the two buckets of an element. */
static struct bucket *bucket_of(struct bucket *buckets, unsigned table, uintptr_t element,
                                unsigned choice)
{
    uint64_t hash = (element >> 3) * UINT64_C(0x9e3779b97f4a7c15);
    unsigned bits = FIRST_BUCKET_BITS + table;

    return &buckets[hash >> (64 - bits - choice * bits) & ((UINT64_C(1) << bits) - 1)];
}

static bool bucket_put(struct bucket *bucket, uintptr_t element)
{
    for (unsigned i = 0; i < WAYS; i++) {
        uintptr_t seen = atomic_load_explicit(&bucket->elements[i], memory_order_relaxed);

        if (seen == 0 &&
            atomic_compare_exchange_strong_explicit(&bucket->elements[i], &seen, element,
                                                    memory_order_relaxed, memory_order_relaxed))
            return true;
    }
    return false;
}

static bool bucket_take(struct bucket *bucket, uintptr_t element)
{
    for (unsigned i = 0; i < WAYS; i++)
        if (atomic_load_explicit(&bucket->elements[i], memory_order_relaxed) == element) {
            atomic_store_explicit(&bucket->elements[i], 0, memory_order_relaxed);
            return true;
        }
    return false;
}

static void filter_count(uintptr_t address, int step)
{
    _Atomic uint8_t *counter = &sample_filter[sample_filter_index(address)];
    uint8_t count = atomic_load_explicit(counter, memory_order_relaxed);

    while (count != FILTER_FULL &&
           !atomic_compare_exchange_weak_explicit(counter, &count, (uint8_t)(count + step),
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

bool sample_set_put(enum domain domain, uintptr_t address)
{
    uintptr_t element = element_of(domain, address);

    /* It was released and nobody saw it. */
    sample_set_take(domain, address);
    /* Before the element: a handler that leaves in between must not leave one that is not counted. */
    filter_count(address, 1);
    for (unsigned table = 0; table < TABLE_COUNT; table++) {
        struct bucket *buckets = make_table(table);

        if (buckets == NULL)
            break;
        if (bucket_put(bucket_of(buckets, table, element, 0), element) ||
            bucket_put(bucket_of(buckets, table, element, 1), element))
            return true;
    }
    filter_count(address, -1);
    return false;
}

bool sample_set_take(enum domain domain, uintptr_t address)
{
    uintptr_t element = element_of(domain, address);

    if (!sample_set_may_have(address))
        return false;
    for (unsigned table = 0; table < TABLE_COUNT; table++) {
        struct bucket *buckets = find_table(table);

        if (buckets == NULL)
            break;
        if (bucket_take(bucket_of(buckets, table, element, 0), element) ||
            bucket_take(bucket_of(buckets, table, element, 1), element)) {
            filter_count(address, -1);
            return true;
        }
    }
    return false;
}

void sample_set_doubt(uintptr_t address)
{
    atomic_store_explicit(&sample_filter[sample_filter_index(address)], FILTER_FULL,
                          memory_order_relaxed);
}

size_t sample_set_bytes(void)
{
    size_t size_bytes = sizeof(first_table) + sizeof(sample_filter);

    for (unsigned table = 1; table < TABLE_COUNT && find_table(table) != NULL; table++)
        size_bytes += table_bytes(table);
    return size_bytes;
}
