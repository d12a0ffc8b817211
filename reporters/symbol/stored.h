/*
 * Names of native frames that a capture has itself: found, and written.
 */
#ifndef SYMBOL_STORED_H
#define SYMBOL_STORED_H

#include "base/hash_index.h"
#include "base/memory.h"
#include "capture/capture.h"
#include "capture/writer.h"
#include "symbol/native.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which symbols of a capture are of which address. All zero bytes to begin with. */
struct stored {
    struct memory_pool pool;
    struct stored_symbol *symbols;
    size_t count, capacity, seen_count; /* seen of the capture's */
    struct hash_index index;
};

/*
 * Find what a capture says of an address.
 * module: of its table. ret_count: of the places, which live until stored_finish().
 * Returns NULL when it says nothing. Context: tool.
 */
const struct native_place *stored_find(struct stored *stored, const struct capture *capture,
                                       uint32_t module, uint64_t address, uint32_t *ret_count);

/* Give it back; it is empty then. Context: tool. */
void stored_finish(struct stored *stored);

/* What was written. */
struct stored_counts {
    uint64_t addresses;      /* of all native frames */
    uint64_t had, has_names; /* of them: the capture had names of before; has names of now */
};

/*
 * Take a section of SYMBOLS records. Returns false with err when it cannot be written: nothing more comes
 * then. user: as given to stored_write().
 */
typedef bool stored_put(void *user, const struct writer_section *section, struct error *err);

/*
 * Resolve all native frames of a capture, and make SYMBOLS records of those that it has no names of yet.
 * symbols: of the capture. Of that only modules, native nodes and symbols are used, and for code made at
 * run time processes and the session's start: so a collector can ask with those alone, before the end
 * of its capture.
 * put: is not called when there is nothing to say.
 * Returns false with err when put does. Context: tool.
 */
bool stored_write(struct native_symbols *symbols, const struct capture *capture, stored_put *put,
                  void *user, struct stored_counts *ret_counts, struct error *err);

#endif
