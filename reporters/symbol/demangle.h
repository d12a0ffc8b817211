/*
 * Names of C++ and Rust as people write them.
 */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include "base/hash_index.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>

struct demangled;

/* Names that were demangled already. All zero bytes is none. */
struct demangler {
    struct memory_pool pool;
    struct demangled *names;
    size_t count, capacity;
    struct hash_index index;
};

/*
 * Return a name as people write it: the demangler's, or the name itself where it is not mangled, or
 * this program was built without libiberty.
 * name: as it stands in a table; the same pointer is the same name, so it must stay where it is.
 * Context: tool.
 */
const char *demangler_name(struct demangler *demangler, const char *name);

/* Give it back with all its names. Context: tool. */
void demangler_finish(struct demangler *demangler);

/* Return whether a name is one of C++ or Rust as compilers write them. Context: any thread. */
bool demangler_is_mangled(const char *name);

/* Return whether names can be demangled at all. Context: any thread. */
bool demangler_is_built_in(void);

#endif
