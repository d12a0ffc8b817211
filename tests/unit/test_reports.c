/*
 * Reports: every byte of a view is in every report once, whatever is hidden, merged or deep.
 */
#include "test.h"

#include "report/labels.h"
#include "report/paths.h"
#include "report/rows.h"
#include "report/tree.h"
#include "sample.h"

struct setting {
    struct frames *frames;
    struct paths *paths;
};

static struct setting begin(const struct capture *capture, bool shows_runtime)
{
    struct setting setting = {.frames = frames_create(capture)};

    setting.paths = paths_create(capture, setting.frames, shows_runtime ? PATHS_SHOW_RUNTIME : 0u);
    return setting;
}

static void end(struct setting *setting)
{
    paths_destroy(setting->paths);
    frames_destroy(setting->frames);
}

static uint64_t sum_of_view(enum profile_view view)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < sample_profile.row_count; i++)
        sum += sample_profile.rows[i].costs[view].bytes;
    return sum;
}

/* "main/load" of a path, outermost first, into a buffer. */
static const char *path_text(const struct setting *setting, uint32_t path)
{
    static char text[512];
    uint32_t count;
    const struct path *all = paths_all(setting->paths, &count);

    text[0] = '\0';
    for (; path != 0; path = all[path].parent) {
        char shorter[512];

        snprintf(shorter, sizeof(shorter), "%s", text);
        snprintf(text, sizeof(text), "/%.60s%.440s",
                 frames_get(setting->frames, all[path].frame)->function, shorter);
    }
    return text;
}

TEST(hidden_frames_are_left_out_of_paths)
{
    struct setting setting = begin(&sample_capture, false);

    CHECK_TEXT(path_text(&setting, paths_of_stack(setting.paths, 4)),
               "/<module>/main/Model.fit/Model.fit/Model.fit");
    CHECK_TEXT(path_text(&setting, paths_of_stack(setting.paths, 5)), "/<module>");
    CHECK_TEXT(path_text(&setting, paths_of_stack(setting.paths, 9)),
               "/<module>/main/load/[signal handler]");
    CHECK_TEXT(path_text(&setting, paths_of_stack(setting.paths, 7)), "/[interpreter]");
    CHECK_TEXT(path_text(&setting, paths_of_stack(setting.paths, 8)), "/[no Python stack]");
    end(&setting);
    setting = begin(&sample_capture, true);
    CHECK_TEXT(path_text(&setting, paths_of_stack(setting.paths, 7)), "/_find_and_load");
    end(&setting);
}

static uint32_t child_named(const struct setting *setting, const struct tree *tree, uint32_t node,
                            const char *function)
{
    uint32_t child = tree->nodes[node].first_child;

    while (child != 0 &&
           strcmp(frames_get(setting->frames, tree->nodes[child].frame)->function, function) != 0)
        child = tree->nodes[child].next_sibling;
    return child;
}

/* The sums of a tree agree with themselves and with the view. */
static void check_tree(const struct tree *tree, enum profile_view view)
{
    uint64_t own = 0;

    CHECK_EQUAL(tree->nodes[0].total.bytes, sum_of_view(view));
    for (uint32_t i = 0; i < tree->count; i++) {
        uint64_t total = tree->nodes[i].own.bytes;
        uint32_t count = 0;

        test_case("node %u", i);
        own += tree->nodes[i].own.bytes;
        for (uint32_t j = tree->nodes[i].first_child; j != 0; j = tree->nodes[j].next_sibling) {
            CHECK(j > i);
            CHECK_EQUAL(tree->nodes[j].parent, i);
            total += tree->nodes[j].total.bytes;
            count++;
        }
        CHECK_EQUAL(total, tree->nodes[i].total.bytes);
        CHECK_EQUAL(count, tree->nodes[i].child_count);
    }
    CHECK_EQUAL(own, sum_of_view(view));
}

TEST(trees_lose_no_byte_in_any_view)
{
    for (unsigned view = 0; view < VIEW_COUNT; view++) {
        struct setting setting = begin(&sample_capture, view % 2 == 0);
        struct tree tree = tree_build(setting.paths, &sample_profile, view, ROWS_TOTAL);

        check_tree(&tree, view);
        tree_finish(&tree);
        tree = tree_build_inverted(setting.paths, &sample_profile, view, ROWS_NAME, 0);
        check_tree(&tree, view);
        tree_finish(&tree);
        end(&setting);
    }
}

