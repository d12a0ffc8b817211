/*
 * Inside the folder: all that can be found out about addresses of one module, from files.
 */
#ifndef SYMBOL_MODULE_ANSWERS_H
#define SYMBOL_MODULE_ANSWERS_H

#include "capture/capture.h"
#include "symbol/native.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct module_question {
    const struct capture *capture;
    uint32_t module;
    const uint64_t *addresses; /* rising, no two equal */
    size_t count;
    const char *folder; /* of the system's debug files */
    bool with_lines;    /* debugging information is read too */
    bool with_servers;  /* debug files may be fetched */
};

/*
 * Find out. Leaves files and memory behind: for a process of its own, which a bad file may end.
 * ret_bytes: a byte, enum native_source, and a row of answers (answers.h).
 * Context: tool.
 */
void module_answers_find(const struct module_question *question, const uint8_t **ret_bytes,
                         size_t *ret_size_bytes);

#endif
