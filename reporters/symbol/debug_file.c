/*
 * Separate debug files. Runs in the tools, in a process of its own.
 */
#include "symbol/debug_file.h"

#include "memtrack/varint.h"
#include "symbol/debuginfod.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINK_ALIGN_BYTES = 4,
    CRC_BYTES = 4,
};

/* The checksum of .gnu_debuglink, which is that of gzip. */
static uint32_t checksum(const uint8_t *bytes, size_t size_bytes)
{
    uint32_t table[256], sum = UINT32_MAX;

    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? UINT32_C(0xedb88320) : 0);
    }
    for (size_t i = 0; i < size_bytes; i++)
        sum = sum >> 8 ^ table[(sum ^ bytes[i]) & 0xff];
    return ~sum;
}

static bool open_by_build_id(const struct debug_file_of *of, const char *path,
                             struct elf_image *ret_image)
{
    struct elf_image image;

    if (!elf_image_open(path, &image))
        return false;
    if (elf_image_has_build_id(&image, of->build_id, of->build_id_bytes)) {
        *ret_image = image;
        return true;
    }
    elf_image_close(&image);
    return false;
}

static bool find_in_folder(const struct debug_file_of *of, struct elf_image *ret_image)
{
    char path[PATH_MAX];
    size_t used;

    if (of->build_id_bytes < 2 ||
        strlen(of->folder) + 2 * of->build_id_bytes + sizeof("/.build-id//.debug") > sizeof(path))
        return false;
    used = (size_t)sprintf(path, "%s/.build-id/%02x/", of->folder, of->build_id[0]);
    for (size_t i = 1; i < of->build_id_bytes; i++)
        used += (size_t)sprintf(path + used, "%02x", of->build_id[i]);
    snprintf(path + used, sizeof(path) - used, ".debug");
    return open_by_build_id(of, path, ret_image);
}

/* What a file says about the one that was parted from it. */
struct debug_link {
    const char *name;
    uint32_t checksum;
};

static bool read_link(const struct elf_image *image, struct debug_link *ret_link)
{
    struct elf_part part = elf_image_section(image, ".gnu_debuglink");
    size_t length, at;

    if (part.bytes == NULL || memchr(part.bytes, '\0', part.size_bytes) == NULL)
        return false;
    length = strlen((const char *)part.bytes);
    at = (length + LINK_ALIGN_BYTES) / LINK_ALIGN_BYTES * LINK_ALIGN_BYTES;
    if (length == 0 || memchr(part.bytes, '/', length) != NULL || part.size_bytes < CRC_BYTES ||
        at > part.size_bytes - CRC_BYTES)
        return false;
    *ret_link = (struct debug_link){(const char *)part.bytes, le_load_u32(part.bytes + at)};
    return true;
}

static bool open_linked(const struct debug_file_of *of, const struct debug_link *link,
                        const char *path, struct elf_image *ret_image)
{
    struct elf_image image;

    if (of->build_id_bytes > 0)
        return open_by_build_id(of, path, ret_image);
    if (!elf_image_open(path, &image))
        return false;
    if (checksum(image.bytes, image.size_bytes) == link->checksum) {
        *ret_image = image;
        return true;
    }
    elf_image_close(&image);
    return false;
}

static bool find_linked(const struct debug_file_of *of, struct elf_image *ret_image)
{
    /* Before the file's own folder, and behind it. */
    const char *const places[][2] = {{"", ""}, {"", "/.debug"}, {of->folder, ""}};
    const char *slash = strrchr(of->path, '/');
    struct debug_link link;

    if (of->image == NULL || slash == NULL || !read_link(of->image, &link))
        return false;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof(path), "%s%.*s%s/%s", places[i][0],
                              (int)(slash - of->path), of->path, places[i][1], link.name);

        if (length > 0 && (size_t)length < sizeof(path) && open_linked(of, &link, path, ret_image))
            return true;
    }
    return false;
}

static bool find_by_server(const struct debug_file_of *of, struct elf_image *ret_image)
{
    char *path = debuginfod_fetch(of->build_id, of->build_id_bytes);
    bool is_found = path != NULL && open_by_build_id(of, path, ret_image);

    free(path);
    return is_found;
}

bool debug_file_find(const struct debug_file_of *of, struct elf_image *ret_image)
{
    return find_in_folder(of, ret_image) || find_linked(of, ret_image) ||
           (of->with_servers && find_by_server(of, ret_image));
}
