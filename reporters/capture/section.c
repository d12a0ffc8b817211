/*
 * Sections: the layout of format.h, read with suspicion and written.
 *
 * A number from the file is compared with what is left of the file, never added to an offset first,
 * so no sum can wrap around. The checks go from the outside in: is it there, is it ours, is it
 * whole, is it for us, does it make sense.
 */
#include "capture/section.h"

#include "memtrack/format.h"
#include "memtrack/varint.h"

#include <assert.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Where the fields stand, from format.h. */
enum {
    AT_MAJOR = 3,
    AT_HEADER_BYTES = 4,
    AT_TYPE = 6,
    AT_FLAGS = 7,
    AT_FIRST_SEGMENT = 8,
    AT_PROCESS = 16,
    AT_STREAM = 20,
    AT_RECORD_COUNT = 24,
    AT_RAW_BYTES = 28,
    AT_PAYLOAD_BYTES = 32,
    AT_CODER = 36,
    AT_PAYLOAD_HASH = 40,
    AT_HEADER_HASH = 48, /* in a header of this version */
    HASH_BYTES = 8,
};

_Static_assert(AT_HEADER_HASH + HASH_BYTES == SECTION_HEADER_BYTES, "section header layout");

static const uint8_t magic[] = {'M', 'T', 'S'};

/* What users can do about it, at the end of a message. */
static const char remedy_damaged[] = "what stands before it is reported";
static const char remedy_newer[] = "read it with the memtrack that recorded it, or a newer one";

static bool fail(const struct capture_bytes *capture, size_t offset, const char *what,
                 const char *remedy, struct error *err)
{
    error_set(err, "%s: %s at offset %zu: %s", capture->file, what, offset, remedy);
    return false;
}

/* The zero bytes that follow a payload. */
static size_t padding_bytes(size_t payload_bytes)
{
    return -payload_bytes % SECTION_ALIGN_BYTES;
}

/* Is there a whole, undamaged header that this version may read? Its fields are not looked at. */
static bool check_header(const struct capture_bytes *capture, size_t offset, struct error *err)
{
    const uint8_t *header = capture->bytes + offset;
    size_t left_bytes = capture->size_bytes - offset;
    size_t header_bytes;

    if (left_bytes < SECTION_HEADER_BYTES)
        return fail(capture, offset, "section header cut off", remedy_damaged, err);
    if (memcmp(header, magic, sizeof(magic)) != 0)
        return fail(capture, offset, "no section", remedy_damaged, err);
    if (header[AT_MAJOR] != FORMAT_MAJOR)
        return fail(capture, offset, "section of another major version", remedy_newer, err);
    header_bytes = le_load_u16(header + AT_HEADER_BYTES);
    if (header_bytes < SECTION_HEADER_BYTES || header_bytes > SECTION_HEADER_MAX_BYTES ||
        header_bytes % SECTION_ALIGN_BYTES != 0)
        return fail(capture, offset, "impossible section header size", remedy_damaged, err);
    if (header_bytes > left_bytes)
        return fail(capture, offset, "section header cut off", remedy_damaged, err);
    if (XXH3_64bits(header, header_bytes - HASH_BYTES) !=
        le_load_u64(header + header_bytes - HASH_BYTES))
        return fail(capture, offset, "section header checksum differs", remedy_damaged, err);
    return true;
}

/* A right checksum does not make the numbers right: the file may come from anybody. */
static bool check_fields(const struct capture_bytes *capture, size_t offset,
                         const struct section *section, struct error *err)
{
    size_t left_bytes = capture->size_bytes - section->payload_offset;
    unsigned must_know = section->flags & (SECTION_MAY_IGNORE - 1);

    if ((must_know & ~(unsigned)SECTION_LZ4) != 0)
        return fail(capture, offset, "section of an unknown kind", remedy_newer, err);
    if (section->raw_bytes > SECTION_MAX_RAW_BYTES)
        return fail(capture, offset, "section larger than any that memtrack writes", remedy_damaged,
                    err);
    if (!(section->flags & SECTION_LZ4) && section->raw_bytes != section->payload_bytes)
        return fail(capture, offset, "section with two sizes", remedy_damaged, err);
    if (section->payload_bytes > left_bytes ||
        padding_bytes(section->payload_bytes) > left_bytes - section->payload_bytes)
        return fail(capture, offset, "section cut off", remedy_damaged, err);
    return true;
}

