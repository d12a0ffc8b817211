/*
 * Write a page of an invented program, and what its numbers must be: for the tests of the page.
 *
 * usage: make_page STACKS BLOCKS PAGE.html EXPECTED.json [full]
 *
 * Blocks are made up by a generator of fixed numbers, so equal arguments give equal files. All that
 * the profile holds follows from the blocks by plain counting, and so do the expected sums of a few
 * hundred questions: the page's own way to the same numbers is another one.
 */
#include "base/memory.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "render/render.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TICKS = 60000,
    NEVER = TICKS,
    MAX_DEPTH = 40,
    THREADS = 3,
    QUESTIONS = 300,
    TICK_NS = 640000,
};

struct code {
    const char *file, *name;
    int32_t line;
};

#define PROJECT  "/home/ana/forecast/"
#define PACKAGES "/home/ana/forecast/.venv/lib/python3.13/site-packages/"
#define LIBRARY  "/usr/lib/python3.13/"

static const struct code codes[] = {
    {PROJECT "train.py", "<module>", 1},
    {PROJECT "train.py", "main", 88},
    {PROJECT "train.py", "Trainer.fit", 41},
    {PROJECT "train.py", "Trainer.evaluate", 67},
    {PROJECT "forecast/data.py", "Dataset.__init__", 18},
    {PROJECT "forecast/data.py", "Dataset.__getitem__", 33},
    {PROJECT "forecast/data.py", "load_items", 54},
    {PROJECT "forecast/data.py", "collate.<locals>.<lambda>", 71},
    {PROJECT "forecast/model.py", "Model.forward", 25},
    {PROJECT "forecast/model.py", "attention", 49},
    {PROJECT "forecast/features.py", "build_features", 12},
    {PROJECT "forecast/features.py", "rolling_mean", 30},
    {PACKAGES "pandas/io/parsers/readers.py", "read_csv", 868},
    {PACKAGES "pandas/io/parsers/c_parser_wrapper.py", "CParserWrapper.read", 234},
    {PACKAGES "pandas/core/internals/managers.py", "BlockManager.copy", 593},
    {PACKAGES "pandas/core/frame.py", "DataFrame.merge", 10832},
    {PACKAGES "pandas/core/reshape/merge.py", "_MergeOperation.get_result", 888},
    {PACKAGES "numpy/lib/_function_base_impl.py", "percentile", 4080},
    {PACKAGES "numpy/_core/numeric.py", "full", 319},
    {PACKAGES "torch/nn/modules/module.py", "Module._call_impl", 1747},
    {PACKAGES "torch/nn/modules/linear.py", "Linear.forward", 125},
    {PACKAGES "torch/optim/adamw.py", "AdamW.step", 220},
    {PACKAGES "torch/utils/data/_utils/fetch.py", "_MapDatasetFetcher.fetch", 52},
    {PACKAGES "PIL/Image.py", "open", 3461},
    {PACKAGES "PIL/ImageFile.py", "ImageFile.load", 283},
    {LIBRARY "json/decoder.py", "JSONDecoder.raw_decode", 353},
    {LIBRARY "json/__init__.py", "loads", 299},
    {LIBRARY "re/_compiler.py", "compile", 748},
    {LIBRARY "re/_parser.py", "_parse_sub", 449},
    {LIBRARY "re/_parser.py", "_parse", 516},
    {LIBRARY "pickle.py", "_Unpickler.load", 1217},
    {LIBRARY "threading.py", "Thread._bootstrap_inner", 1041},
    {LIBRARY "collections/__init__.py", "namedtuple", 355},
    {LIBRARY "gzip.py", "GzipFile.read", 312},
    {LIBRARY "email/feedparser.py", "FeedParser._parsegen", 218},
    {"<frozen importlib._bootstrap>", "_find_and_load", 1360},
    {"<frozen importlib._bootstrap_external>", "SourceLoader.get_code", 1026},
    {PROJECT "forecast/odd <b>&\"names'.py", "</script><script>\xff\xed\xa0\x80 \u202e\n", 7},
};

enum {
    CODES = sizeof(codes) / sizeof(codes[0]),
};

struct block {
    uint32_t row;
    uint32_t from_tick, to_tick;     /* NEVER: not released */
    uint32_t from_bucket, to_bucket; /* as in struct profile_interval */
    uint64_t bytes;
};

