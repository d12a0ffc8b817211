/*
 * Records to bytes of coder 3. The collector's pack thread does it to every event.
 *
 * What holds: what an encoder finds by itself (where an address was met last) only chooses between
 * ways to say the same; a decoder needs none of it.
 */
#include "capture/compact.h"

#include "base/memory.h"
#include "capture/compact_model.h"
#include "memtrack/format.h"
#include "memtrack/varint.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW_RECORDS = 4096,
    FEW_BITS = 13,
    MANY_BITS = 16,
    AT_W1 = 8,
};

struct compact_encoder {
    struct compact_model model;
    unsigned met_shift;
    uint16_t met[1 << MANY_BITS]; /* the last record with an address, by its hash; 0 also: none */
};

struct compact_encoder *compact_encoder_create(void)
{
    return memory_allocate(1, sizeof(struct compact_encoder));
}

void compact_encoder_destroy(struct compact_encoder *encoder)
{
    free(encoder);
}

static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    return at + varint_encode(value, at);
}

/*
 * Varints of which nobody can foretell how long they are, so no branch asks for it: a size, mostly of
 * one byte or two, and a difference of addresses, mostly of at most four.
 */
static inline uint8_t *put_size(uint8_t *at, uint32_t value)
{
    uint32_t more = value >= 0x80;

    if (value >= 0x4000)
        return put_varint(at, value);
    le_store_u16((uint16_t)((value & 0x7f) | more << 7 | value >> 7 << 8), at);
    return at + 1 + more;
}

static inline uint8_t *put_difference(uint8_t *at, uint64_t value)
{
    uint32_t more = (uint32_t)(value >= 0x80) + (value >= 0x4000) + (value >= 0x200000);
    uint32_t low = (uint32_t)value;

    if (value >= 0x10000000)
        return put_varint(at, value);
    low = (low & 0x7f) | (low << 1 & 0x7f00) | (low << 2 & 0x7f0000) | (low << 3 & 0x7f000000);
    low |= UINT32_C(0x808080) & ((UINT32_C(1) << 8 * more) - 1);
    le_store_u32(low, at);
    return at + 1 + more;
}

static inline uint8_t *put_u16(uint8_t *at, uint32_t value)
{
    le_store_u16((uint16_t)value, at);
    return at + 2;
}

/* Find how many records ago an address was met, 0 when it is not known, and note it. */
static inline uint32_t find_distance(struct compact_encoder *encoder, const uint8_t *records,
                                     uint32_t index, uint64_t key)
{
    uint16_t *met = &encoder->met[(key * UINT64_C(0x9e3779b97f4a7c15)) >> encoder->met_shift];
    uint32_t before = *met;

    *met = (uint16_t)index;
    if (before >= index ||
        (le_load_u64(records + (size_t)before * EVENT_BYTES) & COMPACT_KEY_MASK) != key)
        return 0;
    return index - before;
}

/*
 * Is an address told in one byte? Then that is shorter than a distance of two, and what a program does
 * again, at other places, becomes the same bytes again, which LZ4 likes.
 */
static inline bool is_told_in_a_byte(const struct compact_model *model, uint64_t key)
{
    uint32_t domain = (uint32_t)(key >> EVENT_DOMAIN_SHIFT);
    int64_t difference = (int64_t)((key & EVENT_ADDRESS_MASK) - model->told[domain]);

    return domain == model->domain && difference % (1 << COMPACT_LITERAL_UNIT_SHIFT) == 0 &&
           varint_fold(difference >> COMPACT_LITERAL_UNIT_SHIFT) << 1 < 0x80;
}

/* Tell an address in full. */
static uint8_t *put_told(struct compact_model *model, uint8_t *at, uint64_t key)
{
    uint64_t address = key & EVENT_ADDRESS_MASK, difference;
    uint32_t domain = (uint32_t)(key >> EVENT_DOMAIN_SHIFT);
    uint64_t folded;

    difference = address - model->told[domain];
    folded = varint_fold((int64_t)difference);
    if (domain == model->domain && difference % (1u << COMPACT_LITERAL_UNIT_SHIFT) == 0)
        at =
            put_difference(at, varint_fold((int64_t)difference >> COMPACT_LITERAL_UNIT_SHIFT) << 1);
    else
        at = put_varint(at, folded << COMPACT_LITERAL_SHIFT |
                                (uint64_t)domain << COMPACT_LITERAL_DOMAIN_SHIFT |
                                COMPACT_LITERAL_DOMAIN);
    compact_note_place(model, domain, address);
    return at;
}

