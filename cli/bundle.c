/*
 * `memtrack bundle`: the names of a capture's native frames stored in it, so that its reports are the
 * same where the program's files are not.
 *
 * What holds: without -o the capture is replaced when its copy is complete, or stays as it is.
 */
#include "capture/bundle.h"
#include "capture/archive.h"

#include "commands.h"
#include "exit_status.h"
#include "message.h"
#include "output.h"
#include "print/progress.h"
#include "symbol/native.h"
#include "symbol/stored.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MODE_BITS = 07777,
};

struct bundle_command {
    const struct option_values *values;
    const char *path, *output_name; /* the same: it is replaced */
    struct output output;
    struct capture *capture;
    struct stored_counts counts;
};

static bool is_replaced(const struct bundle_command *command)
{
    return command->output_name == command->path;
}

static bool is_standard(const struct bundle_command *command)
{
    return strcmp(command->output_name, "-") == 0 && !is_replaced(command);
}

static bool check_usage(const struct bundle_command *command, struct error *err)
{
    const struct option_values *values = command->values;

    if (values->operand_count != 1)
        error_set(err, "%s one capture: see memtrack bundle --help",
                  values->operand_count == 0 ? "name" : "only");
    else if (is_standard(command) && isatty(STDOUT_FILENO))
        error_set(err, "a capture is not for a terminal: use -o FILE");
    else
        return true;
    return false;
}

static FILE *progress_stream(const struct bundle_command *command)
{
    return !command->values->is_set[OPTION_QUIET] && isatty(STDERR_FILENO) ? stderr : NULL;
}

static bool open_capture(struct bundle_command *command, struct error *err)
{
    struct progress progress;

    progress_begin(&progress, "memtrack: opening the capture", progress_stream(command));
    command->capture = capture_open(command->path, progress_step, &progress, err);
    progress_end(&progress);
    return command->capture != NULL && archive_is_whole(command->capture, err);
}

static bool open_output(struct bundle_command *command, struct error *err)
{
    struct stat status;

    if (is_standard(command)) {
        output_open_standard(false, &command->output);
        return true;
    }
    if (!output_open_file(command->output_name,
                          is_replaced(command) || command->values->is_set[OPTION_FORCE],
                          &command->output, err))
        return false;
    /* Whoever could read the capture still can; where that cannot be, it is the user's. */
    if (is_replaced(command) && stat(command->path, &status) == 0) {
        int fd = fileno(command->output.file);

        if (fchown(fd, status.st_uid, status.st_gid) == 0)
            fchmod(fd, status.st_mode & MODE_BITS);
    }
    return true;
}

static bool put_section(void *user, const struct writer_section *section, struct error *err)
{
    return capture_writer_section(user, section, err);
}

static bool add_symbols(void *user, struct capture_writer *writer, struct error *err)
{
    struct bundle_command *command = user;
    struct native_symbols *symbols = native_symbols_create(command->capture);
    bool is_written =
        stored_write(symbols, command->capture, put_section, writer, &command->counts, err);

    native_symbols_destroy(symbols);
    return is_written;
}

/* Write all of it into the output's file. */
static bool write_capture(struct bundle_command *command, struct error *err)
{
    struct progress progress;
    bool is_written;

    progress_begin(&progress, "memtrack: copying the capture", progress_stream(command));
    is_written = bundle_write(command->capture, fileno(command->output.file), command->output_name,
                              add_symbols, command, progress_step, &progress, err);
    progress_end(&progress);
    return is_written;
}

static void say_result(const struct bundle_command *command)
{
    const struct stored_counts *counts = &command->counts;

    if (command->values->is_set[OPTION_QUIET] || is_standard(command))
        return;
    if (counts->addresses == 0)
        message_print("%s: there are no native frames", command->path);
    else
        message_print("%s: has names of %" PRIu64 " of %" PRIu64 " places in native code",
                      command->output_name, counts->has_names, counts->addresses);
}

/* Returns the status to end with; err says why it is not EXIT_DONE. */
static int make_bundle(struct bundle_command *command, struct error *err)
{
    if (!open_capture(command, err))
        return EXIT_INPUT;
    if (!open_output(command, err))
        return EXIT_OUTPUT;
    if (!write_capture(command, err)) {
        output_discard(&command->output);
        return EXIT_OUTPUT;
    }
    return output_finish(&command->output, err) ? EXIT_DONE : EXIT_OUTPUT;
}

int command_bundle(enum command_id id, const struct option_values *values)
{
    struct bundle_command command = {
        .values = values,
        .path = values->operand_count > 0 ? values->operands[0] : "",
        .output_name = values->values[OPTION_BUNDLE],
    };
    struct error err;
    int status = EXIT_USAGE;

    (void)id;
    if (command.output_name == NULL)
        command.output_name = command.path;
    if (check_usage(&command, &err))
        status = make_bundle(&command, &err);
    if (status == EXIT_DONE)
        say_result(&command);
    else
        message_print("%s", err.text);
    capture_close(command.capture);
    return status;
}
