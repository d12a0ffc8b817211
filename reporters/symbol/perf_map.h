/*
 * Names of code that a process made as it ran, from the map file that such programs leave for perf.
 */
#ifndef SYMBOL_PERF_MAP_H
#define SYMBOL_PERF_MAP_H

#include "symbol/lookup.h"

#include <stddef.h>
#include <sys/stat.h>

/*
 * Read a map file, a regular one. ret_status: as it was when it was opened.
 * Returns its text, to be given to free(), or NULL. Context: tool.
 */
char *perf_map_read(const char *path, struct stat *ret_status, size_t *ret_size_bytes);

/*
 * Offer what the lines of a map file say: `begin size name`, both in hexadecimal. A later line is right
 * where two say something of the same address: the code of the earlier one is gone. The names are
 * cut off where they lie.
 * text: of size_bytes; its line ends become NUL. Context: tool.
 */
void perf_map_offer(char *text, size_t size_bytes, struct lookup *lookup);

#endif
