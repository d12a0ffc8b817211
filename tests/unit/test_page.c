/*
 * The parts of the page: the tree and its folding, the merging of intervals, the packing of text.
 */
#include "test.h"

#include "base/memory.h"
#include "render/page_error.h"
#include "render/page_frame.h"
#include "render/page_pack.h"
#include "render/page_source.h"
#include "render/page_time.h"
#include "render/page_tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CODES = 5,
    NODES = 200,
    BUCKETS = 100,
};

struct world {
    struct capture capture;
    struct capture_code codes[CODES + 1];
    struct capture_node nodes[NODES + 1];
    struct capture_stack stacks[NODES + 2]; /* one a node, then one without frames */
    struct profile_row rows[NODES + 1];
    struct profile profile;
    struct frames *frames;
    struct paths *paths;
};

static struct capture_text text_of(const char *text)
{
    return (struct capture_text){text, (uint32_t)strlen(text)};
}

/*
 * A chain of ten nodes with children all along. Row i, of stack i + 1, has bytes that fall with i;
 * code 3 is hidden.
 */
static struct world *make_world(void)
{
    static const char *const names[CODES] = {"main", "load", "shim", "parse", "store"};
    static struct world world;

    for (uint32_t i = 0; i < CODES; i++) {
        world.codes[i + 1] = (struct capture_code){
            .file = text_of("app.py"),
            .name = text_of(names[i]),
            .first_line = (int32_t)i + 1,
            .line_table = (const uint8_t *)"",
            .line_table_kind = 1,
            .flags = i == 2,
        };
    }
    for (uint32_t i = 1; i <= NODES; i++) {
        world.nodes[i].parent = i <= 10 ? i - 1 : i % 10 + 1;
        world.nodes[i].code = 1 + i % CODES;
        world.stacks[i] =
            (struct capture_stack){.python_node = i, .allocator = (uint8_t)(1 + i % 2)};
    }
    world.stacks[NODES + 1].allocator = 16;
    for (uint32_t i = 0; i <= NODES; i++) {
        world.rows[i] = (struct profile_row){.stack = i + 1, .stream = 1 + i % 3};
        for (unsigned view = 0; view < VIEW_COUNT; view++)
            world.rows[i].costs[view] = (struct profile_cost){1000000 / (i + 1 + view), 1 + i % 3};
    }
    world.capture = (struct capture){
        .codes = world.codes,
        .code_count = CODES + 1,
        .nodes = world.nodes,
        .node_count = NODES + 1,
        .stacks = world.stacks,
        .stack_count = NODES + 2,
    };
    world.profile = (struct profile){
        .capture = &world.capture,
        .rows = world.rows,
        .row_count = NODES + 1,
        .sample_count = BUCKETS,
    };
    world.frames = frames_create(&world.capture);
    world.paths = paths_create(&world.capture, world.frames, PATHS_SHOW_RUNTIME);
    return &world;
}

/* The rows of the tree must add up to those of the profile, and stand where the header says. */
static void check_tree(const struct world *world, const struct page_tree *tree)
{
    for (unsigned view = 0; view < VIEW_COUNT; view++) {
        struct profile_cost expected = {0, 0}, actual = {0, 0};

        for (uint32_t i = 0; i < world->profile.row_count; i++) {
            expected.bytes += world->rows[i].costs[view].bytes;
            expected.allocations += world->rows[i].costs[view].allocations;
        }
        for (uint32_t i = 0; i < tree->row_count; i++) {
            actual.bytes += tree->rows[i].costs[view].bytes;
            actual.allocations += tree->rows[i].costs[view].allocations;
        }
        CHECK_EQUAL(actual.bytes, expected.bytes);
        CHECK_EQUAL(actual.allocations, expected.allocations);
    }
    CHECK_EQUAL(tree->nodes[0].depth, 0);
    for (uint32_t i = 1; i < tree->node_count; i++) {
        CHECK(tree->nodes[i].parent < i);
        CHECK_EQUAL(tree->nodes[i].depth, tree->nodes[tree->nodes[i].parent].depth + 1);
        CHECK(tree->nodes[i].depth <= tree->nodes[i - 1].depth + 1);
        CHECK(tree->nodes[i].frame < tree->frame_count);
    }
    for (uint32_t i = 1; i < tree->row_count; i++)
        CHECK(tree->rows[i - 1].node <= tree->rows[i].node);
    for (uint32_t i = 0; i < world->profile.row_count; i++)
        CHECK(tree->row_of_profile_row[i] < tree->row_count);
}