TEST(children_stand_in_falling_order)
{
    struct setting setting = begin(&sample_capture, false);
    struct tree tree = tree_build(setting.paths, &sample_profile, VIEW_PEAK, ROWS_TOTAL);
    uint32_t module = child_named(&setting, &tree, 0, "<module>");
    uint32_t main = tree.nodes[module].first_child;

    CHECK(module == tree.nodes[0].first_child);
    CHECK_EQUAL(frames_get(setting.frames, tree.nodes[main].frame)->line, 12);
    CHECK_EQUAL(tree.nodes[main].total.bytes, (550 << 20) + 100);
    CHECK_EQUAL(tree.nodes[main].total.allocations, 56);
    main = tree.nodes[main].next_sibling;
    CHECK_EQUAL(frames_get(setting.frames, tree.nodes[main].frame)->line, 13);
    CHECK_EQUAL(tree.nodes[module].own.bytes, 3 << 20); /* the hidden import's */
    CHECK_EQUAL(tree.nodes[module].stack_count, 6);
    tree_finish(&tree);
    end(&setting);
}

TEST(an_inverted_tree_begins_with_what_allocates)
{
    struct setting setting = begin(&sample_capture, false);
    struct tree tree =
        tree_build_inverted(setting.paths, &sample_profile, VIEW_PEAK, ROWS_TOTAL, 0);
    uint32_t load = child_named(&setting, &tree, 0, "load"), main, module;

    CHECK(load == tree.nodes[0].first_child);
    CHECK_EQUAL(tree.nodes[load].total.bytes, 550 << 20);
    CHECK_EQUAL(tree.nodes[load].own.bytes, 0);
    main = child_named(&setting, &tree, load, "main");
    module = child_named(&setting, &tree, main, "<module>");
    CHECK(main != 0 && module != 0);
    CHECK_EQUAL(tree.nodes[module].own.bytes, 550 << 20);
    CHECK_EQUAL(tree.nodes[module].child_count, 0);
    CHECK_EQUAL(tree.nodes[0].child_count, 8);
    tree_finish(&tree);
    end(&setting);
}

TEST(an_inverted_tree_stops_below_its_threshold)
{
    struct setting setting = begin(&sample_capture, false);
    struct tree tree =
        tree_build_inverted(setting.paths, &sample_profile, VIEW_PEAK, ROWS_TOTAL, 200 << 20);
    uint32_t load = child_named(&setting, &tree, 0, "load");
    uint32_t small = child_named(&setting, &tree, 0, "[signal handler]");

    CHECK(tree.nodes[load].child_count == 1);
    CHECK(small != 0 && tree.nodes[small].child_count == 0);
    CHECK_EQUAL(tree.nodes[small].total.bytes, 100);
    tree_finish(&tree);
    end(&setting);
}

static const struct function_row *function_named(const struct setting *setting,
                                                 const struct function_rows *rows,
                                                 const char *function)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (strcmp(frames_get(setting->frames, rows->rows[i].frame)->function, function) == 0)
            return &rows->rows[i];
    }
    return NULL;
}

TEST(a_function_that_calls_itself_counts_a_stack_once)
{
    struct setting setting = begin(&sample_capture, false);
    struct tree tree = tree_build(setting.paths, &sample_profile, VIEW_PEAK, ROWS_TOTAL);
    struct function_rows rows = function_rows_collect(setting.paths, &tree, ROWS_TOTAL);
    const struct function_row *fit = function_named(&setting, &rows, "Model.fit");
    const struct function_row *main = function_named(&setting, &rows, "main");
    uint64_t own = 0;

    CHECK_EQUAL(rows.count, 8);
    CHECK_EQUAL(fit->total.bytes, 220 << 20);
    CHECK_EQUAL(fit->own.bytes, 220 << 20);
    CHECK_EQUAL(fit->total.allocations, 102);
    CHECK_EQUAL(main->total.bytes, (770 << 20) + 100); /* both of its lines */
    CHECK_EQUAL(main->own.bytes, 0);
    for (size_t i = 0; i < rows.count; i++)
        own += rows.rows[i].own.bytes;
    CHECK_EQUAL(own, sum_of_view(VIEW_PEAK));
    function_rows_finish(&rows);
    tree_finish(&tree);
    end(&setting);
}

