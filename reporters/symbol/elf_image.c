/*
 * ELF files. Runs in the tools.
 *
 * What holds: a header is copied out of the image only when all of it lies inside; offsets and sizes are
 * compared with what is left, never added first.
 */
#include "symbol/elf_image.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    NOTE_ALIGN_BYTES = 4,
};

/* Copy so many bytes from an offset; false when they are not all there. */
static bool load(const struct elf_image *image, uint64_t offset, void *ret_bytes, size_t size_bytes)
{
    if (offset > image->size_bytes || size_bytes > image->size_bytes - offset)
        return false;
    memcpy(ret_bytes, image->bytes + offset, size_bytes);
    return true;
}

static struct elf_part part_at(const struct elf_image *image, uint64_t offset, uint64_t size_bytes)
{
    if (offset > image->size_bytes || size_bytes > image->size_bytes - offset)
        return (struct elf_part){NULL, 0};
    return (struct elf_part){image->bytes + offset, (size_t)size_bytes};
}

static bool is_ours(const struct elf_image *image, Elf64_Ehdr *ret_header)
{
    return load(image, 0, ret_header, sizeof(*ret_header)) &&
           memcmp(ret_header->e_ident, ELFMAG, SELFMAG) == 0 &&
           ret_header->e_ident[EI_CLASS] == ELFCLASS64 &&
           ret_header->e_ident[EI_DATA] == ELFDATA2LSB;
}

static bool load_section(const struct elf_image *image, const Elf64_Ehdr *header, uint64_t index,
                         Elf64_Shdr *ret_section)
{
    uint64_t offset;

    return header->e_shentsize == sizeof(*ret_section) && header->e_shoff != 0 &&
           !__builtin_mul_overflow(index, sizeof(*ret_section), &offset) &&
           !__builtin_add_overflow(offset, header->e_shoff, &offset) &&
           load(image, offset, ret_section, sizeof(*ret_section));
}

/* With very many sections their number stands in the first one. */
static uint64_t section_count(const struct elf_image *image, const Elf64_Ehdr *header)
{
    Elf64_Shdr first;

    if (header->e_shnum != 0)
        return header->e_shnum;
    return load_section(image, header, 0, &first) ? first.sh_size : 0;
}

static struct elf_part section_part(const struct elf_image *image, const Elf64_Shdr *section)
{
    if (section->sh_type == SHT_NOBITS || section->sh_type == SHT_NULL)
        return (struct elf_part){NULL, 0};
    return part_at(image, section->sh_offset, section->sh_size);
}

/* A text of a table, or NULL when it does not end inside. */
static const char *text_at(struct elf_part table, uint64_t offset)
{
    if (table.bytes == NULL || offset >= table.size_bytes ||
        memchr(table.bytes + offset, '\0', table.size_bytes - offset) == NULL)
        return NULL;
    return (const char *)table.bytes + offset;
}

bool elf_image_of_memory(const uint8_t *bytes, size_t size_bytes, struct elf_image *ret_image)
{
    struct elf_image image = {.bytes = bytes, .size_bytes = size_bytes, .fd = -1};
    Elf64_Ehdr header;

    if (!is_ours(&image, &header))
        return false;
    *ret_image = image;
    return true;
}

bool elf_image_open(const char *path, struct elf_image *ret_image)
{
    struct elf_image image = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    Elf64_Ehdr header;
    void *bytes;

    if (image.fd < 0)
        return false;
    if (fstat(image.fd, &image.status) < 0 || !S_ISREG(image.status.st_mode) ||
        image.status.st_size <= 0) {
        close(image.fd);
        return false;
    }
    image.size_bytes = (size_t)image.status.st_size;
    bytes = mmap(NULL, image.size_bytes, PROT_READ, MAP_PRIVATE, image.fd, 0);
    if (bytes == MAP_FAILED) {
        close(image.fd);
        return false;
    }
    image.is_mapped = true;
    image.bytes = bytes;
    if (!is_ours(&image, &header)) {
        elf_image_close(&image);
        return false;
    }
    *ret_image = image;
    return true;
}

void elf_image_close(struct elf_image *image)
{
    if (image->bytes == NULL)
        return;
    if (image->is_mapped)
        munmap((void *)(uintptr_t)image->bytes, image->size_bytes);
    else if (image->is_unpacked)
        free((void *)(uintptr_t)image->bytes);
    if (image->fd >= 0)
        close(image->fd);
    *image = (struct elf_image){.fd = -1};
}

struct elf_part elf_image_section(const struct elf_image *image, const char *name)
{
    struct elf_part names, none = {NULL, 0};
    Elf64_Ehdr header;
    Elf64_Shdr section;
    uint64_t count, names_index;

    if (!is_ours(image, &header))
        return none;
    count = section_count(image, &header);
    names_index = header.e_shstrndx;
    if (names_index == SHN_XINDEX && load_section(image, &header, 0, &section))
        names_index = section.sh_link;
    if (names_index >= count || !load_section(image, &header, names_index, &section))
        return none;
    names = section_part(image, &section);
    for (uint64_t i = 1; i < count && load_section(image, &header, i, &section); i++) {
        const char *own = text_at(names, section.sh_name);

        if (own != NULL && strcmp(own, name) == 0)
            return section_part(image, &section);
    }
    return none;
}

