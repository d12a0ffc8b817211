/*
 * memtrack run: a thin parent, as `time` is. It starts the collector, then the program as its own
 * child, and ends as the program ended. The program has this process's terminal, process group,
 * descriptors and directory; of memtrack it sees two environment variables.
 */
#include "base/memory.h"
#include "commands.h"
#include "descriptors.h"
#include "exceed.h"
#include "exit_status.h"
#include "launch.h"
#include "library.h"
#include "memtrack/protocol.h"
#include "message.h"
#include "output_name.h"
#include "replaced.h"
#include "session.h"
#include "signals.h"
#include "supervise.h"
#include "target.h"
#include "words.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    COLLECTOR_LOOK_NS = 2000000,
    COLLECTOR_LOOKS = 2500, /* 5 s: its disk may hang */
};

#define BLOCK_MOST_BYTES  (UINT64_C(1) << 47) /* larger than any that there can be */
#define SAMPLE_MOST_BYTES (UINT64_C(1) << 30) /* a smallest block stands for so many */
#define LAST_LEAST_NS     UINT64_C(1000000000)
#define FILE_LEAST_BYTES  (UINT64_C(4) << 20) /* with what is on its way when it is noticed */
#define FILE_MOST_BYTES   (UINT64_C(1) << 50)

enum {
    OVERHEAD_LEAST_PPM = 1000,
    OVERHEAD_MOST_PPM = 1000000,
};

struct run {
    const struct option_values *values;
    struct target target;
    struct signals signals;
    struct launch launch;
    struct session session;
    struct replaced replaced;
    char *library;
    char *output; /* as the user names it */
    char *absolute_output;
    uint64_t min_size, sample_bytes, max_file_bytes, max_overhead_ppm;
    uint64_t delay_ns, duration_ns, last_ns;
    struct collect_rule rules[COLLECT_MOST_RULES];
    uint32_t rule_count;
};