TEST(rows_lose_no_byte_in_any_group_and_order)
{
    for (unsigned group = ROWS_BY_LOCATION; group <= ROWS_BY_STACK; group++) {
        for (unsigned sort = ROWS_TOTAL; sort <= ROWS_NAME; sort++) {
            struct setting setting = begin(&sample_capture, false);
            struct rows rows = rows_collect(setting.paths, &sample_profile, VIEW_PEAK, group, sort);
            uint64_t bytes = 0;

            test_case("group %u, sort %u", group, sort);
            for (size_t i = 0; i < rows.count; i++)
                bytes += rows.rows[i].cost.bytes;
            CHECK_EQUAL(bytes, sum_of_view(VIEW_PEAK));
            CHECK_EQUAL(rows.count, group == ROWS_BY_STACK                ? 10
                                    : group == ROWS_BY_LOCATION_ALLOCATOR ? 9
                                                                          : 8);
            rows_finish(&rows);
            end(&setting);
        }
    }
}

TEST(a_row_of_several_threads_says_so)
{
    struct setting setting = begin(&sample_capture, false);
    struct rows rows = rows_collect(setting.paths, &sample_profile, VIEW_PEAK,
                                    ROWS_BY_LOCATION_ALLOCATOR, ROWS_TOTAL);

    CHECK_EQUAL(rows.rows[0].cost.bytes, 500 << 20);
    CHECK_EQUAL(rows.rows[0].stream_count, 2);
    CHECK_EQUAL(rows.rows[0].allocator, ALLOCATOR_MALLOC);
    CHECK_EQUAL(rows.rows[1].cost.bytes, 200 << 20);
    CHECK_EQUAL(rows.rows[1].stream_count, 1);
    rows_finish(&rows);
    end(&setting);
}

TEST(a_thread_with_several_stacks_at_a_location_is_one_thread)
{
    struct setting setting = begin(&sample_capture, false);
    struct profile profile = sample_profile;
    struct profile_row rows_of_one[] = {sample_rows[0], sample_rows[1], sample_rows[0]};
    struct rows rows;

    profile.rows = rows_of_one;
    profile.row_count = 3;
    rows = rows_collect(setting.paths, &profile, VIEW_PEAK, ROWS_BY_LOCATION, ROWS_TOTAL);
    CHECK_EQUAL(rows.count, 1);
    CHECK_EQUAL(rows.rows[0].stream_count, 2);
    CHECK_EQUAL(rows.rows[0].cost.bytes, 900 << 20);
    rows_finish(&rows);
    end(&setting);
}

TEST(rows_stand_in_the_asked_order)
{
    struct setting setting = begin(&sample_capture, false);
    struct rows rows =
        rows_collect(setting.paths, &sample_profile, VIEW_PEAK, ROWS_BY_LOCATION, ROWS_COUNT);

    for (size_t i = 1; i < rows.count; i++)
        CHECK(rows.rows[i].cost.allocations <= rows.rows[i - 1].cost.allocations);
    rows_finish(&rows);
    rows = rows_collect(setting.paths, &sample_profile, VIEW_PEAK, ROWS_BY_LOCATION, ROWS_NAME);
    for (size_t i = 1; i < rows.count; i++)
        CHECK(paths_compare_frames(setting.paths, rows.rows[i - 1].frame, rows.rows[i].frame) < 0);
    rows_finish(&rows);
    end(&setting);
}

TEST(an_empty_profile_has_empty_reports)
{
    static const struct capture capture = {.file = "empty"};
    static const struct profile profile = {.capture = &capture};
    struct setting setting = begin(&capture, false);
    struct tree tree = tree_build(setting.paths, &profile, VIEW_PEAK, ROWS_TOTAL);
    struct function_rows functions = function_rows_collect(setting.paths, &tree, ROWS_TOTAL);
    struct rows rows = rows_collect(setting.paths, &profile, VIEW_PEAK, ROWS_BY_STACK, ROWS_TOTAL);

    CHECK_EQUAL(tree.count, 1);
    CHECK_EQUAL(functions.count, 0);
    CHECK_EQUAL(rows.count, 0);
    tree_finish(&tree);
    tree = tree_build_inverted(setting.paths, &profile, VIEW_PEAK, ROWS_TOTAL, 0);
    CHECK_EQUAL(tree.count, 1);
    tree_finish(&tree);
    function_rows_finish(&functions);
    rows_finish(&rows);
    end(&setting);
}

/* One stack of so many frames, of two functions in turn. */
static struct profile *deep_profile(struct capture *capture, uint32_t depth)
{
    static struct capture_stack stacks[2];
    static struct profile_row row;
    static struct profile profile;
    struct capture_node *nodes = calloc(depth + 1, sizeof(nodes[0]));

