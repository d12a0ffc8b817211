/*
 * Bytes of coder 3 to records. Runs in the tools, over every event of a capture, on bytes that anybody
 * may have written.
 *
 * What holds: a record costs the same small work whatever it says; it reads at most
 * COMPACT_SLACK_BYTES beyond its own beginning before it is looked whether they were there, and a
 * distance leads to a record of the section that was decoded before.
 */
#include "capture/compact.h"

#include "capture/compact_model.h"
#include "capture/cursor.h"
#include "memtrack/format.h"
#include "memtrack/varint.h"

#include <stdbool.h>

enum {
    AT_W1 = 8,
};

struct decoding {
    const uint8_t *at, *end;
    uint8_t *records;
    uint32_t index; /* of the record that is being decoded */
    struct compact_model model;
};

/* Take a varint of which the first byte may be all; it may reach into the slack. */
static inline bool take_varint(struct decoding *decoding, uint64_t *ret_value)
{
    size_t length;

    if (*decoding->at < 0x80) {
        *ret_value = *decoding->at++;
        return true;
    }
    length = varint_decode(decoding->at, VARINT_MAX_BYTES, ret_value);
    decoding->at += length;
    return length > 0;
}

static inline bool take_u32(struct decoding *decoding, uint32_t *ret_value)
{
    uint64_t value;

    if (!take_varint(decoding, &value) || value > UINT32_MAX)
        return false;
    *ret_value = (uint32_t)value;
    return true;
}

static inline uint32_t take_u16(struct decoding *decoding)
{
    uint32_t value = le_load_u16(decoding->at);

    decoding->at += 2;
    return value;
}

/* The address of the record so many before this one, with its domain. */
static inline bool take_met(const struct decoding *decoding, uint32_t distance, uint64_t *ret_key)
{
    if (distance == 0 || distance > decoding->index)
        return false;
    *ret_key = le_load_u64(decoding->records + (size_t)(decoding->index - distance) * EVENT_BYTES) &
               COMPACT_KEY_MASK;
    return true;
}

static bool take_told(struct decoding *decoding, uint64_t *ret_key)
{
    struct compact_model *model = &decoding->model;
    uint32_t domain = model->domain;
    uint64_t value, difference;

    if (!take_varint(decoding, &value))
        return false;
    if ((value & COMPACT_LITERAL_DOMAIN) != 0) {
        domain = value >> COMPACT_LITERAL_DOMAIN_SHIFT & EVENT_DOMAIN_MASK;
        difference = (uint64_t)varint_unfold(value >> COMPACT_LITERAL_SHIFT);
    } else {
        difference = (uint64_t)varint_unfold(value >> 1) << COMPACT_LITERAL_UNIT_SHIFT;
    }
    difference = (model->told[domain] + difference) & EVENT_ADDRESS_MASK;
    compact_note_place(model, domain, difference);
    *ret_key = difference | (uint64_t)domain << EVENT_DOMAIN_SHIFT;
    return true;
}

static inline void put_record(struct decoding *decoding, uint64_t w0, uint64_t w1)
{
    uint8_t *record = decoding->records + (size_t)decoding->index * EVENT_BYTES;

    le_store_u64(w0, record);
    le_store_u64(w1, record + AT_W1);
}

/* The address of an allocation. ret_is_first: the section has not met it before. */
static inline bool take_place(struct decoding *decoding, uint32_t place, uint64_t *ret_key,
                              bool *ret_is_first)
{
    struct compact_model *model = &decoding->model;
    uint32_t distance = place + 1;

    if (place >= COMPACT_PLACE_NEAR_COUNT) {
        if (place == COMPACT_PLACE_BYTE) {
            distance = COMPACT_PLACE_BYTE_FIRST + *decoding->at++;
        } else if (place == COMPACT_PLACE_TWO_BYTES) {
            distance = COMPACT_PLACE_TWO_BYTES_FIRST + take_u16(decoding);
        } else {
            *ret_is_first = true;
            if (place == COMPACT_PLACE_TOLD)
                return take_told(decoding, ret_key);
            *ret_key = model->next[model->domain] | (uint64_t)model->domain << EVENT_DOMAIN_SHIFT;
            compact_note_place(model, model->domain, model->next[model->domain]);
            return true;
        }
    }
    return take_met(decoding, distance, ret_key);
}

