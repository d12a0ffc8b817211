/*
 * Programs for captures that do not hold every block: by size, or by chance. What is live at the end
 * is known; each kind of block comes from an entry of its own, which a C program's rows are told
 * apart by.
 */
#include "say.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum {
    SMALL_BYTES = 24,
    LIMIT_BYTES = 1000, /* as the test gives it */
};

static void *some(void *block)
{
    if (block == NULL)
        give_up("out of memory");
    return keep(block);
}

/* Blocks on both sides of a limit, and those that realloc moves from one side to the other. */
static void case_limit(void)
{
    void *block, *grown, *shrunk;

    for (unsigned i = 0; i < 1000; i++)
        free(some(malloc(SMALL_BYTES)));
    for (unsigned i = 0; i < 100; i++)
        some(malloc(LIMIT_BYTES - 1));
    for (unsigned i = 0; i < 100; i++)
        free(some(malloc(LIMIT_BYTES - 1))); /* rounded up, it is not below the limit */
    for (unsigned i = 0; i < 10; i++)
        some(malloc(LIMIT_BYTES));
    for (unsigned i = 0; i < 10; i++)
        free(some(calloc(1, 5000)));
    shrunk = some(realloc(some(malloc(4000)), 16));
    grown = some(realloc(some(malloc(10)), 6000));
    /* Failing, the first leaves a block that is recorded, the others blocks that are not. */
    block = realloc(grown, PTRDIFF_MAX);
    if (block != NULL || realloc(shrunk, PTRDIFF_MAX) != NULL)
        give_up("half of all addresses were there");
    block = some(malloc(LIMIT_BYTES - 1));
    if (realloc(block, PTRDIFF_MAX) != NULL)
        give_up("half of all addresses were there");
    free(block);
    free(shrunk);
    if (mmap(NULL, 512, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        give_up("no map");
    say_address("grown", grown);
}

static void *new_malloc(size_t size_bytes)
{
    return malloc(size_bytes);
}

static void *new_calloc(size_t size_bytes)
{
    return calloc(1, size_bytes);
}

static void *new_memalign(size_t size_bytes)
{
    return memalign(32, size_bytes);
}

static void *new_realloc(size_t size_bytes)
{
    return realloc(NULL, size_bytes);
}

static void *new_aligned_alloc(size_t size_bytes)
{
    return aligned_alloc(16, size_bytes);
}

/* What stays is told: NAME SIZE COUNT. As many blocks come and go. */
static void case_sizes(void)
{
    static const struct {
        const char *name;
        void *(*allocate)(size_t size_bytes);
        size_t size_bytes;
        unsigned count;
    } kinds[] = {
        {"malloc", new_malloc, 64, 300000},
        {"calloc", new_calloc, 1000, 40000},
        {"memalign", new_memalign, 20000, 3000},
        {"realloc", new_realloc, 60000, 600},
        {"aligned_alloc", new_aligned_alloc, 1 << 20, 30},
    };

    for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
        for (unsigned i = 0; i < kinds[kind].count; i++) {
            void *block = some(kinds[kind].allocate(kinds[kind].size_bytes));

            some(kinds[kind].allocate(kinds[kind].size_bytes));
            free(block);
        }
        say("%s %zu %u", kinds[kind].name, kinds[kind].size_bytes, kinds[kind].count);
    }
}

enum {
    HANDED_COUNT = 300000,
    HANDED_ROOM = 1024,
};

static void *_Atomic handed[HANDED_ROOM];

static void *release_handed(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < HANDED_COUNT; i++) {
        void *block;

        while ((block = handed[i % HANDED_ROOM]) == NULL)
            ;
        handed[i % HANDED_ROOM] = NULL;
        /* Some are moved first, by the thread that did not allocate them. */
        free(i % 5 == 0 ? some(realloc(block, 700)) : block);
    }
    return NULL;
}

/* Every block is released by another thread, which soon gets the same address. */
static void case_handed_over(void)
{
    pthread_t threads[2];

    if (pthread_create(&threads[0], NULL, release_handed, NULL) != 0)
        give_up("no thread");
    for (unsigned i = 0; i < HANDED_COUNT; i++) {
        void *block = some(malloc(16 + i % 700));

        while (handed[i % HANDED_ROOM] != NULL)
            ;
        handed[i % HANDED_ROOM] = block;
    }
    pthread_join(threads[0], NULL);
}

enum {
    INHERITED_COUNT = 20000,
};

static void *inherited[INHERITED_COUNT];

static void live_on(void)
{
    /* Its own take the places of what it releases. */
    for (unsigned i = 0; i < INHERITED_COUNT; i += 2)
        free(inherited[i]);
    for (unsigned i = 0; i < INHERITED_COUNT; i++)
        some(malloc(500));
    for (unsigned i = 1; i < INHERITED_COUNT; i += 2)
        free(inherited[i]);
}