static const char *function_of(const struct world *world, const struct page_tree *tree,
                               uint32_t node)
{
    return page_frame_get(world->frames, tree, tree->nodes[node].frame).function;
}

TEST(a_tree_holds_all_bytes_whatever_is_folded)
{
    static const uint64_t thresholds[] = {0, 10, 1000, 20000, 300000, 2000000};
    struct world *world = make_world();
    uint32_t last_count = UINT32_MAX;

    for (size_t i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++) {
        struct page_tree *tree = page_tree_build(&world->profile, world->paths, thresholds[i]);

        test_case("threshold %" PRIu64, thresholds[i]);
        check_tree(world, tree);
        CHECK(tree->node_count <= last_count);
        last_count = tree->node_count;
        page_tree_destroy(tree);
    }
    CHECK_EQUAL(last_count, 2); /* the root and what was folded into it */
    paths_destroy(world->paths);
    frames_destroy(world->frames);
}

TEST(folded_stacks_have_a_box_of_their_own)
{
    struct world *world = make_world();
    struct page_tree *tree = page_tree_build(&world->profile, world->paths, 20000);
    uint32_t folded_count = 0;

    for (uint32_t i = 1; i < tree->node_count; i++)
        folded_count += strcmp(function_of(world, tree, i), "[smaller stacks]") == 0;
    CHECK(folded_count > 0);
    CHECK(tree->folded_stack_count > 0 && tree->folded_stack_count < NODES);
    page_tree_destroy(tree);
    paths_destroy(world->paths);
    frames_destroy(world->frames);
}

TEST(hidden_frames_are_not_in_the_tree_and_stacks_without_frames_are)
{
    struct world *world = make_world();
    struct page_tree *tree = page_tree_build(&world->profile, world->paths, 0);
    bool has_native = false;

    for (uint32_t i = 1; i < tree->node_count; i++) {
        CHECK(strcmp(function_of(world, tree, i), "shim") != 0);
        if (strcmp(function_of(world, tree, i), "mmap") == 0) {
            has_native = true;
            CHECK_TEXT(function_of(world, tree, tree->nodes[i].parent), "[no Python stack]");
        }
    }
    CHECK(has_native);
    page_tree_destroy(tree);
    paths_destroy(world->paths);
    frames_destroy(world->frames);
}

TEST(native_memory_of_several_processes_is_told_apart)
{
    static const char *const make[] = {"/usr/bin/make", NULL};
    struct capture_process processes[] = {
        {.pid = 40, .arguments = make, .argument_count = 1},
        {.pid = 41},
    };
    struct capture_thread threads[] = {{.process_index = 0}, {.process_index = 1}, {.tid = 3}};
    struct world *world = make_world();
    struct page_tree *tree;
    unsigned found = 0;

    world->capture.processes = processes;
    world->capture.process_count = 2;
    world->capture.threads = threads;
    world->capture.thread_count = 3;
    for (uint32_t i = NODES - 2; i <= NODES; i++)
        world->rows[i].stack = NODES + 1;
    tree = page_tree_build(&world->profile, world->paths, 0);
    check_tree(world, tree);
    for (uint32_t i = 1; i < tree->node_count; i++) {
        const char *parent;

        if (strcmp(function_of(world, tree, i), "mmap") != 0)
            continue;
        parent = function_of(world, tree, tree->nodes[i].parent);
        found |= strcmp(parent, "make (40)") == 0 ? 1u : 0u;
        found |= strcmp(parent, "process (41)") == 0 ? 2u : 0u;
    }
    CHECK_EQUAL(found, 3);
    page_tree_destroy(tree);
    paths_destroy(world->paths);
    frames_destroy(world->frames);
}

