/*
 * Limits for the page's time axis, and what failed. Runs in the tools.
 *
 * What holds: their number is bounded, whatever a program did.
 */
#include "render/page_limits.h"

#include "render/parts.h"
#include "report/failures.h"
#include "report/labels.h"
#include "report/limits.h"
#include "report/nearness.h"

enum {
    MAX_LIMITS = 50, /* the nearest */
    MAX_STEPS = 500, /* of a limit: the last */
    MAX_PLACES = 5,
};

/* [instant, bytes or null], ... */
static void write_steps(struct json_writer *json, const struct nearness *nearness)
{
    size_t count = nearness->step_count;

    json_write_open_array(json, "steps");
    for (size_t i = count > MAX_STEPS ? count - MAX_STEPS : 0; i < count; i++) {
        const struct nearness_step *step = &nearness->steps[i];

        json_write_open_array(json, NULL);
        json_write_number(json, NULL, step->time_ns);
        if (step->bytes != UINT64_MAX)
            json_write_number(json, NULL, step->bytes);
        else
            json_write_null(json, NULL);
        json_write_close(json);
    }
    json_write_close(json);
}

static void write_limits(struct json_writer *json, const struct render_input *input)
{
    struct nearnesses found = nearness_find(input->capture, input->options->process_number);
    struct memory_pool pool = {.newest = NULL};

    json_write_open_array(json, "limits");
    for (size_t i = 0; i < found.count && i < MAX_LIMITS; i++) {
        const struct nearness *nearness = &found.items[i];

        json_write_open_object(json, NULL);
        json_write_text(json, "limit", limit_name(nearness->kind));
        json_write_text(json, "name", nearness_name(&pool, input->capture, nearness));
        json_write_number(json, "bytes", nearness->bytes);
        json_write_number(json, "left", nearness->left_bytes);
        json_write_number(json, "time", nearness->time_ns);
        write_steps(json, nearness);
        json_write_close(json);
    }
    json_write_close(json);
    nearness_finish(&found);
    memory_pool_finish(&pool);
}

static void write_places(struct json_writer *json, const struct render_input *input,
                         const struct failure_rows *rows)
{
    struct memory_pool pool = {.newest = NULL};

    json_write_open_array(json, "failures");
    for (size_t i = 0; i < rows->count && i < MAX_PLACES; i++) {
        const struct failure_row *row = &rows->rows[i];
        const struct frame *frame = frames_get(input->frames, row->frame);

        json_write_open_object(json, NULL);
        json_write_text(json, "function", frame->function);
        json_write_text(json, "place", label_place(&pool, input->capture, frame, frame->line));
        json_write_number(json, "count", row->count);
        json_write_number(json, "largest", row->largest_bytes);
        json_write_number(json, "first", row->first_ns);
        json_write_close(json);
    }
    json_write_close(json);
    json_write_number(json, "failurePlaces", rows->count);
    memory_pool_finish(&pool);
}

/* [number of a sample, failed in its time], ... */
static void write_instants(struct json_writer *json, const struct profile *profile)
{
    json_write_open_array(json, "failed");
    for (uint32_t i = 0; i < profile->sample_count; i++) {
        if (profile->samples[i].failed_allocations == 0)
            continue;
        json_write_open_array(json, NULL);
        json_write_number(json, NULL, i);
        json_write_number(json, NULL, profile->samples[i].failed_allocations);
        json_write_close(json);
    }
    json_write_close(json);
}

void page_limits_write(struct json_writer *json, const struct render_input *input)
{
    struct paths *paths = parts_paths(input);
    struct failure_rows rows = failure_rows_collect(paths, input->profile);

    write_limits(json, input);
    write_places(json, input, &rows);
    write_instants(json, input->profile);
    failure_rows_finish(&rows);
    paths_destroy(paths);
}