/* Stack and size of an allocation that are not as foretold. site: what is; becomes what they are. */
static inline bool take_site(struct decoding *decoding, uint32_t choice, uint64_t *site)
{
    struct compact_model *model = &decoding->model;
    uint32_t stack = (uint32_t)(*site >> EVENT_STACK_SHIFT), told, *bytes = &told;
    uint64_t folded;

    if (choice != COMPACT_SITE_SIZE) {
        if (!take_varint(decoding, &folded))
            return false;
        stack = model->stack + (uint32_t)varint_unfold(folded);
        bytes = &model->sizes[compact_hash(stack)];
    }
    if (choice != COMPACT_SITE_STACK && !take_u32(decoding, bytes))
        return false;
    *site = *bytes | (uint64_t)stack << EVENT_STACK_SHIFT;
    return true;
}

static inline bool take_alloc(struct decoding *decoding, uint32_t header)
{
    struct compact_model *model = &decoding->model;
    uint64_t *site = &model->sites[compact_hash(model->context)];
    uint32_t choice = header >> COMPACT_SITE_SHIFT & COMPACT_SITE_MASK;
    bool is_first = false;
    uint64_t key;

    if (!take_place(decoding, header >> COMPACT_PLACE_SHIFT & COMPACT_PLACE_MASK, &key, &is_first))
        return false;
    if (choice != COMPACT_SITE_KNOWN && !take_site(decoding, choice, site))
        return false;
    model->context = compact_context(*site);
    model->stack = (uint32_t)(*site >> EVENT_STACK_SHIFT);
    if (is_first)
        compact_note_next(model, model->domain, key & EVENT_ADDRESS_MASK, (uint32_t)*site);
    put_record(decoding, key | (uint64_t)EVENT_ALLOC << EVENT_OP_SHIFT, *site);
    return true;
}

/* A release whose distance or allocator is not in the header. */
static bool take_far_release(struct decoding *decoding, uint32_t code, uint64_t *ret_key,
                             uint64_t *ret_allocator)
{
    bool is_realloc = code == COMPACT_REALLOC_TOLD || code == COMPACT_REALLOC_TWO_BYTES ||
                      code >= COMPACT_REALLOC_NEAR;
    uint64_t allocator = 0, distance = 0;
    bool is_right;

    if (code < COMPACT_FREE_TWO_BYTES) {
        distance = COMPACT_FREE_BYTE_FIRST + ((code - COMPACT_FREE_BYTE) << 8) + *decoding->at++;
    } else if (code >= COMPACT_REALLOC_NEAR) {
        distance = code - COMPACT_REALLOC_NEAR + 1;
    } else if (code == COMPACT_FREE_TWO_BYTES) {
        distance = COMPACT_FREE_TWO_BYTES_FIRST + take_u16(decoding);
    } else if (code == COMPACT_REALLOC_TWO_BYTES) {
        distance = take_u16(decoding);
        if (distance == 0)
            return false;
    } else if (code == COMPACT_FREE_OTHER) {
        allocator = *decoding->at++;
        if (!take_varint(decoding, &distance) || distance > decoding->index)
            return false;
    }
    is_right = distance == 0 ? take_told(decoding, ret_key)
                             : take_met(decoding, (uint32_t)distance, ret_key);
    if (is_right && code != COMPACT_FREE_OTHER)
        allocator =
            is_realloc ? compact_realloc_release(*ret_key) : compact_usual_release(*ret_key);
    *ret_allocator = allocator;
    return is_right;
}

static inline bool take_release(struct decoding *decoding, uint32_t header)
{
    uint32_t code = header >> COMPACT_FREE_SHIFT;
    uint64_t key, allocator;

    if (code < COMPACT_FREE_NEAR_COUNT) {
        if (!take_met(decoding, code + 1, &key))
            return false;
        allocator = compact_usual_release(key);
    } else if (!take_far_release(decoding, code, &key, &allocator)) {
        return false;
    }
    put_record(decoding, key | (uint64_t)EVENT_FREE << EVENT_OP_SHIFT, allocator);
    return true;
}

