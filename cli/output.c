/*
 * Outputs. The one piece of shared state is the temporary file's name for the signal handler.
 */
#include "output.h"

#include "base/memory.h"
#include "pager.h"
#include "words.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What an interrupted program takes away. */
static char *volatile unfinished_file;

static const int interruptions[] = {SIGINT, SIGTERM, SIGHUP};

static void remove_and_end(int signal_number)
{
    char *name = unfinished_file;

    if (name != NULL)
        unlink(name);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void guard(char *temporary)
{
    struct sigaction action = {.sa_handler = remove_and_end}, before;

    unfinished_file = temporary;
    for (size_t i = 0; i < sizeof(interruptions) / sizeof(interruptions[0]); i++) {
        if (sigaction(interruptions[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(interruptions[i], &action, NULL);
    }
}

/* A device or a pipe is written in place. Returns false with err. */
static bool open_in_place(struct output *output, struct error *err)
{
    output->file = fopen(output->name, "we");
    if (output->file == NULL)
        error_set(err, "%s: cannot be written: %s", output->name, strerror(errno));
    return output->file != NULL;
}

static bool open_temporary(struct output *output, struct error *err)
{
    mode_t mask = umask(0);
    int fd;

    umask(mask);
    output->temporary = words_format("%s.XXXXXX", output->name);
    fd = mkostemp(output->temporary, O_CLOEXEC);
    if (fd < 0) {
        error_set(err, "%s: cannot be written: %s", output->name, strerror(errno));
        return false;
    }
    guard(output->temporary);
    fchmod(fd, 0666 & ~mask); /* as any new file; mkostemp() makes private ones */
    output->file = fdopen(fd, "w");
    if (output->file == NULL) {
        error_set(err, "%s: cannot be written: %s", output->name, strerror(errno));
        close(fd);
        return false;
    }
    return true;
}

bool output_open_file(const char *name, bool may_overwrite, struct output *ret_output,
                      struct error *err)
{
    struct output output = {.may_overwrite = may_overwrite};
    struct stat status;
    bool is_there = stat(name, &status) == 0, is_open;

    if (is_there && S_ISREG(status.st_mode) && !may_overwrite) {
        error_set(err, "%s: exists already: use -f to replace it", name);
        return false;
    }
    /* A link stays a link: what it points to is replaced. */
    output.name = is_there ? realpath(name, NULL) : NULL;
    if (output.name == NULL)
        output.name = memory_copy_text(name);
    is_open = is_there && !S_ISREG(status.st_mode) ? open_in_place(&output, err)
                                                   : open_temporary(&output, err);
    if (!is_open) {
        output_discard(&output);
        return false;
    }
    *ret_output = output;
    return true;
}

void output_open_standard(bool has_pager, struct output *ret_output)
{
    struct output output = {.file = stdout};

    if (has_pager && isatty(STDOUT_FILENO)) {
        output.pager = pager_open(&output.file);
        if (output.pager == NULL)
            output.file = stdout;
    }
    *ret_output = output;
}

/* Give the file its name. Without permission to overwrite, link() refuses what came meanwhile. */
static bool name_file(const struct output *output, struct error *err)
{
    assert(output->name != NULL);
    if (output->may_overwrite) {
        if (rename(output->temporary, output->name) == 0)
            return true;
    } else if (link(output->temporary, output->name) == 0) {
        unlink(output->temporary);
        return true;
    } else if (errno != EEXIST && access(output->name, F_OK) != 0 &&
               rename(output->temporary, output->name) == 0) {
        return true; /* a file system without links */
    }
    error_set(err, "%s: cannot be written: %s", output->name, strerror(errno));
    return false;
}

static void forget(struct output *output)
{
    unfinished_file = NULL;
    free(output->temporary);
    free(output->name);
    *output = (struct output){.file = NULL};
}

bool output_finish(struct output *output, struct error *err)
{
    const char *name = output->name == NULL ? "standard output" : output->name;
    bool is_written;

    if (output->pager != NULL) {
        pager_close(output->pager);
        forget(output);
        return true;
    }
    is_written = fflush(output->file) == 0 && !ferror(output->file);
    if (output->file != stdout)
        is_written = fclose(output->file) == 0 && is_written;
    output->file = NULL;
    if (!is_written)
        error_set(err, "%s: cannot be written: %s", name, strerror(errno));
    if (is_written && output->temporary != NULL)
        is_written = name_file(output, err);
    if (!is_written && output->temporary != NULL)
        unlink(output->temporary);
    forget(output);
    return is_written;
}

void output_discard(struct output *output)
{
    if (output->pager != NULL)
        pager_close(output->pager);
    else if (output->file != NULL && output->file != stdout)
        fclose(output->file);
    if (output->temporary != NULL)
        unlink(output->temporary);
    forget(output);
}
