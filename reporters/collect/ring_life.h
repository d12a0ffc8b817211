/*
 * Rings come and go: taken by a thread, left by it, given memory.
 */
#ifndef COLLECT_RING_LIFE_H
#define COLLECT_RING_LIFE_H

#include "collect/records.h"

#include <stdbool.h>
#include <stdint.h>

struct drain;
struct ring_reader;

/*
 * Look at a ring's state: begin a stream when a thread has taken it, end one that is given back.
 * Returns true when the ring is to be read. Context: drain thread.
 */
bool ring_life_look(struct drain *drain, struct ring_reader *reader);

/*
 * The thread is gone: fill what it left, so that the next scan reads all of it.
 * Context: drain thread.
 */
void ring_life_mark_gone(struct drain *drain, struct ring_reader *reader);

/*
 * End the stream of a thread that is gone, once it has been read to its end; the ring becomes free
 * when that is written. Context: drain thread.
 */
void ring_life_end(struct drain *drain, struct ring_reader *reader);

/*
 * Keep rings ready: those of ended threads first, then new ones; look for ended threads now and
 * then anyway. Context: drain thread.
 */
void ring_life_provide(struct drain *drain);

/*
 * Write what is otherwise said only at a thread's end: what it has lost, which is added to *lost.
 * reader: of an active ring. records: to write to. Context: drain thread.
 */
void ring_life_write_losses(const struct ring_reader *reader, struct records *records,
                            uint64_t *lost);

#endif
