/*
 * The collector's main thread: set everything up, serve the door and the processes until the last
 * one is gone, end everything in order.
 *
 * What holds: the threads end in the order of the data's way (drain, clock, pack), so the file gets
 * everything; and whatever goes wrong, the programs go on: recording is turned off for them first.
 */
#include "collect/collect.h"

#include "base/memory.h"
#include "capture/writer.h"
#include "collect/aggregate.h"
#include "collect/aggregate_file.h"
#include "collect/budget.h"
#include "collect/clock.h"
#include "collect/control.h"
#include "collect/drain.h"
#include "collect/exceed.h"
#include "collect/last.h"
#include "collect/model_thread.h"
#include "collect/process_watch.h"
#include "collect/processes.h"
#include "collect/session.h"
#include "collect/snapshot.h"
#include "collect/socket.h"
#include "collect/starter.h"
#include "collect/summary.h"
#include "collect/symbols.h"
#include "memtrack/format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    UNDER_WAY_MS = 5,            /* while a process is looked for or about to end */
    LAST_BREATHS_NS = 100000000, /* for helpers that end when they see the program gone */
    POLL_MS = 1000,              /* nothing is due; each wake has a descriptor of its own */
    NEWCOMER_LOOKS = 100, /* under way; what stands in a slot then is nothing a target writes */
    OTHER_POLLS = 5,      /* starter, signals, our eventfd, a silent child, who cuts */
    SYMBOLS_MOST_BYTES = SECTION_MAX_RAW_BYTES / 2, /* of an aggregated capture */
    LAST_EVENTS_NS = 20000000, /* for records that are being written when recording is turned off */
};

/* The whole collector. */
struct collect {
    const struct collect_options *options;
    struct session session;
    struct capture_writer *writer; /* of an aggregated capture: what the aggregate reads */
    struct aggregate_file
        *file;                  /* until the aggregate has it; NULL: the capture holds the events */
    struct model_thread *model; /* NULL: likewise */
    struct last *last;          /* NULL: the capture holds all */
    struct drain *drain;
    struct clock *clock;
    struct socket_door door;
    struct starter starter;
    struct control control;
    struct exceed exceed;
    struct budget budget;
    struct process_watch silent; /* a child that has recorded nothing yet */
    int signal_fd;
    const char *reason;   /* why it ends early; NULL: it does not */
    struct error failure; /* of the first write that failed */
    unsigned newcomer_looks;
    bool has_failed, has_said_running, has_pool;
    uint64_t ended_ns; /* when the starter was seen to have ended; 0: it has not */
};

/*
 * The terminal's signals are the program's; SIGTERM is for us: it ends the capture properly. Of
 * writes that are refused we hear by their result.
 */
static bool prepare_signals(struct collect *collect, struct error *err)
{
    static const int blocked[] = {SIGINT,  SIGQUIT, SIGHUP,  SIGTSTP, SIGTTIN,
                                  SIGTTOU, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};
    sigset_t signals, handled;

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof(blocked) / sizeof(blocked[0]); i++)
        sigaddset(&signals, blocked[i]);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    sigemptyset(&handled);
    sigaddset(&handled, SIGTERM);
    collect->signal_fd = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
    if (collect->signal_fd < 0)
        error_set(err, "the collector cannot be set up: %s", strerror(errno));
    return collect->signal_fd >= 0;
}

/* A pidfd for each process: more than the usual limit. */
static void raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* else some ends are noticed later */
}

static bool write_session(struct collect *collect, const struct summary_clocks *clocks,
                          struct error *err)
{
    struct records records = {0};
    struct writer_section section = {.type = SECTION_RECORDS};
    bool is_written;

    summary_write_session(&records, collect->options, clocks);
    section.record_count = records.count;
    section.payload = records.bytes;
    section.payload_bytes = (uint32_t)records.size_bytes;
    is_written = capture_writer_section(collect->writer, &section, err);
    records_finish(&records);
    return is_written;
}

static struct capture_writer *open_writer(struct collect *collect, uint64_t realtime_ns,
                                          struct error *err)
{
    const struct collect_options *options = collect->options;