struct world {
    struct capture capture;
    struct profile profile;
    struct block *blocks;
    size_t block_count;
    uint64_t *heap_bytes, *heap_blocks;     /* by tick */
    uint64_t *allocations;                  /* up to it */
    uint32_t sample_ticks[PROFILE_BUCKETS]; /* by bucket */
};

static uint64_t random_state = 42;

static uint64_t next_random(uint64_t below)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = random_state;

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return below > 0 ? (x ^ (x >> 31)) % below : 0;
}

static struct capture_text text_of(const char *text)
{
    return (struct capture_text){text, (uint32_t)strlen(text)};
}

static void make_codes(struct capture *capture)
{
    capture->code_count = CODES + 1;
    capture->codes = memory_allocate(capture->code_count, sizeof(capture->codes[0]));
    for (uint32_t i = 0; i < CODES; i++) {
        capture->codes[i + 1] = (struct capture_code){
            .file = text_of(codes[i].file),
            .name = text_of(codes[i].name),
            .first_line = codes[i].line,
            .line_table = (const uint8_t *)"",
            .line_table_kind = 1,
        };
    }
}

/* A tree that grows where it is already large, as real ones do. */
static void make_stacks(struct capture *capture, uint32_t stack_count)
{
    static const uint8_t allocators[] = {ALLOCATOR_MALLOC, ALLOCATOR_PYMALLOC + 4,
                                         ALLOCATOR_PYMALLOC + 8, ALLOCATOR_MMAP};
    uint32_t node_count = stack_count * 3 + 4;
    uint8_t *depths = memory_allocate(node_count, 1);

    capture->node_count = node_count;
    capture->nodes = memory_allocate(node_count, sizeof(capture->nodes[0]));
    for (uint32_t i = 1; i < node_count; i++) {
        uint32_t parent = i < 4 ? i - 1 : (uint32_t)(1 + next_random(i - 1));

        if (next_random(3) > 0 && i > 4)
            parent = i - 1;
        if (depths[parent] >= MAX_DEPTH)
            parent = 1 + (uint32_t)next_random(3);
        depths[i] = (uint8_t)(depths[parent] + 1);
        capture->nodes[i].parent = parent;
        capture->nodes[i].code = i < 4 ? i : (uint32_t)(1 + next_random(CODES));
    }
    capture->stack_count = stack_count + 1;
    capture->stacks = memory_allocate(capture->stack_count, sizeof(capture->stacks[0]));
    for (uint32_t i = 1; i <= stack_count; i++) {
        /* The last have no Python frames. */
        bool is_native = i > 8 && i + 2 > stack_count;
        uint32_t node = 1 + (uint32_t)next_random(node_count - 1);

        capture->stacks[i].python_node = is_native ? 0 : node;
        capture->stacks[i].allocator = allocators[next_random(4)];
    }
    free(depths);
}

static const char *const arguments[] = {"python3.13", "train.py", "--epochs", "3", NULL};

static void make_program(struct capture *capture)
{
    static struct capture_process process;
    static struct capture_thread threads[THREADS];

    capture->file = "out.bin";
    capture->file_bytes = 3456789;
    capture->session = (struct capture_session){
        .version = MEMTRACK_VERSION,
        .host = "vega",
        .machine = "x86_64",
        .directory = "/home/ana/forecast",
        .realtime_ns = UINT64_C(1760000000) * 1000000000,
        .arguments = arguments,
        .argument_count = 4,
    };
    process = (struct capture_process){
        .number = 1,
        .pid = 4242,
        .is_tracked = true,
        .arguments = arguments,
        .argument_count = 4,
        .executable = "/usr/bin/python3.13",
        .python_version = "3.13.0",
        .counters = {[COUNTER_SLOW_NS] = 81000000, [COUNTER_MEMORY_BYTES] = 3 << 20},
    };
    for (unsigned i = 0; i < THREADS; i++)
        threads[i] = (struct capture_thread){.stream = i + 1, .tid = 4242 + i, .name = ""};
    threads[0].is_main = true;
    threads[1].name = "prefetch-0";
    threads[2].name = "prefetch-1";
    capture->processes = &process;
    capture->process_count = 1;
    capture->threads = threads;
    capture->thread_count = THREADS;
    capture->summary = (struct capture_summary){
        .is_present = true, .cpu_ns = 240000000, .rss_bytes = 9 << 20, .reason = ""};
}

