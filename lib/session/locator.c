/*
 * Reading MEMTRACK_SESSION.
 *
 * Runs in our constructor, before libc has its environ: the vector comes from the loader.
 */
#include "session/locator.h"

#include <stddef.h>
#include <string.h>

const char *locator_find(char *const *environment, const char *variable)
{
    size_t length = strlen(variable);

    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, variable, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

/* Returns -1 when it is none. */
static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return -1;
}

/* Read the digits of count bytes. Stops at the text's end, which is no digit. */
static bool parse_bytes(const char *text, uint8_t *bytes, size_t count_bytes)
{
    for (size_t i = 0; i < count_bytes; i++) {
        int high = digit_value(text[2 * i]);
        int low = high < 0 ? -1 : digit_value(text[2 * i + 1]);

        if (low < 0)
            return false;
        bytes[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

bool locator_parse(const char *text, struct locator *ret_locator)
{
    struct locator locator = {0};
    const size_t uuid_digits = 2 * sizeof(locator.uuid), token_digits = 2 * sizeof(locator.token);
    const size_t token_at = uuid_digits + 1, path_at = token_at + token_digits + 1;

    if (!parse_bytes(text, locator.uuid, UUID_BYTES) || text[token_at - 1] != ':' ||
        !parse_bytes(text + token_at, locator.token, TOKEN_BYTES) || text[path_at - 1] != ':')
        return false;
    memcpy(locator.name, text, uuid_digits);
    *ret_locator = locator;
    return true;
}
