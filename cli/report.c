/*
 * The reports: one command for all of them. It turns options into render_options, opens the capture,
 * builds the model when the report needs it, and has the report written.
 */
#include "capture/capture.h"
#include "commands.h"
#include "exit_status.h"
#include "message.h"
#include "output.h"
#include "output_name.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "print/units.h"
#include "profile/profile.h"
#include "render/render.h"
#include "symbol/frames.h"
#include "view.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TEXT_MAX_COLUMNS = 10000,
    LOCK_POLL_MS = 50,
    LOCK_WAIT_MS = 5000,
    USUAL_ROWS = 50,
    USUAL_LARGEST = 5,
    USUAL_LINES = 20,
};

#define USUAL_PAGE_BYTES     UINT64_C(2097152)
#define LEAST_PAGE_BYTES     UINT64_C(524288) /* most of it are the page's own parts */
#define MOST_PAGE_BYTES      UINT64_C(1073741824)
#define USUAL_TREE_THRESHOLD UINT64_C(10000) /* parts per million: 1 % */

struct report {
    const struct option_values *values;
    const struct render_report *row;
    const char *path;
    char *page_name; /* of a page whose name the user left to us; NULL otherwise */
    struct render_options options;
    struct view_choice choice;
    struct output output;
    struct capture *capture;
    struct profile *profile;
    struct capture_damage damage; /* found by the report itself */
};

static bool set_view(struct report *report, struct error *err)
{
    struct render_options *options = &report->options;

    if (!view_choose(report->values, &report->choice, err))
        return false;
    options->view = report->choice.view;
    options->temporary_threshold = 1;
    return options_number(report->values, OPTION_TEMPORARY, 0, UINT64_MAX,
                          &options->temporary_threshold, err);
}

static enum render_sort chosen_sort(const char *name)
{
    static const char *const names[] = {
        [SORT_TOTAL] = "total", [SORT_OWN] = "own", [SORT_COUNT] = "count", [SORT_NAME] = "name"};

    for (unsigned sort = 0; name != NULL && sort < sizeof(names) / sizeof(names[0]); sort++) {
        if (strcmp(name, names[sort]) == 0)
            return (enum render_sort)sort;
    }
    return SORT_TOTAL;
}

/* What is shown when the user does not say how much: texts are cut for people, JSON is whole. */
static uint64_t usual_rows(enum command_id id, bool is_json)
{
    if (id == COMMAND_STATS)
        return USUAL_LARGEST;
    if (id == COMMAND_TIMELINE)
        return USUAL_LINES;
    return !is_json && (id == COMMAND_SUMMARY || id == COMMAND_TABLE) ? USUAL_ROWS : 0;
}

static bool set_amounts(struct report *report, enum command_id id, struct error *err)
{
    const struct option_values *values = report->values;
    struct render_options *options = &report->options;
    const char *threshold = values->values[OPTION_THRESHOLD];
    uint64_t rows = usual_rows(id, values->is_set[OPTION_JSON]);
    uint64_t tid = 0;

    if (!options_number(values, OPTION_ROWS, 0, UINT32_MAX, &rows, err) ||
        !options_number(values, OPTION_THREAD, 1, UINT32_MAX, &tid, err))
        return false;
    options->max_page_bytes = USUAL_PAGE_BYTES;
    options->is_full = values->is_set[OPTION_FULL];
    if (!options_size(values, OPTION_MAX_SIZE, LEAST_PAGE_BYTES, MOST_PAGE_BYTES,
                      &options->max_page_bytes, err))
        return false;
    options->rows = (uint32_t)rows;
    options->tid = (uint32_t)tid;
    options->threshold_parts_per_million = values->is_set[OPTION_JSON] ? 0 : USUAL_TREE_THRESHOLD;
    return threshold == NULL ||
           units_parse_percent(threshold, &options->threshold_parts_per_million, err);
}

static enum terminal_color chosen_color(const char *name)
{
    if (name == NULL || strcmp(name, "auto") == 0)
        return COLOR_AUTO;
    return strcmp(name, "always") == 0 ? COLOR_ALWAYS : COLOR_NEVER;
}

