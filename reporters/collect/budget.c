/*
 * The steps. Main thread.
 *
 * Of the size: the first when half of what may be used is, the last with an eighth left. Each makes the
 * sample coarser by four. What is in rings and on its way then is of before the step, so there is a
 * pause behind it.
 */
#include "collect/budget.h"

#include "collect/records.h"
#include "memtrack/format.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    FIRST_OF_SIZE = 5, /* 1 KiB */
    FIRST_OF_TIME =
        9, /* 16 KiB: a block that is picked takes as long as twenty that are recorded all */
    LEVEL_STEP = 2,
    RESERVE_PART = 16, /* for what comes behind the end of recording: rings, names, directory */
    RESERVE_LEAST_BYTES = 256 << 10,
    RESERVE_MOST_BYTES = 4 << 20,
    SUMMARY_BYTES = 64 << 10, /* SUMMARY, and the directory's last entries */
    LOOK_MS = 100,
    PAUSE_MS = 30,
    TEXT_BYTES = 256,
    KIB = 1024,
    MS_NS = 1000000,
};

#define STEP_PAUSE_NS (PAUSE_MS * UINT64_C(1000000))
#define LOOK_NS       (LOOK_MS * UINT64_C(1000000))
#define DECIDE_NS     UINT64_C(100000000) /* of the programs' own time, between two decisions */
#define GRACE_NS      UINT64_C(100000000) /* of ours: what a beginning may take */

void budget_init(struct budget *budget, const struct collect_options *options,
                 struct session *session, struct control *control, const struct model_thread *model)
{
    *budget = (struct budget){.options = options,
                              .session = session,
                              .control = control,
                              .model = model,
                              .looked_ns = session_now_ns()};
}

/* What the capture may have when recording ends. */
static uint64_t usable_bytes(const struct budget *budget)
{
    uint64_t most_bytes = budget->options->max_file_bytes;
    uint64_t reserve_bytes = most_bytes / RESERVE_PART;

    if (reserve_bytes < RESERVE_LEAST_BYTES)
        reserve_bytes = RESERVE_LEAST_BYTES;
    if (reserve_bytes > RESERVE_MOST_BYTES)
        reserve_bytes = RESERVE_MOST_BYTES;
    return most_bytes - reserve_bytes;
}

/* UINT64_MAX: there is no such step. */
static uint64_t step_bytes(const struct budget *budget, unsigned step)
{
    static const uint8_t sixteenths[] = {8, 10, 11, 12, 13, 14};

    return step < sizeof(sixteenths) ? usable_bytes(budget) / 16 * sixteenths[step] : UINT64_MAX;
}

static void write_sampling(const struct budget *budget, enum sampling_cause cause, uint64_t now_ns)
{
    struct records records = {0};

    records_begin(&records, RECORD_SAMPLING);
    records_number(&records, now_ns - budget->session->start_ns);
    records_number(&records, budget->level);
    records_number(&records, cause);
    records_end(&records);
    pack_put_records(budget->session->pack, records.bytes, records.size_bytes, records.count);
    records_finish(&records);
}

/* Make the sample coarser. In the capture the record stands before the first block of it. */
static void raise_level(struct budget *budget, enum sampling_cause cause, unsigned steps)
{
    uint64_t now_ns = session_now_ns();

    if (budget->level == SAMPLE_LEVEL_MOST)
        return;
    if (budget->level == 0)
        budget->level = (cause == SAMPLING_MAX_FILE ? FIRST_OF_SIZE : FIRST_OF_TIME) - LEVEL_STEP;
    budget->level += steps * LEVEL_STEP;
    if (budget->level > SAMPLE_LEVEL_MOST)
        budget->level = SAMPLE_LEVEL_MOST;
    budget->stepped_ns = now_ns;
    write_sampling(budget, cause, now_ns);
    pool_set_level(&budget->session->pool, budget->level);
}

static uint64_t recorded_ms(const struct budget *budget)
{
    return (session_now_ns() - budget->session->start_ns) / MS_NS;
}

/* text: TEXT_BYTES. Returns it. */
static const char *how_many(const struct budget *budget, char *text)
{
    uint64_t mean_bytes = SAMPLE_LEVEL_BYTES(budget->level);

    if (budget->level == 0)
        snprintf(text, TEXT_BYTES, "all blocks were recorded");
    else
        snprintf(text, TEXT_BYTES, "one block in %" PRIu64 " %s was recorded",
                 mean_bytes < KIB ? mean_bytes : mean_bytes / KIB, mean_bytes < KIB ? "B" : "KiB");
    return text;
}

static void end_recording(struct budget *budget)
{
    char text[2 * TEXT_BYTES], how[TEXT_BYTES];

    if (budget->control->state == POOL_ENDED)
        return;
    snprintf(text, sizeof(text),
             "--max-file %s: could be kept no longer after %" PRIu64
             " ms, when %s: recording ended",
             budget->options->max_file, recorded_ms(budget), how_many(budget, how));
    control_note_failure(budget->control, text);
    control_set(budget->control, POOL_ENDED, CAUSE_MAX_FILE);
}

