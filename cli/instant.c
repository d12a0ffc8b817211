/*
 * Instants as people name them, and where they lie in a capture.
 */
#include "instant.h"

#include "base/memory.h"
#include "print/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char forms[] = "a time such as 1.5s, 200ms or 1m30s, a share such as 40%, "
                            "peak, end or mark:NAME";
static const char mark_word[] = "mark:";

enum {
    MARK_WORD_LENGTH = sizeof(mark_word) - 1,
};

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

/* A number of some unit: its text has an end of its own. */
static bool parse_number(struct instant *instant)
{
    char *text = memory_allocate(instant->length + 1, 1);
    bool is_right;

    memcpy(text, instant->text, instant->length);
    if (strchr(text, '%') != NULL) {
        instant->kind = INSTANT_SHARE;
        is_right = units_parse_percent(text, &instant->value, NULL) && instant->value <= 1000000;
    } else {
        instant->kind = INSTANT_TIME;
        is_right = units_parse_time(text, &instant->value, NULL);
    }
    free(text);
    return is_right;
}

static bool parse(const char *text, size_t length, struct instant *ret_instant)
{
    struct instant instant = {.text = text, .length = length};
    bool is_right = true;

    if (is_word(text, length, "peak")) {
        instant.kind = INSTANT_PEAK;
    } else if (is_word(text, length, "end")) {
        instant.kind = INSTANT_END;
    } else if (length > MARK_WORD_LENGTH && strncmp(text, mark_word, MARK_WORD_LENGTH) == 0) {
        instant.kind = INSTANT_MARK;
        instant.mark = text + MARK_WORD_LENGTH;
    } else {
        is_right = parse_number(&instant);
    }
    *ret_instant = instant;
    return is_right;
}

bool instant_parse(const char *option, const char *text, size_t length, struct instant *ret_instant,
                   struct error *err)
{
    if (parse(text, length, ret_instant))
        return true;
    error_set(err, "--%s=%.*s: use %s", option, (int)length, text, forms);
    return false;
}

static const struct profile_mark *find_mark(const struct instant *instant,
                                            const struct profile *profile)
{
    size_t length = instant->length - MARK_WORD_LENGTH;

    for (uint32_t i = 0; i < profile->mark_count; i++)
        if (is_word(instant->mark, length, profile->marks[i].name))
            return &profile->marks[i];
    return NULL;
}

/* Does an instant say something that this capture has? */
static bool has_mark(const struct instant *instant, const struct profile *profile)
{
    return profile == NULL || instant->kind != INSTANT_MARK || find_mark(instant, profile) != NULL;
}

bool instant_parse_range(const char *option, const char *text, const struct profile *profile,
                         struct instant *ret_from, struct instant *ret_to, struct error *err)
{
    bool is_found = false;

    for (const char *colon = strchr(text, ':'); colon != NULL; colon = strchr(colon + 1, ':')) {
        struct instant from = {.kind = INSTANT_START, .text = text},
                       to = {.kind = INSTANT_END, .text = colon + 1};
        size_t from_length = (size_t)(colon - text), to_length = strlen(colon + 1);
        bool is_better;

        if ((from_length > 0 && !parse(text, from_length, &from)) ||
            (to_length > 0 && !parse(colon + 1, to_length, &to)))
            continue;
        is_better = has_mark(&from, profile) && has_mark(&to, profile);
        if (!is_found || is_better) {
            *ret_from = from;
            *ret_to = to;
            is_found = true;
        }
        if (is_better)
            return true;
    }
    if (!is_found)
        error_set(err, "--%s=%s: use A:B, each of them %s, or left out", option, text, forms);
    return is_found;
}

/* Of the instants that programs have marked themselves the place is known better than by time. */
static struct profile_bound bound_of_mark(const struct profile *profile,
                                          const struct profile_mark *mark)
{
    struct profile_bound bound = profile_bound_at(profile, mark->time_ns);

    if (mark->stream == UINT32_MAX)
        return bound;
    bound.is_end = false;
    for (const struct profile_mark *before = profile->marks; before <= mark; before++)
        bound.mark += before->stream != UINT32_MAX;
    return bound;
}

/* The share of a time, without a product that is too large. share_ppm: at most 10^6. */
static uint64_t part_of(uint64_t time_ns, uint64_t share_ppm)
{
    return time_ns / 1000000 * share_ppm + time_ns % 1000000 * share_ppm / 1000000;
}

bool instant_find(const char *option, const struct instant *instant, const struct profile *profile,
                  struct profile_bound *ret_bound, struct error *err)
{
    const struct profile_mark *mark = NULL;
    uint64_t time_ns = 0;

    switch (instant->kind) {
    case INSTANT_START:
        break;
    case INSTANT_TIME:
        time_ns = instant->value;
        break;
    case INSTANT_SHARE:
        time_ns = part_of(profile->end_ns, instant->value);
        break;
    case INSTANT_PEAK:
        time_ns = profile->totals.peak_time_ns;
        break;
    case INSTANT_END:
        time_ns = profile->end_ns;
        break;
    case INSTANT_MARK:
        mark = find_mark(instant, profile);
        if (mark == NULL) {
            error_set(err, "--%s: no mark is called '%.*s': see memtrack stats", option,
                      (int)(instant->length - MARK_WORD_LENGTH), instant->mark);
            return false;
        }
        break;
    }
    if (time_ns > profile->end_ns) {
        error_set(err, "--%s=%.*s: the capture ends after %s", option, (int)instant->length,
                  instant->text, units_format_time(profile->end_ns, 0).text);
        return false;
    }
    *ret_bound = mark != NULL ? bound_of_mark(profile, mark) : profile_bound_at(profile, time_ns);
    return true;
}
