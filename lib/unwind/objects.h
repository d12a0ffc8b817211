/*
 * Which loaded object an address lies in: its tables, its name, its build-id.
 *
 * glibc (2.35 and later) keeps a list for unwinders that is read without a lock, from any context
 * (_dl_find_object). Where it is not there, native stacks are not recorded.
 */
#ifndef UNWIND_OBJECTS_H
#define UNWIND_OBJECTS_H

#include "unwind/cfi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object {
    uintptr_t start,
        end;        /* of the part that was found; of an executable in several parts not all */
    uintptr_t bias; /* what addresses of its file are moved by */
    const uint8_t *tables; /* .eh_frame_hdr; NULL: it has none */
    const void *identity; /* the loader's, as long as it is loaded; freed when it is not any more */
    bool is_program;
    const char *path; /* "": not known */
};

/* What an object says of itself. */
struct object_identity {
    const uint8_t *build_id; /* NULL: none */
    size_t build_id_bytes;
    uintptr_t extent_bytes; /* from the bias to the end of its last segment; 0: not known */
    bool is_vdso;
};

/* Look up what is needed. Returns false when objects cannot be found here. Context: start-up. */
bool objects_prepare(void);

/* Find the object of an address. Returns false when it lies in none. Context: hot path (slow paths only). */
bool objects_find(uintptr_t address, struct object *ret_object);

/* Find its tables, and what of it may be read for them. Context: hot path (slow paths only). */
void objects_tables(const struct object *object, struct cfi_tables *ret_tables);

/* Read an object's identity from its program headers. Context: hot path (slow paths only). */
void objects_identify(const struct object *object, struct object_identity *ret_identity);

/* Return the end of the stack of the program's first thread; 0: not known. Context: any thread. */
uintptr_t objects_stack_end(void);

#endif
