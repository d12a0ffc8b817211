/*
 * Payloads of events to records: LZ4 undone, then the coder. Runs in the tools.
 *
 * What holds: a payload that events_payload_of() has let through needs no more room than its section
 * says, however wrong its bytes are.
 */
#include "capture/events.h"

#include "base/memory.h"
#include "capture/compact.h"
#include "capture/load.h"
#include "capture/planes.h"
#include "memtrack/format.h"

#include <stdlib.h>
#include <string.h>

static bool refuse(struct events_fault *ret_fault, const char *what, const char *remedy,
                   size_t inside_bytes)
{
    *ret_fault = (struct events_fault){what, remedy, inside_bytes};
    return false;
}

/* Can so many records stand in so many bytes? */
static bool has_fitting_sizes(const struct section *section)
{
    if (section->record_count == 0)
        return false;
    if (section->coder == CODER_COMPACT)
        return section->record_count <= COMPACT_MAX_RECORDS &&
               section->record_count <= section->raw_bytes;
    return section->raw_bytes == (uint64_t)section->record_count * EVENT_BYTES;
}

bool events_payload_of(const struct section *section, struct events_payload *ret_payload,
                       struct events_fault *ret_fault)
{
    if (section->coder != CODER_FIXED && section->coder != CODER_PLANES &&
        section->coder != CODER_COMPACT)
        return refuse(ret_fault, "events packed in an unknown way", capture_remedy_newer, 0);
    if (!has_fitting_sizes(section))
        return refuse(ret_fault, "events that do not fill their section", capture_remedy_damaged,
                      0);
    *ret_payload = (struct events_payload){
        .bytes = section->payload,
        .payload_bytes = section->payload_bytes,
        .raw_bytes = section->raw_bytes,
        .record_count = section->record_count,
        .coder = section->coder,
        .is_packed = section->flags & SECTION_LZ4,
    };
    return true;
}

bool events_unpack(struct events_unpacker *unpacker, const struct events_payload *payload,
                   uint8_t *ret_records, struct events_fault *ret_fault)
{
    size_t needed = (size_t)payload->raw_bytes + COMPACT_SLACK_BYTES, wrong;
    uint8_t *unpacked = ret_records;
    const char *what;

    if (payload->coder != CODER_FIXED) {
        if (needed > unpacker->capacity_bytes)
            unpacker->bytes = memory_grow(unpacker->bytes, &unpacker->capacity_bytes, needed, 1);
        unpacked = unpacker->bytes;
    }
    if (!capture_unpack(payload->bytes, payload->payload_bytes, payload->is_packed,
                        payload->raw_bytes, unpacked))
        return refuse(ret_fault, "payload that does not unpack", capture_remedy_damaged, 0);
    if (payload->coder == CODER_PLANES)
        planes_join(unpacked, payload->record_count, ret_records);
    if (payload->coder != CODER_COMPACT)
        return true;
    memset(unpacked + payload->raw_bytes, 0, COMPACT_SLACK_BYTES);
    what = compact_decode(unpacked, payload->raw_bytes, payload->record_count, ret_records, &wrong);
    if (what == NULL)
        return true;
    /* Inside a packed payload there are no places: it is wrong where it begins. */
    return refuse(ret_fault, what, capture_remedy_damaged, payload->is_packed ? 0 : wrong);
}

void events_unpacker_finish(struct events_unpacker *unpacker)
{
    free(unpacker->bytes);
    *unpacker = (struct events_unpacker){.bytes = NULL};
}