/* The address of an allocation. ret_place: its part of the header. */
static inline uint8_t *put_place(struct compact_encoder *encoder, uint8_t *at, uint64_t key,
                                 uint32_t distance, uint32_t bytes, uint32_t *ret_place)
{
    struct compact_model *model = &encoder->model;
    uint64_t address = key & EVENT_ADDRESS_MASK;
    uint32_t domain = (uint32_t)(key >> EVENT_DOMAIN_SHIFT);

    bool is_next = domain == model->domain && address == model->next[domain];

    if (distance != 0 && distance <= COMPACT_PLACE_NEAR_COUNT) {
        *ret_place = distance - 1;
        return at;
    }
    if (distance != 0 && distance < COMPACT_PLACE_TWO_BYTES_FIRST) {
        *ret_place = COMPACT_PLACE_BYTE;
        *at = (uint8_t)(distance - COMPACT_PLACE_BYTE_FIRST);
        return at + 1;
    }
    if (distance != 0 && !is_next && !is_told_in_a_byte(model, key)) {
        *ret_place = COMPACT_PLACE_TWO_BYTES;
        return put_u16(at, distance - COMPACT_PLACE_TWO_BYTES_FIRST);
    }
    if (is_next) {
        *ret_place = COMPACT_PLACE_NEXT;
        compact_note_place(model, domain, address);
    } else {
        *ret_place = COMPACT_PLACE_TOLD;
        at = put_told(model, at, key);
    }
    compact_note_next(model, domain, address, bytes);
    return at;
}

static inline uint8_t *put_alloc(struct compact_encoder *encoder, uint8_t *header,
                                 uint32_t distance, uint64_t key, uint64_t w1)
{
    struct compact_model *model = &encoder->model;
    uint64_t *site = &model->sites[compact_hash(model->context)], foretold = *site;
    uint32_t bytes = (uint32_t)w1, stack = (uint32_t)(w1 >> EVENT_STACK_SHIFT);
    uint32_t place, choice = COMPACT_SITE_KNOWN;
    uint8_t *at = put_place(encoder, header + 1, key, distance, bytes, &place);

    if (foretold != w1) {
        *site = w1;
        choice = COMPACT_SITE_SIZE;
        if (foretold >> EVENT_STACK_SHIFT != stack) {
            uint32_t *size = &model->sizes[compact_hash(stack)];

            at = put_varint(at, varint_fold((int64_t)stack - (int64_t)model->stack));
            choice = *size == bytes ? COMPACT_SITE_STACK : COMPACT_SITE_NEW;
            *size = bytes;
        }
        if (choice != COMPACT_SITE_STACK)
            at = put_size(at, bytes);
    }
    model->context = compact_context(w1);
    model->stack = stack;
    *header = (uint8_t)(place << COMPACT_PLACE_SHIFT | choice << COMPACT_SITE_SHIFT);
    return at;
}

/* A release by whom blocks of the domain are usually released. */
static inline uint8_t *put_free(struct compact_model *model, uint8_t *at, uint32_t distance,
                                uint64_t key, uint32_t *ret_code)
{
    if (distance == 0 ||
        (distance >= COMPACT_FREE_TWO_BYTES_FIRST && is_told_in_a_byte(model, key))) {
        *ret_code = COMPACT_FREE_TOLD;
        return put_told(model, at, key);
    }
    if (distance <= COMPACT_FREE_NEAR_COUNT) {
        *ret_code = distance - 1;
        return at;
    }
    if (distance < COMPACT_FREE_TWO_BYTES_FIRST) {
        *ret_code = COMPACT_FREE_BYTE + ((distance - COMPACT_FREE_BYTE_FIRST) >> 8);
        *at = (uint8_t)(distance - COMPACT_FREE_BYTE_FIRST);
        return at + 1;
    }
    *ret_code = COMPACT_FREE_TWO_BYTES;
    return put_u16(at, distance - COMPACT_FREE_TWO_BYTES_FIRST);
}

static uint8_t *put_realloc(struct compact_model *model, uint8_t *at, uint32_t distance,
                            uint64_t key, uint32_t *ret_code)
{
    if (distance == 0) {
        *ret_code = COMPACT_REALLOC_TOLD;
        return put_told(model, at, key);
    }
    if (distance <= COMPACT_REALLOC_NEAR_COUNT) {
        *ret_code = COMPACT_REALLOC_NEAR + distance - 1;
        return at;
    }
    *ret_code = COMPACT_REALLOC_TWO_BYTES;
    return put_u16(at, distance);
}

