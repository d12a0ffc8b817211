/*
 * Where a session is to be found: the value of MEMTRACK_SESSION.
 */
#ifndef SESSION_LOCATOR_H
#define SESSION_LOCATOR_H

#include "memtrack/protocol.h"

#include <stdbool.h>
#include <stdint.h>

struct locator {
    char name[2 * UUID_BYTES + 1]; /* the uuid as text: the socket's name has it */
    uint8_t uuid[UUID_BYTES];
    uint8_t token[TOKEN_BYTES];
};

/*
 * Find a variable in an environment.
 * environment: as of a process, NULL at the end; may itself be NULL.
 * Returns its value, inside the environment; NULL when it is not there.
 * Context: start-up.
 */
const char *locator_find(char *const *environment, const char *variable);

/*
 * Take a locator apart: <uuid, 32 hexadecimal digits>:<token, likewise>:<path>. The path is for
 * people and error messages.
 * Returns false when the text is something else.
 * Context: start-up.
 */
bool locator_parse(const char *text, struct locator *ret_locator);

#endif
