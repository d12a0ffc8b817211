/*
 * Records to planes and back. Any thread: the collector's pack thread does it to every event, the
 * tools undo it.
 *
 * Both are a transposition of bytes. It is done in squares of 8 by 8, each in eight words, without a
 * branch, which compilers turn into vector code.
 */
#include "capture/planes.h"

#include "memtrack/format.h"
#include "memtrack/varint.h"

#include <stddef.h>
#include <string.h>

enum {
    SIDE = 8,   /* bytes of a word */
    GROUP = 64, /* records: a line of the cache in each plane */
};

_Static_assert(EVENT_BYTES == 2 * SIDE, "a record is two words");
_Static_assert(GROUP % SIDE == 0, "a group is whole squares");

/* Exchange the bits of a above the mask's width with those of b below it, field by field. */
static inline void exchange(uint64_t *a, uint64_t *b, unsigned width, uint64_t mask)
{
    uint64_t different = (*a >> width ^ *b) & mask;

    *b ^= different;
    *a ^= different << width;
}

/* Byte j of word i becomes byte i of word j. */
static inline void transpose(uint64_t words[SIDE])
{
    for (int i = 0; i < 4; i++)
        exchange(&words[i], &words[i + 4], 32, UINT64_C(0x00000000ffffffff));
    for (int i = 0; i < SIDE; i += 4) {
        exchange(&words[i], &words[i + 2], 16, UINT64_C(0x0000ffff0000ffff));
        exchange(&words[i + 1], &words[i + 3], 16, UINT64_C(0x0000ffff0000ffff));
    }
    for (int i = 0; i < SIDE; i += 2)
        exchange(&words[i], &words[i + 1], 8, UINT64_C(0x00ff00ff00ff00ff));
}

/* Transpose a square between two places with lines so many bytes apart. */
static inline void copy_square(const uint8_t *from, size_t from_line, uint8_t *to, size_t to_line)
{
    uint64_t words[SIDE];

    for (size_t i = 0; i < SIDE; i++)
        words[i] = le_load_u64(from + i * from_line);
    transpose(words);
    for (size_t i = 0; i < SIDE; i++)
        le_store_u64(words[i], to + i * to_line);
}

void planes_split(const uint8_t *records, uint32_t count, uint8_t *ret_planes)
{
    uint32_t done = 0;

    /*
     * A group is put together aside: planes of whole blocks lie a power of two apart, where a
     * cache has few places, so each line is written once and as a whole.
     */
    for (; count - done >= GROUP; done += GROUP) {
        uint8_t group[EVENT_BYTES][GROUP];

        for (size_t i = 0; i < GROUP; i += SIDE) {
            const uint8_t *from = records + (done + i) * EVENT_BYTES;

            copy_square(from, EVENT_BYTES, &group[0][i], GROUP);
            copy_square(from + SIDE, EVENT_BYTES, &group[SIDE][i], GROUP);
        }
        for (size_t plane = 0; plane < EVENT_BYTES; plane++)
            memcpy(ret_planes + plane * count + done, group[plane], GROUP);
    }
    for (; done < count; done++)
        for (size_t plane = 0; plane < EVENT_BYTES; plane++)
            ret_planes[plane * count + done] = records[(size_t)done * EVENT_BYTES + plane];
}

void planes_join(const uint8_t *planes, uint32_t count, uint8_t *ret_records)
{
    uint32_t done = 0;

    for (; count - done >= SIDE; done += SIDE) {
        uint8_t *to = ret_records + (size_t)done * EVENT_BYTES;

        copy_square(planes + done, count, to, EVENT_BYTES);
        copy_square(planes + SIDE * (size_t)count + done, count, to + SIDE, EVENT_BYTES);
    }
    for (; done < count; done++)
        for (size_t plane = 0; plane < EVENT_BYTES; plane++)
            ret_records[(size_t)done * EVENT_BYTES + plane] = planes[plane * count + done];
}