/* MEMTRACK=0: the program alone, in this very process. Returns only when it cannot be started. */
static int run_untracked(const struct target *target)
{
    execvp(target->path, target->arguments);
    message_print("%s: %s", target->path, strerror(errno));
    return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static bool is_switched_off(void)
{
    const char *value = getenv("MEMTRACK");

    return value != NULL && strcmp(value, "0") == 0;
}

/* Name the output, and refuse or keep one that is there: before anything is started. */
static bool name_output(struct run *run, struct error *err)
{
    struct stat status;

    run->output = output_name_of_capture(run->values->values[OPTION_CAPTURE],
                                         run->target.shown_name, run->launch.pid);
    run->absolute_output = words_absolute_path(run->output);
    if (run->absolute_output == NULL) {
        error_set(err, "%s: the working directory is gone", run->output);
        return false;
    }
    if (strlen(run->absolute_output) >= POOL_PATH_BYTES) {
        error_set(err, "%s: the path is longer than %d bytes", run->output, POOL_PATH_BYTES - 1);
        return false;
    }
    if (stat(run->absolute_output, &status) != 0)
        return true; /* or unreachable: the collector says why */
    if (!S_ISREG(status.st_mode)) {
        error_set(err, "%s: is not a regular file: a capture needs one", run->output);
        return false;
    }
    if (run->values->is_set[OPTION_FORCE])
        return replaced_keep(run->absolute_output, &run->replaced, err);
    error_set(err, "%s: exists already: use -f to replace it", run->output);
    return false;
}

/* Without a program it ends when it sees that nobody needs it, and writes no more then. */
static void end_collector(struct run *run)
{
    struct timespec pause = {0, COLLECTOR_LOOK_NS};

    session_close(&run->session);
    for (unsigned i = 0; i < COLLECTOR_LOOKS; i++) {
        if (waitpid(run->session.collector, NULL, WNOHANG) != 0)
            break;
        nanosleep(&pause, NULL);
    }
}

static bool start_collector(struct run *run, struct error *err)
{
    struct session_request request = {
        .output = run->absolute_output,
        .may_overwrite = run->values->is_set[OPTION_FORCE],
        .pool_options = POOL_OPTION_PYTHON,
        .min_size = run->min_size,
        .is_aggregated = run->values->is_set[OPTION_AGGREGATE],
        .is_dormant = run->values->is_set[OPTION_DORMANT],
        .delay_ns = run->delay_ns,
        .duration_ns = run->duration_ns,
        .last_ns = run->last_ns,
        .sample_bytes = run->sample_bytes,
        .index = run->values->values[OPTION_INDEX],
        .max_file = run->values->values[OPTION_MAX_FILE],
        .max_overhead = run->values->values[OPTION_MAX_OVERHEAD],
        .exceed = run->values->exceed,
        .exceed_count = run->rule_count,
        .arguments = run->target.arguments,
    };

    for (uint32_t i = 0; i < run->rule_count; i++)
        request.has_commands |= run->rules[i].action == COLLECT_COMMAND;
    if (!run->values->is_set[OPTION_NO_FOLLOW])
        request.pool_options |= POOL_OPTION_FOLLOW;
    if (run->sample_bytes > 0)
        request.pool_options |= POOL_OPTION_FREES_ONLY_SAMPLED;
    if (run->values->is_set[OPTION_NATIVE])
        request.pool_options |= POOL_OPTION_NATIVE;
    request.has_no_symbols =
        run->values->is_set[OPTION_NO_SYMBOLS] || (request.pool_options & POOL_OPTION_NATIVE) == 0;
    if (run->values->is_set[OPTION_PYTHON_ALLOCATORS] || run->values->is_set[OPTION_PYMALLOC])
        request.pool_options |= POOL_OPTION_PYTHON_ALLOCATORS;
    if (!session_start(&request, &run->session, err))
        return false;
    if (!session_wait_ready(&run->session, run->launch.fd, err)) {
        end_collector(run);
        return false;
    }
    if (run->values->is_set[OPTION_VERBOSE])
        message_print("collector %ld writes %s", (long)run->session.collector,
                      run->absolute_output);
    return true;
}

/* Let the program begin. Returns EXIT_DONE, or the status to end with. */
static int start_program(struct run *run)
{
    char *variable = session_variable(&run->session, run->absolute_output);
    int failure;

    session_send(&run->session, "pid %ld", (long)run->launch.pid);
    failure = launch_go(&run->launch, variable);
    free(variable);
    if (failure == 0)
        return EXIT_DONE;
    message_print("%s: %s", run->target.path, strerror(failure));
    return failure == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/*
 * Hold nothing open that is the program's: a pipe it closes must be closed. stderr stays, for the
 * message at the end.
 */
static void let_go_of_descriptors(const struct run *run)
{
    int kept[2] = {run->signals.fd, run->session.fd};

    if (kept[0] > kept[1]) {
        kept[0] = run->session.fd;
        kept[1] = run->signals.fd;
    }
    descriptors_point_at_null(STDIN_FILENO);
    descriptors_point_at_null(STDOUT_FILENO);
    descriptors_close_others(kept, 2);
}

/* Say how the capture stands. */
static void report_end(const struct run *run, const struct supervise *supervise)
{
    bool is_quiet = run->values->is_set[OPTION_QUIET];
    const char *text = supervise->last.text;
    char *quoted = words_quote(run->output);

    for (unsigned i = 0; i < supervise->failure_count; i++)
        message_print("%s", supervise->failures[i]); /* quiet or not */
    switch (supervise->last.word) {
    case SESSION_FINISHED:
        if (text[0] != '\0')
            message_print("%s", text); /* why it is not whole: quiet or not */
        else if (!is_quiet)
            message_print("wrote %s; try: memtrack flamegraph %s", run->output, quoted);
        break;
    case SESSION_RUNNING:
        if (!is_quiet)
            message_print("%s %s still running and recorded; %s is complete when all have ended",
                          text, strcmp(text, "1") == 0 ? "process is" : "processes are",
                          run->output);
        break;
    case SESSION_NOTHING:
    case SESSION_READY:
    case SESSION_FAILED:
        message_print("not waiting for the collector, which is still writing %s", run->output);
        break;
    case SESSION_ERROR:
        message_print("%s: %s", run->output, text);
        break;
    case SESSION_CLOSED:
        if (supervise->collector_has_ended && WIFSIGNALED(supervise->collector_status))
            message_print("the collector was killed by signal %d: %s ends there",
                          WTERMSIG(supervise->collector_status), run->output);
        else
            message_print("the collector ended early: %s may lack the end", run->output);
        break;
    }
    free(quoted);
}

/* Return the exit code of the program, or end by the same signal. */
static int end_as(int status)
{
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    signals_end_self(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

static int supervise_run(struct run *run)
{
    struct supervise supervise = {
        .program = run->launch.pid,
        .session = &run->session,
        .signals = &run->signals,
    };

    let_go_of_descriptors(run);
    supervise_program(&supervise);
    supervise_collector(&supervise);
    report_end(run, &supervise);
    return end_as(supervise.status);
}

/* With all signals blocked from here on. */
static int run_tracked(struct run *run)
{
    struct error err;
    int status;

    if (!launch_fork(&run->target, run->library, &run->signals, &run->launch, &err)) {
        message_print("%s", err.text);
        return EXIT_NOT_EXECUTABLE;
    }
    if (!name_output(run, &err) || !start_collector(run, &err)) {
        message_print("%s", err.text);
        launch_give_up(&run->launch);
        replaced_restore(&run->replaced);
        return EXIT_OUTPUT;
    }
    status = start_program(run);
    if (status != EXIT_DONE) {
        end_collector(run);
        if (run->replaced.kept == NULL)
            unlink(run->absolute_output);
        replaced_restore(&run->replaced);
        return status;
    }
    replaced_let_go(&run->replaced);
    return supervise_run(run);
}

static void say_what_runs(const struct run *run)
{
    message_print("starts %s with %s preloaded", run->target.path, run->library);
    for (char *const *argument = run->target.arguments; *argument != NULL; argument++)
        message_print("  argument %s", *argument);
}

/* Two options that say different things about one. */
static bool check_together(const struct option_values *values, struct error *err)
{
    static const struct {
        enum option_id first, second;
    } pairs[] = {
        {OPTION_DORMANT, OPTION_DELAY},
        {OPTION_AGGREGATE, OPTION_INDEX},
        {OPTION_AGGREGATE, OPTION_MAX_FILE},
        {OPTION_AGGREGATE, OPTION_LAST},
        {OPTION_LAST, OPTION_INDEX},
        {OPTION_LAST, OPTION_SAMPLE_BYTES},
        {OPTION_LAST, OPTION_MAX_FILE},
        {OPTION_LAST, OPTION_MAX_OVERHEAD},
        {OPTION_SAMPLE_BYTES, OPTION_MAX_FILE},
        {OPTION_SAMPLE_BYTES, OPTION_MAX_OVERHEAD},
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (!values->is_set[pairs[i].first] || !values->is_set[pairs[i].second])
            continue;
        error_set(err, "--%s and --%s: use one of them", option_rows[pairs[i].first].name,
                  option_rows[pairs[i].second].name);
        return false;
    }
    return true;
}

static bool parse_last(const struct option_values *values, uint64_t *ret_ns, struct error *err)
{
    if (!options_time(values, OPTION_LAST, ret_ns, err))
        return false;
    if (*ret_ns == 0 || *ret_ns >= LAST_LEAST_NS)
        return true;
    error_set(err, "--last=%s: use a second or more (30s, 5m)", values->values[OPTION_LAST]);
    return false;
}

int command_run(enum command_id id, const struct option_values *values)
{
    struct run run = {.values = values, .session = {.fd = -1}};
    struct error err;
    int status;

    (void)id;
    if (!options_size(values, OPTION_MIN_SIZE, 1, BLOCK_MOST_BYTES, &run.min_size, &err) ||
        !options_size(values, OPTION_SAMPLE_BYTES, 1, SAMPLE_MOST_BYTES, &run.sample_bytes, &err) ||
        !options_size(values, OPTION_MAX_FILE, FILE_LEAST_BYTES, FILE_MOST_BYTES,
                      &run.max_file_bytes, &err) ||
        !options_percent(values, OPTION_MAX_OVERHEAD, OVERHEAD_LEAST_PPM, OVERHEAD_MOST_PPM,
                         &run.max_overhead_ppm, &err) ||
        !options_time(values, OPTION_DELAY, &run.delay_ns, &err) ||
        !options_time(values, OPTION_DURATION, &run.duration_ns, &err) ||
        !parse_last(values, &run.last_ns, &err) ||
        !exceed_parse(values, run.rules, &run.rule_count, &err) || !check_together(values, &err)) {
        message_print("%s", err.text);
        return EXIT_USAGE;
    }
    if (!target_resolve(values, &run.target, &status, &err)) {
        message_print("%s", err.text);
        return status;
    }
    if (is_switched_off())
        return run_untracked(&run.target);
    run.library = library_find(&err);
    if (run.library == NULL || !signals_take(&run.signals, &err)) {
        message_print("%s", err.text);
        status = EXIT_NOT_EXECUTABLE;
        goto out;
    }
    if (values->is_set[OPTION_VERBOSE])
        say_what_runs(&run);
    status = run_tracked(&run);
out:
    free(run.library);
    free(run.output);
    free(run.absolute_output);
    target_finish(&run.target);
    return status;
}
