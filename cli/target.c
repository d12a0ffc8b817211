/*
 * Targets. `app.py` and scripts that start with Python's name run under $MEMTRACK_PYTHON, else
 * python3; everything else is started as a shell would start it.
 */
#include "target.h"

#include "base/memory.h"
#include "executable.h"
#include "exit_status.h"
#include "preflight.h"
#include "words.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ADDED_ARGUMENTS = 3, /* python3 -m MODULE */
};

/* MEMTRACK_PYTHON; NULL when it is not set, or empty. */
static const char *chosen_python(void)
{
    const char *python = getenv("MEMTRACK_PYTHON");

    return python == NULL || python[0] == '\0' ? NULL : python;
}

/* Put the words before the operands, from a given one on. Up to two words; NULL ends them. */
static void set_arguments(struct target *target, const char *const *words, char *const *operands)
{
    size_t count = 0, word_count = 0;

    while (operands[count] != NULL)
        count++;
    target->arguments = memory_allocate(ADDED_ARGUMENTS + count + 1, sizeof(char *));
    for (; words[word_count] != NULL; word_count++)
        target->arguments[word_count] = (char *)(uintptr_t)words[word_count];
    memcpy(target->arguments + word_count, operands, count * sizeof(char *));
}

/* Start the operands under Python; words stand between its name and them. */
static bool use_python(struct target *target, const char *word, const char *second,
                       char *const *operands, int *ret_status, struct error *err)
{
    const char *python = chosen_python();
    const char *words[ADDED_ARGUMENTS + 1] = {python == NULL ? "python3" : python, word, second};

    target->path = executable_find(words[0]);
    if (target->path == NULL) {
        *ret_status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
        error_set(err, "%s: %s: set MEMTRACK_PYTHON to the Python to use", words[0],
                  strerror(errno));
        return false;
    }
    set_arguments(target, words, operands);
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);

    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

/* Find the file of PROGRAM: scripts are looked for here first, as `python3 app.py` does. */
static char *find_program(const char *name, int *ret_status, struct error *err)
{
    struct stat status;
    char *path;

    if (ends_with(name, ".py") && access(name, F_OK) == 0)
        return memory_copy_text(name);
    path = executable_find(name);
    if (path != NULL)
        return path;
    *ret_status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    if (errno == EACCES)
        error_set(err, "%s: found in PATH, but not executable", name);
    else if (ends_with(name, ".py"))
        error_set(err, "%s: No such file or directory", name);
    else if (stat(name, &status) == 0 && S_ISREG(status.st_mode))
        error_set(err, "%s: not found in PATH: did you mean ./%s?", name, name);
    else
        error_set(err, "%s: not found in PATH", name);
    return NULL;
}

static bool check_script_is_readable(const char *path, int *ret_status, struct error *err)
{
    if (access(path, R_OK) == 0)
        return true;
    *ret_status = errno == ENOENT || errno == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    error_set(err, "%s: %s", path, strerror(errno));
    return false;
}

/*
 * Whether a file is to run under the Python of our choice. An executable script that names its own
 * interpreter knows better than we do, unless the user says: it may be that of an environment.
 */
static bool wants_python(const char *path)
{
    struct executable_elf elf;
    struct executable_script script;

    if (ends_with(path, ".py"))
        return true;
    return executable_read(path, &elf, &script) == EXECUTABLE_SCRIPT &&
           executable_is_python(&script) && (chosen_python() != NULL || access(path, X_OK) != 0);
}

static bool use_program(struct target *target, char *const *operands, int *ret_status,
                        struct error *err)
{
    static const char *const no_words[] = {NULL};
    char *path = find_program(operands[0], ret_status, err);
    bool is_good;

    if (path == NULL)
        return false;
    target->shown_name = memory_copy_text(words_base_name(path));
    if (!wants_python(path)) {
        target->path = path;
        set_arguments(target, no_words, operands);
        return true;
    }
    /* Python gets the name as it was typed, or else the path at which it was found. */
    if (strcmp(path, operands[0]) == 0) {
        free(path);
        return check_script_is_readable(operands[0], ret_status, err) &&
               use_python(target, NULL, NULL, operands, ret_status, err);
    }
    is_good = check_script_is_readable(path, ret_status, err) &&
              use_python(target, path, NULL, operands + 1, ret_status, err);
    target->script = path;
    return is_good;
}

bool target_resolve(const struct option_values *values, struct target *ret_target, int *ret_status,
                    struct error *err)
{
    struct target target = {.path = NULL};
    bool is_good;

    if (values->is_set[OPTION_MODULE]) {
        target.shown_name = memory_copy_text(values->values[OPTION_MODULE]);
        is_good = use_python(&target, "-m", values->values[OPTION_MODULE], values->operands,
                             ret_status, err);
    } else if (values->is_set[OPTION_CODE]) {
        target.shown_name = memory_copy_text("string");
        is_good = use_python(&target, "-c", values->values[OPTION_CODE], values->operands,
                             ret_status, err);
    } else if (values->operand_count == 0) {
        *ret_status = EXIT_USAGE;
        error_set(err, "nothing to run: name a program, -m MODULE or -c CODE");
        is_good = false;
    } else {
        is_good = use_program(&target, values->operands, ret_status, err);
    }
    if (!is_good || !preflight_check(target.path, ret_status, err)) {
        target_finish(&target);
        return false;
    }
    *ret_target = target;
    return true;
}

void target_finish(struct target *target)
{
    free(target->path);
    free(target->script);
    free(target->shown_name);
    free(target->arguments);
}
