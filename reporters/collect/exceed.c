/*
 * Sizes that are exceeded. Main thread.
 *
 * What holds: nothing here waits. The end of a command is looked for when the main thread is awake
 * anyway.
 */
#include "collect/exceed.h"

#include "base/memory.h"
#include "collect/spawn.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ADDED_VARIABLES = 3,
    VARIABLE_BYTES = 64,
};

/* The lowest size that has not been exceeded yet. */
static void tell_clock(struct exceed *exceed)
{
    uint64_t lowest_bytes = UINT64_MAX;

    for (uint32_t i = 0; i < exceed->options->rule_count; i++)
        if (!exceed->has_acted[i] && exceed->options->rules[i].limit_bytes < lowest_bytes)
            lowest_bytes = exceed->options->rules[i].limit_bytes;
    atomic_store_explicit(&exceed->session->watched_bytes, lowest_bytes, memory_order_relaxed);
}

void exceed_init(struct exceed *exceed, const struct collect_options *options,
                 struct session *session, struct control *control, const struct starter *starter)
{
    *exceed = (struct exceed){.options = options,
                              .session = session,
                              .control = control,
                              .starter = starter,
                              .program_fd = -1};
    tell_clock(exceed);
}

static __attribute__((format(printf, 3, 4))) void
fail(struct exceed *exceed, const struct collect_rule *rule, const char *format, ...)
{
    struct error reason, whole;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason.text, sizeof(reason.text), format, arguments);
    va_end(arguments);
    error_set(&whole, "%s: %s", rule->label, reason.text);
    control_note_failure(exceed->control, whole.text);
}

/* While it lives, so that no other process of this number is meant later. */
static void find_program(struct exceed *exceed)
{
    bool is_wanted = false;

    for (uint32_t i = 0; i < exceed->options->rule_count; i++)
        is_wanted |= exceed->options->rules[i].action == COLLECT_SIGNAL && !exceed->has_acted[i];
    if (is_wanted && exceed->program_fd < 0 && exceed->starter->program != 0 &&
        !exceed->starter->has_ended)
        exceed->program_fd = (int)syscall(SYS_pidfd_open, exceed->starter->program, 0);
}

static void send_signal(struct exceed *exceed, const struct collect_rule *rule)
{
    if (exceed->program_fd < 0)
        fail(exceed, rule, "%s",
             exceed->starter->has_ended ? "the program had ended" : strerror(errno));
    else if (syscall(SYS_pidfd_send_signal, exceed->program_fd, rule->signal_number, NULL, 0) < 0)
        fail(exceed, rule, "%s", errno == ESRCH ? "the program had ended" : strerror(errno));
}

/* Our environment and what the command is told. */
static char **make_environment(const struct exceed *exceed, uint64_t resident_bytes)
{
    size_t count = 0, path_bytes = strlen(exceed->options->output) + VARIABLE_BYTES;
    char **environment;

    while (environ[count] != NULL)
        count++;
    environment = memory_allocate(count + ADDED_VARIABLES + 1, sizeof(*environment));
    for (size_t i = 0; i < count; i++)
        environment[i] = memory_copy_text(environ[i]);
    environment[count] = memory_allocate(VARIABLE_BYTES, 1);
    snprintf(environment[count++], VARIABLE_BYTES, "MEMTRACK_PID=%" PRIu32,
             exceed->starter->program);
    environment[count] = memory_allocate(VARIABLE_BYTES, 1);
    snprintf(environment[count++], VARIABLE_BYTES, "MEMTRACK_BYTES=%" PRIu64, resident_bytes);
    environment[count] = memory_allocate(path_bytes, 1);
    snprintf(environment[count], path_bytes, "MEMTRACK_CAPTURE=%s", exceed->options->output);
    return environment;
}

static void free_environment(char **environment)
{
    for (char **variable = environment; *variable != NULL; variable++)
        free(*variable);
    free(environment);
}

/* In the directory that `run` was. */
static int spawn(const struct exceed *exceed, const struct collect_rule *rule, char **environment,
                 pid_t *ret_pid)
{
    char *arguments[] = {(char[]){"sh"}, (char[]){"-c"}, memory_copy_text(rule->command), NULL};
    const char *directory = exceed->options->directory;
    posix_spawn_file_actions_t actions;
    int status;

    posix_spawn_file_actions_init(&actions);
    if (exceed->options->command_fd >= 0) {
        posix_spawn_file_actions_adddup2(&actions, exceed->options->command_fd, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, exceed->options->command_fd, STDERR_FILENO);
    }
    if (directory != NULL && directory[0] != '\0')
        posix_spawn_file_actions_addchdir_np(&actions, directory);
    status = spawn_program("/bin/sh", arguments, environment, &actions, ret_pid);
    posix_spawn_file_actions_destroy(&actions);
    free(arguments[2]);
    return status;
}

static void start_command(struct exceed *exceed, uint32_t index, uint64_t resident_bytes)
{
    const struct collect_rule *rule = &exceed->options->rules[index];
    char **environment = make_environment(exceed, resident_bytes);
    int status = spawn(exceed, rule, environment, &exceed->commands[index]);

    free_environment(environment);
    if (status == 0)
        return;
    exceed->commands[index] = 0;
    fail(exceed, rule, "%s", strerror(status));
}

static void act(struct exceed *exceed, uint32_t index, uint64_t resident_bytes)
{
    const struct collect_rule *rule = &exceed->options->rules[index];

    exceed->has_acted[index] = true;
    control_mark(exceed->control, rule->label);
    switch (rule->action) {
    case COLLECT_SNAPSHOT:
        control_snapshot(exceed->control, NULL);
        break;
    case COLLECT_STOP:
        control_pause(exceed->control, CAUSE_EXCEED);
        break;
    case COLLECT_SIGNAL:
        send_signal(exceed, rule);
        break;
    case COLLECT_COMMAND:
        start_command(exceed, index, resident_bytes);
        break;
    }
}

static void reap(struct exceed *exceed)
{
    for (uint32_t i = 0; i < exceed->options->rule_count; i++) {
        const struct collect_rule *rule = &exceed->options->rules[i];
        int status = 0;

        if (exceed->commands[i] == 0 || waitpid(exceed->commands[i], &status, WNOHANG) == 0)
            continue;
        exceed->commands[i] = 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
            fail(exceed, rule, "it ended with exit code %d", WEXITSTATUS(status));
        else if (WIFSIGNALED(status))
            fail(exceed, rule, "it was killed by signal %d", WTERMSIG(status));
    }
}

void exceed_look(struct exceed *exceed)
{
    uint64_t resident_bytes;

    if (exceed->options->rule_count == 0)
        return;
    find_program(exceed);
    reap(exceed);
    resident_bytes = atomic_load_explicit(&exceed->session->exceeding_bytes, memory_order_relaxed);
    for (uint32_t i = 0; i < exceed->options->rule_count; i++)
        if (!exceed->has_acted[i] && resident_bytes > exceed->options->rules[i].limit_bytes)
            act(exceed, i, resident_bytes);
    tell_clock(exceed);
}

void exceed_finish(struct exceed *exceed)
{
    if (exceed->options == NULL)
        return;
    reap(exceed);
    if (exceed->program_fd >= 0)
        close(exceed->program_fd);
    exceed->program_fd = -1;
}
