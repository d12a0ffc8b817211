/*
 * The collector as a process: its door, its starter, and the ends of those it collects from.
 *
 * The targets are processes of this test that do by hand what the library does.
 */
#include "capture/capture.h"
#include "collect/collect.h"
#include "hand_target.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

static char path[] = "/tmp/test_collect_XXXXXX";
static char argument[] = "prog";
static char *const arguments[] = {argument, NULL};
static struct collect_options options = {.directory = "/"};
static pid_t collector;
static int starter_fd;

static struct capture *capture; /* the one that a test has opened */

/* At exit. */
static void clean_up(void)
{
    capture_close(capture);
    unlink(path);
}

static void open_capture(void)
{
    capture = capture_open(path, NULL, NULL, NULL);
    CHECK(capture != NULL);
}

/* Start a collector. file_limit: of the files that it may write, in bytes; 0: none. */
static void start(uint64_t file_limit)
{
    int fds[2], fd = mkstemp(path);
    struct rlimit limit = {file_limit, file_limit};

    CHECK(fd >= 0);
    close(fd);
    atexit(clean_up);
    memcpy(target_uuid, path + strlen(path) - 6, 6); /* a socket of its own */
    memcpy(target_token, "the right token", TOKEN_BYTES);
    memcpy(options.uuid, target_uuid, UUID_BYTES);
    memcpy(options.token, target_token, TOKEN_BYTES);
    options.output = path;
    options.may_overwrite = true;
    options.argument_count = 1;
    options.arguments = arguments;
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    fflush(stdout);
    collector = fork();
    if (collector == 0) {
        close(fds[0]);
        options.starter_fd = fds[1];
        if (file_limit != 0)
            setrlimit(RLIMIT_FSIZE, &limit);
        _exit(collect_run(&options, NULL) ? 0 : 1);
    }
    close(fds[1]);
    starter_fd = fds[0];
}

/* Read the collector's next message. */
static const char *hear(void)
{
    static char line[8192];
    ssize_t length = recv(starter_fd, line, sizeof(line) - 1, 0);

    CHECK(length >= 0);
    line[length] = '\0';
    return line;
}

static void say(const char *line)
{
    CHECK(send(starter_fd, line, strlen(line), 0) == (ssize_t)strlen(line));
}

static int collector_status(void)
{
    int status;

    CHECK(waitpid(collector, &status, 0) == collector);
    return status;
}

/* Let the session end, and open the capture. */
static void finish(void)
{
    say("ended");
    CHECK_TEXT(hear(), "finished ");
    CHECK_EQUAL(collector_status(), 0);
    open_capture();
    CHECK_EQUAL(capture->state, CAPTURE_CLEAN);
    CHECK(!capture->damage.is_damaged);
}

/* Run a function in a child and wait for its end. Returns its pid. */
static pid_t run(void (*target)(void))
{
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        close(starter_fd);
        target();
        _exit(0);
    }
    return child;
}

static pid_t run_to_its_end(void (*target)(void), int status)
{
    pid_t child = run(target);
    int ended;

    CHECK(waitpid(child, &ended, 0) == child);
    CHECK_EQUAL((uint64_t)ended, (uint64_t)status);
    return child;
}

static void exits_with_3(void)
{
    join(PROCESS_BY_EXEC);
    take_ring();
    record(1000);
    _exit(3);
}

TEST(a_program_comes_records_and_exits)
{
    pid_t child;

    start(0);
    CHECK_TEXT(hear(), "ready");
    child = run_to_its_end(exits_with_3, 3 << 8);
    finish();
    CHECK_EQUAL(capture->process_count, 1);
    CHECK_EQUAL(capture->processes[0].pid, (uint32_t)child);
    CHECK_EQUAL(capture->processes[0].inner_pid, (uint32_t)child);
    CHECK(capture->processes[0].is_tracked);
    CHECK(capture->processes[0].argument_count > 0);
    CHECK(strstr(capture->processes[0].executable, "test_collect") != NULL);
    CHECK(capture->processes[0].ended_ns > 0);
    CHECK_EQUAL(capture->threads[0].is_main, true);
    CHECK_EQUAL(capture->event_record_count, 1001);
    CHECK_EQUAL(capture->summary.events, 1000);
    CHECK_EQUAL(capture->summary.lost, 0);
    CHECK_EQUAL(capture->summary.faults, 0);
    CHECK(capture->summary.rss_bytes > 0);
    CHECK_TEXT(capture->session.arguments[0], "prog");
    CHECK(capture->session.monotonic_ns > 0);
}

static void kills_itself(void)
{
    join(PROCESS_BY_EXEC);
    take_ring();
    record(100000); /* many laps, and the last records not read yet */
    raise(SIGKILL);
}

TEST(a_program_that_is_killed_loses_nothing)
{
    start(0);
    hear();
    run_to_its_end(kills_itself, SIGKILL);
    finish();
    CHECK_EQUAL(capture->summary.events, 100000);
    CHECK(capture->processes[0].end == END_SIGNAL || capture->processes[0].end == END_UNKNOWN);
    if (capture->processes[0].end == END_SIGNAL) /* unless we had waited for it too early */
        CHECK_EQUAL((uint64_t)capture->processes[0].end_code, SIGKILL);
}

