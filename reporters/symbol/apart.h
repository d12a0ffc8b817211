/*
 * Work on files that may be damaged or hostile, done in processes of their own.
 *
 * Libraries that read debug information are large and trust it. Whatever they do with a bad file, crash,
 * never end or ask for all memory, ends that process only, and what it was to find is not known. Two
 * work at a time.
 */
#ifndef SYMBOL_APART_H
#define SYMBOL_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a piece of work came to. */
struct apart_result {
    uint8_t *bytes; /* to be given to free(); NULL: it failed */
    size_t size_bytes;
};

/*
 * Do a piece of work, in its process. It may allocate and leave things open: all of it ends with it.
 * It must touch no file that was open before, nor start threads.
 * Returns false when it failed, or true with the bytes to be sent.
 */
typedef bool apart_work(void *user, size_t index, const uint8_t **ret_bytes,
                        size_t *ret_size_bytes);

/*
 * Do many pieces of work.
 * seconds: of processor time, for each. results: count of them, filled in. Context: tool.
 */
void apart_run(apart_work *work, void *user, size_t count, uint32_t seconds,
               struct apart_result *results);

#endif