TEST(a_profile_without_rows_has_a_tree_of_the_root)
{
    struct world *world = make_world();
    struct page_tree *tree;

    world->profile.row_count = 0;
    tree = page_tree_build(&world->profile, world->paths, 10);
    CHECK_EQUAL(tree->node_count, 1);
    CHECK_EQUAL(tree->row_count, 0);
    page_tree_destroy(tree);
    page_tree_destroy(NULL);
    paths_destroy(world->paths);
    frames_destroy(world->frames);
}

/* For each of four rows all intervals that there can be, some for ever. */
static void make_intervals(struct world *world)
{
    static struct profile_interval intervals[20000];
    uint64_t count = 0;

    for (uint32_t row = 0; row < 4; row++) {
        for (uint32_t from = 0; from < BUCKETS; from++) {
            for (uint32_t to = from + 1; to <= BUCKETS + 1 && count < 20000; to++)
                intervals[count++] = (struct profile_interval){
                    row, from, to <= BUCKETS ? to : PROFILE_NEVER, 16 + from * to % 7, 1};
        }
    }
    world->profile.intervals = intervals;
    world->profile.interval_count = count;
}

/* Sums by row, of what was released and of what was not. */
struct sums {
    uint64_t bytes[NODES + 1][2], allocations[NODES + 1][2];
};

static void add_up(const struct page_time *time, struct sums *ret_sums)
{
    memset(ret_sums, 0, sizeof(*ret_sums));
    for (size_t i = 0; i < time->interval_count; i++) {
        const struct page_interval *interval = &time->intervals[i];
        bool is_never = interval->to_bucket == PAGE_NEVER_BUCKET;

        CHECK(interval->from_bucket < interval->to_bucket);
        CHECK(is_never || interval->to_bucket <= BUCKETS);
        ret_sums->bytes[interval->row][is_never] += interval->bytes;
        ret_sums->allocations[interval->row][is_never] += interval->allocations;
        if (i > 0)
            CHECK(interval[-1].row < interval->row ||
                  interval[-1].from_bucket < interval->from_bucket ||
                  interval[-1].to_bucket < interval->to_bucket);
    }
}

TEST(merging_keeps_what_each_row_holds)
{
    static const size_t limits[] = {100000, 10000, 1000, 100, 10, 1};
    static struct sums before, after;
    struct world *world = make_world();
    struct page_tree *tree = page_tree_build(&world->profile, world->paths, 0);

    make_intervals(world);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct page_time time;

        test_case("limit %zu", limits[i]);
        page_time_init(&time, &world->profile, tree);
        CHECK_EQUAL(time.interval_count, world->profile.interval_count);
        add_up(&time, &before);
        page_time_merge(&time, limits[i]);
        add_up(&time, &after);
        CHECK(memcmp(&before, &after, sizeof(before)) == 0);
        CHECK_EQUAL(time.is_merged, limits[i] < world->profile.interval_count);
        /* Four rows, released and not: fewer there cannot be. */
        CHECK(time.interval_count <= (limits[i] > 8 ? limits[i] : 8));
        page_time_finish(&time);
    }
    page_tree_destroy(tree);
    paths_destroy(world->paths);
    frames_destroy(world->frames);
}

TEST(intervals_of_rows_that_became_one_are_one)
{
    static struct profile_interval intervals[] = {
        {10, 1, 5, 100, 1}, {10, 2, 5, 30, 1}, {20, 1, 5, 11, 2}};
    struct world *world = make_world();
    struct page_tree *tree = page_tree_build(&world->profile, world->paths, 2000000);
    struct page_time time;

    /* Folded into the root's one box; stream and allocator of both rows are made equal. */
    page_tree_destroy(tree);
    world->rows[20].stream = world->rows[10].stream;
    tree = page_tree_build(&world->profile, world->paths, 2000000);
    CHECK_EQUAL(tree->row_of_profile_row[10], tree->row_of_profile_row[20]);
    world->profile.intervals = intervals;
    world->profile.interval_count = 3;
    page_time_init(&time, &world->profile, tree);
    CHECK_EQUAL(time.interval_count, 2);
    CHECK_EQUAL(time.intervals[0].bytes, 111);
    CHECK_EQUAL(time.intervals[0].allocations, 3);
    CHECK_EQUAL(time.intervals[1].bytes, 30);
    page_time_finish(&time);
    page_tree_destroy(tree);
    paths_destroy(world->paths);
    frames_destroy(world->frames);
}

