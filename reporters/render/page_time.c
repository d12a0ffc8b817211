/*
 * Intervals by row, and the merging of those that differ little.
 *
 * Runs in the tools. Merging works on a plane: from_bucket to the right, to_bucket upwards. It is
 * cut into squares of side 2, 4, 8, ...; what lies in one square of one row and weighs little
 * (bytes x side) becomes one interval. In the order of the interleaved bits of both buckets
 * (Morton's) every square is one run, so a pass over the intervals does one side.
 */
#include "render/page_time.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_LEVEL = 11, /* squares of all PROFILE_BUCKETS */
};

_Static_assert(PROFILE_BUCKETS == 1 << MAX_LEVEL, "one square holds the plane");
_Static_assert(PAGE_NEVER_BUCKET >= 2 * PROFILE_BUCKETS, "no square holds it and a bucket");
_Static_assert(PAGE_NEVER_BUCKET <= UINT16_MAX, "a bucket fits");

static int compare_times(const void *a, const void *b)
{
    const struct page_interval *left = a, *right = b;

    if (left->from_bucket != right->from_bucket)
        return left->from_bucket < right->from_bucket ? -1 : 1;
    return left->to_bucket < right->to_bucket ? -1 : left->to_bucket > right->to_bucket;
}

static void add_interval(struct page_interval *to, const struct page_interval *from)
{
    to->bytes += from->bytes;
    to->allocations += from->allocations;
}

/* Make one of those that are alike. intervals: sorted. Returns how many are left. */
static size_t unite_equal(struct page_interval *intervals, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && intervals[kept - 1].row == intervals[i].row &&
            compare_times(&intervals[kept - 1], &intervals[i]) == 0)
            add_interval(&intervals[kept - 1], &intervals[i]);
        else
            intervals[kept++] = intervals[i];
    }
    return kept;
}

/* Return where each row's intervals begin, and where the last's end; to be freed. */
static size_t *row_starts(const struct profile *profile, const struct page_tree *tree)
{
    size_t *starts = memory_allocate((size_t)tree->row_count + 1, sizeof(starts[0]));

    for (uint64_t i = 0; i < profile->interval_count; i++)
        starts[tree->row_of_profile_row[profile->intervals[i].row] + 1]++;
    for (uint32_t i = 0; i < tree->row_count; i++)
        starts[i + 1] += starts[i];
    return starts;
}

/* Put the profile's intervals where their rows begin. Leaves starts[] at each row's end. */
static void distribute(struct page_time *time, const struct profile *profile,
                       const struct page_tree *tree, size_t *starts)
{
    for (uint64_t i = 0; i < profile->interval_count; i++) {
        const struct profile_interval *interval = &profile->intervals[i];
        uint32_t row = tree->row_of_profile_row[interval->row];

        assert(interval->from_bucket < interval->to_bucket);
        time->intervals[starts[row]++] = (struct page_interval){
            .row = row,
            .from_bucket = (uint16_t)interval->from_bucket,
            .to_bucket = (uint16_t)(interval->to_bucket == PROFILE_NEVER ? PAGE_NEVER_BUCKET
                                                                         : interval->to_bucket),
            .bytes = interval->bytes,
            .allocations = interval->allocations,
        };
    }
}

static void sort_rows(struct page_time *time)
{
    size_t end;

    for (size_t begin = 0; begin < time->interval_count; begin = end) {
        for (end = begin + 1;
             end < time->interval_count && time->intervals[end].row == time->intervals[begin].row;)
            end++;
        qsort(time->intervals + begin, end - begin, sizeof(time->intervals[0]), compare_times);
    }
}

void page_time_init(struct page_time *time, const struct profile *profile,
                    const struct page_tree *tree)
{
    size_t *starts = row_starts(profile, tree);

    *time = (struct page_time){.interval_count = profile->interval_count};
    time->intervals = memory_allocate(time->interval_count, sizeof(time->intervals[0]));
    distribute(time, profile, tree, starts);
    free(starts);
    sort_rows(time);
    time->interval_count = unite_equal(time->intervals, time->interval_count);
}

