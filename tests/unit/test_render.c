/*
 * Reports as they come out: text line for line, JSON read back by another library, nothing for
 * nothing, and an error when the output cannot take it.
 */
#include "test.h"

#include "render/render.h"
#include "sample.h"

#include <jansson.h>

static const struct render_options text_options = {
    .width_columns = 80,
    .threshold_parts_per_million = 10000,
};

static char *output_of(render_function *run, const struct capture *capture,
                       const struct profile *profile, const struct render_options *options)
{
    struct render_input input = {.capture = capture,
                                 .profile = profile,
                                 .frames = frames_create(capture),
                                 .options = options};
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    CHECK(out != NULL);
    CHECK(run(&input, out, NULL));
    CHECK(fclose(out) == 0);
    CHECK_EQUAL(strlen(text), length);
    frames_destroy(input.frames);
    return text;
}

#define HEADER                                                                 \
    "train.py --epochs 3  pid 4242  CPython 3.13.0  38.0 s  163 allocations\n" \
    "peak heap 777 MiB at 19.1 s   end 1.00 KiB   peak RSS 900 MiB\n"          \
    "shown: live at the peak: 777 MiB in 163 allocations\n"                    \
    "warnings: none\n"                                                         \
    "\n"

static void check_output(render_function *run, const struct render_options *options,
                         const char *expected)
{
    char *text = output_of(run, &sample_capture, &sample_profile, options);

    CHECK_TEXT(text, expected);
    free(text);
}

TEST(summary_has_a_row_for_each_function)
{
    check_output(render_summary, &text_options,
                 HEADER
                 "   TOTAL     %       OWN     %  COUNT  FUNCTION           WHERE\n"
                 " 774 MiB  99.6  3.00 MiB   0.4    160  <module>           train.py:1\n"
                 " 770 MiB  99.1       0 B   0.0    158  main               train.py:10\n"
                 " 550 MiB  70.8   550 MiB  70.8     56  load               data/load.py:20\n"
                 " 220 MiB  28.3   220 MiB  28.3    102  Model.fit          train.py:30\n"
                 "2.00 MiB   0.3  2.00 MiB   0.3      2  [no Python stack]\n"
                 "1.00 MiB   0.1  1.00 MiB   0.1      1  [interpreter]\n"
                 "1.00 MiB   0.1  1.00 MiB   0.1      1  na\"me\\x1b[31m      we\\nird\\xff.py:7\n"
                 "   100 B   0.0     100 B   0.0      1  [signal handler]\n");
}

TEST(rows_that_are_left_out_are_counted)
{
    struct render_options options = text_options;

    options.rows = 1;
    check_output(render_summary, &options,
                 HEADER "  TOTAL     %       OWN    %  COUNT  FUNCTION  WHERE\n"
                        "774 MiB  99.6  3.00 MiB  0.4    160  <module>  train.py:1\n"
                        "  ... 7 more functions: --rows 0 shows all\n");
}

TEST(table_has_a_row_for_each_location_and_allocator)
{
    struct render_options options = text_options;

    options.rows = 3;
    options.sort = SORT_COUNT;
    check_output(render_table, &options,
                 HEADER
                 "   BYTES     %  COUNT  ALLOCATOR  THREAD       FUNCTION   WHERE\n"
                 " 200 MiB  25.7    100  malloc     main         Model.fit  train.py:32\n"
                 " 500 MiB  64.4     50  malloc     (2 threads)  load       data/load.py:21\n"
                 "50.0 MiB   6.4      5  calloc     main         load       data/load.py:21\n"
                 "  ... 6 more locations: --rows 0 shows all\n");
}

TEST(tree_shows_who_called_whom)
{
    check_output(render_tree, &text_options,
                 HEADER "   TOTAL      %  COUNT  FUNCTION                  WHERE\n"
                        " 777 MiB  100.0    163  all\n"
                        " 774 MiB   99.6    160  └─ <module>               train.py:5\n"
                        " 550 MiB   70.8     56     ├─ main                train.py:12\n"
                        " 550 MiB   70.8     56     │  └─ load             data/load.py:21\n"
                        " 220 MiB   28.3    102     └─ main                train.py:13\n"
                        " 220 MiB   28.3    102        └─ Model.fit        train.py:31\n"
                        " 200 MiB   25.7    100           └─ Model.fit     train.py:31\n"
                        " 200 MiB   25.7    100              └─ Model.fit  train.py:32\n"
                        "3.00 MiB    0.4      3  (2 smaller stacks)\n");
}

