/*
 * Foreign text made printable. Runs in the tools, on any thread; asks no locale, so the same
 * capture gives the same bytes everywhere.
 */
#include "print/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
    uint32_t first, last;
};

/* Unicode 15: marks and joiners that take no column of their own. */
static const struct range zero_width[] = {
    {0x0300, 0x036f},   {0x0483, 0x0489},   {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x06d6, 0x06dc},   {0x0900, 0x0902},   {0x093c, 0x093c}, {0x0941, 0x0948}, {0x094d, 0x094d},
    {0x0e31, 0x0e31},   {0x0e34, 0x0e3a},   {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
    {0x20d0, 0x20ff},   {0x302a, 0x302d},   {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
    {0x1f3fb, 0x1f3ff}, {0xe0100, 0xe01ef},
};

/* Unicode 15, East Asian Width W and F, in few ranges. */
static const struct range double_width[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
    {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26aa, 0x26ab},   {0x26bd, 0x26be},
    {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},   {0x274c, 0x274c},
    {0x2753, 0x2755},   {0x2795, 0x2797},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},
    {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0xa4cf},
    {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18aff}, {0x1b000, 0x1b2ff},
    {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a},
    {0x1f200, 0x1f320}, {0x1f32d, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb},
    {0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

/* Controls, and what is invisible or turns the direction of writing. */
static const struct range invisible[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f}, {0x00ad, 0x00ad}, {0x061c, 0x061c},
    {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
    {0xd800, 0xdfff}, {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xe0000, 0xe007f},
};

static bool is_in(const struct range *ranges, size_t count, uint32_t character)
{
    for (size_t i = 0; i < count && ranges[i].first <= character; i++) {
        if (character <= ranges[i].last)
            return true;
    }
    return false;
}

#define IS_IN(ranges_, character_) \
    is_in(ranges_, sizeof(ranges_) / sizeof((ranges_)[0]), character_)

unsigned text_decode(const char *text, uint32_t *ret_character)
{
    /* By length: bits of the first byte that say it, and the least character that needs it. */
    static const struct {
        uint8_t mask, mark;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    const uint8_t *bytes = (const uint8_t *)text;

    for (unsigned length = 1; length <= 4; length++) {
        uint32_t character;

        if ((bytes[0] & forms[length - 1].mask) != forms[length - 1].mark)
            continue;
        character = bytes[0] & (uint8_t)~forms[length - 1].mask;
        for (unsigned i = 1; i < length; i++) {
            if ((bytes[i] & 0xc0) != 0x80) /* the NUL at the end as well */
                return 0;
            character = character << 6 | (bytes[i] & 0x3f);
        }
        if (character < forms[length - 1].least || character > 0x10ffff)
            return 0;
        *ret_character = character;
        return length;
    }
    return 0;
}

/* Write a character that is not shown as itself. Returns the length, at most 10. */
static size_t escape(char ret_text[16], uint32_t character)
{
    static const char *const short_forms[32] = {['\t'] = "\\t", ['\n'] = "\\n", ['\r'] = "\\r"};

    if (character < 32 && short_forms[character] != NULL)
        return (size_t)snprintf(ret_text, 16, "%s", short_forms[character]);
    if (character < 0x80)
        return (size_t)snprintf(ret_text, 16, "\\x%02x", (unsigned)character);
    if (character < 0x10000)
        return (size_t)snprintf(ret_text, 16, "\\u%04x", (unsigned)character);
    return (size_t)snprintf(ret_text, 16, "\\U%08x", (unsigned)character);
}

/* Append the printable form of what `text` begins with to ret_text. Returns bytes read. */
static unsigned clean_character(const char *text, bool is_ascii, char ret_text[16],
                                size_t *ret_length)
{
    uint32_t character;
    unsigned length = text_decode(text, &character);

    if (length == 0) {
        *ret_length = (size_t)snprintf(ret_text, 16, "\\x%02x", (unsigned)(uint8_t)text[0]);
        return 1;
    }
    if (IS_IN(invisible, character) || (is_ascii && character >= 0x80)) {
        *ret_length = escape(ret_text, character);
        return length;
    }
    memcpy(ret_text, text, length);
    *ret_length = length;
    return length;
}

static bool is_plain(const char *text)
{
    while (*text >= 0x20 && *text < 0x7f)
        text++;
    return *text == '\0';
}

char *text_clean(struct memory_pool *pool, const char *text, bool is_ascii)
{
    size_t length = strlen(text), capacity = 0, used = 0;
    char piece[16], *result = NULL, *copy;

    if (is_plain(text))
        return memory_pool_copy(pool, text, length);
    while (*text != '\0') {
        size_t piece_length;

        text += clean_character(text, is_ascii, piece, &piece_length);
        result = memory_grow(result, &capacity, used + piece_length, 1);
        memcpy(result + used, piece, piece_length);
        used += piece_length;
    }
    copy = memory_pool_copy(pool, result, used);
    free(result);
    return copy;
}

static unsigned character_columns(uint32_t character)
{
    if (character < 0x300)
        return 1;
    if (IS_IN(zero_width, character))
        return 0;
    return IS_IN(double_width, character) ? 2 : 1;
}

/* Step over one character of a clean text; what is not UTF-8 counts as one column a byte. */
static unsigned step(const char **text)
{
    uint32_t character;
    unsigned length = text_decode(*text, &character);

    *text += length > 0 ? length : 1;
    return length > 0 ? character_columns(character) : 1;
}

unsigned text_columns(const char *clean)
{
    unsigned columns = 0;

    while (*clean != '\0')
        columns += step(&clean);
    return columns;
}

/* The ellipsis that fits beside at least one column of text. */
static const char *ellipsis_for(unsigned columns, bool is_ascii)
{
    if (!is_ascii)
        return "\xe2\x80\xa6";
    return columns >= 8 ? "..." : "~";
}

const char *text_shorten_end(struct memory_pool *pool, const char *clean, unsigned columns,
                             bool is_ascii)
{
    const char *ellipsis = ellipsis_for(columns, is_ascii), *end = clean;
    unsigned kept_columns = columns - text_columns(ellipsis);
    size_t kept_bytes, ellipsis_bytes = strlen(ellipsis);
    char *result;

    if (text_columns(clean) <= columns)
        return clean;
    for (;;) {
        const char *next = end;
        unsigned step_columns = step(&next);

        if (step_columns > kept_columns)
            break;
        kept_columns -= step_columns;
        end = next;
    }
    kept_bytes = (size_t)(end - clean);
    result = memory_pool_allocate(pool, kept_bytes + ellipsis_bytes + 1);
    memcpy(result, clean, kept_bytes);
    memcpy(result + kept_bytes, ellipsis, ellipsis_bytes);
    return result;
}

const char *text_shorten_start(struct memory_pool *pool, const char *clean, unsigned columns,
                               bool is_ascii)
{
    const char *ellipsis = ellipsis_for(columns, is_ascii), *begin = clean;
    unsigned kept_columns = columns - text_columns(ellipsis), all_columns = text_columns(clean);
    size_t ellipsis_bytes = strlen(ellipsis), kept_bytes;
    char *result;

    if (all_columns <= columns)
        return clean;
    while (all_columns > kept_columns)
        all_columns -= step(&begin);
    kept_bytes = strlen(begin);
    result = memory_pool_allocate(pool, ellipsis_bytes + kept_bytes + 1);
    memcpy(result, ellipsis, ellipsis_bytes);
    memcpy(result + ellipsis_bytes, begin, kept_bytes);
    return result;
}