    if (!options->is_aggregated)
        return capture_writer_open(options->output, options->may_overwrite, options->uuid,
                                   realtime_ns, err);
    collect->file = aggregate_file_open(options->output, options->may_overwrite, options->uuid,
                                        realtime_ns, err);
    return collect->file != NULL ? capture_writer_open_passing(options->output, err) : NULL;
}

static bool open_capture(struct collect *collect, struct error *err)
{
    struct summary_clocks clocks = summary_read_clocks();

    collect->session.start_ns = clocks.monotonic_ns;
    control_init(&collect->control, &collect->session, collect->options->output,
                 collect->options->delay_ns, collect->options->duration_ns);
    collect->door.control = &collect->control;
    collect->writer = open_writer(collect, clocks.realtime_ns, err);
    return collect->writer != NULL && write_session(collect, &clocks, err);
}

/* Who reads along what is written. */
static bool start_model(struct collect *collect, struct error *err)
{
    struct session *session = &collect->session;
    struct aggregate_file *file = collect->file;

    if (file == NULL) {
        collect->model =
            model_thread_start(session->pack, collect->writer, collect->options->output,
                               collect->options->model_events);
        return true;
    }
    collect->file = NULL;
    session->aggregate =
        aggregate_start(session, collect->writer, file, collect->options->output, err);
    return session->aggregate != NULL;
}

static bool set_up(struct collect *collect, struct error *err)
{
    struct session *session = &collect->session;
    bool is_silent = collect->options->is_dormant || collect->options->delay_ns > 0;
    struct pool_settings settings = {
        .options = collect->options->pool_options,
        .min_size = collect->options->min_size,
        .sample_bytes = collect->options->sample_bytes,
        .uuid = collect->options->uuid,
        .token = collect->options->token,
        .capture_path = collect->options->output,
        .state = is_silent ? POOL_DORMANT : POOL_RECORDING,
        .ring_count = POOL_RING_COUNT,
    };

    session->starter = &collect->starter;
    if (!prepare_signals(collect, err))
        return false;
    raise_file_limit();
    session->main_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (session->main_fd < 0) {
        error_set(err, "the collector cannot be set up: %s", strerror(errno));
        return false;
    }
    /* The pool before the file: a machine where it cannot be made keeps what the file replaces. */
    if (!pool_init(&session->pool, &settings, err))
        return false;
    collect->has_pool = true;
    processes_init(session);
    if (!socket_open(&collect->door, collect->options->uuid, collect->options->token, err) ||
        !open_capture(collect, err))
        return false;
    session->pack = pack_start(collect->writer, session->main_fd, err);
    if (session->pack == NULL)
        return false;
    session->snapshots = snapshots_create(session, collect->options->output);
    if (!start_model(collect, err))
        return false;
    control_begin(&collect->control);
    collect->last = last_begin(collect->options->last_ns, session, &collect->control,
                               collect->writer, collect->options->output);
    exceed_init(&collect->exceed, collect->options, session, &collect->control, &collect->starter);
    budget_init(&collect->budget, collect->options, session, &collect->control, collect->model);
    collect->drain = drain_create(session);
    collect->clock = clock_start(session, err);
    return collect->clock != NULL && drain_start(collect->drain, err);
}

static void drain_eventfd(int fd)
{
    uint64_t count;

    while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
        ;
}

static void wait_for_work(struct collect *collect, int timeout_ms)
{
    struct pollfd polls[OTHER_POLLS + SOCKET_MAX_GUESTS + 1 + POOL_PROCESS_COUNT];
    struct session *session = &collect->session;
    size_t count = 0;

    polls[count++] = (struct pollfd){.fd = collect->starter.fd, .events = POLLIN};
    polls[count++] = (struct pollfd){.fd = collect->signal_fd, .events = POLLIN};
    polls[count++] = (struct pollfd){.fd = session->main_fd, .events = POLLIN};
    polls[count++] = (struct pollfd){.fd = collect->silent.pidfd, .events = POLLIN};
    polls[count++] = (struct pollfd){.fd = last_fd(collect->last), .events = POLLIN};
    count += socket_polls(&collect->door, polls + count);
    for (uint32_t i = 0; i < session_process_limit(session); i++) {
        enum process_phase phase = process_phase(&session->processes[i]);

        if ((phase == PHASE_WELCOME || phase == PHASE_LIVE) && session->processes[i].pidfd >= 0)
            polls[count++] = (struct pollfd){.fd = session->processes[i].pidfd, .events = POLLIN};
    }
    poll(polls, count, timeout_ms);
    drain_eventfd(session->main_fd);
}

