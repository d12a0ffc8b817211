/*
 * `memtrack timeline`: the heap over time as a picture of characters, what the program said, how fast
 * it grows, what each process had. Runs in the tools.
 *
 * A column of the picture stands for a part of the time and shows the highest moment in it, so the peak
 * is seen however many samples share a column.
 */
#include "print/numbers.h"
#include "print/plot.h"
#include "print/text.h"
#include "render/parts.h"
#include "render/stats.h"
#include "report/growth.h"
#include "report/labels.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LABEL_COLUMNS = 10, /* left of the picture */
    LEAST_COLUMNS = 20,
    MOST_COLUMNS = 2000,
    HEAP_ROWS = 10,
    TICK_COLUMNS = 14, /* between two times on the axis, at least */
    MARK_LINES = 4,
};

#define SECOND_NS UINT64_C(1000000000)

struct view {
    const struct render_input *input;
    FILE *out;
    struct memory_pool pool;
    uint64_t end_ns; /* of the axis; never 0 */
    size_t columns;
    uint64_t *values; /* of the columns, for one curve after the other */
};

/* Return the sum that a sample stands for: of the heap, or RSS. */
typedef uint64_t sample_value(const struct view *view, uint32_t sample, const uint64_t *bytes);

static uint64_t heap_of(const struct view *view, uint32_t sample, const uint64_t *bytes)
{
    (void)bytes;
    return view->input->profile->samples[sample].heap_bytes;
}

static uint64_t rss_of(const struct view *view, uint32_t sample, const uint64_t *bytes)
{
    (void)bytes;
    return view->input->profile->samples[sample].rss_bytes;
}

static uint64_t process_of(const struct view *view, uint32_t sample, const uint64_t *bytes)
{
    (void)view;
    return bytes[sample];
}

static size_t column_of(const struct view *view, uint64_t time_ns)
{
    size_t column = (size_t)((double)time_ns / (double)view->end_ns * (double)view->columns);

    return column < view->columns ? column : view->columns - 1;
}

/* Fill the columns: the most of the samples in each, or what the sample before it says. */
static uint64_t fill_columns(struct view *view, sample_value *value, const uint64_t *bytes)
{
    const struct profile *profile = view->input->profile;
    uint64_t most = 0, last = 0;
    uint32_t sample = 0;

    for (size_t column = 0; column < view->columns; column++) {
        bool has_sample = false;

        view->values[column] = last;
        for (; sample < profile->sample_count &&
               column_of(view, profile->samples[sample].time_ns) == column;
             sample++) {
            last = value(view, sample, bytes);
            if (!has_sample || last > view->values[column])
                view->values[column] = last;
            has_sample = true;
        }
        if (view->values[column] > most)
            most = view->values[column];
    }
    return most;
}

static void write_label(const struct view *view, const char *label)
{
    fprintf(view->out, "%*s |", LABEL_COLUMNS, label);
}

/* Times are round: 1, 2, 5, 10, ... of a unit, or minutes that people count in. */
static uint64_t tick_step(uint64_t end_ns, uint64_t most_ticks)
{
    static const uint64_t long_steps[] = {10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200};

    for (uint64_t power = 1; power <= 10 * SECOND_NS; power *= 10) {
        for (uint64_t factor = 1; factor <= 5; factor += 1 + 2 * (factor == 2)) {
            if (power * factor <= 5 * SECOND_NS && end_ns / (power * factor) <= most_ticks)
                return power * factor;
        }
    }
    for (size_t i = 0; i < sizeof(long_steps) / sizeof(long_steps[0]); i++) {
        if (end_ns / (long_steps[i] * SECOND_NS) <= most_ticks)
            return long_steps[i] * SECOND_NS;
    }
    return end_ns / most_ticks + 1;
}

/* A line of so many columns to write words into. Returns memory of the pool's, spaces all of it. */
static char *blank_line(struct view *view)
{
    char *line = memory_pool_allocate(&view->pool, view->columns + 1);

    memset(line, ' ', view->columns);
    line[view->columns] = '\0';
    return line;
}

