/*
 * What a complete blob says: code, names of threads, marks and pools, the Python of a process.
 */
#ifndef COLLECT_ANNOUNCE_H
#define COLLECT_ANNOUNCE_H

#include "collect/ring_reader.h"
#include "collect/sink.h"

#include <stdbool.h>

/*
 * Take the blob that the reader's ring has just completed.
 * Returns false when it is damaged; a kind that is not known is not. Context: drain thread.
 */
bool announce_take(struct ring_reader *reader, struct sink *sink);

#endif
