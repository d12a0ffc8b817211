/*
 * The parts that text reports share, and small ones of both. Runs in the tools.
 */
#include "render/parts.h"

#include "memtrack/format.h"
#include "print/numbers.h"
#include "print/wrap.h"
#include "report/health.h"
#include "report/labels.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

enum {
    COMMAND_LEAST_COLUMNS = 16,
};

struct text_style parts_style(const struct render_options *options)
{
    return (struct text_style){
        .width_columns = options->width_columns,
        .is_ascii = options->is_ascii,
        .has_color = options->has_color,
    };
}

enum rows_sort parts_sort(const struct render_options *options)
{
    switch (options->sort) {
    case SORT_TOTAL:
        return ROWS_TOTAL;
    case SORT_OWN:
        return ROWS_OWN;
    case SORT_COUNT:
        return ROWS_COUNT;
    case SORT_NAME:
        return ROWS_NAME;
    }
    return ROWS_TOTAL;
}

struct paths *parts_paths(const struct render_input *input)
{
    const struct render_options *options = input->options;

    return paths_create(input->capture, input->frames,
                        (options->shows_runtime ? PATHS_SHOW_RUNTIME : 0u) |
                            (options->hides_native ? PATHS_HIDE_NATIVE : 0u));
}

size_t parts_row_limit(const struct render_options *options, size_t count)
{
    return options->rows > 0 && options->rows < count ? options->rows : count;
}

struct profile_cost parts_view_cost(const struct profile *profile, enum profile_view view)
{
    struct profile_cost sum = {.bytes = 0};

    for (uint32_t i = 0; i < profile->row_count; i++) {
        sum.bytes += profile->rows[i].costs[view].bytes;
        sum.allocations += profile->rows[i].costs[view].allocations;
    }
    return sum;
}

/* What the first line says behind the command. */
struct program_facts {
    char texts[4][64];
    unsigned count, columns;
};

static __attribute__((format(printf, 2, 3))) void add_fact(struct program_facts *facts,
                                                           const char *format, ...)
{
    char *text = facts->texts[facts->count++];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(facts->texts[0]), format, arguments);
    va_end(arguments);
    facts->columns += 2 + text_columns(text);
}

/* "train.py --epochs 3  pid 4242  CPython 3.13.0  38.0 s  10,515,210 allocations" */
static void write_program_line(const struct render_input *input, struct memory_pool *pool,
                               FILE *out)
{
    const struct capture *capture = input->capture;
    const struct capture_process *python = label_python_process(capture);
    const struct render_options *options = input->options;
    const char *command = label_short_command(pool, capture->session.arguments);
    struct program_facts facts = {.count = 0};
    unsigned room_columns = COMMAND_LEAST_COLUMNS;
    struct wrap_line line;

    if (capture->process_count > 0)
        add_fact(&facts, "pid %u", capture->processes[0].pid);
    if (python != NULL)
        add_fact(&facts, "CPython %.40s%s",
                 text_clean(pool, label_python_version(pool, python), true),
                 python->is_free_threaded ? " free-threaded" : "");
    add_fact(&facts, "%s", units_format_time(capture->ended_ns, 0).text);
    if (input->profile != NULL)
        add_fact(&facts, "%s allocation%s",
                 numbers_format_count(input->profile->totals.allocations).text,
                 numbers_plural(input->profile->totals.allocations));
    if (options->width_columns > facts.columns + COMMAND_LEAST_COLUMNS)
        room_columns = options->width_columns - facts.columns;
    command =
        command[0] != '\0' ? text_clean(pool, command, options->is_ascii) : "(unknown program)";
    command = text_shorten_end(pool, command, room_columns, options->is_ascii);
    wrap_begin(&line, out, options->width_columns, command, 2);
    for (unsigned i = 0; i < facts.count; i++)
        wrap_add(&line, "  ", "%s", facts.texts[i]);
    wrap_end(&line);
}

