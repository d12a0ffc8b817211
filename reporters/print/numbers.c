/*
 * Counts and shares. Runs in the tools, on any thread.
 */
#include "print/numbers.h"

#include <inttypes.h>
#include <stdio.h>

struct units_text numbers_format_count(uint64_t count)
{
    struct units_text result;
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
    size_t at = 0;

    /* 20 digits and 6 commas fit in UNITS_MAX_COLUMNS. */
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            result.text[at++] = ',';
        result.text[at++] = digits[i];
    }
    result.text[at] = '\0';
    return result;
}

const char *numbers_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

struct units_text numbers_format_share(uint64_t part, uint64_t whole)
{
    struct units_text result;
    uint64_t per_mille = 0;

    /* Beyond 2^53 the lowest bits cannot show in three digits. */
    while (part > UINT64_MAX / 2048 || whole > UINT64_MAX / 2048) {
        part >>= 1;
        whole >>= 1;
    }
    if (whole > 0)
        per_mille = (part * 1000 + whole / 2) / whole;
    snprintf(result.text, sizeof(result.text), "%" PRIu64 ".%" PRIu64, per_mille / 10,
             per_mille % 10);
    return result;
}
