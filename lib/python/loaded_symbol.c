/*
 * Symbol look-up in a module's own hash table, GNU or System V, as the gABI and the GNU extension
 * describe them. Runs at start-up and when a library has come; reads mapped tables only.
 */
#include "python/loaded_symbol.h"

#include <stddef.h>

enum {
    GNU_HASH_HEADER_WORDS = 4, /* bucket count, first symbol, bloom words, bloom shift */
    ADDRESS_BITS = 8 * sizeof(ElfW(Addr)),
};

/* glibc adds the load bias to these addresses in place, other loaders and the vDSO do not. */
static uintptr_t table_address(const struct dl_phdr_info *info, ElfW(Addr) address)
{
    return address < info->dlpi_addr ? info->dlpi_addr + address : address;
}

bool loaded_module_read(const struct dl_phdr_info *info, struct loaded_module *ret_module)
{
    struct loaded_module module = {.base = info->dlpi_addr};
    const ElfW(Dyn) *entry = NULL;

    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
    if (entry == NULL)
        return false;
    for (; entry->d_tag != DT_NULL; entry++) {
        uintptr_t address = table_address(info, entry->d_un.d_ptr);

        if (entry->d_tag == DT_SYMTAB)
            module.symbols = (const ElfW(Sym) *)address;
        else if (entry->d_tag == DT_STRTAB)
            module.strings = (const char *)address;
        else if (entry->d_tag == DT_GNU_HASH)
            module.gnu_hash = (const uint32_t *)address;
        else if (entry->d_tag == DT_HASH)
            module.sysv_hash = (const uint32_t *)address;
    }
    if (module.symbols == NULL || module.strings == NULL)
        return false;
    *ret_module = module;
    return module.gnu_hash != NULL || module.sysv_hash != NULL;
}

/* Not strcmp(): see session/leave.c. */
static bool is_equal(const char *left, const char *right)
{
    while (*left != '\0' && *left == *right) {
        left++;
        right++;
    }
    return *left == *right;
}

/* Return the address when the symbol is a definition of this name, else 0. */
static uintptr_t definition(const struct loaded_module *module, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &module->symbols[index];
    unsigned type = ELF64_ST_TYPE(symbol->st_info);

    if (symbol->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_OBJECT))
        return 0;
    if (!is_equal(module->strings + symbol->st_name, name))
        return 0;
    return module->base + symbol->st_value;
}

static uintptr_t find_by_gnu_hash(const struct loaded_module *module, const char *name)
{
    const uint32_t *header = module->gnu_hash;
    uint32_t bucket_count = header[0], first = header[1], bloom_count = header[2];
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)(header + GNU_HASH_HEADER_WORDS);
    const uint32_t *buckets = (const uint32_t *)(bloom + bloom_count);
    const uint32_t *chains = buckets + bucket_count;
    uint32_t hash = 5381;
    ElfW(Addr) word;

    for (const char *p = name; *p != '\0'; p++)
        hash = hash * 33 + (unsigned char)*p;
    if (bucket_count == 0 || bloom_count == 0)
        return 0;
    word = bloom[hash / ADDRESS_BITS % bloom_count];
    if ((word >> (hash % ADDRESS_BITS) & word >> ((hash >> header[3]) % ADDRESS_BITS) & 1) == 0)
        return 0;
    for (uint32_t i = buckets[hash % bucket_count]; i >= first; i++) {
        uint32_t chain = chains[i - first];

        if ((chain | 1) == (hash | 1)) {
            uintptr_t address = definition(module, i, name);

            if (address != 0)
                return address;
        }
        if ((chain & 1) != 0)
            break; /* the bucket's last */
    }
    return 0;
}

static uintptr_t find_by_sysv_hash(const struct loaded_module *module, const char *name)
{
    uint32_t bucket_count = module->sysv_hash[0];
    const uint32_t *buckets = module->sysv_hash + 2;
    const uint32_t *chains = buckets + bucket_count;
    uint32_t hash = 0;

    for (const char *p = name; *p != '\0'; p++) {
        hash = (hash << 4) + (unsigned char)*p;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    if (bucket_count == 0)
        return 0;
    for (uint32_t i = buckets[hash % bucket_count]; i != STN_UNDEF; i = chains[i]) {
        uintptr_t address = definition(module, i, name);

        if (address != 0)
            return address;
    }
    return 0;
}

uintptr_t loaded_symbol(const struct loaded_module *module, const char *name)
{
    if (module->gnu_hash != NULL)
        return find_by_gnu_hash(module, name);
    return find_by_sysv_hash(module, name);
}