static enum render_source chosen_source(const char *name)
{
    if (name == NULL || strcmp(name, "context") == 0)
        return SOURCE_CONTEXT;
    return strcmp(name, "lines") == 0 ? SOURCE_LINES : SOURCE_NONE;
}

/* Whether the text goes to standard output, not into a file. */
static bool is_to_standard_output(const struct report *report)
{
    const char *name = report->values->values[OPTION_OUTPUT];

    return name == NULL ? !report->row->is_page : strcmp(name, "-") == 0;
}

static bool set_looks(struct report *report, struct error *err)
{
    const struct option_values *values = report->values;
    struct render_options *options = &report->options;
    bool is_standard = is_to_standard_output(report);
    bool is_terminal = is_standard && isatty(STDOUT_FILENO);
    uint64_t width = is_standard ? terminal_columns(STDOUT_FILENO) : TERMINAL_FILE_COLUMNS;

    if (!options_number(values, OPTION_WIDTH, TERMINAL_LEAST_COLUMNS, TEXT_MAX_COLUMNS, &width,
                        err))
        return false;
    options->width_columns = (uint32_t)width;
    options->has_color =
        terminal_has_color(chosen_color(values->values[OPTION_COLOR]), is_terminal);
    options->is_ascii = values->is_set[OPTION_ASCII] || !terminal_is_utf8();
    options->is_json = values->is_set[OPTION_JSON];
    options->is_inverted = values->is_set[OPTION_INVERTED];
    options->shows_runtime = values->is_set[OPTION_SHOW_RUNTIME];
    options->hides_native = values->is_set[OPTION_NO_NATIVE];
    options->shows_pools = values->is_set[OPTION_POOLS];
    options->is_verifying = values->is_set[OPTION_VERIFY];
    options->source = chosen_source(values->values[OPTION_SOURCE]);
    return true;
}

/* All that can be wrong with the command line. */
static bool set_options(struct report *report, enum command_id id, struct error *err)
{
    const struct option_values *values = report->values;

    if (values->operand_count != 1) {
        error_set(err, "%s one capture: see memtrack %s --help",
                  values->operand_count == 0 ? "name" : "only", command_rows[id].name);
        return false;
    }
    report->path = values->operands[0];
    report->options.sort = chosen_sort(values->values[OPTION_SORT]);
    return set_view(report, err) && set_amounts(report, id, err) && set_looks(report, err);
}

/*
 * Whether a process of the capture lives: then there is nothing to wait for. One whose number means
 * nothing here, as behind a container's wall, counts as gone.
 */
static bool is_program_alive(const struct capture *capture)
{
    for (uint32_t i = 0; i < capture->process_count; i++) {
        const struct capture_process *process = &capture->processes[i];

        if (process->end == 0 && process->pid != 0 && process->pid <= INT_MAX &&
            (kill((pid_t)process->pid, 0) == 0 || errno == EPERM))
            return true;
    }
    return false;
}

/*
 * Wait until the collector, which holds the capture's lock, has finished it. Returns false when it
 * has not after some seconds.
 */
static bool wait_for_collector(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_finished = false;

    if (fd < 0)
        return true; /* opening it again says why */
    for (int waited_ms = 0; !is_finished && waited_ms < LOCK_WAIT_MS; waited_ms += LOCK_POLL_MS) {
        poll(NULL, 0, LOCK_POLL_MS);
        is_finished = flock(fd, LOCK_SH | LOCK_NB) == 0;
    }
    close(fd); /* and gives the lock back */
    return is_finished;
}

static FILE *progress_stream(const struct report *report)
{
    return !report->values->is_set[OPTION_QUIET] && isatty(STDERR_FILENO) ? stderr : NULL;
}

static struct capture *open_with_progress(const struct report *report, struct error *err)
{
    struct progress progress;
    struct capture *capture;

    progress_begin(&progress, "memtrack: opening the capture", progress_stream(report));
    capture = capture_open(report->path, progress_step, &progress, err);
    progress_end(&progress);
    return capture;
}