/* Rows with a life of their own: some all the time, some in a phase, some in bursts. */
static void make_blocks(struct world *world, size_t block_count)
{
    uint32_t row_count = world->profile.row_count;

    world->block_count = block_count;
    world->blocks = memory_allocate(block_count, sizeof(world->blocks[0]));
    for (size_t i = 0; row_count > 0 && i < block_count; i++) {
        uint32_t row = (uint32_t)(next_random(row_count) * next_random(row_count) / row_count);
        uint32_t phase = row % 7 * (TICKS / 8);
        uint32_t from =
            row % 3 == 0 ? (uint32_t)next_random(TICKS) : phase + (uint32_t)next_random(TICKS / 8);
        uint32_t kind = (uint32_t)next_random(20);
        uint64_t life = kind < 9    ? 1 + next_random(4)
                        : kind < 15 ? 1 + next_random(TICKS / 40)
                        : kind < 19 ? 1 + next_random(TICKS / 3)
                                    : NEVER;
        uint64_t to = from + life;

        world->blocks[i] = (struct block){
            .row = row,
            .from_tick = from,
            .to_tick = to >= TICKS ? NEVER : (uint32_t)to,
            .bytes = (uint64_t)1 << (4 + next_random(12) + (row % 50 == 0 ? 4 : 0)),
        };
        world->blocks[i].bytes += next_random(world->blocks[i].bytes);
    }
}

static void count_heap(struct world *world)
{
    world->heap_bytes = memory_allocate(TICKS + 1, sizeof(uint64_t));
    world->heap_blocks = memory_allocate(TICKS + 1, sizeof(uint64_t));
    world->allocations = memory_allocate(TICKS + 1, sizeof(uint64_t));
    for (size_t i = 0; i < world->block_count; i++) {
        const struct block *block = &world->blocks[i];

        world->heap_bytes[block->from_tick] += block->bytes;
        world->heap_blocks[block->from_tick]++;
        world->allocations[block->from_tick]++;
        world->heap_bytes[block->to_tick] -= block->bytes;
        world->heap_blocks[block->to_tick]--;
    }
    for (uint32_t tick = 1; tick < TICKS; tick++) {
        world->heap_bytes[tick] += world->heap_bytes[tick - 1];
        world->heap_blocks[tick] += world->heap_blocks[tick - 1];
        world->allocations[tick] += world->allocations[tick - 1];
    }
}

/* The highest moment of each bucket. */
static void make_samples(struct world *world)
{
    struct profile *profile = &world->profile;
    uint64_t rss_bytes = 0;

    /* A capture of nothing has no samples either. */
    profile->sample_count = world->block_count > 0 ? PROFILE_BUCKETS : 0;
    profile->samples = memory_allocate(PROFILE_BUCKETS, sizeof(profile->samples[0]));
    for (uint32_t bucket = 0; bucket < PROFILE_BUCKETS; bucket++) {
        uint32_t begin = (uint32_t)((uint64_t)bucket * TICKS / PROFILE_BUCKETS);
        uint32_t end = (uint32_t)((uint64_t)(bucket + 1) * TICKS / PROFILE_BUCKETS);
        uint32_t highest = begin;

        for (uint32_t tick = begin; tick < end; tick++) {
            if (world->heap_bytes[tick] > world->heap_bytes[highest])
                highest = tick;
        }
        world->sample_ticks[bucket] = highest;
        if (world->heap_bytes[highest] * 11 / 10 > rss_bytes)
            rss_bytes = world->heap_bytes[highest] * 11 / 10;
        profile->samples[bucket] = (struct profile_sample){
            .time_ns = (uint64_t)highest * TICK_NS,
            .heap_bytes = world->heap_bytes[highest],
            .heap_blocks = world->heap_blocks[highest],
            .rss_bytes = rss_bytes,
            .allocations = world->allocations[highest],
        };
        if (world->heap_bytes[highest] > profile->totals.peak_bytes) {
            profile->peak_sample = bucket;
            profile->totals.peak_bytes = world->heap_bytes[highest];
            profile->totals.peak_allocations = world->heap_blocks[highest];
            profile->totals.peak_time_ns = (uint64_t)highest * TICK_NS;
        }
    }
    profile->totals.peak_rss_bytes = rss_bytes;
    profile->end_ns = (uint64_t)TICKS * TICK_NS;
}

