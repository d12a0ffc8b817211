/*
 * Symbols of loaded libraries, by their dynamic symbol tables.
 *
 * Not dlsym(): that does not see what was loaded with RTLD_LOCAL, and a name it does not find
 * replaces the program's dlerror() text and allocates.
 */
#ifndef PYTHON_LOADED_SYMBOL_H
#define PYTHON_LOADED_SYMBOL_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* A loaded library. All pointers are into it: valid while it is loaded. */
struct loaded_module {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash; /* NULL: there is none, as for the next */
    const uint32_t *sysv_hash;
};

/*
 * Find the tables of a module, as dl_iterate_phdr() gives it.
 * Returns false when it has no dynamic symbols. Context: any thread.
 */
bool loaded_module_read(const struct dl_phdr_info *info, struct loaded_module *ret_module);

/*
 * Return the address of a function or object that the module defines, 0 when it defines none.
 * Context: any thread.
 */
uintptr_t loaded_symbol(const struct loaded_module *module, const char *name);

#endif