/* MAP and the like. */
static bool take_range(struct decoding *decoding, struct cursor *content, uint64_t *ret_w0,
                       uint64_t *ret_w1)
{
    uint64_t difference, low, high;
    uint8_t domain;

    if (!cursor_u8(content, &domain) || domain > EVENT_DOMAIN_MASK ||
        !cursor_varint(content, &difference) || !cursor_limited(content, UINT32_MAX, &low) ||
        !cursor_limited(content, UINT32_MAX, &high))
        return false;
    decoding->model.range =
        (decoding->model.range + (uint64_t)varint_unfold(difference)) & EVENT_ADDRESS_MASK;
    *ret_w0 |= decoding->model.range | (uint64_t)domain << EVENT_DOMAIN_SHIFT;
    *ret_w1 = low | high << 32;
    return true;
}

static bool take_sync(struct decoding *decoding, struct cursor *content, uint64_t *ret_w0,
                      uint64_t *ret_w1)
{
    struct compact_model *model = &decoding->model;
    uint64_t segment, tick, why;

    if (!cursor_varint(content, &segment) || !cursor_varint(content, &tick) ||
        !cursor_limited(content, UINT32_MAX, &why))
        return false;
    model->segment = (model->segment + (uint64_t)varint_unfold(segment)) & EVENT_ADDRESS_MASK;
    model->tick += (uint32_t)varint_unfold(tick);
    *ret_w0 |= model->segment;
    *ret_w1 = model->tick | why << 32;
    return true;
}

/* The content of an extension; what stands behind what is known of it is passed over. */
static bool take_content(struct decoding *decoding, uint32_t code, struct cursor *content,
                         uint64_t *ret_w0, uint64_t *ret_w1)
{
    const uint8_t *record;
    uint64_t address;

    *ret_w0 = (uint64_t)code << EVENT_OP_SHIFT;
    switch (code) {
    case COMPACT_EXTENSION_RECORD:
        if (!cursor_bytes(content, EVENT_BYTES, &record))
            return false;
        *ret_w0 = le_load_u64(record);
        *ret_w1 = le_load_u64(record + AT_W1);
        return true;
    case EVENT_MAP:
    case EVENT_UNMAP:
    case EVENT_PROTECT:
    case EVENT_UNDO:
    case EVENT_FAIL:
        return take_range(decoding, content, ret_w0, ret_w1);
    case EVENT_SYNC:
        return take_sync(decoding, content, ret_w0, ret_w1);
    case EVENT_NOTE:
        if (!cursor_limited(content, EVENT_ADDRESS_MASK, &address) ||
            !cursor_varint(content, ret_w1))
            return false;
        *ret_w0 |= address;
        return true;
    case EVENT_WIDE:
        return cursor_limited(content, UINT32_MAX, ret_w1);
    default: /* of a later version: a note that says nothing */
        *ret_w0 = (uint64_t)EVENT_NOTE << EVENT_OP_SHIFT;
        *ret_w1 = 0;
        return true;
    }
}

static bool take_extension(struct decoding *decoding, uint32_t header)
{
    size_t left_bytes = (size_t)(decoding->end - decoding->at);
    struct cursor cursor = {decoding->at, left_bytes}, content;
    uint64_t w0, w1;

    if (!cursor_part(&cursor, &content) ||
        !take_content(decoding, header >> COMPACT_EXTENSION_SHIFT & COMPACT_EXTENSION_MASK,
                      &content, &w0, &w1))
        return false;
    decoding->at = cursor.bytes;
    put_record(decoding, w0, w1);
    return true;
}

/* Decode one record, which begins before the end. */
static inline bool take_record(struct decoding *decoding)
{
    uint32_t header = *decoding->at++;

    if ((header & COMPACT_RELEASE) != 0)
        return take_release(decoding, header);
    if ((header & COMPACT_EXTENSION) == 0)
        return take_alloc(decoding, header);
    return take_extension(decoding, header);
}

const char *compact_decode(const uint8_t *bytes, size_t size_bytes, uint32_t count,
                           uint8_t *ret_records, size_t *ret_wrong)
{
    struct decoding decoding = {.at = bytes, .end = bytes + size_bytes, .records = ret_records};

    for (; decoding.index < count; decoding.index++) {
        const uint8_t *begin = decoding.at;

        *ret_wrong = (size_t)(begin - bytes);
        if (begin >= decoding.end)
            return "events that end too early";
        if (!take_record(&decoding))
            return "event that is not right";
        if (decoding.at > decoding.end)
            return "event cut off";
    }
    *ret_wrong = (size_t)(decoding.at - bytes);
    return decoding.at == decoding.end ? NULL : "bytes behind the last event";
}