/* End early: nobody records any more, and what was recorded is written. */
static void turn_off(struct collect *collect, const char *reason)
{
    collect->reason = reason;
    collect->door.is_over = true;
    pool_set_state(&collect->session.pool, POOL_ENDED);
}

static void look_for_trouble(struct collect *collect)
{
    struct signalfd_siginfo signal;

    if (collect->reason != NULL)
        return;
    if (read(collect->signal_fd, &signal, sizeof(signal)) == (ssize_t)sizeof(signal))
        turn_off(collect, "the collector was asked to end (SIGTERM)");
    if (aggregate_has_failed(collect->session.aggregate, &collect->failure)) {
        turn_off(collect, collect->failure.text);
        return;
    }
    if (!pack_has_failed(collect->session.pack, &collect->failure))
        return;
    collect->has_failed = true;
    turn_off(collect, collect->failure.text);
}

/* Has a child taken a slot that the drain has not looked at yet? It may have ended since. */
static bool has_newcomer(struct collect *collect)
{
    struct session *session = &collect->session;

    for (uint32_t i = 0; i < POOL_PROCESS_COUNT; i++) {
        uint32_t state =
            atomic_load_explicit(&session->pool.processes[i].state, memory_order_acquire);

        if ((state != PROCESS_LIVE && state != PROCESS_DETACHED) ||
            process_phase(&session->processes[i]) != PHASE_FREE)
            continue;
        if (++collect->newcomer_looks > NEWCOMER_LOOKS)
            return false;
        pool_ring_doorbell(&session->pool);
        return true;
    }
    collect->newcomer_looks = 0;
    return false;
}

/*
 * Is it over? The program has ended, and so has every process that came of it; those that have
 * forked may have left children that have recorded nothing yet.
 */
static bool is_over(struct collect *collect)
{
    struct session *session = &collect->session;
    uint64_t forks = atomic_load_explicit(&session->forks, memory_order_relaxed);
    uint64_t children = atomic_load_explicit(&session->fork_children, memory_order_relaxed);

    if (!collect->starter.has_ended || processes_left(session) > 0)
        return false;
    if ((forks > children || session->was_silent) &&
        (process_watch_is_alive(&collect->silent) ||
         process_watch_begin(&collect->silent, processes_find_silent(session))))
        return false;
    /*
     * Last: who was silent, and is not there any more, may have taken a slot before it ended; and
     * the drain may have found it since we looked.
     */
    return !has_newcomer(collect) && processes_left(session) == 0;
}

/*
 * The program has ended: say how many of its descendants live on, unless they follow it at once.
 * Returns true when another look is due.
 */
static bool say_running(struct collect *collect)
{
    uint32_t count = processes_alive(&collect->session);

    count += process_watch_is_alive(&collect->silent);
    if (!collect->starter.has_ended || collect->has_said_running || count == 0)
        return false;
    if (collect->ended_ns == 0)
        collect->ended_ns = session_now_ns();
    if (session_now_ns() - collect->ended_ns < LAST_BREATHS_NS)
        return true;
    collect->has_said_running = true;
    starter_say(&collect->starter, "running %" PRIu32, count);
    return false;
}

static void serve(struct collect *collect)
{
    for (;;) {
        bool is_under_way;

        starter_listen(&collect->starter);
        socket_serve(&collect->door, &collect->session);
        socket_answer(&collect->door);
        control_hear_programs(&collect->control);
        exceed_look(&collect->exceed);
        budget_look(&collect->budget);
        last_look(collect->last);
        is_under_way = processes_look(&collect->session);
        look_for_trouble(collect);
        if (collect->reason != NULL && !collect->has_failed)
            return;
        if (control_is_over(&collect->control) || is_over(collect))
            return;
        is_under_way |= say_running(collect);
        is_under_way |= collect->newcomer_looks > 0 && collect->newcomer_looks <= NEWCOMER_LOOKS;
        wait_for_work(collect,
                      budget_wait_ms(&collect->budget,
                                     control_wait_ms(&collect->control,
                                                     is_under_way ? UNDER_WAY_MS : POLL_MS)));
    }
}

