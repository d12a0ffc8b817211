/*
 * The image in .gnu_debugdata: an ELF file with nothing but symbols, packed with xz. Runs in the tools.
 *
 * What holds: no more is unpacked than INNER_MOST_BYTES, whatever the packed bytes promise.
 */
#include "symbol/elf_image.h"

#include "base/memory.h"

#include <stdlib.h>

#ifdef HAVE_LZMA

#include <lzma.h>

enum {
    FIRST_BYTES = 1 << 20,
};

#define INNER_MOST_BYTES (UINT64_C(1) << 30)
#define MEMORY_BYTES     (UINT64_C(256) << 20) /* of the decoder, for its dictionary */

/* Unpack to the end. Returns the bytes, to be given to free(), or NULL. */
static uint8_t *unpack(struct elf_part packed, size_t *ret_size_bytes)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    size_t capacity = FIRST_BYTES;
    uint8_t *bytes = memory_allocate(capacity, 1);
    lzma_ret result = lzma_stream_decoder(&stream, MEMORY_BYTES, 0);

    stream.next_in = packed.bytes;
    stream.avail_in = packed.size_bytes;
    while (result == LZMA_OK && stream.total_out < INNER_MOST_BYTES) {
        bytes = memory_grow(bytes, &capacity, (size_t)stream.total_out + FIRST_BYTES, 1);
        stream.next_out = bytes + stream.total_out;
        stream.avail_out = capacity - (size_t)stream.total_out;
        result = lzma_code(&stream, LZMA_FINISH);
    }
    *ret_size_bytes = (size_t)stream.total_out;
    lzma_end(&stream);
    if (result == LZMA_STREAM_END)
        return bytes;
    free(bytes);
    return NULL;
}

bool elf_image_unpack_inner(const struct elf_image *image, struct elf_image *ret_image)
{
    struct elf_part packed = elf_image_section(image, ".gnu_debugdata");
    size_t size_bytes;
    uint8_t *bytes;

    if (packed.bytes == NULL)
        return false;
    bytes = unpack(packed, &size_bytes);
    if (bytes == NULL)
        return false;
    if (!elf_image_of_memory(bytes, size_bytes, ret_image)) {
        free(bytes);
        return false;
    }
    ret_image->is_unpacked = true;
    return true;
}

bool elf_image_can_unpack(void)
{
    return true;
}

#else

bool elf_image_unpack_inner(const struct elf_image *image, struct elf_image *ret_image)
{
    (void)image;
    (void)ret_image;
    return false;
}

bool elf_image_can_unpack(void)
{
    return false;
}

#endif