/* Live bytes of a row, or of all, at a bucket. */
static int64_t live_at(const struct page_time *time, uint32_t row, uint32_t bucket)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < time->interval_count; i++) {
        const struct page_interval *interval = &time->intervals[i];

        if (interval->row == row && interval->from_bucket <= bucket && interval->to_bucket > bucket)
            bytes += (int64_t)interval->bytes;
    }
    return bytes;
}

TEST(what_joining_changes_is_bounded_as_is_said)
{
    struct world *world = make_world();
    struct page_fit fit = {.tree = page_tree_build(&world->profile, world->paths, 0)};
    struct page_time exact;
    uint64_t most = 0;

    make_intervals(world);
    page_time_init(&exact, &world->profile, fit.tree);
    page_time_init(&fit.time, &world->profile, fit.tree);
    CHECK_EQUAL(page_error_find(&world->profile, &fit).joined_bytes, 0);
    page_time_merge(&fit.time, 200);
    for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
        uint64_t sum = 0;

        for (uint32_t row = 0; row < fit.tree->row_count; row++) {
            int64_t off = live_at(&exact, row, bucket) - live_at(&fit.time, row, bucket);

            sum += (uint64_t)(off < 0 ? -off : off);
        }
        most = sum > most ? sum : most;
    }
    CHECK(most > 0);
    CHECK_EQUAL(page_error_find(&world->profile, &fit).joined_bytes, most);
    page_time_finish(&exact);
    page_fit_finish(&fit);
    paths_destroy(world->paths);
    frames_destroy(world->frames);
}

TEST(what_is_folded_is_told_as_a_share_of_each_view)
{
    struct world *world = make_world();
    struct page_fit fit = {.tree = page_tree_build(&world->profile, world->paths, 20000)};
    struct page_error error = page_error_find(&world->profile, &fit);
    uint64_t all = 0, folded = 0;

    for (uint32_t i = 0; i < fit.tree->row_count; i++) {
        const struct page_row *row = &fit.tree->rows[i];
        bool is_folded = strcmp(function_of(world, fit.tree, row->node), "[smaller stacks]") == 0;

        all += row->costs[VIEW_LEAKS].bytes;
        folded += is_folded ? row->costs[VIEW_LEAKS].bytes : 0;
    }
    CHECK(folded > 0 && folded < all);
    CHECK_EQUAL(error.folded_ppm[VIEW_LEAKS], folded * 1000000 / all);
    page_fit_finish(&fit);
    paths_destroy(world->paths);
    frames_destroy(world->frames);
}

/* The page's string of a number. */
static const char *string_of(const struct page_strings *strings, uint32_t number)
{
    static char text[256];
    const struct page_string *string = &strings->strings[number];

    snprintf(text, sizeof(text), "%.*s", (int)string->length_bytes,
             (const char *)strings->text.bytes + string->offset);
    return text;
}