/*
 * A cgroup's limit that is lowered and comes near, one of the process that is far away, and the machine's;
 * allocations that fail at two places.
 */
static void make_limits(struct world *world)
{
    static struct capture_limit limits[4];
    static struct capture_use uses[3];
    static struct capture_rss rss;
    static struct profile_failure failures[2];
    static const char *cgroups[] = {"/forecast"};
    struct profile *profile = &world->profile;
    struct capture *capture = &world->capture;
    uint64_t most = profile->totals.peak_rss_bytes, end_ns = profile->end_ns;

    limits[0] = (struct capture_limit){0, most * 2, 0, 0, LIMIT_CGROUP_MAX, true};
    limits[1] = (struct capture_limit){end_ns / 2, most * 5 / 4, 0, 0, LIMIT_CGROUP_MAX, true};
    limits[2] = (struct capture_limit){0, most * 20, 0, UINT32_MAX, LIMIT_ADDRESS_SPACE, true};
    limits[3] = (struct capture_limit){0, most * 200, UINT32_MAX, UINT32_MAX, LIMIT_MACHINE, true};
    uses[0] = (struct capture_use){0, most / 2, 0, USE_CGROUP};
    uses[1] = (struct capture_use){end_ns / 4 * 3, most, 0, USE_CGROUP};
    uses[2] = (struct capture_use){end_ns / 2, most * 3, 0, USE_ADDRESS_SPACE};
    capture->limits = limits;
    capture->limit_count = sizeof(limits) / sizeof(limits[0]);
    rss = (struct capture_rss){0, end_ns / 4 * 3, most, 0};
    capture->rss = &rss;
    capture->rss_count = 1;
    capture->uses = uses;
    capture->use_count = sizeof(uses) / sizeof(uses[0]);
    capture->cgroups = cgroups;
    capture->cgroup_count = 1;
    if (profile->sample_count == 0)
        return;
    failures[0] = (struct profile_failure){1, 1, 3, most * 4, end_ns / 4, end_ns / 4};
    failures[1] = (struct profile_failure){2, 1, 1, most, end_ns / 2, end_ns / 2};
    profile->failures = failures;
    profile->failure_count = sizeof(failures) / sizeof(failures[0]);
    profile->samples[PROFILE_BUCKETS / 4].failed_allocations = 3;
    profile->samples[PROFILE_BUCKETS / 2].failed_allocations = 1;
    profile->totals.failed_allocations = 4;
}

/* What the program said of itself: two marks, a phase in another. */
static void make_words(struct profile *profile)
{
    static struct profile_mark marks[2];
    static struct profile_phase phases[2];
    uint64_t end_ns = profile->end_ns;

    marks[0] = (struct profile_mark){.name = "loaded", .time_ns = end_ns / 8};
    marks[1] = (struct profile_mark){.name = "<b>bold</b>", .time_ns = end_ns / 2};
    phases[0] = (struct profile_phase){
        .name = "training", .from_ns = end_ns / 8, .to_ns = end_ns / 4 * 3, .has_ended = true};
    phases[1] = (struct profile_phase){
        .name = "epoch 2", .from_ns = end_ns / 2, .to_ns = end_ns / 8 * 5, .has_ended = true};
    for (unsigned i = 0; i < 2; i++) {
        for (uint32_t bucket = 0; bucket < profile->sample_count; bucket++) {
            const struct profile_sample *sample = &profile->samples[bucket];

            if (sample->time_ns >= phases[i].from_ns && sample->time_ns <= phases[i].to_ns &&
                sample->heap_bytes > phases[i].peak_bytes)
                phases[i].peak_bytes = sample->heap_bytes;
        }
    }
    profile->marks = marks;
    profile->phases = phases;
    profile->mark_count = profile->phase_count = profile->sample_count > 0 ? 2 : 0;
}

