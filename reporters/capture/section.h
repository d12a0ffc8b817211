/*
 * One section of a capture: its header read from bytes that nobody has checked yet, and written.
 *
 * Runs in the tools, on any thread. What holds: after section_read() every number in the struct has
 * been checked against the file, so whoever uses it need not check again. The payload's content has
 * been checked only after section_check_payload(); reading headers alone touches no payload.
 */
#ifndef CAPTURE_SECTION_H
#define CAPTURE_SECTION_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A capture in memory, whole or as far as it has been written. */
struct capture_bytes {
    const char *file; /* its name, for messages; the owner's */
    const uint8_t *bytes;
    size_t size_bytes;
};

struct section {
    uint8_t type;  /* enum section_type, or one of a later version */
    uint8_t flags; /* enum section_flag */
    uint8_t coder; /* enum section_coder, or one of a later version */
    uint32_t process;
    uint32_t stream;
    uint32_t record_count;
    uint64_t first_segment;
    uint32_t raw_bytes;     /* of the payload once unpacked */
    uint32_t payload_bytes; /* of the payload as it stands in the file */
    const uint8_t *payload; /* inside the capture's bytes: valid as long as they are */
    uint64_t payload_hash;  /* what the header says; see section_check_payload() */
    size_t payload_offset;  /* in the file */
    size_t next_offset;     /* of the next section, or the file's size */
};

/*
 * Read and check the header at an offset.
 * capture: may be cut off or damaged in any way.
 * offset: a multiple of SECTION_ALIGN_BYTES, not beyond the end.
 * On failure *ret_section is untouched, and err names the file, the offset and the way out.
 * Context: tool.
 */
bool section_read(const struct capture_bytes *capture, size_t offset, struct section *ret_section,
                  struct error *err);

/*
 * Compare a payload with its checksum. Takes time in proportion to payload_bytes.
 * section: as section_read() made it, of the same capture.
 * Context: tool.
 */
bool section_check_payload(const struct capture_bytes *capture, const struct section *section,
                           struct error *err);

/*
 * Return how many bytes section_write() writes for a payload.
 * payload_bytes: at most SECTION_MAX_RAW_BYTES.
 * Context: tool.
 */
size_t section_size(uint32_t payload_bytes);

/*
 * Write a section: header, payload, zero bytes to the next multiple of SECTION_ALIGN_BYTES.
 * section: the fields down to payload are used; payload may be NULL when payload_bytes is 0.
 * ret_bytes: the caller's, section_size(section->payload_bytes) bytes.
 * Context: tool.
 */
void section_write(const struct section *section, uint8_t *ret_bytes);

#endif
