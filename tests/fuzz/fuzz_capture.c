/*
 * For libFuzzer: bytes as a capture, opened, built into a model and made into every report.
 *
 * Checksums would stop nearly every input at once, so they are made right first: what is tried is
 * what a forger can do. The first byte of an input says how: whether the capture gets an end, which
 * view is shown and whether as JSON.
 */
#include "capture/capture.h"
#include "memtrack/format.h"
#include "memtrack/varint.h"
#include "profile/profile.h"
#include "render/render.h"
#include "symbol/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    /* From docs/format.md. */
    AT_PAYLOAD_BYTES = 32,
    AT_PAYLOAD_HASH = 40,
    AT_HEADER_HASH = 48,
    SUPERBLOCK_AT_HASH = 56,
    ROOM_BYTES = 1 << 20,
};

/* Of the first byte. */
enum {
    CHOICE_END = 1u << 0,
    CHOICE_JSON = 1u << 1,
    CHOICE_INVERTED = 1u << 2,
    CHOICE_ASCII = 1u << 3, /* and the page */
    CHOICE_VIEW_SHIFT = 4,
    CHOICE_RUNTIME = 1u << 6,
    CHOICE_PART = 1u << 7, /* of the first process only */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

/* Make the checksums of everything that looks like a section right. */
static void sign(uint8_t *bytes, size_t size_bytes)
{
    size_t offset = SUPERBLOCK_BYTES;

    le_store_u64(XXH3_64bits(bytes, SUPERBLOCK_AT_HASH), bytes + SUPERBLOCK_AT_HASH);
    while (size_bytes - offset > SECTION_HEADER_BYTES) {
        uint8_t *header = bytes + offset;
        uint8_t *payload = header + SECTION_HEADER_BYTES;
        size_t left_bytes = size_bytes - offset - SECTION_HEADER_BYTES;
        size_t padded_bytes = ((size_t)le_load_u32(header + AT_PAYLOAD_BYTES) + 7) & ~(size_t)7;

        if (padded_bytes > left_bytes)
            return;
        le_store_u64(XXH3_64bits(payload, padded_bytes), header + AT_PAYLOAD_HASH);
        le_store_u64(XXH3_64bits(header, AT_HEADER_HASH), header + AT_HEADER_HASH);
        offset += SECTION_HEADER_BYTES + padded_bytes;
    }
}

/* A trailer, so that events are read beyond the bounds too. Returns the new size. */
static size_t add_trailer(uint8_t *bytes, size_t size_bytes)
{
    uint8_t *trailer = bytes + size_bytes;

    le_store_u64(size_bytes, trailer);
    le_store_u64(size_bytes + TRAILER_BYTES, trailer + 8);
    memcpy(trailer + 16, TRAILER_MAGIC, 8);
    le_store_u64(XXH3_64bits(trailer, 24), trailer + 24);
    return size_bytes + TRAILER_BYTES;
}

static void write_report(const char *name, const struct render_input *input, FILE *out)
{
    struct error err;

    if (render_find(name)->run(input, out, &err))
        return;
    fprintf(stderr, "%s: %s\n", name, err.text);
    abort();
}

/*
 * All reports of one capture; what they write is thrown away. The page takes longer than all
 * others together, so not every input gets one.
 */
static void write_reports(const struct capture *capture, const struct render_options *options)
{
    static const char *const names[] = {"summary", "table", "tree", "stats", "dump", "info"};
    struct profile_options wanted = {
        .has_intervals = true,
        .temporary_threshold = options->temporary_threshold,
        .process_number = options->process_number,
    };
    struct profile *profile = profile_build(capture, &wanted);
    struct frames *frames = frames_create(capture);
    struct render_input input = {capture, profile, frames, options, NULL};
    FILE *out = fopen("/dev/null", "w");

    if (out == NULL)
        abort();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        write_report(names[i], &input, out);
    if (options->is_ascii)
        write_report("flamegraph", &input, out);
    fclose(out);
    frames_destroy(frames);
    profile_destroy(profile);
}

static void read_capture(const uint8_t *bytes, size_t size_bytes, uint8_t choice)
{
    struct render_options options = {
        .view = choice >> CHOICE_VIEW_SHIFT & 3,
        .temporary_threshold = 1,
        .width_columns = 80,
        .process_number = (choice & CHOICE_PART) != 0,
        .is_json = choice & CHOICE_JSON,
        .is_inverted = choice & CHOICE_INVERTED,
        .is_ascii = choice & CHOICE_ASCII,
        .shows_runtime = choice & CHOICE_RUNTIME,
    };
    int fd = memfd_create("capture", MFD_CLOEXEC);
    struct capture *capture = NULL;
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd >= 0 && write(fd, bytes, size_bytes) == (ssize_t)size_bytes)
        capture = capture_open(path, NULL, NULL, NULL);
    if (capture != NULL)
        write_reports(capture, &options);
    capture_close(capture);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    uint8_t choice, *bytes;

    if (size_bytes < 1 + SUPERBLOCK_BYTES || size_bytes > ROOM_BYTES)
        return 0;
    choice = data[0];
    bytes = malloc(size_bytes + TRAILER_BYTES);
    if (bytes == NULL)
        return 0;
    memcpy(bytes, data + 1, --size_bytes);
    if (choice & CHOICE_END)
        size_bytes &= ~(size_t)(SECTION_ALIGN_BYTES - 1);
    sign(bytes, size_bytes);
    if (choice & CHOICE_END)
        size_bytes = add_trailer(bytes, size_bytes);
    read_capture(bytes, size_bytes, choice);
    free(bytes);
    return 0;
}
