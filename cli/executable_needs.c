/*
 * The libraries that an ELF program asks its loader for, and what it exports. Every number that
 * comes out of a file is checked before use; a file in which they make no sense asks for nothing.
 */
#include "executable.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum {
    ENTRIES_MAX_COUNT = 4096,
    CHAIN_MAX_COUNT = 4096,
    NAME_MAX_BYTES = 256,
};

/* A file and where the parts of its memory come from. */
struct image {
    int fd;
    Elf64_Ehdr header;
};

static bool read_at(int fd, void *bytes, size_t count, uint64_t offset)
{
    return offset <= INT64_MAX - count && pread(fd, bytes, count, (off_t)offset) == (ssize_t)count;
}

static bool read_part(const struct image *image, unsigned index, Elf64_Phdr *ret_part)
{
    return read_at(image->fd, ret_part, sizeof(*ret_part),
                   image->header.e_phoff + (uint64_t)index * sizeof(*ret_part));
}

/* Where in the file an address of the program comes from. Returns false when from nowhere. */
static bool find_offset(const struct image *image, uint64_t address, uint64_t *ret_offset)
{
    Elf64_Phdr part;

    for (unsigned i = 0; i < image->header.e_phnum && read_part(image, i, &part); i++) {
        if (part.p_type != PT_LOAD || address - part.p_vaddr >= part.p_filesz)
            continue;
        *ret_offset = part.p_offset + (address - part.p_vaddr);
        return true;
    }
    return false;
}

/* Read entry `index` of the dynamic section. Returns false at its end. */
static bool read_entry(const struct image *image, const Elf64_Phdr *dynamic, uint64_t index,
                       Elf64_Dyn *ret_entry)
{
    return index < ENTRIES_MAX_COUNT && index < dynamic->p_filesz / sizeof(*ret_entry) &&
           read_at(image->fd, ret_entry, sizeof(*ret_entry),
                   dynamic->p_offset + index * sizeof(*ret_entry)) &&
           ret_entry->d_tag != DT_NULL;
}

static bool needs(const struct image *image, const Elf64_Phdr *dynamic, const char *prefix)
{
    uint64_t names = 0;
    char name[NAME_MAX_BYTES];
    size_t length = strlen(prefix);
    Elf64_Dyn entry;
    bool has_names = false;

    for (uint64_t i = 0; !has_names && read_entry(image, dynamic, i, &entry); i++)
        has_names = entry.d_tag == DT_STRTAB && find_offset(image, entry.d_un.d_ptr, &names);
    for (uint64_t i = 0; has_names && read_entry(image, dynamic, i, &entry); i++)
        if (entry.d_tag == DT_NEEDED && entry.d_un.d_val < INT64_MAX &&
            read_at(image->fd, name, length, names + entry.d_un.d_val) &&
            memcmp(name, prefix, length) == 0)
            return true;
    return false;
}

/* Returns false when it cannot be read; else image->fd is to be closed. */
static bool open_image(const char *path, struct image *image)
{
    image->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (image->fd < 0)
        return false;
    if (read_at(image->fd, &image->header, sizeof(image->header), 0))
        return true;
    close(image->fd);
    return false;
}

bool executable_needs(const char *path, const char *prefix)
{
    struct image image;
    Elf64_Phdr part;
    bool result = false;

    if (strlen(prefix) >= NAME_MAX_BYTES || !open_image(path, &image))
        return false;
    if (image.header.e_phentsize == sizeof(part))
        for (unsigned i = 0; i < image.header.e_phnum && read_part(&image, i, &part); i++)
            result |= part.p_type == PT_DYNAMIC && needs(&image, &part, prefix);
    close(image.fd);
    return result;
}

/* Where in the file the tables of its exported symbols lie. */
struct exports {
    uint64_t hash;
    uint64_t symbols;
    uint64_t names;
};

static bool find_exports(const struct image *image, const Elf64_Phdr *dynamic,
                         struct exports *exports)
{
    Elf64_Dyn entry;
    unsigned found = 0;

    for (uint64_t i = 0; read_entry(image, dynamic, i, &entry); i++)
        if (entry.d_tag == DT_GNU_HASH)
            found += find_offset(image, entry.d_un.d_ptr, &exports->hash);
        else if (entry.d_tag == DT_SYMTAB)
            found += find_offset(image, entry.d_un.d_ptr, &exports->symbols);
        else if (entry.d_tag == DT_STRTAB)
            found += find_offset(image, entry.d_un.d_ptr, &exports->names);
    return found == 3;
}

static bool is_export(const struct image *image, const struct exports *exports, uint32_t index,
                      const char *name)
{
    Elf64_Sym symbol;
    char found[NAME_MAX_BYTES];
    size_t length = strlen(name) + 1;

    return read_at(image->fd, &symbol, sizeof(symbol),
                   exports->symbols + (uint64_t)index * sizeof(symbol)) &&
           symbol.st_shndx != SHN_UNDEF &&
           read_at(image->fd, found, length, exports->names + symbol.st_name) &&
           memcmp(found, name, length) == 0;
}

/* Look it up as the loader does, in the GNU hash table. */
static bool exports_name(const struct image *image, const struct exports *exports, const char *name)
{
    struct {
        uint32_t bucket_count, first, bloom_count, bloom_shift;
    } header;
    uint32_t hash = 5381, index, chain = 0;
    uint64_t buckets, chains;

    for (const char *p = name; *p != '\0'; p++)
        hash = hash * 33 + (unsigned char)*p;
    if (!read_at(image->fd, &header, sizeof(header), exports->hash) || header.bucket_count == 0)
        return false;
    buckets = exports->hash + sizeof(header) + UINT64_C(8) * header.bloom_count;
    chains = buckets + UINT64_C(4) * header.bucket_count;
    if (!read_at(image->fd, &index, sizeof(index),
                 buckets + UINT64_C(4) * (hash % header.bucket_count)) ||
        index < header.first)
        return false;
    for (unsigned i = 0; i < CHAIN_MAX_COUNT && (chain & 1) == 0; i++, index++) {
        if (!read_at(image->fd, &chain, sizeof(chain),
                     chains + UINT64_C(4) * (index - header.first)))
            return false;
        if ((chain | 1) == (hash | 1) && is_export(image, exports, index, name))
            return true;
    }
    return false;
}

bool executable_exports(const char *path, const char *name)
{
    struct image image;
    struct exports exports = {0};
    Elf64_Phdr part;
    bool result = false;

    if (strlen(name) >= NAME_MAX_BYTES || !open_image(path, &image))
        return false;
    if (image.header.e_phentsize == sizeof(part))
        for (unsigned i = 0; i < image.header.e_phnum && read_part(&image, i, &part); i++)
            result |= part.p_type == PT_DYNAMIC && find_exports(&image, &part, &exports) &&
                      exports_name(&image, &exports, name);
    close(image.fd);
    return result;
}