TEST(tree_folds_runs_of_frames_that_have_only_each_other)
{
    struct render_options options = text_options;

    options.is_inverted = true;
    options.is_ascii = true;
    options.threshold_parts_per_million = 200000;
    check_output(render_tree, &options,
                 HEADER "   TOTAL      %  COUNT  FUNCTION                   WHERE\n"
                        " 777 MiB  100.0    163  all\n"
                        " 550 MiB   70.8     55  +- load                    data/load.py:21\n"
                        " 550 MiB   70.8     55  |  `- main                 train.py:12\n"
                        " 550 MiB   70.8     55  |     `- <module>          train.py:5\n"
                        " 200 MiB   25.7    100  `- Model.fit               train.py:32\n"
                        " 200 MiB   25.7    100     `- (3 folded) <module>  train.py:5\n"
                        "27.0 MiB    3.5      8  (6 smaller stacks)\n");
}

TEST(a_deep_tree_is_a_few_lines_or_all_of_them)
{
    enum {
        DEPTH = 3000
    };
    static struct capture_node nodes[DEPTH + 1];
    struct capture_stack stacks[] = {{.python_node = 0},
                                     {.python_node = DEPTH, .allocator = ALLOCATOR_MALLOC},
                                     {.python_node = DEPTH / 2, .allocator = ALLOCATOR_MALLOC}};
    struct profile_row rows[] = {{.stack = 1, .stream = 1, .costs = {{1 << 20, 1}}},
                                 {.stack = 2, .stream = 1, .costs = {{1, 1}}}};
    struct capture capture = sample_capture;
    struct profile profile = sample_profile;
    struct render_options options = text_options;
    unsigned line_count = 0;
    char *text;

    options.is_ascii = true; /* a byte is a column */
    for (uint32_t i = 1; i <= DEPTH; i++)
        nodes[i] = (struct capture_node){.parent = i - 1, .code = 2 + i % 2, .offset = 2};
    capture.nodes = nodes;
    capture.node_count = DEPTH + 1;
    capture.stacks = stacks;
    capture.stack_count = 3;
    profile.capture = &capture;
    profile.rows = rows;
    profile.row_count = 2;
    text = output_of(render_tree, &capture, &profile, &options);
    CHECK(strstr(text, "100.0      1     `- (2,998 folded) main  train.py:11\n") != NULL);
    free(text);
    options.threshold_parts_per_million = 0;
    text = output_of(render_tree, &capture, &profile, &options);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        CHECK(strlen(line) <= 80);
        line_count++;
    }
    CHECK_EQUAL(line_count, 4 + 1 + 1 + DEPTH);
    free(text);
}

TEST(no_line_is_wider_than_asked)
{
    static render_function *const runs[] = {render_summary, render_table, render_tree};

    for (unsigned width = 72; width < 130; width++) {
        struct render_options options = {.width_columns = width, .is_ascii = true};

        for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
            char *text = output_of(runs[i], &sample_capture, &sample_profile, &options);

            test_case("report %zu, width %u", i, width);
            for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
                CHECK(strlen(line) <= width);
            free(text);
        }
    }
}

static json_t *json_of(render_function *run, const struct capture *capture,
                       const struct profile *profile, const struct render_options *options)
{
    char *text = output_of(run, capture, profile, options);
    json_error_t error;
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &error);

    if (value == NULL)
        printf("# %s\n# %s\n", error.text, text);
    CHECK(value != NULL);
    free(text);
    return value;
}

static uint64_t number_at(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    test_case("key %s", key);
    CHECK(json_is_integer(value));
    return (uint64_t)json_integer_value(value);
}

static const char *text_at(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    test_case("key %s", key);
    CHECK(json_is_string(value));
    return json_string_value(value);
}

TEST(json_says_what_was_captured_and_what_is_shown)
{
    struct render_options options = {
        .width_columns = 80, .is_json = true, .view = VIEW_LEAKS, .process_number = 1, .tid = 4242};
    json_t *report = json_of(render_summary, &sample_capture, &sample_profile, &options);
    json_t *capture = json_object_get(report, "capture"), *view = json_object_get(report, "view");

    CHECK_EQUAL(number_at(report, "schema"), 1);
    CHECK_TEXT(text_at(report, "report"), "summary");
    CHECK_TEXT(text_at(capture, "program"), "train.py");
    CHECK_EQUAL(json_array_size(json_object_get(capture, "arguments")), 2);
    CHECK_EQUAL(number_at(capture, "pid"), 4242);
    CHECK_EQUAL(number_at(capture, "duration_ns"), UINT64_C(38000000000));
    CHECK_TEXT(text_at(capture, "state"), "clean");
    CHECK_TEXT(text_at(json_object_get(capture, "python"), "version"), "3.13.0");
    CHECK(json_is_false(json_object_get(capture, "native")));
    CHECK_EQUAL(json_array_size(json_object_get(capture, "warnings")), 0);
    CHECK_TEXT(text_at(view, "what"), "leaks");
    CHECK_EQUAL(number_at(view, "bytes"), 1024);
    CHECK_EQUAL(number_at(view, "allocations"), 2);
    CHECK_EQUAL(json_array_size(json_object_get(view, "filters")), 2);
    CHECK_TEXT(json_string_value(json_array_get(json_object_get(view, "filters"), 0)),
               "process 4242");
    CHECK_EQUAL(json_array_size(json_object_get(report, "rows")), 4);
    json_decref(report);
}