static void write_totals_line(const struct render_input *input, FILE *out)
{
    const struct profile_totals *totals = &input->profile->totals;
    struct wrap_line line;

    wrap_begin(&line, out, input->options->width_columns, "peak ", 5);
    wrap_add(&line, "", "heap %s at %s", units_format_size(totals->peak_bytes, 0).text,
             units_format_time(totals->peak_time_ns, 0).text);
    wrap_add(&line, "   ", "end %s", units_format_size(totals->leaked_bytes, 0).text);
    if (totals->peak_rss_bytes > 0)
        wrap_add(&line, "   ", "peak RSS %s", units_format_size(totals->peak_rss_bytes, 0).text);
    if (totals->reserved_peak_bytes > 0)
        wrap_add(&line, "   ", "reserved %s",
                 units_format_size(totals->reserved_peak_bytes, 0).text);
    wrap_end(&line);
}

uint32_t parts_filter_pid(const struct render_input *input)
{
    uint32_t index = capture_process_index(input->capture, input->options->process_number);

    return index < input->capture->process_count ? input->capture->processes[index].pid : 0;
}

/* An instant as a range's bound: "the start", "3.20 s", "the end". */
static struct units_text bound_text(const struct profile_bound *bound)
{
    static const struct units_text start = {"the start"}, end = {"the end"};

    if (bound->is_end)
        return end;
    return bound->time_ns == 0 && bound->mark == 0 ? start : units_format_time(bound->time_ns, 0);
}

const char *parts_window_text(struct memory_pool *pool, const struct profile *profile)
{
    const struct profile_window *window = &profile->window;
    struct units_text from = bound_text(&window->from), to = bound_text(&window->to);
    struct units_text at = units_format_time(window->instant_ns, 0);
    bool has_range = window->from.time_ns > 0 || window->from.mark != 0;
    char text[160];
    int length = 0;

    switch (window->kind) {
    case WINDOW_NONE:
        break;
    case WINDOW_ALLOCATED:
        length = snprintf(text, sizeof(text), "allocated from %s to %s", from.text, to.text);
        break;
    case WINDOW_TEMPORARY:
        length = snprintf(text, sizeof(text), "temporary allocations released from %s to %s",
                          from.text, to.text);
        break;
    case WINDOW_PEAK:
        length = snprintf(text, sizeof(text), "live at the highest moment from %s to %s, at %s",
                          from.text, to.text, at.text);
        break;
    case WINDOW_LIVE:
        if (has_range)
            length = snprintf(text, sizeof(text), "allocated from %s to %s and live then",
                              from.text, to.text);
        else
            length =
                snprintf(text, sizeof(text), "live at %s", window->to.is_end ? to.text : at.text);
        break;
    case WINDOW_LEAKS:
        length = snprintf(text, sizeof(text), "allocated from %s to %s and never released",
                          from.text, to.text);
        break;
    }
    if (window->resolution_ns > 0)
        length +=
            snprintf(text + length, sizeof(text) - (size_t)length, " (known: one instant in %s)",
                     units_format_time(window->resolution_ns, 0).text);
    return memory_pool_copy(pool, text, (size_t)length);
}

static void write_shown_line(const struct render_input *input, FILE *out)
{
    static const char *const texts[VIEW_WHOLE_COUNT] = {
        [VIEW_PEAK] = "live at the peak",
        [VIEW_LEAKS] = "live at the end",
        [VIEW_ALLOCATED] = "all that was allocated",
        [VIEW_TEMPORARY] = "temporary allocations",
    };
    const struct render_options *options = input->options;
    struct profile_cost cost = parts_view_cost(input->profile, options->view);
    struct memory_pool pool = {.newest = NULL};

    fprintf(out, "shown: %s%s", options->shows_pools ? "the program's own pools, " : "",
            options->view == VIEW_WINDOW ? parts_window_text(&pool, input->profile)
                                         : texts[options->view]);
    memory_pool_finish(&pool);
    if (options->process_number > 0)
        fprintf(out, ", process %u", parts_filter_pid(input));
    if (options->tid > 0)
        fprintf(out, ", thread %u", options->tid);
    fprintf(out, ": %s in %s allocation%s\n", units_format_size(cost.bytes, 0).text,
            numbers_format_count(cost.allocations).text, numbers_plural(cost.allocations));
}

