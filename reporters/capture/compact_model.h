/*
 * Inside the folder: what encoder and decoder of coder 3 foretell the next record by. Both go through
 * the same states, so this is written once.
 *
 * What holds: a state depends on the records of the section so far and on nothing else.
 */
#ifndef CAPTURE_COMPACT_MODEL_H
#define CAPTURE_COMPACT_MODEL_H

#include "memtrack/format.h"
#include "memtrack/protocol.h"

#include <stdint.h>

#define COMPACT_KEY_MASK ((UINT64_C(1) << EVENT_OP_SHIFT) - 1) /* domain and address, of w0 */

enum {
    COMPACT_TABLE_BITS = 10,
    COMPACT_TABLE_COUNT = 1 << COMPACT_TABLE_BITS,
    COMPACT_DOMAIN_COUNT = 8,

    /* Headers: bit 0 a release; else bit 7 an extension. */
    COMPACT_RELEASE = 1,
    COMPACT_EXTENSION = 0x80,

    /* Of an allocation: bits 1-2. */
    COMPACT_SITE_SHIFT = 1,
    COMPACT_SITE_MASK = 3,
    COMPACT_SITE_KNOWN = 0, /* stack and size as foretold */
    COMPACT_SITE_SIZE = 1,  /* the stack as foretold, the size follows */
    COMPACT_SITE_STACK = 2, /* the stack follows, the size is the stack's last */
    COMPACT_SITE_NEW = 3,   /* both follow */

    /* Bits 3-6. */
    COMPACT_PLACE_SHIFT = 3,
    COMPACT_PLACE_MASK = 15,
    COMPACT_PLACE_NEAR_COUNT = 12, /* 0-11: 1 to 12 records ago */
    COMPACT_PLACE_BYTE = 12,
    COMPACT_PLACE_TWO_BYTES = 13,
    COMPACT_PLACE_NEXT = 14, /* right behind the block that was told in full */
    COMPACT_PLACE_TOLD = 15,
    COMPACT_PLACE_BYTE_FIRST = COMPACT_PLACE_NEAR_COUNT + 1,
    COMPACT_PLACE_TWO_BYTES_FIRST = COMPACT_PLACE_BYTE_FIRST + 256,

    /* Of a release: bits 1-7. */
    COMPACT_FREE_SHIFT = 1,
    COMPACT_FREE_NEAR_COUNT = 96, /* 0-95: 1 to 96 records ago */
    COMPACT_FREE_BYTE = 96,       /* 96-99: and a byte */
    COMPACT_FREE_TWO_BYTES = 100,
    COMPACT_FREE_TOLD = 101,
    COMPACT_REALLOC_TOLD = 102,
    COMPACT_REALLOC_TWO_BYTES = 103,
    COMPACT_FREE_OTHER = 104,   /* another allocator */
    COMPACT_REALLOC_NEAR = 105, /* 105-127: 1 to 23 records ago */
    COMPACT_REALLOC_NEAR_COUNT = 23,
    COMPACT_FREE_BYTE_FIRST = COMPACT_FREE_NEAR_COUNT + 1,
    COMPACT_FREE_TWO_BYTES_FIRST = COMPACT_FREE_BYTE_FIRST + 4 * 256,

    /* Of an extension: bits 1-6, the record's op or: */
    COMPACT_EXTENSION_SHIFT = 1,
    COMPACT_EXTENSION_MASK = 63,
    COMPACT_EXTENSION_RECORD = 0, /* 16 bytes as they are */

    /* A literal: bit 0 says whether the domain follows, and the difference counts bytes. */
    COMPACT_LITERAL_DOMAIN = 1,
    COMPACT_LITERAL_DOMAIN_SHIFT = 1,
    COMPACT_LITERAL_SHIFT = 4,
    COMPACT_LITERAL_UNIT_SHIFT = 4, /* of 16 bytes, without a domain */
};

/* All zero at the beginning of a section. */
struct compact_model {
    uint64_t sites[COMPACT_TABLE_COUNT]; /* w1 of the ALLOC that followed, by what it followed */
    uint32_t sizes[COMPACT_TABLE_COUNT]; /* the last one told, by stack */
    uint32_t context;                    /* of the last stack and size */
    uint32_t stack;
    uint32_t domain;                     /* of the last address told or next */
    uint64_t told[COMPACT_DOMAIN_COUNT]; /* the last of them, by domain */
    uint64_t next[COMPACT_DOMAIN_COUNT]; /* the place behind it */
    uint64_t range;                      /* address of the last extension that has one */
    uint64_t segment;                    /* of the last SYNC */
    uint32_t tick;
};

/* Return the place of a number in a table. Context: any thread. */
static inline uint32_t compact_hash(uint32_t value)
{
    return (value * UINT32_C(0x9e3779b1)) >> (32 - COMPACT_TABLE_BITS);
}

/* Return the context that an ALLOC makes by its w1: stack and bytes. Context: any thread. */
static inline uint32_t compact_context(uint64_t w1)
{
    return (uint32_t)(w1 >> EVENT_STACK_SHIFT) * 31 + (uint32_t)w1;
}

/* Remember an address that was told or next. Context: any thread. */
static inline void compact_note_place(struct compact_model *model, uint32_t domain,
                                      uint64_t address)
{
    model->domain = domain;
    model->told[domain] = address;
}

/*
 * Remember where the block behind this one would begin: behind a chunk of the C library's with its
 * header, or, of Python's allocators, at the next 16 bytes. Context: any thread.
 */
static inline void compact_note_next(struct compact_model *model, uint32_t domain, uint64_t address,
                                     uint32_t bytes)
{
    uint64_t header = domain == DOMAIN_HEAP ? 8 : 0, least = domain == DOMAIN_HEAP ? 32 : 16;
    uint64_t chunk = ((uint64_t)bytes + header + 15) & ~UINT64_C(15);

    model->next[domain] = (address + (chunk < least ? least : chunk)) & EVENT_ADDRESS_MASK;
}

/* What releases blocks of a domain usually, and what else does so often. Context: any thread. */
static inline uint64_t compact_usual_release(uint64_t key)
{
    uint32_t domain = (uint32_t)(key >> EVENT_DOMAIN_SHIFT);

    return domain - DOMAIN_PYTHON_RAW < 3
               ? ALLOCATOR_PYMALLOC + 4 * (domain - DOMAIN_PYTHON_RAW) + 3
               : ALLOCATOR_FREE;
}

static inline uint64_t compact_realloc_release(uint64_t key)
{
    uint32_t domain = (uint32_t)(key >> EVENT_DOMAIN_SHIFT);

    return domain - DOMAIN_PYTHON_RAW < 3
               ? ALLOCATOR_PYMALLOC + 4 * (domain - DOMAIN_PYTHON_RAW) + 2
               : ALLOCATOR_REALLOC;
}

#endif
