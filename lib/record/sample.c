/*
 * Drawing the way to the next pick.
 *
 * Runs in the program's threads, on slow paths. The distances between picks are exponentially
 * distributed, cut down to whole bytes: that distribution has no memory, so what is left of a
 * distance, once a block has fitted into it, is distributed as the distance was, and the chance of
 * each block depends on its size alone. A distance of the mean or more is walked in parts, so that a
 * block as large as that is always noticed on its way.
 *
 * Integers alone: the program may have other ideas of rounding, and may want to know whether its own
 * arithmetic was exact.
 */
#include "record/sample.h"

#define LN_2 UINT64_C(0xb17217f7d1cf79ac) /* of 2^64 */

__extension__ typedef unsigned __int128 wide;

/* splitmix64 (Steele, Lea, Flood 2014): a counter, well mixed. Never returns 0. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t number = *state += UINT64_C(0x9e3779b97f4a7c15);

    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    number ^= number >> 31;
    return number != 0 ? number : 1;
}

/*
 * The number is m * 2^(63 - zeros) with 1 <= m < 2. Squaring m doubles its logarithm to the base of
 * 2, so that the next binary digit of it is whether the square is 2 or more.
 */
uint64_t sample_negative_log(uint64_t number)
{
    unsigned zeros = (unsigned)__builtin_clzll(number);
    uint64_t mantissa = number << zeros; /* 63 binary places */
    uint64_t log = 0;

    for (unsigned i = 0; i < SAMPLE_LOG_BITS; i++) {
        wide square = (wide)mantissa * mantissa;
        bool is_two = (uint64_t)(square >> 127) != 0;

        log = log << 1 | is_two;
        mantissa = (uint64_t)(square >> (is_two ? 64 : 63));
    }
    log = ((uint64_t)(zeros + 1) << SAMPLE_LOG_BITS) - log;
    return (uint64_t)((wide)log * LN_2 >> 64);
}

static uint64_t draw_bytes(struct sample_thread *thread, uint64_t mean_bytes)
{
    uint64_t log = sample_negative_log(next_random(&thread->random));

    return (uint64_t)((wide)log * mean_bytes >> SAMPLE_LOG_BITS);
}

static void set_way(struct sample_thread *thread, uint64_t bytes)
{
    uint64_t part_bytes = bytes < thread->mean_bytes ? bytes : thread->mean_bytes - 1;

    thread->rest_bytes = bytes - part_bytes;
    thread->left_bytes = part_bytes;
}

static void begin_way(struct sample_thread *thread, uint64_t mean_bytes)
{
    thread->mean_bytes = mean_bytes;
    set_way(thread, draw_bytes(thread, mean_bytes));
}

void sample_begin(struct sample_thread *thread, uint64_t mean_bytes, uint64_t seed)
{
    thread->random = seed != 0 ? seed : 1;
    begin_way(thread, mean_bytes);
}

bool sample_picks(struct sample_thread *thread, uint64_t mean_bytes, uint64_t size_bytes)
{
    uint64_t way_bytes = thread->left_bytes + thread->rest_bytes;

    if (size_bytes >= thread->mean_bytes) {
        /* What is left of a way says nothing: another may be begun instead. */
        if (thread->mean_bytes != mean_bytes)
            begin_way(thread, mean_bytes);
        return true;
    }
    if (way_bytes >= size_bytes) {
        set_way(thread, way_bytes - size_bytes);
        return false;
    }
    begin_way(thread, mean_bytes);
    return true;
}
