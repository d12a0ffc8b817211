/*
 * Where the debugging information of a stripped file is kept.
 */
#ifndef SYMBOL_DEBUG_FILE_H
#define SYMBOL_DEBUG_FILE_H

#include "symbol/elf_image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of what file it is asked for. */
struct debug_file_of {
    const char *path;
    const struct elf_image *image; /* NULL: the file is not there, or not the one that was mapped */
    const uint8_t *build_id;
    size_t build_id_bytes; /* 0: it has none */
    const char *folder;    /* of the system's debug files, usually /usr/lib/debug */
    bool with_servers;
};

/*
 * Find the separate debug file, in this order: by build-id in the system's folder; by the file's
 * .gnu_debuglink beside it, in .debug beside it, and in the system's folder; by build-id from a
 * debuginfod server, where DEBUGINFOD_URLS names one. What is found is compared: its build-id is the
 * file's, or where that has none its checksum is the one that the link asks for.
 * ret_image: to be given to elf_image_close(). Returns false when there is none. Context: tool.
 */
bool debug_file_find(const struct debug_file_of *of, struct elf_image *ret_image);

#endif