/* "from 3.20 s on, to keep --max-file 64.0 MiB; at last" */
static void add_beginning(struct wrap_line *line, const struct capture *capture)
{
    const struct capture_sampling *first = &capture->samplings[0];

    wrap_add(line, "", "from %s on,", units_format_time(first->time_ns, 0).text);
    if (first->cause == SAMPLING_MAX_FILE)
        wrap_add(line, " ", "to keep --max-file %s;",
                 units_format_size(capture->session.max_file_bytes, 0).text);
    else
        wrap_add(line, " ", "to keep --max-overhead %s%%;",
                 numbers_format_share(capture->session.max_overhead_ppm, 1000000).text);
    wrap_add(line, " ", "at last");
}

/* What the capture does not have because nobody wanted it. */
static void write_partial_lines(const struct render_input *input, FILE *out)
{
    const struct capture_session *session = &input->capture->session;

    if (capture_is_estimate(input->capture)) {
        struct units_text mean = units_format_size(capture_largest_mean(input->capture), 0);
        struct wrap_line line;

        wrap_begin(&line, out, input->options->width_columns, "sampled: ", 9);
        if (input->capture->sampling_count > 0)
            add_beginning(&line, input->capture);
        wrap_add(&line, " ", "one block in %s,", mean.text);
        wrap_add(&line, " ", "those of %s and more all%s", mean.text,
                 input->profile != NULL ? ";" : "");
        if (input->profile != NULL)
            wrap_add(
                &line, " ", "shown: an estimate, %s%s (standard error)",
                input->options->is_ascii ? "+-" : "\302\261",
                units_format_size(input->profile->standard_errors[input->options->view], 0).text);
        wrap_end(&line);
    }
    if (session->min_size > 0)
        fprintf(out, "left out: blocks smaller than %s\n",
                units_format_size(session->min_size, 0).text);
}

void parts_write_header(const struct render_input *input, FILE *out)
{
    struct memory_pool pool = {.newest = NULL};
    struct health health = health_collect(input->capture, input->profile, &pool);
    const char *paint = input->options->has_color ? "\033[33m" : "";
    const char *plain = input->options->has_color ? "\033[0m" : "";

    write_program_line(input, &pool, out);
    if (input->profile != NULL) {
        write_totals_line(input, out);
        write_shown_line(input, out);
    }
    write_partial_lines(input, out);
    if (health.count == 0)
        fputs("warnings: none\n", out);
    for (size_t i = 0; i < health.count; i++) {
        struct wrap_line line;

        fputs(paint, out);
        wrap_begin(&line, out, input->options->width_columns, "warning: ", 9);
        wrap_words(&line, text_clean(&pool, health.warnings[i], input->options->is_ascii));
        fputs(plain, out);
        wrap_end(&line);
    }
    fputc('\n', out);
    memory_pool_finish(&pool);
}

void parts_write_frame_fields(struct json_writer *json, const struct frame *frame)
{
    static const char *const kinds[] = {
        [FRAME_PYTHON] = "python",
        [FRAME_NATIVE] = "native",
        [FRAME_INLINED] = "inlined",
        [FRAME_SPECIAL] = "special",
    };

    json_write_text(json, "function", frame->function);
    json_write_name(json, "file", frame->file);
    json_write_number_or_null(json, "line", frame->line);
    json_write_number_or_null(json, "column", frame->column);
    json_write_text(json, "kind", kinds[frame->kind]);
    json_write_name(json, "module", frame->module);
    json_write_number_or_null(json, "first_line", frame->first_line);
}

void parts_write_more(FILE *out, size_t count, size_t shown_count, const char *one,
                      const char *many)
{
    if (count > shown_count)
        fprintf(out, "  ... %s more %s: --rows 0 shows all\n",
                numbers_format_count(count - shown_count).text,
                count - shown_count == 1 ? one : many);
}

bool parts_end(FILE *out, struct error *err)
{
    errno = 0;
    if (fflush(out) == 0 && !ferror(out))
        return true;
    error_set(err, "the report could not be written: %s",
              errno != 0 ? strerror(errno) : "an earlier write failed");
    return false;
}