bool section_read(const struct capture_bytes *capture, size_t offset, struct section *ret_section,
                  struct error *err)
{
    const uint8_t *header = capture->bytes + offset;
    struct section section;

    assert(offset <= capture->size_bytes && offset % SECTION_ALIGN_BYTES == 0);
    if (!check_header(capture, offset, err))
        return false;
    section = (struct section){
        .type = header[AT_TYPE],
        .flags = header[AT_FLAGS],
        .coder = header[AT_CODER],
        .process = le_load_u32(header + AT_PROCESS),
        .stream = le_load_u32(header + AT_STREAM),
        .record_count = le_load_u32(header + AT_RECORD_COUNT),
        .first_segment = le_load_u64(header + AT_FIRST_SEGMENT),
        .raw_bytes = le_load_u32(header + AT_RAW_BYTES),
        .payload_bytes = le_load_u32(header + AT_PAYLOAD_BYTES),
        .payload_hash = le_load_u64(header + AT_PAYLOAD_HASH),
        .payload_offset = offset + le_load_u16(header + AT_HEADER_BYTES),
    };
    if (!check_fields(capture, offset, &section, err))
        return false;
    section.payload = capture->bytes + section.payload_offset;
    section.next_offset =
        section.payload_offset + section.payload_bytes + padding_bytes(section.payload_bytes);
    *ret_section = section;
    return true;
}

bool section_check_payload(const struct capture_bytes *capture, const struct section *section,
                           struct error *err)
{
    size_t hashed_bytes = section->next_offset - section->payload_offset;

    if (XXH3_64bits(section->payload, hashed_bytes) != section->payload_hash)
        return fail(capture, section->payload_offset, "section checksum differs", remedy_damaged,
                    err);
    return true;
}

size_t section_size(uint32_t payload_bytes)
{
    return SECTION_HEADER_BYTES + payload_bytes + padding_bytes(payload_bytes);
}

void section_write(const struct section *section, uint8_t *ret_bytes)
{
    uint8_t *payload = ret_bytes + SECTION_HEADER_BYTES;
    size_t padding = padding_bytes(section->payload_bytes);

    assert(section->raw_bytes <= SECTION_MAX_RAW_BYTES);
    assert(section->payload_bytes <= SECTION_MAX_RAW_BYTES);
    if (section->payload_bytes > 0)
        memcpy(payload, section->payload, section->payload_bytes);
    memset(payload + section->payload_bytes, 0, padding);

    memcpy(ret_bytes, magic, sizeof(magic));
    ret_bytes[AT_MAJOR] = FORMAT_MAJOR;
    le_store_u16(SECTION_HEADER_BYTES, ret_bytes + AT_HEADER_BYTES);
    ret_bytes[AT_TYPE] = section->type;
    ret_bytes[AT_FLAGS] = section->flags;
    le_store_u64(section->first_segment, ret_bytes + AT_FIRST_SEGMENT);
    le_store_u32(section->process, ret_bytes + AT_PROCESS);
    le_store_u32(section->stream, ret_bytes + AT_STREAM);
    le_store_u32(section->record_count, ret_bytes + AT_RECORD_COUNT);
    le_store_u32(section->raw_bytes, ret_bytes + AT_RAW_BYTES);
    le_store_u32(section->payload_bytes, ret_bytes + AT_PAYLOAD_BYTES);
    le_store_u32(section->coder, ret_bytes + AT_CODER);
    le_store_u64(XXH3_64bits(payload, section->payload_bytes + padding),
                 ret_bytes + AT_PAYLOAD_HASH);
    le_store_u64(XXH3_64bits(ret_bytes, AT_HEADER_HASH), ret_bytes + AT_HEADER_HASH);
}
