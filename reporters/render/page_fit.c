/*
 * How much goes into a page. Runs in the tools.
 */
#include "render/page_fit.h"

#include "render/page_columns.h"
#include "render/page_pack.h"
#include "report/paths.h"
#include "web/assets.h"

enum {
    STATIC_BYTES = 60 * 1024, /* the picture and the table for pages without scripts, at most */
    SAMPLE_BYTES = 40 * 1024,
    META_BYTES = 40 * 1024,
    OWNER_BYTES = 200,            /* of the facts about a thread or process */
    LEAST_DATA_BYTES = 64 * 1024, /* whatever else there is */
    SOURCE_SHARE = 16,            /* one part in so many, packed */
    SOURCE_TEXT_SHARE = 6,        /* and as text */
    MAX_MERGES = 4,
    MOST_MERGED = 3, /* into one, on average */
};

/* What is folded, and up to which part of the room for data that is enough: tried in this order. */
static const struct attempt {
    uint64_t threshold_ppm;
    unsigned percent;
    bool may_merge; /* intervals, when it is they that are too large */
} attempts[] = {
    {0, 40, false},   {10, 100, false},  {30, 100, true},    {100, 100, true},
    {300, 100, true}, {1000, 100, true}, {10000, 100, true},
};

enum {
    ATTEMPT_COUNT = sizeof(attempts) / sizeof(attempts[0]),
};

size_t page_fit_context_bytes(const struct render_options *options)
{
    return options->source == SOURCE_CONTEXT ? (size_t)options->max_page_bytes / SOURCE_TEXT_SHARE
                                             : 0;
}

/* Return how many bytes there are for the tree, its texts and the intervals. */
static size_t data_room(const struct render_input *input)
{
    const struct capture *capture = input->capture;
    uint64_t owners = (uint64_t)capture->thread_count + capture->process_count;
    uint64_t taken = STATIC_BYTES + SAMPLE_BYTES + META_BYTES + owners * OWNER_BYTES;
    uint64_t max = input->options->max_page_bytes;

    for (unsigned i = 0; i < WEB_PART_COUNT; i++)
        taken += web_parts[i].size_bytes;
    if (input->options->source != SOURCE_NONE)
        taken += max / SOURCE_SHARE;
    return max > taken + LEAST_DATA_BYTES ? (size_t)(max - taken) : LEAST_DATA_BYTES;
}

static size_t packed_bytes(struct page_bytes *columns)
{
    size_t bytes = page_section_bytes(columns);

    page_bytes_finish(columns);
    return bytes;
}

static size_t tree_bytes(const struct render_input *input, const struct page_tree *tree)
{
    static const struct page_sources no_sources;
    struct page_bytes columns = {.bytes = NULL}, frames = {.bytes = NULL}, texts = {.bytes = NULL};
    struct page_strings strings = {.count = 0};

    page_columns_nodes(tree, &columns);
    page_columns_rows(tree, &columns);
    page_columns_frames(tree, input->frames, &no_sources, &strings, &frames);
    page_strings_pack(&strings, &texts);
    page_strings_finish(&strings);
    return packed_bytes(&columns) + packed_bytes(&frames) + packed_bytes(&texts);
}

static size_t time_bytes(const struct page_time *time)
{
    struct page_bytes columns = {.bytes = NULL};

    page_columns_intervals(time, &columns);
    return packed_bytes(&columns);
}

/* Merge intervals until they take so many bytes. Sizes fall slower than numbers: it takes turns. */
static void merge_intervals(struct page_time *time, size_t max_bytes)
{
    for (unsigned i = 0; i < MAX_MERGES; i++) {
        double share = (double)max_bytes / (double)(time_bytes(time) + 1);

        if (share >= 1)
            return;
        page_time_merge(time, (size_t)((double)time->interval_count * share * 0.95));
    }
}

static void build(const struct render_input *input, struct paths *paths, uint64_t threshold_ppm,
                  struct page_fit *fit)
{
    fit->threshold_ppm = threshold_ppm;
    fit->tree = page_tree_build(input->profile, paths, threshold_ppm);
    page_time_init(&fit->time, input->profile, fit->tree);
}

/*
 * Whether a tree and its intervals fit. Intervals are merged where that is allowed, but not to less
 * than a part: then more is folded, which changes no times.
 */
static bool does_fit(const struct render_input *input, const struct attempt *attempt, bool is_last,
                     struct page_fit *fit)
{
    size_t max_bytes = data_room(input) / 100 * attempt->percent;
    size_t bytes = tree_bytes(input, fit->tree), intervals_bytes = time_bytes(&fit->time);
    size_t room_bytes = bytes < max_bytes ? max_bytes - bytes : 0;

    if (intervals_bytes <= room_bytes)
        return true;
    if (is_last && room_bytes < max_bytes / 2)
        room_bytes = max_bytes / 2;
    if (!attempt->may_merge || (!is_last && room_bytes < intervals_bytes / MOST_MERGED))
        return false;
    merge_intervals(&fit->time, room_bytes);
    return true;
}

void page_fit_make(const struct render_input *input, struct page_fit *ret_fit)
{
    const struct render_options *options = input->options;
    /* The interpreter's own would take most of the room, and part stacks that are one to people. */
    unsigned shown = PATHS_SHOW_RUNTIME | (options->hides_native ? PATHS_HIDE_NATIVE : 0u) |
                     (options->shows_runtime ? 0u : PATHS_FOLD_NATIVE);
    struct paths *paths = paths_create(input->capture, input->frames, shown);

    for (unsigned i = 0;; i++) {
        bool is_last = i == ATTEMPT_COUNT - 1;

        build(input, paths, attempts[i].threshold_ppm, ret_fit);
        if (options->is_full || does_fit(input, &attempts[i], is_last, ret_fit) || is_last)
            break;
        page_fit_finish(ret_fit);
    }
    paths_destroy(paths);
}

void page_fit_finish(struct page_fit *fit)
{
    page_time_finish(&fit->time);
    page_tree_destroy(fit->tree);
    fit->tree = NULL;
}