static void executes_another(void)
{
    join(PROCESS_BY_EXEC);
    take_ring();
    record(10);
    join(PROCESS_BY_EXEC); /* as the new image does, in the same process */
    take_ring();
    record(20);
}

TEST(an_exec_ends_the_image_before_and_makes_it_the_parent)
{
    start(0);
    hear();
    run_to_its_end(executes_another, 0);
    finish();
    CHECK_EQUAL(capture->process_count, 2);
    CHECK_EQUAL(capture->processes[0].end, END_EXEC);
    CHECK_EQUAL(capture->processes[1].how, PROCESS_BY_EXEC);
    CHECK_EQUAL(capture->processes[1].parent_number, capture->processes[0].number);
    CHECK_EQUAL(capture->summary.events, 30);
}

static void forks(void)
{
    int status;
    pid_t child;

    join(PROCESS_BY_EXEC);
    take_ring();
    record(10);
    put(OP_LIFE, LIFE_FORK, 0);
    child = fork();
    if (child == 0) {
        join_by_fork();
        record(20);
        while (process->outer_pid == 0) /* until the collector has found out who we are */
            usleep(1000);
        record(30);
        _exit(process->outer_pid == (uint32_t)getpid() ? 5 : 6);
    }
    if (waitpid(child, &status, 0) != child || status != 5 << 8)
        _exit(1);
}

TEST(a_forked_child_is_found_by_its_memory)
{
    start(0);
    hear();
    run_to_its_end(forks, 0);
    finish();
    CHECK_EQUAL(capture->process_count, 2);
    CHECK_EQUAL(capture->processes[1].how, PROCESS_BY_FORK);
    CHECK_EQUAL(capture->processes[1].parent_number, 1);
    CHECK_EQUAL(capture->processes[1].pid, capture->processes[1].inner_pid);
    CHECK(capture->processes[1].argument_count > 0);
    CHECK(capture->processes[1].ended_ns > 0);
    CHECK_EQUAL(capture->summary.events, 60);
}

static void forks_a_short_life(void)
{
    pid_t child;

    join(PROCESS_BY_EXEC);
    take_ring();
    child = fork();
    if (child == 0) {
        join_by_fork();
        record(20);
        _exit(0); /* perhaps before anybody has looked */
    }
    waitpid(child, NULL, 0);
}

TEST(children_that_are_gone_before_they_are_found_end_too)
{
    start(0);
    hear();
    for (int i = 0; i < 10; i++)
        run_to_its_end(forks_a_short_life, 0);
    finish();
    CHECK_EQUAL(capture->process_count, 20);
    CHECK_EQUAL(capture->summary.events, 200);
    for (uint32_t i = 0; i < capture->process_count; i++) {
        CHECK(capture->processes[i].end != 0);
        CHECK(capture->processes[i].argument_count > 0); /* at least as its parent */
    }
}

