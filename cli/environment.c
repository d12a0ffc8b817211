/*
 * Environments: copies, since this process's own stays as it is.
 */
#include "environment.h"

#include "base/memory.h"
#include "memtrack/protocol.h"
#include "words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRELOAD_VARIABLE "LD_PRELOAD"
#define OWN_VARIABLES    "MEMTRACK_"

enum {
    ADDED_VARIABLES = 2,
};

static size_t count_variables(void)
{
    size_t count = 0;

    while (environ[count] != NULL)
        count++;
    return count;
}

/* Return the value of "name=value" when it is that name; NULL otherwise. */
static const char *value_of(const char *variable, const char *name)
{
    size_t length = strlen(name);

    return strncmp(variable, name, length) == 0 && variable[length] == '=' ? variable + length + 1
                                                                           : NULL;
}

/* Whether a library stands in a list that is separated by spaces and colons. */
static bool is_listed(const char *list, const char *library)
{
    size_t length = strlen(library);

    for (list += strspn(list, " :"); *list != '\0'; list += strspn(list, " :")) {
        size_t entry_length = strcspn(list, " :");

        if (entry_length == length && strncmp(list, library, length) == 0)
            return true;
        list += entry_length;
    }
    return false;
}

static char *preload_with(const char *old, const char *library)
{
    if (old[0] == '\0')
        return words_format(PRELOAD_VARIABLE "=%s", library);
    if (is_listed(old, library)) /* memtrack in a tracked program: it is there already */
        return words_format(PRELOAD_VARIABLE "=%s", old);
    return words_format(PRELOAD_VARIABLE "=%s:%s", library, old);
}

char **environment_of_program(const char *library, const char *session)
{
    char **environment = memory_allocate(count_variables() + ADDED_VARIABLES + 1, sizeof(char *));
    bool has_preload = false, has_session = false;
    size_t count = 0;

    for (char **variable = environ; *variable != NULL; variable++) {
        const char *preload = value_of(*variable, PRELOAD_VARIABLE);

        if (preload != NULL && !has_preload) {
            environment[count++] = preload_with(preload, library);
            has_preload = true;
        } else if (value_of(*variable, SESSION_VARIABLE) != NULL) {
            if (!has_session)
                environment[count++] = words_format(SESSION_VARIABLE "=%s", session);
            has_session = true;
        } else {
            environment[count++] = memory_copy_text(*variable);
        }
    }
    if (!has_preload)
        environment[count++] = preload_with("", library);
    if (!has_session)
        environment[count++] = words_format(SESSION_VARIABLE "=%s", session);
    return environment;
}

char **environment_of_collector(void)
{
    char **environment = memory_allocate(count_variables() + 1, sizeof(char *));
    size_t count = 0;

    for (char **variable = environ; *variable != NULL; variable++) {
        if (value_of(*variable, PRELOAD_VARIABLE) == NULL &&
            strncmp(*variable, OWN_VARIABLES, strlen(OWN_VARIABLES)) != 0)
            environment[count++] = memory_copy_text(*variable);
    }
    return environment;
}

void environment_free(char **environment)
{
    if (environment == NULL)
        return;
    for (char **variable = environment; *variable != NULL; variable++)
        free(*variable);
    free(environment);
}