/* Children release what they have inherited, and so does their parent. */
static void case_forked(void)
{
    for (unsigned i = 0; i < INHERITED_COUNT; i++)
        inherited[i] = some(malloc(500));
    for (unsigned i = 0; i < 3; i++)
        if (fork() == 0) {
            live_on();
            _exit(0);
        }
    live_on();
    while (wait(NULL) > 0)
        ;
}

/*
 * Threads that exchange blocks in places that they share, and then a child that goes on with what it has
 * inherited: so blocks are released by others than have allocated them, long after and at once. A block
 * begins with what it is: whose, of which kind, how large.
 */
enum {
    PLACE_COUNT = 20000,
    EXCHANGES = 700000, /* of each thread; of the child half */
    EXCHANGERS = 3,
    KIND_COUNT = 5,
    LARGE_EVERY = 50000,
    LARGE_BYTES = 2 << 20,
};

struct exchanged {
    uint32_t size_bytes;
    uint16_t kind;
    uint16_t is_childs;
};

static const char *const kind_names[KIND_COUNT] = {"malloc", "calloc", "memalign", "realloc",
                                                   "aligned_alloc"};
static struct exchanged *_Atomic places[PLACE_COUNT];
static _Atomic uint64_t exchanged_bytes[KIND_COUNT], exchanged_count[KIND_COUNT];
static bool is_child;

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static struct exchanged *make(unsigned kind, uint32_t random)
{
    static const uint32_t least_bytes[] = {16, 100, 300, 2000, LARGE_BYTES};
    static const uint32_t span_bytes[] = {500, 1, 2000, 9000, 1};
    static void *(*const entries[])(size_t) = {new_malloc, new_calloc, new_memalign, new_realloc,
                                               new_aligned_alloc};
    uint32_t size_bytes = least_bytes[kind] + random % span_bytes[kind];
    struct exchanged *made = some(entries[kind](size_bytes));

    *made = (struct exchanged){size_bytes, (uint16_t)kind, (uint16_t)is_child};
    exchanged_bytes[kind] += size_bytes;
    exchanged_count[kind]++;
    return made;
}

static void *exchange(void *seed)
{
    uint64_t state = (uintptr_t)seed;

    for (unsigned i = 1; i <= (is_child ? EXCHANGES / 2 : EXCHANGES); i++) {
        uint32_t random = next_random(&state);
        struct exchanged *made = make(i % LARGE_EVERY == 0 ? 4 : random % 4, random >> 2);

        if (made->kind == 0 && random % 64 == 0) {
            /* Moved: a release and an allocation, of realloc's. */
            free(made);
            made = make(3, random >> 2);
        }
        free(atomic_exchange(&places[next_random(&state) % PLACE_COUNT], made));
    }
    return NULL;
}

/* PREFIX-KIND allocated bytes and blocks, live bytes and blocks: of this process's own. */
static void say_exchanged(const char *prefix)
{
    uint64_t live_bytes[KIND_COUNT] = {0}, live_count[KIND_COUNT] = {0};

    for (unsigned i = 0; i < PLACE_COUNT; i++) {
        const struct exchanged *there = places[i];

        if (there == NULL || there->is_childs != is_child)
            continue;
        live_bytes[there->kind] += there->size_bytes;
        live_count[there->kind]++;
    }
    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        say("%s-%s %llu %llu %llu %llu", prefix, kind_names[kind],
            (unsigned long long)exchanged_bytes[kind], (unsigned long long)exchanged_count[kind],
            (unsigned long long)live_bytes[kind], (unsigned long long)live_count[kind]);
}

static void case_exchange(void)
{
    pthread_t threads[EXCHANGERS];
    pid_t child;

    for (uintptr_t i = 0; i < EXCHANGERS; i++)
        if (pthread_create(&threads[i], NULL, exchange, (void *)(i + 1)) != 0)
            give_up("no thread");
    for (unsigned i = 0; i < EXCHANGERS; i++)
        pthread_join(threads[i], NULL);
    say_exchanged("parent");
    child = fork();
    if (child == 0) {
        is_child = true;
        memset(exchanged_bytes, 0, sizeof(exchanged_bytes));
        memset(exchanged_count, 0, sizeof(exchanged_count));
        exchange((void *)77);
        say_exchanged("child");
        exit(0);
    }
    waitpid(child, NULL, 0);
}

/* Blocks that no sample leaves out, more of them than a small capture has room for. */
static void case_large(void)
{
    static void *large[64];
    uint64_t state = 1;

    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    for (unsigned i = 0; i < 400000; i++) {
        uint32_t random = next_random(&state);

        free(large[random % 64]);
        large[random % 64] = some(malloc((1 << 20) + random / 64 % 65536 * 16));
    }
}

int main(int argc, char **argv)
{
    static const struct say_case cases[] = {
        {"limit", case_limit},   {"sizes", case_sizes},       {"handed_over", case_handed_over},
        {"forked", case_forked}, {"exchange", case_exchange}, {"large", case_large},
    };

    return say_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