static bool open_capture(struct report *report, struct error *err)
{
    bool is_quiet = report->values->is_set[OPTION_QUIET];

    report->capture = open_with_progress(report, err);
    if (report->capture == NULL)
        return false;
    if (report->capture->state == CAPTURE_RUNNING && !is_program_alive(report->capture)) {
        if (!is_quiet)
            message_print("%s: still being written, waiting for up to %d s", report->path,
                          LOCK_WAIT_MS / 1000);
        if (wait_for_collector(report->path)) {
            capture_close(report->capture);
            report->capture = open_with_progress(report, err);
        }
    }
    if (report->capture != NULL && report->capture->state == CAPTURE_RUNNING && !is_quiet)
        message_print("%s: the program is still running: shown is what stands there by now",
                      report->path);
    return report->capture != NULL;
}

/* Find the process that the user names by its pid: of programs that followed each other, the last. */
static bool choose_process(struct report *report, struct error *err)
{
    const struct capture *capture = report->capture;
    uint64_t pid = 0;

    if (!options_number(report->values, OPTION_PROCESS, 1, UINT32_MAX, &pid, err))
        return false;
    if (pid == 0)
        return true;
    for (uint32_t i = 0; i < capture->process_count; i++) {
        if (capture->processes[i].pid == pid)
            report->options.process_number = capture->processes[i].number;
    }
    if (report->options.process_number != 0)
        return true;
    error_set(err, "--process=%" PRIu64 ": no such process in %s: see memtrack stats", pid,
              report->path);
    return false;
}

/* What a capture without events says to those who need them. */
static bool lack_events(const struct report *report, struct error *err)
{
    error_set(err,
              "%s: is aggregated and has no events, which this would read: record without "
              "--aggregate",
              report->path);
    return false;
}

/* Show the part of the time that is asked for. Returns false when the capture has no such time. */
static bool show_window(struct report *report, const struct profile_options *options,
                        struct error *err)
{
    struct profile_window window;

    if (!view_find(&report->choice, report->profile, &window, err))
        return false;
    window.has_sums = report->row->has_range_sums && report->choice.range != NULL;
    if (!report->row->needs_intervals)
        return profile_show_window(report->profile, options, &window, err);
    profile_show_samples(report->profile, &window, &report->options.first_sample,
                         &report->options.last_sample);
    return true;
}

static struct profile_options model_options(const struct report *report)
{
    return (struct profile_options){
        .has_intervals = report->row->needs_intervals || report->choice.kind == WINDOW_PEAK ||
                         report->capture->event_record_count == 0,
        .shows_pools = report->options.shows_pools,
        .temporary_threshold = report->options.temporary_threshold,
        .process_number = report->options.process_number,
        .tid = report->options.tid,
    };
}

/* Whether the report can be made of what the capture holds. Returns false with err. */
static bool check_content(const struct report *report, struct error *err)
{
    struct profile_options options = model_options(report);
    bool needs_events =
        report->row->needs_profile ? !profile_is_stored(&options) : report->row->needs_events;

    if (report->capture->is_aggregated && needs_events)
        return lack_events(report, err);
    if ((report->options.view != VIEW_TEMPORARY && report->choice.kind != WINDOW_TEMPORARY) ||
        !capture_is_estimate(report->capture))
        return true;
    error_set(err, "%s: is a sample, which does not tell what was temporary: use --allocated",
              report->path);
    return false;
}

/* Returns false when what is asked for is not in the capture. */
static bool build_profile(struct report *report, struct error *err)
{
    bool has_window = report->options.view == VIEW_WINDOW, is_there = true;
    struct progress progress;
    struct profile_options options = model_options(report);

    options.progress = progress_step;
    options.progress_user = &progress;
    progress_begin(&progress, "memtrack: reading the events", progress_stream(report));
    report->profile = profile_build(report->capture, &options);
    if (has_window)
        is_there = show_window(report, &options, err);
    progress_end(&progress);
    return is_there;
}

