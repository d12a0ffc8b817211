/*
 * Coder 2: the bytes of event records in planes (docs/format.md section 3).
 *
 * Neighbouring records have little in common as a whole, but byte by byte much: most bytes of an
 * address, a size and a stack id are those of the record before. In planes they are long runs, of
 * which LZ4 makes less in less time.
 */
#ifndef CAPTURE_PLANES_H
#define CAPTURE_PLANES_H

#include <stdint.h>

/*
 * Put the first bytes of all records first, then their second bytes, and so on.
 * records, ret_planes: the caller's, count * EVENT_BYTES each, apart. Context: any thread.
 */
void planes_split(const uint8_t *records, uint32_t count, uint8_t *ret_planes);

/*
 * Put them together again.
 * planes, ret_records: the caller's, count * EVENT_BYTES each, apart. Context: any thread.
 */
void planes_join(const uint8_t *planes, uint32_t count, uint8_t *ret_records);

#endif