static void look_at_size(struct budget *budget)
{
    uint64_t whole_bytes = pack_whole_bytes(budget->session->pack);
    uint64_t usable = usable_bytes(budget), next_bytes;

    if (whole_bytes >= usable) {
        end_recording(budget);
        return;
    }
    if (whole_bytes > step_bytes(budget, budget->file_steps) &&
        session_now_ns() - budget->stepped_ns >= STEP_PAUSE_NS) {
        unsigned steps_before = budget->file_steps;

        while (whole_bytes > step_bytes(budget, budget->file_steps))
            budget->file_steps++;
        raise_level(budget, SAMPLING_MAX_FILE, budget->file_steps - steps_before);
    }
    /* In the pause of a step we come by in time. */
    next_bytes = step_bytes(budget, budget->file_steps);
    if (next_bytes > usable || session_now_ns() - budget->stepped_ns < STEP_PAUSE_NS)
        next_bytes = usable;
    pack_watch_bytes(budget->session->pack, next_bytes);
}

/* Too much time is taken still, and not by blocks that need not be recorded. */
static void give_up(struct budget *budget, const struct overhead_sums *added)
{
    uint64_t own_us = added->own_ns / 1000 + 1, recording_us = added->recording_ns / 1000;
    uint64_t per_mille = recording_us * 1000 / own_us;
    char text[2 * TEXT_BYTES], how[TEXT_BYTES];

    budget->has_given_up = true;
    snprintf(text, sizeof(text),
             "--max-overhead %s: could not be kept: about %" PRIu64 ".%" PRIu64 "%% after %" PRIu64
             " ms, when %s",
             budget->options->max_overhead, per_mille / 10, per_mille % 10, recorded_ms(budget),
             how_many(budget, how));
    control_note_failure(budget->control, text);
}

static void look_at_time(struct budget *budget)
{
    uint64_t now_ns = session_now_ns(), most_ppm = budget->options->max_overhead_ppm, model_ns;
    struct overhead_sums sums, added;

    if (now_ns - budget->looked_ns < LOOK_NS)
        return;
    budget->looked_ns = now_ns;
    model_ns = model_thread_cpu_ns(budget->model);
    if (model_ns > budget->model_ns)
        budget->model_ns = model_ns;
    sums = overhead_look(&budget->overhead, budget->session, budget->model_ns, budget->level > 0);
    added = overhead_between(&budget->sums, &sums);
    if (added.own_ns < DECIDE_NS)
        return;
    budget->sums = sums;
    if (budget->is_settling) {
        budget->is_settling = false; /* half of what was added is of before the step */
        return;
    }
    sums.recording_ns -= sums.recording_ns < GRACE_NS ? sums.recording_ns : GRACE_NS;
    if (!overhead_exceeds(&sums, most_ppm) || !overhead_exceeds(&added, most_ppm))
        return;
    /* Where next to nothing is allocated a sample would cost the same, and say less. */
    if (budget->level < SAMPLE_LEVEL_MOST && overhead_is_of_blocks(&added))
        raise_level(budget, SAMPLING_MAX_OVERHEAD, 1);
    else if (!budget->has_given_up)
        give_up(budget, &added);
    budget->is_settling = true;
}

void budget_look(struct budget *budget)
{
    if (budget->control->state != POOL_RECORDING)
        return;
    if (budget->options->max_file_bytes > 0)
        look_at_size(budget);
    if (budget->options->max_overhead_ppm > 0)
        look_at_time(budget);
}

int budget_wait_ms(const struct budget *budget, int most_ms)
{
    bool is_paused =
        budget->stepped_ns != 0 && session_now_ns() - budget->stepped_ns < 2 * STEP_PAUSE_NS;
    int due_ms = is_paused ? PAUSE_MS : budget->options->max_overhead_ppm > 0 ? LOOK_MS : most_ms;

    return due_ms < most_ms ? due_ms : most_ms;
}

uint64_t budget_model_bytes(const struct budget *budget, const struct capture_writer *writer)
{
    uint64_t most_bytes = budget->options->max_file_bytes;
    uint64_t whole_bytes = capture_writer_whole_bytes(writer) + SUMMARY_BYTES;

    if (most_bytes == 0)
        return UINT64_MAX;
    return most_bytes > whole_bytes ? most_bytes - whole_bytes : 0;
}

void budget_judge(const struct budget *budget, const struct capture_writer *writer)
{
    uint64_t whole_bytes = capture_writer_whole_bytes(writer) + SUMMARY_BYTES;
    char text[2 * TEXT_BYTES];

    if (budget->options->max_file_bytes == 0 || whole_bytes <= budget->options->max_file_bytes)
        return;
    snprintf(text, sizeof(text),
             "--max-file %s: could not be kept: the capture has %" PRIu64 " bytes",
             budget->options->max_file, whole_bytes);
    control_note_failure(budget->control, text);
}

void budget_finish(struct budget *budget)
{
    overhead_finish(&budget->overhead);
}
