/*
 * Packing and escaping for the page. Runs in the tools.
 */
#include "render/page_pack.h"

#include "base/memory.h"
#include "memtrack/varint.h"
#include "print/text.h"

#include <lz4.h>
#include <lz4hc.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    FULL_LEVEL = 9, /* 12 takes six times as long and saves one part in sixty */
    FAST_LEVEL = 4,
    FULL_LEVEL_MAX_BYTES = 2 << 20, /* what level 9 packs in a quarter of a second */
};

static const char replacement[] = "\xef\xbf\xbd";

void page_bytes_add(struct page_bytes *to, const void *bytes, size_t size_bytes)
{
    to->bytes = memory_grow(to->bytes, &to->capacity_bytes, to->size_bytes + size_bytes, 1);
    if (size_bytes > 0)
        memcpy(to->bytes + to->size_bytes, bytes, size_bytes);
    to->size_bytes += size_bytes;
}

void page_bytes_add_varint(struct page_bytes *to, uint64_t value)
{
    to->bytes = memory_grow(to->bytes, &to->capacity_bytes, to->size_bytes + VARINT_MAX_BYTES, 1);
    to->size_bytes += varint_encode(value, to->bytes + to->size_bytes);
}

void page_bytes_add_folded(struct page_bytes *to, int64_t value)
{
    page_bytes_add_varint(to, varint_fold(value));
}

void page_bytes_finish(struct page_bytes *bytes)
{
    free(bytes->bytes);
    *bytes = (struct page_bytes){.bytes = NULL};
}

/* Return the bytes of the character that a text begins with, or 0 when it has no place in UTF-8. */
static size_t character_bytes(const char *text)
{
    uint32_t character;
    unsigned length = text_decode(text, &character);

    return length > 0 && character >= 0xd800 && character < 0xe000 ? 0 : length;
}

char *page_clean_text(const char *text)
{
    struct page_bytes clean = {.bytes = NULL};

    while (*text != '\0') {
        size_t length = character_bytes(text);

        if (length > 0)
            page_bytes_add(&clean, text, length);
        else
            page_bytes_add(&clean, replacement, sizeof(replacement) - 1);
        text += length > 0 ? length : 1;
    }
    page_bytes_add(&clean, "", 1);
    return (char *)clean.bytes;
}

/* A key of the index of strings. */
struct sought {
    const struct page_strings *strings;
    const char *text;
    size_t length_bytes;
};

static bool is_same_text(const void *items, uint32_t item, const void *key)
{
    const struct page_string *string = (const struct page_string *)items + item;
    const struct sought *sought = key;

    return string->length_bytes == sought->length_bytes &&
           memcmp(sought->strings->text.bytes + string->offset, sought->text,
                  sought->length_bytes) == 0;
}

uint32_t page_strings_intern(struct page_strings *strings, const char *text)
{
    char *clean = page_clean_text(text);
    struct sought sought = {strings, clean, strlen(clean)};
    uint64_t hash = XXH3_64bits(clean, sought.length_bytes);
    uint32_t found;

    found = hash_index_find(&strings->index, hash, is_same_text, strings->strings, &sought);
    if (found == HASH_INDEX_NONE) {
        found = strings->count++;
        strings->strings = memory_grow(strings->strings, &strings->capacity, strings->count,
                                       sizeof(strings->strings[0]));
        strings->strings[found] =
            (struct page_string){strings->text.size_bytes, sought.length_bytes};
        page_bytes_add(&strings->text, clean, sought.length_bytes);
        hash_index_add(&strings->index, hash, found);
    }
    free(clean);
    return found;
}

void page_strings_pack(const struct page_strings *strings, struct page_bytes *to)
{
    for (uint32_t i = 0; i < strings->count; i++)
        page_bytes_add_varint(to, strings->strings[i].length_bytes);
    page_bytes_add(to, strings->text.bytes, strings->text.size_bytes);
}

void page_strings_finish(struct page_strings *strings)
{
    page_bytes_finish(&strings->text);
    free(strings->strings);
    hash_index_finish(&strings->index);
    *strings = (struct page_strings){.strings = NULL};
}

void page_write_text(FILE *out, const char *text)
{
    char *clean = page_clean_text(text);

    for (const char *p = clean; *p != '\0'; p++) {
        switch (*p) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            putc(*p, out);
        }
    }
    free(clean);
}

static void write_base64(FILE *out, const uint8_t *bytes, size_t size_bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < size_bytes; i += 3) {
        size_t left = size_bytes - i;
        uint32_t bits = (uint32_t)bytes[i] << 16;
        char four[4];

        if (left > 1)
            bits |= (uint32_t)bytes[i + 1] << 8;
        if (left > 2)
            bits |= bytes[i + 2];
        four[0] = digits[bits >> 18];
        four[1] = digits[bits >> 12 & 63];
        four[2] = left > 1 ? digits[bits >> 6 & 63] : '=';
        four[3] = left > 2 ? digits[bits & 63] : '=';
        fwrite(four, 1, sizeof(four), out);
    }
}

size_t page_section_bytes(const struct page_bytes *content)
{
    int room_bytes, packed_bytes;
    char *packed;

    if (content->size_bytes > LZ4_MAX_INPUT_SIZE)
        return SIZE_MAX / 4; /* more than any limit */
    room_bytes = LZ4_compressBound((int)content->size_bytes);
    packed = memory_allocate(1, (size_t)room_bytes);
    packed_bytes = LZ4_compress_default((const char *)content->bytes, packed,
                                        (int)content->size_bytes, room_bytes);
    free(packed);
    return ((size_t)packed_bytes + 2) / 3 * 4;
}

bool page_write_section(FILE *out, const char *name, const struct page_bytes *content,
                        struct error *err)
{
    int level = content->size_bytes <= FULL_LEVEL_MAX_BYTES ? FULL_LEVEL : FAST_LEVEL;
    int room_bytes, packed_bytes = 0;
    char *packed;

    if (content->size_bytes > LZ4_MAX_INPUT_SIZE) {
        error_set(err, "the page's %s take %zu bytes: show a part with --process or --thread", name,
                  content->size_bytes);
        return false;
    }
    room_bytes = LZ4_compressBound((int)content->size_bytes);
    packed = memory_allocate(1, (size_t)room_bytes);
    if (content->size_bytes > 0)
        packed_bytes = LZ4_compress_HC((const char *)content->bytes, packed,
                                       (int)content->size_bytes, room_bytes, level);
    fprintf(out, "<script type=\"application/octet-stream\" id=\"data-%s\" data-bytes=\"%zu\">",
            name, content->size_bytes);
    write_base64(out, (const uint8_t *)packed, (size_t)packed_bytes);
    fputs("</script>\n", out);
    free(packed);
    return true;
}