static inline uint8_t *put_release(struct compact_encoder *encoder, uint8_t *header,
                                   uint32_t distance, uint64_t key, uint64_t allocator)
{
    struct compact_model *model = &encoder->model;
    uint8_t *at = header + 1;
    uint32_t code;

    if (allocator == compact_usual_release(key)) {
        at = put_free(model, at, distance, key, &code);
    } else if (allocator == compact_realloc_release(key)) {
        at = put_realloc(model, at, distance, key, &code);
    } else {
        code = COMPACT_FREE_OTHER;
        *at++ = (uint8_t)allocator;
        at = put_varint(at, distance);
        if (distance == 0)
            at = put_told(model, at, key);
    }
    *header = (uint8_t)(code << COMPACT_FREE_SHIFT | COMPACT_RELEASE);
    return at;
}

/* The content of a record that is not a block's. Returns its size, 0 when it has no form. */
static size_t put_content(struct compact_model *model, uint8_t *content, uint64_t w0, uint64_t w1)
{
    uint64_t address = w0 & EVENT_ADDRESS_MASK, high = w1 >> 32;
    uint64_t domain = w0 >> EVENT_DOMAIN_SHIFT & EVENT_DOMAIN_MASK;
    uint32_t low = (uint32_t)w1;
    uint8_t *at = content;

    switch (w0 >> EVENT_OP_SHIFT) {
    case EVENT_MAP:
    case EVENT_UNMAP:
    case EVENT_PROTECT:
    case EVENT_UNDO:
    case EVENT_FAIL:
        *at++ = (uint8_t)domain;
        at = put_varint(at, varint_fold((int64_t)(address - model->range)));
        at = put_varint(put_varint(at, low), high);
        model->range = address;
        break;
    case EVENT_SYNC:
        if (domain != 0)
            break;
        at = put_varint(at, varint_fold((int64_t)(address - model->segment)));
        at = put_varint(at, varint_fold((int64_t)low - (int64_t)model->tick));
        at = put_varint(at, high);
        model->segment = address;
        model->tick = low;
        break;
    case EVENT_NOTE:
        if (domain == 0)
            at = put_varint(put_varint(at, address), w1);
        break;
    case EVENT_WIDE:
        if (address == 0 && domain == 0 && high == 0)
            at = put_varint(at, low);
        break;
    default:
        break;
    }
    return (size_t)(at - content);
}

static uint8_t *put_extension(struct compact_model *model, uint8_t *header, uint64_t w0,
                              uint64_t w1)
{
    uint8_t *content = header + 2; /* its length is a byte */
    size_t length = put_content(model, content, w0, w1);
    uint32_t code = (uint32_t)(w0 >> EVENT_OP_SHIFT);

    if (length == 0) {
        code = COMPACT_EXTENSION_RECORD;
        le_store_u64(w0, content);
        le_store_u64(w1, content + AT_W1);
        length = EVENT_BYTES;
    }
    header[0] = (uint8_t)(COMPACT_EXTENSION | code << COMPACT_EXTENSION_SHIFT);
    header[1] = (uint8_t)length;
    return content + length;
}

size_t compact_encode(struct compact_encoder *encoder, const uint8_t *records, uint32_t count,
                      uint8_t *ret_bytes)
{
    unsigned bits = count <= FEW_RECORDS ? FEW_BITS : MANY_BITS;
    uint8_t *at = ret_bytes;

    memset(&encoder->model, 0, sizeof(encoder->model));
    memset(encoder->met, 0, sizeof(encoder->met[0]) << bits);
    encoder->met_shift = 64 - bits;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *record = records + (size_t)i * EVENT_BYTES;
        uint64_t w0 = le_load_u64(record), w1 = le_load_u64(record + AT_W1);
        uint64_t op = w0 >> EVENT_OP_SHIFT, key = w0 & COMPACT_KEY_MASK;

        if (op == EVENT_ALLOC)
            at = put_alloc(encoder, at, find_distance(encoder, records, i, key), key, w1);
        else if (op == EVENT_FREE && w1 < ALLOCATOR_COUNT)
            at = put_release(encoder, at, find_distance(encoder, records, i, key), key, w1);
        else
            at = put_extension(&encoder->model, at, w0, w1);
    }
    return (size_t)(at - ret_bytes);
}
