/*
 * Outputs.
 *
 * Until it is complete a file has no name at all, where the file system can do that (O_TMPFILE): then
 * nothing is left of it however the program ends. Elsewhere it has a name of its own beside the
 * wanted one, and the signals that a program may be interrupted by take it away; that name is the one
 * piece of shared state.
 */
#include "output.h"

#include "base/memory.h"
#include "base/nameless.h"
#include "pager.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What an interrupted program takes away. */
static char *volatile unfinished_file;

static const int interruptions[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};

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

static void cannot_write(const struct output *output, struct error *err)
{
    error_set(err, "%s: cannot be written: %s",
              output->name == NULL ? "standard output" : output->name, strerror(errno));
}

/* Return a file without a name in the folder of the output's, or -1 where there is no such thing. */
static int create_nameless(const struct output *output)
{
    const char *slash = strrchr(output->name, '/');
    char *folder = slash == NULL
                       ? memory_copy_text(".")
                       : words_format("%.*s", (int)(slash - output->name) + 1, output->name);
    int fd = nameless_create(folder, O_WRONLY);

    free(folder);
    return fd;
}

/* Return a file with a name of its own, or -1. */
static int create_temporary(struct output *output)
{
    mode_t mask = umask(0);
    int fd;

    umask(mask);
    output->temporary = words_format("%s.XXXXXX", output->name);
    fd = mkostemp(output->temporary, O_CLOEXEC);
    if (fd < 0)
        return -1;
    guard(output->temporary);
    fchmod(fd, NAMELESS_MODE & ~mask); /* mkostemp() makes private ones */
    return fd;
}

/* Open the output's file: new ones have no name yet, a device or a pipe is written in place. */
static bool open_file(struct output *output, bool is_in_place, struct error *err)
{
    int fd;

    if (is_in_place) {
        fd = open(output->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, NAMELESS_MODE);
    } else {
        fd = create_nameless(output);
        output->is_nameless = fd >= 0;
        if (fd < 0)
            fd = create_temporary(output);
    }
    if (fd >= 0)
        output->file = fdopen(fd, "w");
    if (output->file == NULL) {
        cannot_write(output, err);
        if (fd >= 0)
            close(fd);
    }
    return output->file != NULL;
}

bool output_open_file(const char *name, bool may_overwrite, struct output *ret_output,
                      struct error *err)
{
    struct output output = {.may_overwrite = may_overwrite};
    struct stat status;
    bool is_there = stat(name, &status) == 0;

    if (is_there && S_ISREG(status.st_mode) && !may_overwrite) {
        error_set(err, "%s: exists already: use -f to replace it", name);
        return false;
    }
    /* A link stays a link: what it points to is replaced. */
    output.name = is_there ? realpath(name, NULL) : NULL;
    if (output.name == NULL)
        output.name = memory_copy_text(name);
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error to report, no death */
    if (!open_file(&output, is_there && !S_ISREG(status.st_mode), err)) {
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

/*
 * Replace what has the name. A link cannot: the file gets another name, then that one's. No signal
 * that can be held back comes between.
 */
static bool replace_by_descriptor(const struct output *output, int fd)
{
    sigset_t all, before;
    char *other = NULL;
    bool is_linked, is_replaced;
    int error;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    for (unsigned i = 0; other == NULL; i++) {
        other = words_format("%s.%ld-%u", output->name, (long)getpid(), i);
        is_linked = nameless_link(fd, other);
        if (!is_linked && errno == EEXIST) {
            free(other);
            other = NULL;
        }
    }
    is_replaced = is_linked && rename(other, output->name) == 0;
    error = errno;
    if (is_linked && !is_replaced)
        unlink(other);
    free(other);
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return is_replaced;
}

static bool name_descriptor(const struct output *output, int fd)
{
    if (nameless_link(fd, output->name))
        return true;
    return errno == EEXIST && output->may_overwrite && replace_by_descriptor(output, fd);
}

/* Without permission to overwrite, link() refuses what came meanwhile. */
static bool name_temporary(const struct output *output)
{
    if (output->may_overwrite)
        return rename(output->temporary, output->name) == 0;
    if (link(output->temporary, output->name) == 0) {
        unlink(output->temporary);
        return true;
    }
    /* A file system without links. */
    return errno != EEXIST && access(output->name, F_OK) != 0 &&
           rename(output->temporary, output->name) == 0;
}

static void forget(struct output *output)
{
    unfinished_file = NULL;
    free(output->temporary);
    free(output->name);
    *output = (struct output){.file = NULL};
}

/* Push out what was written, give the file its name, close it. Returns false with errno. */
static bool finish_file(struct output *output)
{
    bool has_failed = ferror(output->file);
    bool is_written = fflush(output->file) == 0 && !has_failed;
    int error = has_failed ? EIO : errno; /* of an earlier write the reason is no longer known */

    if (is_written && output->is_nameless) {
        is_written = name_descriptor(output, fileno(output->file));
        error = errno;
    }
    if (output->file != stdout && fclose(output->file) != 0 && is_written) {
        is_written = false;
        error = errno;
        /* What a server refused when the file was closed is no complete file. */
        if (output->is_nameless)
            unlink(output->name);
    }
    output->file = NULL;
    if (is_written && output->temporary != NULL) {
        is_written = name_temporary(output);
        error = errno;
    }
    if (!is_written && output->temporary != NULL)
        unlink(output->temporary);
    errno = error;
    return is_written;
}

bool output_finish(struct output *output, struct error *err)
{
    bool is_written = true;

    if (output->pager != NULL)
        pager_close(output->pager);
    else
        is_written = finish_file(output);
    if (!is_written)
        cannot_write(output, err);
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