/* A report in the place of what it is of: a slip, and all would be lost. */
static bool is_the_capture(const struct report *report, const char *name)
{
    struct stat capture, other;

    return stat(report->path, &capture) == 0 && stat(name, &other) == 0 &&
           capture.st_dev == other.st_dev && capture.st_ino == other.st_ino;
}

static bool open_output(struct report *report, struct error *err)
{
    const char *name = report->values->values[OPTION_OUTPUT];

    if (is_to_standard_output(report)) {
        output_open_standard(!report->values->is_set[OPTION_NO_PAGER], &report->output);
        return true;
    }
    if (name == NULL) {
        report->page_name =
            output_name_of_report(report->path, report->row->name, report->row->suffix);
        name = report->page_name;
    }
    if (is_the_capture(report, name)) {
        error_set(err, "%s: is the capture that is read: give another name", name);
        return false;
    }
    return output_open_file(name, report->values->is_set[OPTION_FORCE], &report->output, err);
}

/* Not while the report itself is on its way to the same screen. */
static FILE *writing_progress_stream(const struct report *report)
{
    struct stat status;
    bool is_to_file = fstat(fileno(report->output.file), &status) == 0 && S_ISREG(status.st_mode);

    return is_to_file || report->row->reads_first ? progress_stream(report) : NULL;
}

static bool write_report(struct report *report, struct error *err)
{
    struct render_input input = {
        .capture = report->capture,
        .profile = report->profile,
        .frames = frames_create(report->capture),
        .options = &report->options,
        .ret_damage = &report->damage,
        .progress = writing_progress_stream(report),
    };
    bool is_written = report->row->run(&input, report->output.file, err);
    bool has_pager = report->output.pager != NULL;

    frames_destroy(input.frames);
    if (is_written)
        return output_finish(&report->output, err);
    output_discard(&report->output);
    return has_pager; /* who leaves a pager early has seen enough */
}

/* Say where the report is, and what it lacks. Returns the status to end with. */
static int say_result(const struct report *report)
{
    const char *name =
        report->page_name != NULL ? report->page_name : report->values->values[OPTION_OUTPUT];
    const struct capture_damage *damage = &report->capture->damage;

    if (!is_to_standard_output(report) && !report->values->is_set[OPTION_QUIET])
        message_print("wrote %s", name);
    if (!damage->is_damaged && report->profile != NULL)
        damage = &report->profile->damage;
    if (!damage->is_damaged)
        damage = &report->damage;
    if (damage->is_damaged) {
        message_print("%s", damage->error.text);
        return EXIT_INPUT;
    }
    if (report->capture->state == CAPTURE_TRUNCATED && !report->values->is_set[OPTION_QUIET])
        message_print("%s: the collector could not finish it: shown is what it wrote",
                      report->path);
    return EXIT_DONE;
}

static int make_report(struct report *report)
{
    struct error err;

    if (!open_output(report, &err)) {
        message_print("%s", err.text);
        return EXIT_OUTPUT;
    }
    if (!open_capture(report, &err)) {
        message_print("%s", err.text);
        output_discard(&report->output);
        return EXIT_INPUT;
    }
    if (!choose_process(report, &err) || !check_content(report, &err) ||
        (report->row->needs_profile && !build_profile(report, &err))) {
        message_print("%s", err.text);
        output_discard(&report->output);
        return EXIT_USAGE;
    }
    if (!write_report(report, &err)) {
        message_print("%s", err.text);
        return EXIT_OUTPUT;
    }
    return say_result(report);
}

int command_report(enum command_id id, const struct option_values *values)
{
    struct report report = {.values = values, .row = render_find(command_rows[id].name)};
    struct error err;
    int status;

    if (report.row == NULL) {
        message_print("%s: this build has no such report", command_rows[id].name);
        return EXIT_USAGE;
    }
    if (!set_options(&report, id, &err)) {
        message_print("%s", err.text);
        return EXIT_USAGE;
    }
    status = make_report(&report);
    profile_destroy(report.profile);
    capture_close(report.capture);
    free(report.page_name);
    return status;
}
