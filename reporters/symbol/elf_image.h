/*
 * An ELF file, as far as it is needed here: sections, segments, build-id, symbols.
 *
 * What holds: no byte outside the file is read, whatever stands in it. Only 64-bit little-endian files
 * are taken, which is what programs on our machines are.
 */
#ifndef SYMBOL_ELF_IMAGE_H
#define SYMBOL_ELF_IMAGE_H

#include "symbol/lookup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct elf_image {
    const uint8_t *bytes;
    size_t size_bytes;
    int fd;           /* the file; -1: there is none */
    bool is_mapped;   /* bytes are to be unmapped */
    bool is_unpacked; /* ... or given to free() */
    struct stat status;
};

/* A part of an image; NULL bytes: there is none. */
struct elf_part {
    const uint8_t *bytes;
    size_t size_bytes;
};

/*
 * Open a file: a regular one, nothing that could block.
 * ret_image: to be given to elf_image_close() when this returns true.
 * Returns false when it cannot be read or is no ELF file of ours. Context: tool.
 */
bool elf_image_open(const char *path, struct elf_image *ret_image);

/* Take an image that lies in memory already, the caller's. Returns false likewise. Context: tool. */
bool elf_image_of_memory(const uint8_t *bytes, size_t size_bytes, struct elf_image *ret_image);

/* Give it back; an image of all zero bytes is allowed. Context: tool. */
void elf_image_close(struct elf_image *image);

/* Find a section by its name; one that has no bytes in the file is none. Context: tool. */
struct elf_part elf_image_section(const struct elf_image *image, const char *name);

/* Return the bytes of the GNU build-id. Context: tool. */
struct elf_part elf_image_build_id(const struct elf_image *image);

/* Return whether a build-id is the image's. build_id: the caller's. Context: tool. */
bool elf_image_has_build_id(const struct elf_image *image, const uint8_t *build_id,
                            size_t size_bytes);

/* Return whether a range lies in code, by the image's segments. Context: tool. */
bool elf_image_is_code(const struct elf_image *image, uint64_t begin, uint64_t end);

/*
 * Offer the functions of the symbol tables, .symtab and .dynsym. Their names are the image's, which must
 * be kept open. Symbols without an extent are left out: nobody knows what they cover. Context: tool.
 */
void elf_image_offer_symbols(const struct elf_image *image, struct lookup *lookup);

/*
 * Unpack the image in .gnu_debugdata, in which distributions keep names of stripped files.
 * ret_image: to be given to elf_image_close().
 * Returns false when there is none, it is damaged, or this program was built without xz.
 * Context: tool.
 */
bool elf_image_unpack_inner(const struct elf_image *image, struct elf_image *ret_image);

/* Return whether this program was built with xz. Context: any thread. */
bool elf_image_can_unpack(void);

#endif