/* The build-id among notes, if it is there. */
static struct elf_part build_id_of_notes(struct elf_part notes)
{
    while (notes.bytes != NULL && notes.size_bytes >= sizeof(Elf64_Nhdr)) {
        const uint8_t *name = notes.bytes + sizeof(Elf64_Nhdr);
        Elf64_Nhdr note;
        uint64_t name_bytes, text_bytes;

        memcpy(&note, notes.bytes, sizeof(note));
        notes.size_bytes -= sizeof(note);
        name_bytes = ((uint64_t)note.n_namesz + NOTE_ALIGN_BYTES - 1) & -NOTE_ALIGN_BYTES;
        text_bytes = ((uint64_t)note.n_descsz + NOTE_ALIGN_BYTES - 1) & -NOTE_ALIGN_BYTES;
        if (name_bytes > notes.size_bytes || note.n_descsz > notes.size_bytes - name_bytes)
            break;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
            memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0)
            return (struct elf_part){name + name_bytes, note.n_descsz};
        if (text_bytes > notes.size_bytes - name_bytes)
            break;
        notes.bytes = name + name_bytes + text_bytes;
        notes.size_bytes -= (size_t)(name_bytes + text_bytes);
    }
    return (struct elf_part){NULL, 0};
}

static bool load_segment(const struct elf_image *image, const Elf64_Ehdr *header, uint64_t index,
                         Elf64_Phdr *ret_segment)
{
    uint64_t offset;

    return header->e_phentsize == sizeof(*ret_segment) && index < header->e_phnum &&
           !__builtin_add_overflow(index * sizeof(*ret_segment), header->e_phoff, &offset) &&
           load(image, offset, ret_segment, sizeof(*ret_segment));
}

/* Sections first: in a separate debug file segments are not where they say. */
struct elf_part elf_image_build_id(const struct elf_image *image)
{
    struct elf_part found = {NULL, 0};
    Elf64_Ehdr header;
    Elf64_Shdr section;
    Elf64_Phdr segment;
    uint64_t count;

    if (!is_ours(image, &header))
        return found;
    count = section_count(image, &header);
    for (uint64_t i = 0; i < count && load_section(image, &header, i, &section); i++) {
        if (section.sh_type == SHT_NOTE)
            found = build_id_of_notes(section_part(image, &section));
        if (found.bytes != NULL)
            return found;
    }
    for (uint64_t i = 0; load_segment(image, &header, i, &segment); i++) {
        if (segment.p_type == PT_NOTE)
            found = build_id_of_notes(part_at(image, segment.p_offset, segment.p_filesz));
        if (found.bytes != NULL)
            return found;
    }
    return found;
}

bool elf_image_has_build_id(const struct elf_image *image, const uint8_t *build_id,
                            size_t size_bytes)
{
    struct elf_part own = elf_image_build_id(image);

    return own.bytes != NULL && size_bytes > 0 && own.size_bytes == size_bytes &&
           memcmp(own.bytes, build_id, size_bytes) == 0;
}

bool elf_image_is_code(const struct elf_image *image, uint64_t begin, uint64_t end)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;

    if (!is_ours(image, &header))
        return false;
    for (uint64_t i = 0; load_segment(image, &header, i, &segment); i++) {
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
            begin >= segment.p_vaddr && end - segment.p_vaddr <= segment.p_memsz)
            return true;
    }
    return false;
}

static bool is_function(const Elf64_Sym *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);

    return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && symbol->st_size > 0 &&
           (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

static uint8_t rank_of(const Elf64_Sym *symbol)
{
    switch (ELF64_ST_BIND(symbol->st_info)) {
    case STB_GLOBAL:
    case STB_GNU_UNIQUE:
        return 0;
    case STB_WEAK:
        return 1;
    default:
        return 2;
    }
}

/* Offer the symbols of a table whose addresses are asked for: no other's name is looked at. */
static void offer_table(const struct elf_image *image, struct elf_part table, struct elf_part texts,
                        struct lookup *lookup)
{
    for (; table.bytes != NULL && table.size_bytes >= sizeof(Elf64_Sym);
         table.bytes += sizeof(Elf64_Sym), table.size_bytes -= sizeof(Elf64_Sym)) {
        struct lookup_symbol offered;
        Elf64_Sym symbol;
        size_t first;

        memcpy(&symbol, table.bytes, sizeof(symbol));
        offered = (struct lookup_symbol){.begin = symbol.st_value, .rank = rank_of(&symbol)};
        if (!is_function(&symbol) ||
            __builtin_add_overflow(symbol.st_value, symbol.st_size, &offered.end) ||
            lookup_find(lookup, offered.begin, offered.end, &first) == 0)
            continue;
        offered.name = text_at(texts, symbol.st_name);
        if (offered.name != NULL && offered.name[0] != '\0' &&
            (ELF64_ST_TYPE(symbol.st_info) != STT_NOTYPE ||
             elf_image_is_code(image, offered.begin, offered.end)))
            lookup_offer(lookup, &offered);
    }
}

void elf_image_offer_symbols(const struct elf_image *image, struct lookup *lookup)
{
    Elf64_Ehdr header;
    Elf64_Shdr section, texts;
    uint64_t count;

    if (!is_ours(image, &header))
        return;
    count = section_count(image, &header);
    for (uint64_t i = 0; i < count && load_section(image, &header, i, &section); i++) {
        if ((section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) &&
            section.sh_entsize == sizeof(Elf64_Sym) && section.sh_link < count &&
            load_section(image, &header, section.sh_link, &texts))
            offer_table(image, section_part(image, &section), section_part(image, &texts), lookup);
    }
}