/* The first bucket whose sample is at a tick or later. */
static uint32_t bucket_from(const struct world *world, uint32_t tick)
{
    uint32_t low = 0, high = PROFILE_BUCKETS;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (world->sample_ticks[middle] < tick)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int compare_intervals(const void *a, const void *b)
{
    const struct profile_interval *left = a, *right = b;

    if (left->row != right->row)
        return left->row < right->row ? -1 : 1;
    if (left->from_bucket != right->from_bucket)
        return left->from_bucket < right->from_bucket ? -1 : 1;
    return left->to_bucket < right->to_bucket ? -1 : left->to_bucket > right->to_bucket;
}

static void make_intervals(struct world *world)
{
    struct profile *profile = &world->profile;
    size_t kept = 0;

    profile->intervals = memory_allocate(world->block_count, sizeof(profile->intervals[0]));
    for (size_t i = 0; i < world->block_count; i++) {
        struct block *block = &world->blocks[i];

        block->from_bucket = bucket_from(world, block->from_tick);
        block->to_bucket =
            block->to_tick == NEVER ? PROFILE_NEVER : bucket_from(world, block->to_tick);
        if (block->from_bucket < block->to_bucket)
            profile->intervals[profile->interval_count++] = (struct profile_interval){
                block->row, block->from_bucket, block->to_bucket, block->bytes, 1};
    }
    qsort(profile->intervals, profile->interval_count, sizeof(profile->intervals[0]),
          compare_intervals);
    for (size_t i = 0; i < profile->interval_count; i++) {
        if (kept > 0 &&
            compare_intervals(&profile->intervals[kept - 1], &profile->intervals[i]) == 0) {
            profile->intervals[kept - 1].bytes += profile->intervals[i].bytes;
            profile->intervals[kept - 1].allocations += profile->intervals[i].allocations;
        } else {
            profile->intervals[kept++] = profile->intervals[i];
        }
    }
    profile->interval_count = kept;
}

static void add_cost(struct profile_cost *cost, const struct block *block)
{
    cost->bytes += block->bytes;
    cost->allocations++;
}

static void count_rows(struct world *world)
{
    struct profile *profile = &world->profile;
    uint32_t peak_tick = world->sample_ticks[profile->peak_sample];

    for (size_t i = 0; i < world->block_count; i++) {
        const struct block *block = &world->blocks[i];
        struct profile_cost *costs = profile->rows[block->row].costs;

        if (block->from_tick <= peak_tick && peak_tick < block->to_tick)
            add_cost(&costs[VIEW_PEAK], block);
        if (block->to_tick == NEVER)
            add_cost(&costs[VIEW_LEAKS], block);
        add_cost(&costs[VIEW_ALLOCATED], block);
        if (block->to_tick - block->from_tick == 1)
            add_cost(&costs[VIEW_TEMPORARY], block);
        profile->totals.allocations++;
        profile->totals.frees += block->to_tick != NEVER;
        profile->totals.allocated_bytes += block->bytes;
        profile->totals.leaked_bytes += block->to_tick == NEVER ? block->bytes : 0;
        profile->totals.leaked_allocations += block->to_tick == NEVER;
        profile->totals.temporary_allocations += block->to_tick - block->from_tick == 1;
        profile->size_allocations[64 - __builtin_clzll(block->bytes)]++;
        profile->size_bytes[64 - __builtin_clzll(block->bytes)] += block->bytes;
        profile->lifetimes[block->to_tick == NEVER                 ? 5
                           : block->to_tick - block->from_tick < 2 ? 0
                                                                   : 3]++;
    }
}

static void count_owners(struct world *world)
{
    static struct profile_owner processes[1], threads[THREADS];
    static struct profile_allocator allocators[ALLOCATOR_COUNT];
    struct profile *profile = &world->profile;

    for (uint32_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *row = &profile->rows[i];
        uint8_t number = world->capture.stacks[row->stack].allocator;
        const struct profile_cost *cost = &row->costs[VIEW_ALLOCATED];

        threads[row->stream - 1].allocations += cost->allocations;
        threads[row->stream - 1].allocated_bytes += cost->bytes;
        allocators[number].allocator = number;
        allocators[number].allocations += cost->allocations;
        allocators[number].allocated_bytes += cost->bytes;
        allocators[number].peak_bytes += row->costs[VIEW_PEAK].bytes;
    }
    for (unsigned i = 0; i < ALLOCATOR_COUNT; i++) {
        if (allocators[i].allocations > 0)
            allocators[profile->allocator_count++] = allocators[i];
    }
    processes[0].peak_bytes = profile->totals.peak_bytes;
    processes[0].allocations = profile->totals.allocations;
    profile->processes = processes;
    profile->threads = threads;
    profile->allocators = allocators;
}

static void make_world(struct world *world, uint32_t stack_count, size_t block_count)
{
    struct profile *profile = &world->profile;

    make_program(&world->capture);
    make_codes(&world->capture);
    make_stacks(&world->capture, stack_count);
    world->capture.event_record_count = 2 * block_count;
    profile->capture = &world->capture;
    profile->row_count = stack_count;
    profile->rows = memory_allocate(stack_count, sizeof(profile->rows[0]));
    for (uint32_t i = 0; i < stack_count; i++) {
        profile->rows[i].stack = i + 1;
        profile->rows[i].stream = 1 + (i % 5 == 0) + (i % 10 == 0);
    }
    make_blocks(world, block_count);
    count_heap(world);
    make_samples(world);
    make_limits(world);
    make_words(profile);
    make_intervals(world);
    count_rows(world);
    count_owners(world);
}

/* What a range must show, block by block. */
static void write_question(FILE *out, const struct world *world, uint32_t from, uint32_t to)
{
    const struct profile *profile = &world->profile;
    uint32_t highest = from;
    uint64_t kept_bytes = 0, leaked_bytes = 0;

    for (uint32_t i = from; i <= to; i++) {
        if (profile->samples[i].heap_bytes > profile->samples[highest].heap_bytes)
            highest = i;
    }
    for (size_t i = 0; i < world->block_count; i++) {
        const struct block *block = &world->blocks[i];
        uint32_t begin = block->from_bucket, end = block->to_bucket;
        bool is_leaked = end == PROFILE_NEVER, is_to_end = to == PROFILE_BUCKETS - 1;

        if (begin < from || (begin > to && !is_to_end) || begin == end)
            continue;
        kept_bytes += (is_to_end ? is_leaked : end > to) ? block->bytes : 0;
        leaked_bytes += is_leaked ? block->bytes : 0;
    }
    fprintf(out,
            "{\"from\":%" PRIu32 ",\"to\":%" PRIu32 ",\"peakSample\":%" PRIu32 ",\"peak\":%" PRIu64
            ",\"kept\":%" PRIu64 ",\"leaks\":%" PRIu64 "}",
            from, to, highest, world->heap_bytes[world->sample_ticks[highest]], kept_bytes,
            leaked_bytes);
}

static void write_expected(FILE *out, const struct world *world)
{
    fputs("{\"questions\":[\n", out);
    for (unsigned i = 0; i < QUESTIONS; i++) {
        uint32_t a = (uint32_t)next_random(PROFILE_BUCKETS - 2);
        uint32_t b =
            i % 10 == 0 ? PROFILE_BUCKETS - 1 : a + (uint32_t)next_random(PROFILE_BUCKETS - 1 - a);

        write_question(out, world, a, b);
        fputs(i + 1 < QUESTIONS ? ",\n" : "\n", out);
    }
    fputs("]}\n", out);
}

int main(int argc, char **argv)
{
    static struct world world;
    struct render_options options = {
        .temporary_threshold = 1, .source = SOURCE_CONTEXT, .max_page_bytes = 2 << 20};
    struct render_input input = {
        .capture = &world.capture, .profile = &world.profile, .options = &options};
    struct error err;
    FILE *page, *expected;
    bool is_written;

    options.is_full = argc == 6 && strcmp(argv[5], "full") == 0;
    if (argc != 5 && !options.is_full) {
        fputs("usage: make_page STACKS BLOCKS PAGE.html EXPECTED.json [full]\n", stderr);
        return 2;
    }
    make_world(&world, (uint32_t)strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
    input.frames = frames_create(&world.capture);
    page = fopen(argv[3], "w");
    expected = fopen(argv[4], "w");
    if (page == NULL || expected == NULL) {
        perror("make_page");
        return 1;
    }
    is_written = render_flamegraph(&input, page, &err);
    if (!is_written)
        fprintf(stderr, "make_page: %s\n", err.text);
    write_expected(expected, &world);
    is_written = fclose(page) == 0 && is_written;
    return fclose(expected) == 0 && is_written ? 0 : 1;
}
