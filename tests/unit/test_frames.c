/*
 * Frames: equal places are one frame, hidden and runtime frames are known, no stack loses its name.
 */
#include "test.h"

#include "memtrack/protocol.h"
#include "symbol/frames.h"
#include "symbol/source.h"

#include <fcntl.h>
#include <sys/stat.h>

#define TEXT(text_)              \
    {                            \
        text_, sizeof(text_) - 1 \
    }

/* 3.10: lines 11 and 12, two instructions each, then two without a line. */
static const uint8_t two_lines[] = {4, 1, 4, 1, 4, 0x80};

#define CODE(file_, name_, flags_)                                         \
    {                                                                      \
        .file = TEXT(file_), .name = TEXT(name_), .line_table = two_lines, \
        .line_table_bytes = sizeof(two_lines), .first_line = 10,           \
        .line_table_kind = LINE_TABLE_PAIRS, .flags = (flags_)             \
    }

static struct capture_code codes[] = {
    {.file = TEXT(""), .name = TEXT("")},
    CODE("train.py", "load", 0),
    CODE("train.py", "load", 0), /* compiled again */
    CODE("other.py", "load", 0),
    CODE("train.py", "load", CODE_HIDDEN),
    CODE("<frozen importlib._bootstrap>", "_find_and_load", 0),
    CODE("/usr/lib/python3.11/runpy.py", "run_path", 0),
    CODE("/home/me/runpy.py", "run_path", 0),
    CODE("<frozen os>", "walk", 0),
};

static struct capture_node nodes[] = {
    {.parent = 0},
    {.parent = 0, .code = 1, .offset = 0},
    {.parent = 0, .code = 1, .offset = 2}, /* the same line */
    {.parent = 1, .code = 2, .offset = 2}, /* the same place, deeper, of another code object */
    {.parent = 0, .code = 1, .offset = 4}, /* the next line */
    {.parent = 0, .code = 3, .offset = 0}, /* another file */
    {.parent = 0, .code = 4, .offset = 0}, /* the same place, hidden */
    {.parent = 0, .code = 5, .offset = 0},
    {.parent = 0, .code = 6, .offset = 0},
    {.parent = 0, .code = 7, .offset = 0},
    {.parent = 0, .code = 8, .offset = 0},
    {.parent = 0, .code = 0, .offset = SPECIAL_SIGNAL_HANDLER},
    {.parent = 0, .code = 0, .offset = 1000},
    {.parent = 0, .code = 0, .offset = -1},
    {.parent = 0, .code = 1, .offset = 8}, /* no line of its own */
};

static const struct capture capture = {
    .codes = codes,
    .code_count = sizeof(codes) / sizeof(codes[0]),
    .nodes = nodes,
    .node_count = sizeof(nodes) / sizeof(nodes[0]),
};

static const struct frame *frame_of(struct frames *frames, uint32_t node)
{
    return frames_get(frames, frames_of_node(frames, node));
}

TEST(equal_places_are_one_frame)
{
    struct frames *frames = frames_create(&capture);
    uint32_t frame = frames_of_node(frames, 1);

    CHECK_EQUAL(frames_of_node(frames, 2), frame);
    CHECK_EQUAL(frames_of_node(frames, 3), frame);
    CHECK_EQUAL(frames_of_node(frames, 1), frame);
    CHECK_EQUAL(frames_count(frames), 1);
    CHECK(frames_of_node(frames, 4) != frame);
    CHECK(frames_of_node(frames, 5) != frame);
    CHECK(frames_of_node(frames, 6) != frame);
    CHECK_EQUAL(frames_count(frames), 4);
    frames_destroy(frames);
}

TEST(a_frame_says_where_it_is)
{
    struct frames *frames = frames_create(&capture);
    const struct frame *frame = frame_of(frames, 4);

    CHECK_TEXT(frame->function, "load");
    CHECK_TEXT(frame->file, "train.py");
    CHECK(frame->module == NULL);
    CHECK_EQUAL(frame->line, 12);
    CHECK_EQUAL(frame->column, 0);
    CHECK_EQUAL(frame->first_line, 10);
    CHECK_EQUAL(frame->kind, FRAME_PYTHON);
    CHECK(!frame->is_hidden && !frame->is_runtime);
    CHECK(frame_of(frames, 6)->is_hidden);
    CHECK_EQUAL(frame_of(frames, 14)->line, 10);
    frames_destroy(frames);
}

TEST(only_what_imports_and_starts_modules_is_runtime)
{
    struct frames *frames = frames_create(&capture);

    CHECK(frame_of(frames, 7)->is_runtime);
    CHECK(frame_of(frames, 8)->is_runtime);
    CHECK(!frame_of(frames, 9)->is_runtime);
    CHECK(!frame_of(frames, 10)->is_runtime);
    frames_destroy(frames);
}

TEST(special_frames_have_names_and_no_place)
{
    static const struct {
        uint32_t node;
        const char *name;
    } cases[] = {
        {0, "[no Python stack]"}, {11, "[signal handler]"}, {12, "[unknown]"}, {13, "[unknown]"}};
    struct frames *frames = frames_create(&capture);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct frame *frame = frame_of(frames, cases[i].node);

        CHECK_TEXT(frame->function, cases[i].name);
        CHECK_TEXT(frame->file, "");
        CHECK_EQUAL(frame->line, 0);
        CHECK_EQUAL(frame->kind, FRAME_SPECIAL);
    }
    CHECK_TEXT(frames_get(frames, frames_of_interpreter(frames))->function, "[interpreter]");
    frames_destroy(frames);
}