/* A program that we were told of and that never came: a static one, or one that refused us. */
static void note_untracked(struct collect *collect)
{
    struct pool_header *header = collect->session.pool.header;
    struct records records = {0};

    if (collect->starter.program == 0 || atomic_load(&header->next_process) != 0)
        return;
    records_begin(&records, RECORD_PROCESS);
    records_field_number(&records, PROCESS_NUMBER, 1);
    records_field_number(&records, PROCESS_PID, collect->starter.program);
    records_field_number(&records, PROCESS_TRACKED, 0);
    for (uint32_t i = 0; i < collect->options->argument_count; i++)
        records_field_text(&records, PROCESS_ARGUMENT, collect->options->arguments[i],
                           strlen(collect->options->arguments[i]));
    records_end(&records);
    pack_put_records(collect->session.pack, records.bytes, records.size_bytes, records.count);
    records_finish(&records);
}

/* ended_ns: since the session's start. */
static void make_summary(struct collect *collect, uint64_t raw_bytes, uint64_t ended_ns,
                         struct records *records)
{
    struct session *session = &collect->session;
    uint64_t model_cpu_ns = session->aggregate != NULL ? aggregate_cpu_ns(session->aggregate)
                                                       : model_thread_cpu_ns(collect->model);

    summary_write(records, &collect->drain->sink.counts, raw_bytes, ended_ns,
                  &(struct summary_end){.reason = collect->reason,
                                        .model_cpu_ns = model_cpu_ns,
                                        .failures = collect->control.failures,
                                        .failure_count = collect->control.failure_count});
}

/* Names are left out where --max-file leaves no room for them: reports look for them again. */
static bool write_symbols(void *user, const struct writer_section *section, struct error *err)
{
    struct collect *collect = user;

    return section->payload_bytes <= budget_model_bytes(&collect->budget, collect->writer) &&
           capture_writer_section(collect->writer, section, err);
}

/* The end of an aggregated capture is one section. */
static bool append_symbols(void *user, const struct writer_section *section, struct error *err)
{
    struct records *records = user;

    (void)err;
    if (records->size_bytes + section->payload_bytes > SYMBOLS_MOST_BYTES)
        return false;
    records_append(records, section->payload, section->payload_bytes, section->record_count);
    return true;
}

