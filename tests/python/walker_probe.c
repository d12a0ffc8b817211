/*
 * The walker under test, preloaded into an interpreter, and the reader's side of its deltas.
 *
 * Allocations of PROBE_BYTES bytes are walked, with PROBE_EVERY in the environment all others too,
 * with PROBE_BLOCKS=N those of at least N bytes: these are kept while they live (probe_blocks.h).
 * The chain is kept as the collector keeps it, by pop and push alone; ctypes asks for it. What would
 * be damage in a capture (a pop of more than there is, an id that was not announced, an id announced
 * twice) is counted as a fault.
 */
#include "base/syscalls.h"
#include "probe_blocks.h"
#include "python/same.h"
#include "python/walk.h"

#include <errno.h>
#include <memtrack/protocol.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    PROBE_BYTES = 12347, /* a size that nobody asks for */
    CHAIN_FRAMES = 1 << 19,
    BLOB_COUNT = 1 << 20,
    BLOB_STORE_BYTES = 1 << 30, /* of address space */
};

/* One thread's, in memory that a forked child finds empty, as the real one is. */
struct probe {
    struct python_walk walk;
    uint32_t depth;
    uint32_t taken_depth;
    uint32_t is_busy;
    uint64_t walks;
    uint64_t same_walks;  /* seen at once to be those before */
    uint64_t line_walks;  /* and of them, without a call */
    uint64_t moved_walks; /* seen without a call to differ in the innermost frame's place alone */
    uint64_t pushes;
    uint64_t chain[CHAIN_FRAMES];
    uint64_t taken[CHAIN_FRAMES]; /* the chain at the last allocation of PROBE_BYTES */
};

struct blob {
    uint8_t *_Atomic bytes;
    uint32_t count_bytes;
};

static __thread struct probe *probe __attribute__((tls_model("initial-exec")));

/* Also wiped: the child announces again. */
static struct blob *blobs;
static uint8_t *store;
static _Atomic size_t *store_used;

static _Atomic uint64_t faults;
static bool is_every;
static size_t kept_from_bytes = SIZE_MAX;
static bool is_refusing; /* announcements fail */

/* glibc's own names for what we stand in front of: no look-up, which would allocate. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void __libc_free(void *memory);

EXPORT void *probe_walk(void);
EXPORT uint32_t probe_take(uint64_t *frames, uint32_t room);
EXPORT uint32_t probe_blob(uint32_t id, uint8_t *bytes, uint32_t room);
EXPORT uint64_t probe_number(unsigned which);
EXPORT void probe_refuse(bool is_on);
EXPORT void probe_forget(void);
EXPORT void probe_find(void);
EXPORT double probe_time_ns(unsigned rounds);

static bool keep_blob(void *owner, unsigned kind, const uint8_t *bytes, size_t count_bytes)
{
    uint32_t id;
    size_t at;

    (void)owner;
    if (is_refusing)
        return false;
    if (kind != BLOB_CODE)
        return true;
    memcpy(&id, bytes, sizeof(id));
    if (id == 0 || id >= BLOB_COUNT || blobs[id].bytes != NULL || count_bytes > BLOB_MAX_BYTES) {
        faults++;
        return true;
    }
    at = atomic_fetch_add(store_used, count_bytes);
    if (at + count_bytes > BLOB_STORE_BYTES) {
        faults++;
        return true;
    }
    memcpy(store + at, bytes, count_bytes);
    blobs[id].count_bytes = (uint32_t)count_bytes;
    blobs[id].bytes = store + at;
    return true;
}

static const struct announcer announcer = {.write = keep_blob};

static void apply(const struct python_delta *delta)
{
    if (delta->pop > probe->depth || delta->push > CHAIN_FRAMES - probe->depth) {
        faults++;
        return;
    }
    probe->depth -= delta->pop;
    for (uint32_t i = 0; i < delta->push; i++) {
        uint64_t frame = delta->pushed[i];
        uint32_t id = (uint32_t)(frame >> FRAME_CODE_SHIFT & FRAME_CODE_MASK);

        if (id != 0 && (id >= BLOB_COUNT || blobs[id].bytes == NULL))
            faults++;
        probe->chain[probe->depth++] = frame;
    }
    probe->pushes += delta->push;
    if (probe->depth != probe->walk.shown_depth)
        faults++;
}

/* As malloc() asks, whose ways know the family. */
static enum python_nearness look_in_line(const struct python_walk *walk, struct python_move *move,
                                         bool *ret_is_same)
{
    *ret_is_same = false;
    if (!python_walk_is_short(walk))
        return PYTHON_OTHER;
    switch (python_at_hand.family) {
#define LOOK(family_, suffix_)                              \
    case family_:                                           \
        *ret_is_same = python_short_is_same(walk, family_); \
        return python_short_look(walk, family_, move);
        FRAME_FAMILIES(LOOK)
#undef LOOK
    case FRAMES_COUNT:
        break;
    }
    return PYTHON_OTHER;
}

/*
 * Let the innermost frame be where it was seen: what the next walks find is compared with that. Every
 * other time the walk tells as well, which has to say the same.
 */
static void move_on(const struct python_move *move, enum python_nearness nearness)
{
    uint64_t *top = &probe->chain[probe->depth - 1];
    uint64_t moved = (*top & ~((UINT64_C(1) << FRAME_OFFSET_BITS) - 1)) | move->offset;
    struct python_delta delta;

    if (probe->walks % 2 == 0) {
        python_short_move(&probe->walk, move);
        if (nearness == PYTHON_MOVED)
            *top = moved;
    } else if (python_walk_update(&probe->walk, &announcer, &delta)) {
        faults += nearness == PYTHON_SAME || delta.pop != 1 || delta.push != 1 ||
                  delta.pushed[0] != moved;
        apply(&delta);
    } else {
        faults += nearness == PYTHON_MOVED;
    }
}

