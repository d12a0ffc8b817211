/*
 * The columns. Runs in the tools.
 */
#include "render/page_columns.h"

#include "render/page_frame.h"

enum {
    FRAME_RUNTIME = 1 << 2, /* in the column of kinds */
};

void page_columns_frames(const struct page_tree *tree, const struct frames *frames,
                         const struct page_sources *sources, struct page_strings *strings,
                         struct page_bytes *to)
{
    struct page_bytes columns[6] = {{.bytes = NULL}};

    for (uint32_t i = 0; i < tree->frame_count; i++) {
        struct frame frame = page_frame_get(frames, tree, i);

        page_bytes_add_varint(&columns[0], page_strings_intern(strings, frame.function));
        page_bytes_add_varint(&columns[1], page_strings_intern(strings, frame.file));
        page_bytes_add_varint(&columns[2], frame.line);
        page_bytes_add_varint(&columns[3], frame.kind | (frame.is_runtime ? FRAME_RUNTIME : 0u));
        page_bytes_add_varint(
            &columns[4], frame.module == NULL ? 0 : 1 + page_strings_intern(strings, frame.module));
        page_bytes_add_varint(&columns[5], sources->strings == NULL ? 0 : sources->strings[i]);
    }
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        page_bytes_add(to, columns[i].bytes, columns[i].size_bytes);
        page_bytes_finish(&columns[i]);
    }
}

void page_columns_nodes(const struct page_tree *tree, struct page_bytes *to)
{
    uint32_t new_frame = 0;

    for (uint32_t i = 1; i < tree->node_count; i++)
        page_bytes_add_varint(to, tree->nodes[i - 1].depth + 1 - tree->nodes[i].depth);
    for (uint32_t i = 1; i < tree->node_count; i++) {
        uint32_t frame = tree->nodes[i].frame;

        page_bytes_add_varint(to, frame == new_frame ? 0 : frame + 1);
        new_frame += frame == new_frame;
    }
}

void page_columns_rows(const struct page_tree *tree, struct page_bytes *to)
{
    uint32_t node = 0;

    for (uint32_t i = 0; i < tree->row_count; i++) {
        page_bytes_add_varint(to, tree->rows[i].node - node);
        node = tree->rows[i].node;
    }
    for (uint32_t i = 0; i < tree->row_count; i++)
        page_bytes_add_varint(to, tree->rows[i].stream);
    for (uint32_t i = 0; i < tree->row_count; i++)
        page_bytes_add_varint(to, tree->rows[i].allocator);
    for (unsigned view = 0; view < VIEW_WHOLE_COUNT; view++) {
        for (uint32_t i = 0; i < tree->row_count; i++)
            page_bytes_add_varint(to, tree->rows[i].costs[view].bytes);
        for (uint32_t i = 0; i < tree->row_count; i++)
            page_bytes_add_varint(to, tree->rows[i].costs[view].allocations);
    }
}

/*
 * Columns: row, from the interval before; first bucket, from the interval before of the same row;
 * buckets lived, 0 for ever; bytes; allocations.
 */
void page_columns_intervals(const struct page_time *time, struct page_bytes *to)
{
    const struct page_interval *intervals = time->intervals;

    for (size_t i = 0; i < time->interval_count; i++)
        page_bytes_add_varint(to, intervals[i].row - (i > 0 ? intervals[i - 1].row : 0));
    for (size_t i = 0; i < time->interval_count; i++) {
        bool is_first = i == 0 || intervals[i - 1].row != intervals[i].row;

        page_bytes_add_varint(to, intervals[i].from_bucket -
                                      (is_first ? 0u : intervals[i - 1].from_bucket));
    }
    for (size_t i = 0; i < time->interval_count; i++)
        page_bytes_add_varint(to,
                              intervals[i].to_bucket == PAGE_NEVER_BUCKET
                                  ? 0u
                                  : (uint32_t)intervals[i].to_bucket - intervals[i].from_bucket);
    for (size_t i = 0; i < time->interval_count; i++)
        page_bytes_add_varint(to, intervals[i].bytes);
    for (size_t i = 0; i < time->interval_count; i++)
        page_bytes_add_varint(to, intervals[i].allocations);
}

void page_columns_samples(const struct profile *profile, struct page_bytes *to)
{
    static const struct profile_sample zero;
    const struct profile_sample *samples = profile->samples;

    for (uint32_t i = 0; i < profile->sample_count; i++)
        page_bytes_add_folded(
            to, (int64_t)(samples[i].time_ns - (i > 0 ? &samples[i - 1] : &zero)->time_ns));
    for (uint32_t i = 0; i < profile->sample_count; i++)
        page_bytes_add_folded(
            to, (int64_t)(samples[i].heap_bytes - (i > 0 ? &samples[i - 1] : &zero)->heap_bytes));
    for (uint32_t i = 0; i < profile->sample_count; i++)
        page_bytes_add_folded(
            to, (int64_t)(samples[i].heap_blocks - (i > 0 ? &samples[i - 1] : &zero)->heap_blocks));
    for (uint32_t i = 0; i < profile->sample_count; i++)
        page_bytes_add_folded(
            to, (int64_t)(samples[i].rss_bytes - (i > 0 ? &samples[i - 1] : &zero)->rss_bytes));
    for (uint32_t i = 0; i < profile->sample_count; i++)
        page_bytes_add_folded(
            to, (int64_t)(samples[i].allocations - (i > 0 ? &samples[i - 1] : &zero)->allocations));
}
