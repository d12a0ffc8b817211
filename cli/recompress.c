/*
 * `memtrack recompress`: a finished capture written again for keeping, with all that is in it.
 *
 * What holds: the file appears when it is complete, or not at all. A capture that is not whole is
 * refused: what was left out of an archive nobody could see later.
 */
#include "capture/archive.h"
#include "commands.h"
#include "exit_status.h"
#include "message.h"
#include "output.h"
#include "print/progress.h"
#include "print/units.h"
#include "profile/cut.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct recompress {
    const struct option_values *values;
    const char *path, *output_name;
    struct output output;
    struct capture *capture;
    uint64_t last_ns; /* that is kept; 0: all */
    uint64_t written_bytes;
};

static bool check_usage(const struct recompress *recompress, struct error *err)
{
    const struct option_values *values = recompress->values;

    if (values->operand_count != 1)
        error_set(err, "%s one capture: see memtrack recompress --help",
                  values->operand_count == 0 ? "name" : "only");
    else if (recompress->output_name == NULL)
        error_set(err, "say with -o FILE what to write: see memtrack recompress --help");
    else if (strcmp(recompress->output_name, "-") == 0 && isatty(STDOUT_FILENO))
        error_set(err, "a capture is not for a terminal: use -o FILE");
    else
        return true;
    return false;
}

static FILE *progress_stream(const struct recompress *recompress)
{
    return !recompress->values->is_set[OPTION_QUIET] && isatty(STDERR_FILENO) ? stderr : NULL;
}

static bool open_capture(struct recompress *recompress, struct error *err)
{
    struct progress progress;

    progress_begin(&progress, "memtrack: opening the capture", progress_stream(recompress));
    recompress->capture = capture_open(recompress->path, progress_step, &progress, err);
    progress_end(&progress);
    return recompress->capture != NULL && archive_is_possible(recompress->capture, err);
}

/* Where the last part begins; a capture that is shorter is kept whole. */
static uint64_t cut_ns(const struct recompress *recompress)
{
    uint64_t end_ns = recompress->capture->ended_ns;

    return end_ns > recompress->last_ns ? end_ns - recompress->last_ns : 0;
}

/* Write all of it into the output's file. */
static enum archive_result write_capture(struct recompress *recompress, struct error *err)
{
    const struct capture_session *session = &recompress->capture->session;
    struct capture_writer *writer =
        capture_writer_adopt(fileno(recompress->output.file), recompress->output_name,
                             session->uuid, session->realtime_ns, true, err);
    enum archive_result result;
    struct progress progress;
    struct stat status;

    if (writer == NULL)
        return ARCHIVE_OUTPUT;
    progress_begin(&progress, "memtrack: packing the capture", progress_stream(recompress));
    result = recompress->last_ns > 0 && cut_ns(recompress) > 0
                 ? cut_write(recompress->capture, cut_ns(recompress), false, writer, progress_step,
                             &progress, err)
                 : archive_write(recompress->capture, writer, NULL, progress_step, &progress, err);
    progress_end(&progress);
    if (result != ARCHIVE_WRITTEN) {
        capture_writer_abandon(writer);
        return result;
    }
    if (!capture_writer_close(writer, err))
        return ARCHIVE_OUTPUT;
    if (fstat(fileno(recompress->output.file), &status) == 0)
        recompress->written_bytes = (uint64_t)status.st_size;
    return ARCHIVE_WRITTEN;
}

static void say_result(const struct recompress *recompress)
{
    if (recompress->values->is_set[OPTION_QUIET] || strcmp(recompress->output_name, "-") == 0)
        return;
    message_print("wrote %s: %s, of %s", recompress->output_name,
                  units_format_size(recompress->written_bytes, 0).text,
                  units_format_size(recompress->capture->file_bytes, 0).text);
}

/* Returns the status to end with; err says why it is not EXIT_DONE. */
static int make_archive(struct recompress *recompress, struct error *err)
{
    enum archive_result result;

    if (strcmp(recompress->output_name, "-") == 0)
        output_open_standard(false, &recompress->output);
    else if (!output_open_file(recompress->output_name, recompress->values->is_set[OPTION_FORCE],
                               &recompress->output, err))
        return EXIT_OUTPUT;
    if (!open_capture(recompress, err)) {
        output_discard(&recompress->output);
        return EXIT_INPUT;
    }
    result = write_capture(recompress, err);
    if (result != ARCHIVE_WRITTEN) {
        output_discard(&recompress->output);
        return result == ARCHIVE_INPUT ? EXIT_INPUT : EXIT_OUTPUT;
    }
    return output_finish(&recompress->output, err) ? EXIT_DONE : EXIT_OUTPUT;
}

int command_recompress(enum command_id id, const struct option_values *values)
{
    struct recompress recompress = {
        .values = values,
        .path = values->operand_count > 0 ? values->operands[0] : NULL,
        .output_name = values->values[OPTION_ARCHIVE],
    };
    struct error err;
    int status;

    (void)id;
    if (!check_usage(&recompress, &err) ||
        !options_time(values, OPTION_KEEP_LAST, &recompress.last_ns, &err)) {
        message_print("%s", err.text);
        return EXIT_USAGE;
    }
    status = make_archive(&recompress, &err);
    if (status == EXIT_DONE)
        say_result(&recompress);
    else
        message_print("%s", err.text);
    capture_close(recompress.capture);
    return status;
}