TEST(json_rows_of_the_table_have_whole_stacks)
{
    struct render_options options = {.width_columns = 80, .is_json = true};
    json_t *report = json_of(render_table, &sample_capture, &sample_profile, &options);
    json_t *rows = json_object_get(report, "rows"), *row = json_array_get(rows, 0), *stack, *frame;

    CHECK_EQUAL(json_array_size(rows), 10);
    CHECK_TEXT(text_at(row, "allocator"), "malloc");
    CHECK_EQUAL(number_at(row, "bytes"), 400 << 20);
    CHECK_EQUAL(number_at(row, "allocations"), 40);
    CHECK_EQUAL(number_at(row, "pid"), 4242);
    CHECK_EQUAL(number_at(row, "tid"), 4242);
    CHECK(json_is_null(json_object_get(row, "thread")));
    stack = json_object_get(row, "stack");
    CHECK_EQUAL(json_array_size(stack), 3);
    frame = json_array_get(stack, 0);
    CHECK_TEXT(text_at(frame, "function"), "load");
    CHECK_TEXT(text_at(frame, "file"), "/usr/lib/python3.13/site-packages/data/load.py");
    CHECK_EQUAL(number_at(frame, "line"), 21);
    CHECK_EQUAL(number_at(frame, "first_line"), 20);
    CHECK_TEXT(text_at(frame, "kind"), "python");
    CHECK(json_is_null(json_object_get(frame, "column")));
    CHECK_TEXT(text_at(json_array_get(stack, 2), "function"), "<module>");
    json_decref(report);
}

static uint64_t own_of_children(json_t *node)
{
    uint64_t sum = number_at(node, "own_bytes");
    json_t *child;
    size_t i;

    json_array_foreach(json_object_get(node, "children"), i, child) sum += own_of_children(child);
    CHECK_EQUAL(number_at(node, "total_bytes"), sum);
    return sum;
}

TEST(json_trees_add_up)
{
    for (unsigned is_inverted = 0; is_inverted < 2; is_inverted++) {
        struct render_options options = {
            .width_columns = 80, .is_json = true, .is_inverted = is_inverted != 0};
        json_t *report = json_of(render_tree, &sample_capture, &sample_profile, &options);
        json_t *root = json_object_get(report, "root");

        CHECK_EQUAL(own_of_children(root), number_at(json_object_get(report, "view"), "bytes"));
        CHECK_TEXT(text_at(root, "function"), "all");
        json_decref(report);
    }
}

TEST(an_empty_capture_has_empty_reports_in_every_form)
{
    static render_function *const runs[] = {render_summary, render_table, render_tree};
    static const struct capture capture = {.file = "empty"};
    static const struct profile profile = {.capture = &capture};

    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        struct render_options options = text_options;
        char *text = output_of(runs[i], &capture, &profile, &options);
        json_t *report;

        CHECK(strstr(text, "shown: live at the peak: 0 B in 0 allocations\n") != NULL);
        free(text);
        options.is_json = true;
        report = json_of(runs[i], &capture, &profile, &options);
        CHECK(json_is_null(json_object_get(json_object_get(report, "capture"), "pid")));
        json_decref(report);
    }
}

TEST(warnings_say_what_is_missing)
{
    struct capture capture = sample_capture;
    struct profile profile = sample_profile;
    char *text;

    capture.state = CAPTURE_TRUNCATED;
    capture.damage.is_damaged = true;
    snprintf(capture.damage.error.text, sizeof(capture.damage.error.text),
             "out.bin: bad checksum at offset 4096");
    profile.capture = &capture;
    profile.totals.lost_events = 1234;
    text = output_of(render_summary, &capture, &profile, &text_options);
    CHECK(strstr(text, "warnings: none") == NULL);
    CHECK(strstr(text,
                 "\nwarning: the capture is truncated, its collector was ended: it is complete "
                 "until\n         38.0 s\n") != NULL);
    CHECK(strstr(text, "\nwarning: out.bin: bad checksum at offset 4096\n") != NULL);
    CHECK(strstr(text, "\nwarning: events lost: 1,234\n") != NULL);
    free(text);
}

TEST(output_that_cannot_be_written_is_an_error)
{
    struct render_input input = {.capture = &sample_capture,
                                 .profile = &sample_profile,
                                 .frames = frames_create(&sample_capture),
                                 .options = &text_options};
    FILE *full = fopen("/dev/full", "w");
    struct error err;

    CHECK(full != NULL);
    CHECK(!render_summary(&input, full, &err));
    CHECK_TEXT(err.text, "the report could not be written: No space left on device");
    frames_destroy(input.frames);
}