static void store_symbols(struct collect *collect, uint64_t ended_ns, stored_put *put, void *user)
{
    uint64_t now_ns = session_now_ns() - collect->session.start_ns;
    struct timespec now;

    if (collect->has_failed || collect->options->has_no_symbols)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    symbols_store(&collect->drain->sink,
                  (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec - now_ns,
                  ended_ns, put, user);
}

/* What stands behind all that was recorded. Returns false with err when the capture is not clean. */
static bool write_end(struct collect *collect, uint64_t raw_bytes, struct error *err)
{
    struct records records = {0};
    struct writer_section section = {.type = SECTION_RECORDS, .record_count = 1};
    uint64_t ended_ns = session_now_ns() - collect->session.start_ns;
    bool is_clean;

    store_symbols(collect, ended_ns, write_symbols, collect);
    if (!collect->has_failed)
        model_thread_catch_up(collect->model, collect->writer, collect->drain->sink.counts.events,
                              ended_ns);
    budget_judge(&collect->budget, collect->writer);
    make_summary(collect, raw_bytes, ended_ns, &records);
    section.payload = records.bytes;
    section.payload_bytes = (uint32_t)records.size_bytes;
    /* A failure is kept by the writer, and told when it is closed. */
    (void)capture_writer_section(collect->writer, &section, NULL);
    records_finish(&records);
    if (!collect->has_failed)
        model_thread_store(collect->model, collect->writer,
                           budget_model_bytes(&collect->budget, collect->writer));
    is_clean = capture_writer_close(collect->writer, err);
    collect->writer = NULL;
    return is_clean;
}

/* Likewise, of an aggregated capture. */
static bool store_end(struct collect *collect, struct error *err)
{
    struct records records = {0};
    uint64_t ended_ns = session_now_ns() - collect->session.start_ns;
    bool is_clean;

    store_symbols(collect, ended_ns, append_symbols, &records);
    make_summary(collect, 0, ended_ns, &records);
    is_clean = aggregate_finish(collect->session.aggregate, &records, err);
    records_finish(&records);
    return is_clean;
}

/* End the threads in the order of the data's way, and the file. */
static bool finish(struct collect *collect, struct error *err)
{
    struct session *session = &collect->session;
    struct timespec pause = {0, LAST_EVENTS_NS};
    uint64_t raw_bytes;

    collect->door.is_over = true;
    control_hear_programs(&collect->control); /* what they have said last */
    pool_set_state(&session->pool, POOL_ENDED);
    if (processes_left(session) > 0)
        nanosleep(&pause, NULL);
    note_untracked(collect);
    drain_stop(collect->drain);
    clock_stop(collect->clock);
    collect->clock = NULL;
    last_stop(collect->last);
    model_thread_stop(collect->model);
    aggregate_stop(session->aggregate);
    raw_bytes = pack_stop(session->pack);
    session->pack = NULL;
    if (session->aggregate != NULL)
        aggregate_complete(session->aggregate);
    snapshots_end(session->snapshots);
    socket_answer(&collect->door);
    exceed_finish(&collect->exceed);
    return session->aggregate != NULL ? store_end(collect, err)
                                      : write_end(collect, raw_bytes, err);
}

static void tear_down(struct collect *collect)
{
    clock_stop(collect->clock);
    last_stop(collect->last);
    model_thread_stop(collect->model);
    aggregate_stop(collect->session.aggregate);
    pack_stop(collect->session.pack);
    last_free(collect->last);
    snapshots_end(collect->session.snapshots);
    snapshots_destroy(collect->session.snapshots);
    model_thread_free(collect->model);
    drain_destroy(collect->drain);
    if (collect->writer != NULL && capture_writer_is_passing(collect->writer))
        capture_writer_abandon(collect->writer);
    else if (collect->writer != NULL)
        capture_writer_close(collect->writer, NULL);
    aggregate_free(collect->session.aggregate);
    aggregate_file_close(collect->file);
    socket_close(&collect->door);
    exceed_finish(&collect->exceed);
    budget_finish(&collect->budget);
    control_finish(&collect->control);
    process_watch_end(&collect->silent);
    processes_finish(&collect->session);
    if (collect->has_pool)
        pool_finish(&collect->session.pool);
    if (collect->session.main_fd >= 0)
        close(collect->session.main_fd);
    if (collect->signal_fd >= 0)
        close(collect->signal_fd);
}

/*
 * Nobody waits for the end of a pipe that we hold open, and what is sent to the program's job is not
 * for us. A group of our own is enough: a session of our own would be scheduled as a whole (Linux,
 * kernel/sched/autogroup.c), and on busy processors such a group, when it sleeps as much as we do, was
 * seen to be kept from running for 98 ms. The programs' rings are full by then, and they wait for us.
 */
static void leave_terminal(void)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = STDIN_FILENO; null_fd >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(null_fd, fd);
    if (null_fd > STDERR_FILENO)
        close(null_fd);
    setpgid(0, 0);
}

bool collect_run(const struct collect_options *options, struct error *err)
{
    struct collect collect = {
        .options = options,
        .session = {.main_fd = -1},
        .door = {.fd = -1},
        .starter = {.fd = options->starter_fd, .has_ended = false},
        .silent = {.pidfd = -1},
        .signal_fd = -1,
    };
    struct error error = {""};
    bool is_clean = false;

    if (set_up(&collect, &error)) {
        leave_terminal();
        starter_say(&collect.starter, "ready");
        serve(&collect);
        is_clean = finish(&collect, &error);
        if (is_clean && collect.reason != NULL)
            error_set(&error, "%s: ends early: %s", options->output, collect.reason);
        for (uint32_t i = 0; i < collect.control.failure_count; i++)
            starter_say(&collect.starter, "failed %s", collect.control.failures[i]);
        starter_say(&collect.starter, "finished %s", error.text);
    } else {
        starter_say(&collect.starter, "error %s", error.text);
    }
    tear_down(&collect);
    if (collect.starter.fd >= 0)
        close(collect.starter.fd);
    if (!is_clean && err != NULL)
        *err = error;
    return is_clean;
}