TEST(a_frame_stays_where_it_is_while_others_are_added)
{
    enum {
        COUNT = 5000
    };
    static struct capture_code many[COUNT + 1];
    static struct capture_node many_nodes[COUNT + 1];
    struct capture large = {
        .codes = many, .code_count = COUNT + 1, .nodes = many_nodes, .node_count = COUNT + 1};
    const struct frame *first;
    struct frames *frames;

    for (uint32_t i = 1; i <= COUNT; i++) {
        many[i] = codes[1];
        many[i].first_line = (int32_t)(10 * i);
        many_nodes[i] = (struct capture_node){.code = i};
    }
    frames = frames_create(&large);
    first = frame_of(frames, 1);
    for (uint32_t i = 1; i <= COUNT; i++)
        CHECK_EQUAL(frame_of(frames, i)->line, 10 * i + 1);
    CHECK_EQUAL(frames_count(frames), COUNT);
    CHECK(first == frames_get(frames, 0));
    CHECK_EQUAL(first->line, 11);
    frames_destroy(frames);
}

/* 3.11: two calls of line 10, in columns 5 and 21, an instruction each; then the first again. */
static const uint8_t two_columns[] = {0xd0, 4, 8, 0xd0, 20, 24, 0xd0, 4, 8};

static struct capture_code columns_code[] = {
    {.file = TEXT(""), .name = TEXT("")},
    {.file = TEXT("train.py"),
     .name = TEXT("load"),
     .line_table = two_columns,
     .line_table_bytes = sizeof(two_columns),
     .first_line = 10,
     .line_table_kind = LINE_TABLE_LOCATION},
};

static struct capture_node columns_nodes[] = {
    {.parent = 0},
    {.code = 1, .offset = 0},
    {.code = 1, .offset = 2},
    {.code = 1, .offset = 4},
};

static const struct capture columns_capture = {
    .codes = columns_code, .code_count = 2, .nodes = columns_nodes, .node_count = 4};

TEST(a_line_is_one_place_and_has_a_column_only_if_there_is_one)
{
    struct frames *frames = frames_create(&columns_capture);
    uint32_t frame = frames_of_node(frames, 1);

    CHECK_EQUAL(frames_get(frames, frame)->line, 10);
    CHECK_EQUAL(frames_get(frames, frame)->column, 5);
    CHECK_EQUAL(frames_of_node(frames, 3), frame);
    CHECK_EQUAL(frames_get(frames, frame)->column, 5);
    CHECK_EQUAL(frames_of_node(frames, 2), frame);
    CHECK_EQUAL(frames_get(frames, frame)->column, 0);
    frames_destroy(frames);
}

TEST(places_of_a_line_are_told_apart_when_asked_for)
{
    struct frames *frames = frames_create(&columns_capture);

    frames_part_columns(frames);
    CHECK_EQUAL(frame_of(frames, 1)->column, 5);
    CHECK_EQUAL(frame_of(frames, 2)->column, 21);
    CHECK_EQUAL(frame_of(frames, 2)->line, 10);
    CHECK_EQUAL(frames_of_node(frames, 3), frames_of_node(frames, 1));
    frames_destroy(frames);
}

TEST(an_empty_capture_has_the_frame_of_no_stack)
{
    struct capture empty = {.node_count = 0};
    struct frames *frames = frames_create(&empty);

    CHECK_TEXT(frame_of(frames, 0)->function, "[no Python stack]");
    frames_destroy(frames);
    frames_destroy(NULL);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    CHECK(file != NULL);
    fputs(text, file);
    CHECK(fclose(file) == 0);
}

TEST(source_lines_are_found_where_the_program_ran)
{
    char directory[] = "memtrack-test-XXXXXX", path[64];
    struct source *source;

    CHECK(mkdtemp(directory) != NULL);
    snprintf(path, sizeof(path), "%s/a.py", directory);
    write_file(path, "import os\n\n    x = 1  \r\nlast");
    source = source_create(directory, 0);
    CHECK_TEXT(source_line(source, "a.py", 1), "import os");
    CHECK_TEXT(source_line(source, "a.py", 2), "");
    CHECK_TEXT(source_line(source, "a.py", 3), "x = 1");
    CHECK_TEXT(source_indented_line(source, "a.py", 3), "    x = 1");
    CHECK_TEXT(source_line(source, "a.py", 4), "last");
    CHECK(source_line(source, "a.py", 5) == NULL);
    CHECK(source_line(source, "a.py", 0) == NULL);
    CHECK(source_line(source, "b.py", 1) == NULL);
    CHECK(source_line(source, "<string>", 1) == NULL);
    CHECK(source_line(source, "", 1) == NULL);
    source_destroy(source);
    unlink(path);
    rmdir(directory);
}

TEST(source_that_is_newer_than_the_capture_is_not_shown)
{
    char path[] = "memtrack-test-XXXXXX";
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    struct source *source;
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    CHECK(write(fd, "x\n", 2) == 2 && futimens(fd, times) == 0 && close(fd) == 0);
    source = source_create("", UINT64_C(999) * 1000000000);
    CHECK(source_line(source, path, 1) == NULL);
    source_destroy(source);
    source = source_create("", UINT64_C(1000) * 1000000000);
    CHECK_TEXT(source_line(source, path, 1), "x");
    source_destroy(source);
    unlink(path);
}

TEST(source_that_is_not_a_regular_file_is_not_read)
{
    char directory[] = "memtrack-test-XXXXXX", path[64];
    struct source *source = source_create("", 0);

    CHECK(mkdtemp(directory) != NULL);
    snprintf(path, sizeof(path), "%s/pipe", directory);
    CHECK(mkfifo(path, 0600) == 0);
    CHECK(source_line(source, path, 1) == NULL);
    CHECK(source_line(source, directory, 1) == NULL);
    CHECK(source_line(source, "/dev/zero", 1) == NULL);
    source_destroy(source);
    unlink(path);
    rmdir(directory);
}