static void write_line(const struct view *view, const char *label, char *line)
{
    size_t length = strlen(line);

    while (length > 0 && line[length - 1] == ' ')
        length--;
    line[length] = '\0';
    fprintf(view->out, "%*s  %s\n", LABEL_COLUMNS, label, line);
}

static void write_axis(struct view *view)
{
    uint64_t step = tick_step(view->end_ns, view->columns / TICK_COLUMNS);
    char *line = blank_line(view);

    for (uint64_t time = 0; time <= view->end_ns; time += step) {
        static const struct units_text zero = {"0"};
        struct units_text text = time > 0 ? units_format_time(time, 0) : zero;
        size_t column = column_of(view, time), length = strlen(text.text);

        if (column + length <= view->columns)
            memcpy(line + column, text.text, length);
    }
    write_line(view, "", line);
}

static void write_heap(struct view *view)
{
    struct plot plot = {.values = view->values,
                        .count = view->columns,
                        .most = fill_columns(view, heap_of, NULL),
                        .rows = HEAP_ROWS,
                        .is_ascii = view->input->options->is_ascii};

    if (plot.most == 0) {
        fputs("nothing was allocated\n", view->out);
        return;
    }
    for (unsigned row = HEAP_ROWS; row-- > 0;) {
        bool is_half = row == HEAP_ROWS / 2 - 1, is_top = row == HEAP_ROWS - 1;
        uint64_t label = is_top ? plot.most : plot.most / 2;

        write_label(view, is_top || is_half ? units_format_size(label, 0).text : "");
        fprintf(view->out, "%s\n", plot_row(&view->pool, &plot, row));
    }
    write_axis(view);
}

/* A curve of one line, each in its own scale. */
static void write_curve(struct view *view, const char *label, sample_value *value,
                        const uint64_t *bytes)
{
    struct plot plot = {.values = view->values,
                        .count = view->columns,
                        .most = fill_columns(view, value, bytes),
                        .rows = 1,
                        .is_ascii = view->input->options->is_ascii};

    if (plot.most == 0)
        return;
    write_label(view, label);
    fprintf(view->out, "%s\n", plot_row(&view->pool, &plot, 0));
}

static const char *speed_text(struct view *view, int64_t bytes)
{
    char *text = memory_pool_allocate(&view->pool, UNITS_MAX_COLUMNS + 8);
    uint64_t size = bytes < 0 ? (uint64_t)-bytes : (uint64_t)bytes;

    snprintf(text, UNITS_MAX_COLUMNS + 8, "%s%s/s", bytes < 0 ? "-" : "+",
             units_format_size(size, 0).text);
    return text;
}

static void write_growth(struct view *view)
{
    const struct profile *profile = view->input->profile;

    if (profile->totals.peak_bytes == 0)
        return;
    fprintf(view->out, "\ngrowth of the heap: %s over the run, %s in its second half\n",
            speed_text(view, growth_per_second(profile, 0)),
            speed_text(view, growth_per_second(profile, profile->end_ns / 2)));
}

/* Put a word into a line where it has room at a column or left of it. */
static bool put_word(char *line, size_t columns, size_t column, const char *word)
{
    size_t length = strlen(word), begin = column;

    if (length > columns)
        return false;
    if (begin + length > columns)
        begin = columns - length;
    for (size_t i = begin > 0 ? begin - 1 : 0; i < begin + length && i < columns; i++) {
        if (line[i] != ' ')
            return false;
    }
    memcpy(line + begin, word, length);
    return true;
}

