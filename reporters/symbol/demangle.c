/*
 * Demangling, which libiberty does. Runs in the tools.
 */
#include "symbol/demangle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBIBERTY
#include <libiberty/demangle.h>
#endif

enum {
    MANGLED_MOST_BYTES = 64 << 10, /* a longer one is no name that a compiler made */
};

struct demangled {
    const char *from, *name;
};

/* Names of C are never tried: some older scheme might find a meaning in them. */
bool demangler_is_mangled(const char *name)
{
    return (strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0 ||
            strncmp(name, "_GLOBAL__", 9) == 0) &&
           strlen(name) <= MANGLED_MOST_BYTES;
}

#ifdef HAVE_LIBIBERTY

static const char *demangle(struct demangler *demangler, const char *name)
{
    char *text = cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
    const char *copy;

    if (text == NULL)
        return name;
    copy = memory_pool_copy(&demangler->pool, text, strlen(text));
    free(text);
    return copy;
}

bool demangler_is_built_in(void)
{
    return true;
}

#else

static const char *demangle(struct demangler *demangler, const char *name)
{
    (void)demangler;
    return name;
}

bool demangler_is_built_in(void)
{
    return false;
}

#endif

static bool is_of(const void *items, uint32_t item, const void *key)
{
    return ((const struct demangled *)items)[item].from == key;
}

const char *demangler_name(struct demangler *demangler, const char *name)
{
    uint64_t hash = hash_index_mix((uintptr_t)name, 0);
    uint32_t found;

    if (!demangler_is_mangled(name))
        return name;
    found = hash_index_find(&demangler->index, hash, is_of, demangler->names, name);
    if (found != HASH_INDEX_NONE)
        return demangler->names[found].name;
    demangler->names = memory_grow(demangler->names, &demangler->capacity, demangler->count + 1,
                                   sizeof(*demangler->names));
    demangler->names[demangler->count] = (struct demangled){name, demangle(demangler, name)};
    hash_index_add(&demangler->index, hash, (uint32_t)demangler->count);
    return demangler->names[demangler->count++].name;
}

void demangler_finish(struct demangler *demangler)
{
    memory_pool_finish(&demangler->pool);
    hash_index_finish(&demangler->index);
    free(demangler->names);
    *demangler = (struct demangler){0};
}