static void on_allocation(const void *memory, size_t size)
{
    int errno_of_program = errno;
    enum python_nearness nearness;
    bool is_same, is_line_same;
    struct python_delta delta;
    struct python_move move = {0};

    if (size != PROBE_BYTES && !is_every && size < kept_from_bytes)
        return;
    if (blobs == NULL)
        return; /* before the constructor */
    if (probe == NULL)
        probe = sys_map_wiped(sizeof(*probe));
    if (probe == NULL || probe->is_busy)
        return;
    probe->is_busy = 1;
    errno = 123;
    is_same = python_walk_if_same(&probe->walk) != NULL;
    nearness = look_in_line(&probe->walk, &move, &is_line_same);
    faults += is_line_same && (!is_same || nearness == PYTHON_MOVED);
    if (nearness != PYTHON_OTHER) {
        move_on(&move, nearness);
        faults += is_same && nearness == PYTHON_MOVED;
    } else if (python_walk_update(&probe->walk, &announcer, &delta)) {
        apply(&delta);
        faults += is_same;
    }
    if (errno != 123)
        faults++;
    probe->walks++;
    probe->same_walks += is_same;
    probe->line_walks += is_line_same;
    probe->moved_walks += nearness == PYTHON_MOVED;
    if (size >= kept_from_bytes)
        probe_blocks_add(memory, size, probe->chain, probe->depth);
    if (size == PROBE_BYTES) {
        memcpy(probe->taken, probe->chain, probe->depth * sizeof(probe->chain[0]));
        probe->taken_depth = probe->depth;
    }
    probe->is_busy = 0;
    errno = errno_of_program;
}

EXPORT void *malloc(size_t size)
{
    void *memory = __libc_malloc(size);

    on_allocation(memory, size);
    return memory;
}

EXPORT int munmap(void *range, size_t size)
{
    long result;

    python_note_unmap();
    result = sys_call(SYS_munmap, (long)range, (long)size, 0, 0, 0, 0);
    if (!sys_failed(result))
        return 0;
    errno = (int)-result;
    return -1;
}

EXPORT void free(void *memory)
{
    probe_blocks_remove(memory);
    __libc_free(memory);
}

EXPORT void *calloc(size_t count, size_t size)
{
    void *memory = __libc_calloc(count, size);

    on_allocation(memory, count * size);
    return memory;
}

EXPORT void *realloc(void *old, size_t size)
{
    void *memory;

    probe_blocks_remove(old);
    memory = __libc_realloc(old, size);
    on_allocation(memory, size);
    return memory;
}

__attribute__((constructor)) static void start(void)
{
    store = sys_map_wiped(BLOB_STORE_BYTES);
    store_used = sys_map_wiped(sizeof(*store_used));
    blobs = sys_map_wiped(BLOB_COUNT * sizeof(*blobs));
    python_find_runtime();
    is_every = getenv("PROBE_EVERY") != NULL;
    if (getenv("PROBE_BLOCKS") != NULL) {
        kept_from_bytes = strtoul(getenv("PROBE_BLOCKS"), NULL, 10);
        probe_blocks_start();
    }
}

/* Allocate what is walked. Returns the walked thread's probe: NULL says that there is none. */
void *probe_walk(void)
{
    __libc_free(malloc(PROBE_BYTES));
    return probe;
}

/* Give the chain of the last such allocation, root first. Returns its depth. */
uint32_t probe_take(uint64_t *frames, uint32_t room)
{
    uint32_t depth = probe != NULL ? probe->taken_depth : 0;

    memcpy(frames, probe->taken, (depth < room ? depth : room) * sizeof(*frames));
    return depth;
}

/* Give the blob of a code id, as much as there is room for. Returns its bytes, 0 when it was not announced. */
uint32_t probe_blob(uint32_t id, uint8_t *bytes, uint32_t room)
{
    if (id >= BLOB_COUNT || blobs[id].bytes == NULL)
        return 0;
    if (room != 0)
        memcpy(bytes, blobs[id].bytes, blobs[id].count_bytes < room ? blobs[id].count_bytes : room);
    return blobs[id].count_bytes;
}

uint64_t probe_number(unsigned which)
{
    const uint64_t numbers[] = {
        faults,
        python_is_ready,
        python_walks_failed(),
        python_names_lost(),
        python_interpreters_refused(),
        probe != NULL ? probe->walks : 0,
        probe != NULL ? probe->pushes : 0,
        probe != NULL ? probe->same_walks : 0,
        probe != NULL ? probe->line_walks : 0,
        probe != NULL ? probe->moved_walks : 0,
    };

    return which < sizeof(numbers) / sizeof(numbers[0]) ? numbers[which] : 0;
}

void probe_refuse(bool is_on)
{
    is_refusing = is_on;
}

void probe_forget(void)
{
    python_walk_forget(&probe->walk);
    probe->depth = 0;
}

/* Look for an interpreter again: a library has come. */
void probe_find(void)
{
    python_find_runtime();
}

/* Return the time of one walk of an unchanged stack. */
double probe_time_ns(unsigned rounds)
{
    struct python_delta delta;
    uint64_t start_ns;

    __libc_free(malloc(PROBE_BYTES)); /* makes the probe */
    start_ns = sys_now_ns();
    for (unsigned i = 0; i < rounds; i++) {
        if (python_walk_update(&probe->walk, &announcer, &delta))
            apply(&delta);
    }
    return (double)(sys_now_ns() - start_ns) / rounds;
}