/* Marks below the picture, each where it was; those without room on so many lines are counted. */
static void write_marks(struct view *view)
{
    const struct profile *profile = view->input->profile;
    char *lines[MARK_LINES];
    uint32_t left_out = 0;

    if (profile->mark_count == 0)
        return;
    for (unsigned i = 0; i < MARK_LINES; i++)
        lines[i] = blank_line(view);
    for (uint32_t i = 0; i < profile->mark_count; i++) {
        const struct profile_mark *mark = &profile->marks[i];
        /* A column a byte: what is wider has its place in stats. */
        const char *name = text_clean(&view->pool, mark->name, true);
        char *word = memory_pool_allocate(&view->pool, strlen(name) + 2);
        unsigned line = 0;

        snprintf(word, strlen(name) + 2, "^%s", name);
        while (line < MARK_LINES &&
               !put_word(lines[line], view->columns, column_of(view, mark->time_ns), word))
            line++;
        left_out += line == MARK_LINES;
    }
    for (unsigned i = 0; i < MARK_LINES && lines[i][strspn(lines[i], " ")] != '\0'; i++)
        write_line(view, i == 0 ? "marks" : "", lines[i]);
    if (left_out > 0)
        fprintf(view->out, "%*s  %" PRIu32 " more mark%s: memtrack stats\n", LABEL_COLUMNS, "",
                left_out, numbers_plural(left_out));
}

/* "[training====]": a phase where it was, its name in it or beside it. */
static void write_phase(struct view *view, const struct profile_phase *phase)
{
    const char *name = text_clean(&view->pool, phase->name, true);
    size_t from = column_of(view, phase->from_ns), to = column_of(view, phase->to_ns);
    size_t length = strlen(name);
    char *line = blank_line(view);

    memset(line + from, '=', to - from + 1);
    line[from] = from < to ? '[' : '|';
    line[to] = from < to ? ']' : '|';
    if (length + 2 <= to - from)
        memcpy(line + from + 1, name, length);
    else if (to + 2 + length <= view->columns)
        memcpy(line + to + 2, name, length);
    else if (length + 1 <= from)
        memcpy(line + from - length - 1, name, length);
    write_line(view, units_format_size(phase->peak_bytes, 0).text, line);
}

static void write_phases(struct view *view)
{
    const struct profile *profile = view->input->profile;
    size_t limit = parts_row_limit(view->input->options, profile->phase_count);

    if (profile->phase_count == 0)
        return;
    fputs("\nphases, with the highest heap in each\n", view->out);
    for (size_t i = 0; i < limit; i++)
        write_phase(view, &profile->phases[i]);
    parts_write_more(view->out, profile->phase_count, limit, "phase", "phases");
}

struct band {
    uint32_t process;
    uint64_t peak_bytes;
};

static int compare_bands(const void *a, const void *b)
{
    const struct band *left = a, *right = b;

    if (left->peak_bytes != right->peak_bytes)
        return left->peak_bytes > right->peak_bytes ? -1 : 1;
    return left->process < right->process ? -1 : 1;
}

/* What each process had, those with the most first. */
static void write_processes(struct view *view)
{
    const struct capture *capture = view->input->capture;
    const struct profile *profile = view->input->profile;
    size_t count = capture->process_count, limit = parts_row_limit(view->input->options, count);
    struct band *bands = memory_allocate(count + 1, sizeof(bands[0]));
    uint64_t *bytes = growth_of_processes(profile);
    struct text_style style = parts_style(view->input->options);

    for (uint32_t i = 0; i < count; i++)
        bands[i] = (struct band){i, profile->processes[i].peak_bytes};
    qsort(bands, count, sizeof(bands[0]), compare_bands);
    if (count > 1)
        fputs("\nprocesses, each in its own scale\n", view->out);
    for (size_t i = 0; count > 1 && i < limit; i++) {
        const struct capture_process *process = &capture->processes[bands[i].process];
        const char *command =
            process->argument_count > 0 ? label_command(&view->pool, process->arguments) : "";

        write_curve(view, units_format_size(bands[i].peak_bytes, 0).text, process_of,
                    bytes + (size_t)bands[i].process * profile->sample_count);
        command = text_clean(&view->pool, command, style.is_ascii);
        fprintf(view->out, "%*s  %" PRIu32 "  %s\n", LABEL_COLUMNS, "", process->pid,
                text_shorten_end(&view->pool, command,
                                 view->columns > 24 ? (unsigned)view->columns - 12 : 12,
                                 style.is_ascii));
    }
    if (count > 1)
        parts_write_more(view->out, count, limit, "process", "processes");
    free(bytes);
    free(bands);
}

