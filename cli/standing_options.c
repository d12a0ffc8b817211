/*
 * Options from the environment: words parted by white space, as the command line has them.
 */
#include "standing_options.h"

#include "base/memory.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>

#define WHITE_SPACE " \t\n"

static char **joined; /* lives on: values point into it */

/* What a program would be begun by belongs to one command line. */
static bool check(int count, char **words, struct error *err)
{
    struct option_values values;
    struct error reason;
    const char *other = NULL;

    for (int i = 1; i < count; i++)
        if (strcmp(words[i], "--") == 0)
            other = words[i];
    if (!options_parse(COMMAND_RUN, count, words, &values, &reason)) {
        error_set(err, "MEMTRACK_OPTIONS: %s", reason.text);
        return false;
    }
    if (values.operand_count > 0)
        other = values.operands[0];
    if (values.is_set[OPTION_MODULE] || values.is_set[OPTION_CODE])
        other = values.is_set[OPTION_MODULE] ? "-m" : "-c";
    if (other == NULL)
        return true;
    error_set(err, "MEMTRACK_OPTIONS: %s: only options of memtrack run may stand there", other);
    return false;
}

bool standing_options_join(int *argc, char ***argv, struct error *err)
{
    const char *value = getenv("MEMTRACK_OPTIONS");
    size_t room = value == NULL ? 0 : strlen(value) / 2 + 1; /* words, at most */
    int count = 1;
    char *text;

    if (value == NULL || value[strspn(value, WHITE_SPACE)] == '\0')
        return true;
    text = memory_copy_text(value);
    joined = memory_allocate(room + (size_t)*argc + 1, sizeof(*joined));
    joined[0] = (*argv)[0];
    for (char *word = strtok(text, WHITE_SPACE); word != NULL; word = strtok(NULL, WHITE_SPACE))
        joined[count++] = word;
    if (!check(count, joined, err))
        return false;
    memcpy(joined + count, *argv + 1, (size_t)*argc * sizeof(*joined)); /* with its NULL */
    *argc += count - 1;
    *argv = joined;
    return true;
}
