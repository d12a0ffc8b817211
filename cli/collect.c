/*
 * memtrack collect: the collector's process. What it does is in reporters/collect; here the command
 * line becomes its options, and limits set for the program are taken off it.
 */
#include "collect/collect.h"
#include "base/memory.h"
#include "commands.h"
#include "exceed.h"
#include "exit_status.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define IDENTITY_WORD "session "

enum {
    IDENTITY_MAX_BYTES = 256,
    HEX = 16,
};

/* A limit of address space or file size is meant for the program; the pool is larger than most. */
static void raise_limits(void)
{
    static const int limits[] = {RLIMIT_AS,    RLIMIT_DATA,   RLIMIT_CPU,
                                 RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_STACK};
    struct rlimit limit;

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (getrlimit((__rlimit_resource_t)limits[i], &limit) != 0)
            continue;
        limit.rlim_cur = limit.rlim_max;
        setrlimit((__rlimit_resource_t)limits[i], &limit);
    }
}

/* Read so many bytes as hexadecimal digits. Returns what stands behind them; NULL: not so many. */
static const char *parse_hex(const char *text, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char digits[3] = "";
        char *end;

        memcpy(digits, text, strnlen(text, 2));
        bytes[i] = (uint8_t)strtoul(digits, &end, HEX);
        if (end != digits + 2)
            return NULL;
        text += 2;
    }
    return text;
}

/* The starter's first message: "session <uuid>:<token>". */
static bool receive_identity(int fd, struct collect_options *options, struct error *err)
{
    char line[IDENTITY_MAX_BYTES];
    const char *text = line + strlen(IDENTITY_WORD);
    ssize_t length;

    do {
        length = recv(fd, line, sizeof(line) - 1, 0);
    } while (length < 0 && errno == EINTR);
    if (length <= 0) {
        error_set(err, "collect: the starter is gone");
        return false;
    }
    line[length] = '\0';
    if (strncmp(line, IDENTITY_WORD, strlen(IDENTITY_WORD)) == 0 &&
        (text = parse_hex(text, options->uuid, sizeof(options->uuid))) != NULL && *text == ':' &&
        (text = parse_hex(text + 1, options->token, sizeof(options->token))) != NULL &&
        *text == '\0')
        return true;
    error_set(err, "collect: the starter's first message is not a session");
    return false;
}

/* Of how many events and more a model is kept. A report reads fewer in a tenth of a second or two. */
static uint64_t model_events(const char *index)
{
    if (index == NULL || strcmp(index, "auto") == 0)
        return UINT64_C(4000000);
    return strcmp(index, "always") == 0 ? 0 : UINT64_MAX;
}

static bool parse_options(const struct option_values *values, struct collect_options *options,
                          struct error *err)
{
    uint64_t starter = 0, command_output = 0;

    if (!values->is_set[OPTION_CAPTURE] || values->values[OPTION_CAPTURE][0] != '/' ||
        !values->is_set[OPTION_STARTER] || !values->is_set[OPTION_DIRECTORY]) {
        error_set(err, "collect: is started by memtrack run, not by hand");
        return false;
    }
    if (!options_number(values, OPTION_STARTER, 0, INT_MAX, &starter, err) ||
        !options_number(values, OPTION_POOL_OPTIONS, 0, UINT64_MAX, &options->pool_options, err) ||
        !options_size(values, OPTION_MIN_SIZE, 0, UINT64_MAX, &options->min_size, err) ||
        !options_size(values, OPTION_SAMPLE_BYTES, 0, UINT64_MAX, &options->sample_bytes, err) ||
        !options_size(values, OPTION_MAX_FILE, 0, UINT64_MAX, &options->max_file_bytes, err) ||
        !options_percent(values, OPTION_MAX_OVERHEAD, 0, UINT64_MAX, &options->max_overhead_ppm,
                         err) ||
        !options_time(values, OPTION_DELAY, &options->delay_ns, err) ||
        !options_time(values, OPTION_DURATION, &options->duration_ns, err) ||
        !options_time(values, OPTION_LAST, &options->last_ns, err) ||
        !options_number(values, OPTION_COMMAND_OUTPUT, 0, INT_MAX, &command_output, err) ||
        !exceed_parse(values, options->rules, &options->rule_count, err))
        return false;
    /* Neither is a command's. */
    fcntl((int)starter, F_SETFD, FD_CLOEXEC);
    if (values->is_set[OPTION_COMMAND_OUTPUT]) {
        options->command_fd = (int)command_output;
        fcntl(options->command_fd, F_SETFD, FD_CLOEXEC);
    }
    options->has_no_symbols = values->is_set[OPTION_NO_SYMBOLS];
    options->model_events = model_events(values->values[OPTION_INDEX]);
    if (options->last_ns > 0)
        options->model_events = UINT64_MAX; /* it would be of what is cut off too */
    options->max_file = values->values[OPTION_MAX_FILE];
    options->max_overhead = values->values[OPTION_MAX_OVERHEAD];
    options->output = values->values[OPTION_CAPTURE];
    options->is_aggregated = values->is_set[OPTION_AGGREGATE];
    options->is_dormant = values->is_set[OPTION_DORMANT];
    options->may_overwrite = values->is_set[OPTION_FORCE];
    options->directory = values->values[OPTION_DIRECTORY];
    options->starter_fd = (int)starter;
    options->argument_count = (uint32_t)values->operand_count;
    options->arguments = values->operands;
    return true;
}

int command_collect(enum command_id id, const struct option_values *values)
{
    struct collect_options options = {.starter_fd = -1, .command_fd = -1};
    struct error err;

    (void)id;
    (void)prctl(PR_SET_NAME, "memtrack"); /* executed as /proc/self/exe, it would be called exe */
    if (!parse_options(values, &options, &err) ||
        !receive_identity(options.starter_fd, &options, &err)) {
        message_print("%s", err.text);
        return EXIT_USAGE;
    }
    raise_limits();
    return collect_run(&options, &err) ? EXIT_DONE : EXIT_OUTPUT;
}