static void write_text(const struct render_input *input, FILE *out)
{
    const struct profile *profile = input->profile;
    struct view view = {.input = input, .out = out, .end_ns = profile->end_ns};
    uint32_t width = input->options->width_columns;
    uint64_t last_ns =
        profile->sample_count > 0 ? profile->samples[profile->sample_count - 1].time_ns : 0;

    view.end_ns = last_ns > view.end_ns ? last_ns : view.end_ns;
    view.end_ns += view.end_ns == 0;
    view.columns = width > LABEL_COLUMNS + 2 + LEAST_COLUMNS ? width - LABEL_COLUMNS - 2
                                                             : (size_t)LEAST_COLUMNS;
    if (view.columns > MOST_COLUMNS)
        view.columns = MOST_COLUMNS;
    view.values = memory_allocate(view.columns, sizeof(view.values[0]));
    parts_write_header(input, out);
    write_heap(&view);
    write_curve(&view, "RSS", rss_of, NULL);
    write_marks(&view);
    write_growth(&view);
    write_phases(&view);
    write_processes(&view);
    free(view.values);
    memory_pool_finish(&view.pool);
}

static void write_samples(struct json_writer *json, const struct profile *profile)
{
    json_write_open_rows(json, "samples");
    for (uint32_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];

        json_write_open_object(json, NULL);
        json_write_number(json, "time_ns", sample->time_ns);
        json_write_number(json, "heap_bytes", sample->heap_bytes);
        json_write_number(json, "heap_blocks", sample->heap_blocks);
        json_write_number_or_null(json, "rss_bytes", sample->rss_bytes);
        json_write_number(json, "failed_allocations", sample->failed_allocations);
        json_write_number_or_null(json, "allocations", sample->allocations);
        json_write_close(json);
    }
    json_write_close(json);
}

/* The live bytes of each process, one number a sample. */
static void write_bands(struct json_writer *json, const struct profile *profile)
{
    const struct capture *capture = profile->capture;
    uint64_t *bytes = growth_of_processes(profile);

    json_write_open_rows(json, "processes");
    for (uint32_t i = 0; i < capture->process_count; i++) {
        json_write_open_object(json, NULL);
        json_write_number(json, "pid", capture->processes[i].pid);
        json_write_number(json, "peak_bytes", profile->processes[i].peak_bytes);
        json_write_open_array(json, "heap_bytes");
        for (uint32_t sample = 0; sample < profile->sample_count; sample++)
            json_write_number(json, NULL, bytes[(size_t)i * profile->sample_count + sample]);
        json_write_close(json);
        json_write_close(json);
    }
    json_write_close(json);
    free(bytes);
}

static void write_json(const struct render_input *input, FILE *out)
{
    const struct profile *profile = input->profile;
    struct json_writer json;

    json_write_init(&json, out);
    parts_open_json(&json, input, "timeline");
    json_write_signed(&json, "growth_bytes_per_second", growth_per_second(profile, 0));
    json_write_signed(&json, "late_growth_bytes_per_second",
                      growth_per_second(profile, profile->end_ns / 2));
    write_samples(&json, profile);
    write_bands(&json, profile);
    stats_write_words_json(&json, profile);
    json_write_close(&json);
    json_write_finish(&json);
}

bool render_timeline(const struct render_input *input, FILE *out, struct error *err)
{
    if (input->options->is_json)
        write_json(input, out);
    else
        write_text(input, out);
    return parts_end(out, err);
}