/* Spread the 16 bits of a bucket so that another's fit between them. */
static uint32_t spread_bits(uint32_t bits)
{
    bits = (bits | bits << 8) & 0x00ff00ff;
    bits = (bits | bits << 4) & 0x0f0f0f0f;
    bits = (bits | bits << 2) & 0x33333333;
    return (bits | bits << 1) & 0x55555555;
}

static uint32_t place_on_plane(const struct page_interval *interval)
{
    return spread_bits(interval->from_bucket) | spread_bits(interval->to_bucket) << 1;
}

static int compare_places(const void *a, const void *b)
{
    const struct page_interval *left = a, *right = b;
    uint32_t left_place = place_on_plane(left), right_place = place_on_plane(right);

    if (left->row != right->row)
        return left->row < right->row ? -1 : 1;
    return left_place < right_place ? -1 : left_place > right_place;
}

/* The mean of two buckets by bytes: between them, so in the square that holds both. */
static uint16_t mean_bucket(uint16_t left, uint64_t left_bytes, uint16_t right,
                            uint64_t right_bytes)
{
    double all = (double)left_bytes + (double)right_bytes;

    if (all == 0)
        return left;
    return (uint16_t)(((double)left * (double)left_bytes + (double)right * (double)right_bytes) /
                          all +
                      0.5);
}

static void merge_into(struct page_interval *to, const struct page_interval *from)
{
    to->from_bucket = mean_bucket(to->from_bucket, to->bytes, from->from_bucket, from->bytes);
    to->to_bucket = mean_bucket(to->to_bucket, to->bytes, from->to_bucket, from->bytes);
    add_interval(to, from);
}

/* Return how many from the first on lie in its square, and their bytes. count: >= 1. */
static size_t square_run(const struct page_interval *intervals, size_t count, unsigned level,
                         uint64_t *ret_bytes)
{
    uint32_t square = place_on_plane(&intervals[0]) >> 2 * level;
    uint64_t bytes = intervals[0].bytes;
    size_t run_count = 1;

    while (run_count < count && intervals[run_count].row == intervals[0].row &&
           place_on_plane(&intervals[run_count]) >> 2 * level == square)
        bytes += intervals[run_count++].bytes;
    *ret_bytes = bytes;
    return run_count;
}

/* Merge what lies in one square and weighs at most max_weight together. */
static size_t merge_squares(struct page_interval *intervals, size_t count, unsigned level,
                            double max_weight)
{
    uint64_t max_bytes = (uint64_t)(max_weight / (double)(UINT64_C(1) << level));
    size_t kept = 0, run_count;

    for (size_t begin = 0; begin < count; begin += run_count) {
        uint64_t bytes;

        run_count = square_run(&intervals[begin], count - begin, level, &bytes);
        intervals[kept++] = intervals[begin];
        for (size_t i = begin + 1; i < begin + run_count; i++) {
            if (bytes <= max_bytes)
                merge_into(&intervals[kept - 1], &intervals[i]);
            else
                intervals[kept++] = intervals[i];
        }
    }
    return kept;
}

static double first_weight(const struct page_time *time, size_t limit_count)
{
    double all = 0;

    for (size_t i = 0; i < time->interval_count; i++)
        all += (double)time->intervals[i].bytes;
    return all / (double)limit_count / 16 + 1;
}

void page_time_merge(struct page_time *time, size_t limit_count)
{
    size_t count = time->interval_count;
    double last_weight;

    if (count <= limit_count || limit_count == 0)
        return;
    time->is_merged = true;
    qsort(time->intervals, count, sizeof(time->intervals[0]), compare_places);
    /* The last weight merges all of a row that the largest squares hold. */
    last_weight = first_weight(time, 1) * PROFILE_BUCKETS * 32;
    for (double weight = first_weight(time, limit_count); count > limit_count; weight *= 2) {
        for (unsigned level = 1; level <= MAX_LEVEL && count > limit_count; level++)
            count = merge_squares(time->intervals, count, level, weight);
        if (weight > last_weight)
            break;
    }
    time->interval_count = count;
    sort_rows(time);
    time->interval_count = unite_equal(time->intervals, time->interval_count);
}

void page_time_finish(struct page_time *time)
{
    free(time->intervals);
    *time = (struct page_time){.intervals = NULL};
}
