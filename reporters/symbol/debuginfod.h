/*
 * Debug files from a server that has them, for those who have configured one.
 */
#ifndef SYMBOL_DEBUGINFOD_H
#define SYMBOL_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Ask the servers in DEBUGINFOD_URLS, through elfutils' client where that is installed; it keeps what it
 * was given. Nothing is asked for when the variable is not set.
 * Returns the path of the file, to be given to free(), or NULL. Context: tool, may take long.
 */
char *debuginfod_fetch(const uint8_t *build_id, size_t size_bytes);

#endif