    for (uint32_t i = 1; i <= depth; i++)
        nodes[i] = (struct capture_node){.parent = i - 1, .code = 2 + i % 2, .offset = 2};
    *capture = sample_capture;
    capture->nodes = nodes;
    capture->node_count = depth + 1;
    stacks[1] = (struct capture_stack){.python_node = depth, .allocator = ALLOCATOR_MALLOC};
    capture->stacks = stacks;
    capture->stack_count = 2;
    row = (struct profile_row){.stack = 1, .stream = 1, .costs = {{1000, 1}}};
    profile = (struct profile){.capture = capture, .rows = &row, .row_count = 1};
    return &profile;
}

TEST(stacks_may_be_a_million_deep)
{
    enum {
        DEPTH = 1000000
    };
    struct capture capture;
    struct profile *profile = deep_profile(&capture, DEPTH);
    struct setting setting = begin(&capture, false);
    struct tree tree = tree_build(setting.paths, profile, VIEW_PEAK, ROWS_TOTAL);
    struct function_rows functions = function_rows_collect(setting.paths, &tree, ROWS_TOTAL);

    CHECK_EQUAL(tree.count, DEPTH + 1);
    CHECK_EQUAL(tree.nodes[DEPTH].total.bytes, 1000);
    CHECK_EQUAL(functions.count, 2);
    CHECK_EQUAL(functions.rows[0].total.bytes, 1000);
    CHECK_EQUAL(functions.rows[1].total.bytes, 1000);
    tree_finish(&tree);
    tree = tree_build_inverted(setting.paths, profile, VIEW_PEAK, ROWS_TOTAL, 0);
    CHECK_EQUAL(tree.count, DEPTH + 1);
    CHECK_EQUAL(tree.nodes[DEPTH].own.bytes, 1000);
    tree_finish(&tree);
    function_rows_finish(&functions);
    end(&setting);
    free(capture.nodes);
}

TEST(places_are_named_from_where_a_user_knows_them)
{
    static const struct {
        const char *file;
        uint32_t line;
        const char *expected;
    } cases[] = {
        {"/home/me/pkg/a.py", 3, "pkg/a.py:3"},
        {"/home/menu/a.py", 3, "/home/menu/a.py:3"},
        {"/usr/lib/python3.11/email/parser.py", 31, "email/parser.py:31"},
        {"/venv/lib/python3.13t/site-packages/numpy/core.py", 1, "numpy/core.py:1"},
        {"/usr/lib/python3/dist-packages/six.py", 1, "six.py:1"},
        {"<string>", 1, "<string>:1"},
        {"a.py", 0, "a.py"},
        {"", 0, ""},
        {"/usr/lib/python3.11", 4, "/usr/lib/python3.11:4"},
    };
    struct memory_pool pool = {.newest = NULL};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct frame frame = {.file = cases[i].file};

        test_case("%s", cases[i].file);
        CHECK_TEXT(label_place(&pool, &sample_capture, &frame, cases[i].line), cases[i].expected);
    }
    memory_pool_finish(&pool);
}

TEST(numbers_have_their_names)
{
    struct memory_pool pool = {.newest = NULL};

    CHECK_TEXT(label_allocator(&sample_capture, ALLOCATOR_PYMALLOC), "pymalloc_raw_malloc");
    CHECK_TEXT(label_allocator(&sample_capture, 43), "pymalloc_object_free");
    CHECK_TEXT(label_allocator(&sample_capture, ALLOCATOR_BRK), "brk");
    CHECK_TEXT(label_allocator(&sample_capture, 255), "unknown");
    CHECK_TEXT(label_map_class(1), "reserved");
    CHECK_TEXT(label_map_class(77), "unknown");
    CHECK_TEXT(label_signal(&pool, 11), "SIGSEGV");
    CHECK_TEXT(label_signal(&pool, 40), "signal 40");
    CHECK_TEXT(label_signal(&pool, -1), "signal -1");
    CHECK_TEXT(label_thread(&pool, &sample_capture, 1), "main");
    CHECK_TEXT(label_thread(&pool, &sample_capture, 2), "loader_0");
    CHECK_TEXT(label_thread(&pool, &sample_capture, 3), "thread 4250");
    CHECK_TEXT(label_thread(&pool, &sample_capture, 0), "unknown");
    CHECK_TEXT(label_thread(&pool, &sample_capture, 9), "unknown");
    memory_pool_finish(&pool);
}