TEST(source_is_the_lines_of_frames_and_those_around_them)
{
    struct world *world = make_world();
    struct page_tree *tree = page_tree_build(&world->profile, world->paths, 0);
    char directory[] = "memtrack-test-XXXXXX", path[64];
    struct page_strings strings = {.count = 0};
    struct page_bytes columns = {.bytes = NULL};
    struct page_sources sources;
    FILE *file;

    CHECK(mkdtemp(directory) != NULL);
    snprintf(path, sizeof(path), "%s/app.py", directory);
    file = fopen(path, "w");
    CHECK(file != NULL);
    for (int i = 1; i <= 20; i++)
        fprintf(file, i == 4 ? "\n" : "    line %d  \n", i);
    CHECK(fclose(file) == 0);
    world->capture.session.directory = directory;

    page_sources_init(&sources, &world->capture, world->frames, tree, 0, &strings);
    CHECK_EQUAL(sources.line_count, 3); /* of lines 1, 2, 4 and 5, of which one is empty */
    CHECK_EQUAL(page_sources_files(&sources), 0);
    page_sources_finish(&sources);

    page_sources_init(&sources, &world->capture, world->frames, tree, 10000, &strings);
    CHECK_EQUAL(sources.line_count, 3);
    CHECK_EQUAL(page_sources_files(&sources), 1);
    CHECK_EQUAL(sources.context_count, 9); /* the last frame's line is 5 */
    CHECK_TEXT(string_of(&strings, sources.lines[8].file), "app.py");
    CHECK_EQUAL(sources.lines[8].line, 9);
    CHECK_TEXT(string_of(&strings, sources.lines[8].text), "    line 9");
    page_sources_pack(&sources, &columns);
    CHECK_EQUAL(columns.size_bytes, 1 + 1 + 9 + 9);
    CHECK_EQUAL(columns.bytes[1], 9);
    CHECK_EQUAL(columns.bytes[2], 1);
    CHECK_EQUAL(columns.bytes[3], 1); /* from the line before */
    page_bytes_finish(&columns);
    page_sources_finish(&sources);

    page_strings_finish(&strings);
    page_tree_destroy(tree);
    paths_destroy(world->paths);
    frames_destroy(world->frames);
    unlink(path);
    rmdir(directory);
}

TEST(what_is_not_utf8_becomes_the_replacement_character)
{
    static const struct {
        const char *text, *clean;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"a\xff"
         "b",
         "a\xef\xbf\xbd"
         "b"},
        {"\xc3", "\xef\xbf\xbd"},
        {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *clean = page_clean_text(cases[i].text);

        test_case("text %zu", i);
        CHECK_TEXT(clean, cases[i].clean);
        free(clean);
    }
}

TEST(text_cannot_become_markup)
{
    char *written = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&written, &length);

    page_write_text(out, "<b a='1' c=\"2\">&amp;</b>");
    fclose(out);
    CHECK_TEXT(written, "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;&lt;/b&gt;");
    free(written);
}

TEST(equal_strings_have_one_number)
{
    struct page_strings strings = {.count = 0};
    struct page_bytes packed = {.bytes = NULL};

    CHECK_EQUAL(page_strings_intern(&strings, "ab"), 0);
    CHECK_EQUAL(page_strings_intern(&strings, ""), 1);
    CHECK_EQUAL(page_strings_intern(&strings, "abc"), 2);
    CHECK_EQUAL(page_strings_intern(&strings, "ab"), 0);
    CHECK_EQUAL(page_strings_intern(&strings, ""), 1);
    page_strings_pack(&strings, &packed);
    CHECK_EQUAL(packed.size_bytes, 8);
    CHECK(memcmp(packed.bytes, "\2\0\3ababc", 8) == 0);
    page_bytes_finish(&packed);
    page_strings_finish(&strings);
}

TEST(a_section_is_base64_of_one_lz4_block)
{
    char *written = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&written, &length);
    struct page_bytes content = {.bytes = NULL};

    CHECK(page_write_section(out, "none", &content, NULL));
    page_bytes_add(&content, "abc", 3);
    CHECK(page_write_section(out, "some", &content, NULL));
    fclose(out);
    CHECK_TEXT(
        written,
        "<script type=\"application/octet-stream\" id=\"data-none\" data-bytes=\"0\"></script>\n"
        "<script type=\"application/octet-stream\" id=\"data-some\" "
        "data-bytes=\"3\">MGFiYw==</script>\n");
    page_bytes_finish(&content);
    free(written);
}

TEST(a_section_takes_at_most_what_is_expected_of_it)
{
    static const uint64_t kinds[] = {1, 4, 64, 100000};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct page_bytes content = {.bytes = NULL};
        char *written = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&written, &length);
        uint64_t state = 1;

        test_case("%u kinds of values", (unsigned)kinds[i]);
        for (unsigned value = 0; value < 30000; value++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            page_bytes_add_varint(&content, (state >> 33) % kinds[i]);
        }
        CHECK(page_write_section(out, "x", &content, NULL));
        fclose(out);
        CHECK(page_section_bytes(&content) + 100 >= length);
        CHECK(page_section_bytes(&content) <= length * 2);
        page_bytes_finish(&content);
        free(written);
    }
}