static void forks_and_executes(void)
{
    pid_t child;

    join(PROCESS_BY_EXEC);
    take_ring();
    child = fork();
    if (child == 0) {
        join_by_fork();
        record(20);
        join(PROCESS_BY_EXEC); /* before anybody has looked for the child */
        take_ring();
        record(5);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

TEST(a_child_that_executes_at_once_is_known_to_have_done_so)
{
    start(0);
    hear();
    for (int i = 0; i < 10; i++)
        run_to_its_end(forks_and_executes, 0);
    finish();
    CHECK_EQUAL(capture->process_count, 30);
    CHECK_EQUAL(capture->summary.events, 250);
    for (uint32_t i = 0; i < capture->process_count; i++) {
        const struct capture_process *image = &capture->processes[i];
        const struct capture_process *before = NULL;

        for (uint32_t k = 0; k < capture->process_count; k++)
            if (capture->processes[k].number == image->parent_number)
                before = &capture->processes[k];
        CHECK(image->argument_count > 0);
        if (image->how == PROCESS_BY_FORK) {
            CHECK_EQUAL(image->end, END_EXEC);
        } else if (before != NULL) {
            CHECK_EQUAL(image->pid, before->pid);
            CHECK_EQUAL(before->how, PROCESS_BY_FORK);
        }
    }
}

/* A pipe that a child holds open until it is told to end. */
static int hold[2];

static void leaves_a_silent_child(void)
{
    char byte;

    join(PROCESS_BY_EXEC);
    take_ring();
    put(OP_LIFE, LIFE_FORK, 0);
    if (fork() != 0)
        return;
    close(hold[1]);
    if (read(hold[0], &byte, 1) == 0) { /* the program has ended long ago */
        join_by_fork();
        record(50);
    }
    _exit(0);
}

TEST(a_child_that_records_late_is_waited_for)
{
    start(0);
    hear();
    CHECK(pipe(hold) == 0); /* after start(): the collector does not hold it */
    run_to_its_end(leaves_a_silent_child, 0);
    say("ended");
    CHECK_TEXT(hear(), "running 1");
    close(hold[0]);
    close(hold[1]);
    CHECK_TEXT(hear(), "finished ");
    CHECK_EQUAL(collector_status(), 0);
    open_capture();
    CHECK_EQUAL(capture->summary.events, 50);
    CHECK_EQUAL(capture->process_count, 2);
}

TEST(strangers_are_refused)
{
    struct handshake_hello hello;
    struct handshake_answer answer;
    int silent_fd;

    start(0);
    hear();
    silent_fd = connect_to_collector(); /* holds nobody up */
    hello = right_hello(PROCESS_BY_EXEC);
    hello.token[3] ^= 1;
    CHECK(ask(&hello, &answer) < 0);
    CHECK_EQUAL(answer.status, HANDSHAKE_REFUSED);
    hello = right_hello(PROCESS_BY_EXEC);
    hello.major++;
    CHECK(ask(&hello, &answer) < 0);
    CHECK_EQUAL(answer.status, HANDSHAKE_INCOMPATIBLE);
    finish();
    CHECK_EQUAL(capture->process_count, 0);
    close(silent_fd);
}

TEST(sigterm_ends_the_capture_properly)
{
    start(0);
    hear();
    join(PROCESS_BY_EXEC); /* this process, which goes on */
    take_ring();
    record(10);
    kill(collector, SIGTERM);
    CHECK(strstr(hear(), ": ends early: the collector was asked to end (SIGTERM)") != NULL);
    CHECK_EQUAL(collector_status(), 0);
    CHECK_EQUAL(atomic_load(&header->state), POOL_ENDED);
    open_capture();
    CHECK_EQUAL(capture->state, CAPTURE_CLEAN);
    CHECK_TEXT(capture->summary.reason, "the collector was asked to end (SIGTERM)");
    CHECK_EQUAL(capture->summary.events, 10);
}

static bool is_dead(void)
{
    _Atomic uint32_t *word = (void *)((char *)header + header->death_word_offset);
    uint32_t value = atomic_load(word);

    return value == 0 || (value & FUTEX_OWNER_DIED) != 0;
}

TEST(the_death_of_the_collector_shows_in_the_pool)
{
    uint64_t end;

    start(0);
    hear();
    join(PROCESS_BY_EXEC);
    take_ring();
    record(10);
    end = atomic_load(&ring->cursor);
    CHECK(!is_dead());
    while (atomic_load(&ring->consumed) < end) /* written, at most 50 ms later */
        usleep(1000);
    kill(collector, SIGKILL);
    CHECK_EQUAL(collector_status(), SIGKILL);
    CHECK(is_dead());
    open_capture();
    CHECK_EQUAL(capture->state, CAPTURE_TRUNCATED);
    CHECK_EQUAL(capture->event_record_count, 11);
}

TEST(the_terminals_signals_are_not_for_the_collector)
{
    static const int signals[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGPIPE, SIGUSR1};

    start(0);
    hear();
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        kill(collector, signals[i]);
    CHECK_EQUAL((uint64_t)getpgid(collector), (uint64_t)collector);
    CHECK_EQUAL((uint64_t)getsid(collector), (uint64_t)getsid(0)); /* and is scheduled with us */
    finish();
}

TEST(a_starter_that_is_gone_is_a_program_that_has_ended)
{
    start(0);
    hear();
    run_to_its_end(exits_with_3, 3 << 8);
    close(starter_fd);
    CHECK_EQUAL(collector_status(), 0);
    open_capture();
    CHECK_EQUAL(capture->state, CAPTURE_CLEAN);
}

TEST(a_program_that_never_came_is_named_as_not_tracked)
{
    start(0);
    hear();
    say("pid 4242");
    finish();
    CHECK_EQUAL(capture->process_count, 1);
    CHECK_EQUAL(capture->processes[0].pid, 4242);
    CHECK(!capture->processes[0].is_tracked);
    CHECK_TEXT(capture->processes[0].arguments[0], "prog");
}

static void records_noise(void)
{
    uint64_t random = 7;

    join(PROCESS_BY_EXEC);
    take_ring();
    record(0);
    while (atomic_load(&header->state) == POOL_RECORDING) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        put(OP_ALLOC, random >> 24 & 0xffffffffff, random & UINT32_MAX);
    }
    for (int i = 0; i < 3 * RING_SLOT_COUNT; i++) /* nobody is held up by a disk that is full */
        put(OP_ALLOC, 1, 1);
    _exit(9);
}

TEST(a_full_disk_turns_recording_off_and_harms_nobody)
{
    const char *last;

    start(8 << 20);
    hear();
    run_to_its_end(records_noise, 9 << 8);
    say("ended");
    last = hear();
    CHECK(strstr(last, "finished ") == last);
    CHECK(strstr(last, "cannot be written: File too large") != NULL);
    CHECK_EQUAL(collector_status(), 1 << 8);
    open_capture();
    CHECK_EQUAL(capture->state, CAPTURE_TRUNCATED);
    CHECK(capture->event_record_count > 100000);
}

TEST(an_output_that_cannot_be_made_is_an_error_before_anything_starts)
{
    static char here[] = "/tmp";

    start(0);
    hear();
    finish();
    options.output = here;
    CHECK(!collect_run(&options, NULL));
}
