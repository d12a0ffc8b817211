/*
 * How far a page may be off. Runs in the tools.
 *
 * Of each row the live bytes by sample are told twice, as they were and as the joined intervals have
 * them. What the two differ by is summed over the rows, sample by sample, without signs: the largest
 * sum is a bound for any box, which is a sum of rows.
 */
#include "render/page_error.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define PARTS_PER_MILLION 1e6

enum {
    EDGES = PROFILE_BUCKETS + 2, /* what is released behind the last sample, or never, is beyond */
};

/* Add what the intervals of a row change from sample to sample. Returns the first behind them. */
static size_t add_changes(const struct page_time *time, size_t first, uint32_t row, int64_t sign,
                          int64_t *changes)
{
    size_t i = first;

    for (; i < time->interval_count && time->intervals[i].row == row; i++) {
        const struct page_interval *interval = &time->intervals[i];
        uint32_t to = interval->to_bucket < EDGES ? interval->to_bucket : EDGES - 1;

        changes[interval->from_bucket] += sign * (int64_t)interval->bytes;
        changes[to] -= sign * (int64_t)interval->bytes;
    }
    return i;
}

static uint64_t joined_bytes(const struct profile *profile, const struct page_fit *fit)
{
    int64_t *changes = memory_allocate(EDGES, sizeof(changes[0]));
    uint64_t *sums = memory_allocate(EDGES, sizeof(sums[0]));
    size_t exact_at = 0, joined_at = 0;
    struct page_time exact;
    uint64_t most = 0;

    page_time_init(&exact, profile, fit->tree);
    for (uint32_t row = 0; row < fit->tree->row_count; row++) {
        int64_t off = 0;

        memset(changes, 0, EDGES * sizeof(changes[0]));
        exact_at = add_changes(&exact, exact_at, row, 1, changes);
        joined_at = add_changes(&fit->time, joined_at, row, -1, changes);
        for (uint32_t i = 0; i < profile->sample_count; i++) {
            off += changes[i];
            sums[i] += (uint64_t)(off < 0 ? -off : off);
        }
    }
    for (uint32_t i = 0; i < profile->sample_count; i++) {
        if (sums[i] > most)
            most = sums[i];
    }
    page_time_finish(&exact);
    free(sums);
    free(changes);
    return most;
}

/* Whether a node is a box of smaller stacks. */
static bool is_folded(const struct page_tree *tree, uint32_t node)
{
    return node != 0 && tree->frame_ids[tree->nodes[node].frame] == PAGE_FRAME_FOLDED;
}

struct page_error page_error_find(const struct profile *profile, const struct page_fit *fit)
{
    struct page_error error = {.joined_bytes = 0};
    const struct page_tree *tree = fit->tree;

    for (unsigned view = 0; view < VIEW_WHOLE_COUNT; view++) {
        uint64_t folded = 0, all = 0;

        for (uint32_t i = 0; i < tree->row_count; i++) {
            all += tree->rows[i].costs[view].bytes;
            folded += is_folded(tree, tree->rows[i].node) ? tree->rows[i].costs[view].bytes : 0;
        }
        if (all > 0)
            error.folded_ppm[view] = (uint64_t)((double)folded / (double)all * PARTS_PER_MILLION);
    }
    if (fit->time.is_merged)
        error.joined_bytes = joined_bytes(profile, fit);
    return error;
}
