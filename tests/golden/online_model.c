/*
 * Reads a capture along as if it were being written, and says whether the model is that of the
 * finished one.
 *
 * Usage: online_model CAPTURE SECTIONS EVENTS [FILE [once]]
 * So many sections are there more at each look, and so many events are told at a time.
 * FILE: gets the bytes of the model. once: it is read as what can be read only once, and at each look it
 * is asked what it has come to so far. Prints `same`, `differs` or `none` (given up), how many events
 * were told before the last look, and how often news came too late.
 */
#include "base/memory.h"
#include "capture/section.h"
#include "memtrack/format.h"
#include "memtrack/varint.h"
#include "profile/model.h"
#include "profile/online.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SUPERBLOCK_AT_BYTES = 12,
};

static int compare(const struct profile *left, const struct profile *right)
{
    struct column_bytes bytes[2] = {0};
    int is_same;

    model_write(left, &bytes[0]);
    model_write(right, &bytes[1]);
    is_same = bytes[0].size_bytes == bytes[1].size_bytes &&
              memcmp(bytes[0].bytes, bytes[1].bytes, bytes[0].size_bytes) == 0;
    free(bytes[0].bytes);
    free(bytes[1].bytes);
    return is_same;
}

/* What there is so far must be a model of the capture as it is known. */
static void look(struct online *online)
{
    struct profile *so_far = online_so_far(online);
    struct column_bytes bytes = {0};
    struct profile *read;
    const char *fault;

    model_write(so_far, &bytes);
    read = model_read(online_capture(online), bytes.bytes, bytes.size_bytes, true, &fault);
    if (read == NULL || !compare(so_far, read)) {
        printf("wrong so far: %s\n", fault != NULL ? fault : "it is another one");
        exit(1);
    }
    free(bytes.bytes);
    profile_destroy(read);
    profile_destroy(so_far);
}

/* Follow from section to section. Returns the offset behind the last one but the directory. */
static uint64_t follow(struct online *online, const struct capture *capture, unsigned step,
                       uint64_t most_events, bool is_once, uint64_t *ret_told)
{
    struct capture_bytes bytes = {capture->file, capture->bytes, (size_t)capture->file_bytes};
    size_t offset = le_load_u32(capture->bytes + SUPERBLOCK_AT_BYTES);
    struct section section;
    unsigned count = 0;

    *ret_told = 0;
    while (section_read(&bytes, offset, &section, NULL) && section.type != SECTION_DIRECTORY &&
           section.type != SECTION_MODEL) {
        uint64_t told;

        offset = section.next_offset;
        if (++count % step != 0 || !online_follow(online, offset))
            continue;
        do {
            told = online_tell(online, most_events);
            *ret_told += told;
        } while (told == most_events);
        if (is_once)
            look(online);
    }
    return offset;
}

static void save(const struct profile *profile, const char *path)
{
    struct column_bytes bytes = {0};
    FILE *file = fopen(path, "wb");

    model_write(profile, &bytes);
    if (file == NULL || fwrite(bytes.bytes, 1, bytes.size_bytes, file) != bytes.size_bytes ||
        fclose(file) != 0)
        exit(1);
    free(bytes.bytes);
}

int main(int argc, char **argv)
{
    struct profile_options options = {
        .has_intervals = true, .temporary_threshold = 1, .reads_events = true};
    struct capture *capture = argc > 3 ? capture_open(argv[1], NULL, NULL, NULL) : NULL;
    struct profile *expected, *actual;
    bool is_once = argc > 5;
    struct online *online;
    uint64_t told, end;
    int fd;

    if (capture == NULL || capture->state != CAPTURE_CLEAN)
        return 3;
    fd = open(argv[1], O_RDONLY | O_CLOEXEC);
    online =
        is_once ? online_open_once(fd, argv[1], NULL, NULL) : online_open(fd, argv[1], UINT64_MAX);
    end = follow(online, capture, (unsigned)strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10),
                 is_once, &told);
    expected = profile_build(capture, &options);
    actual = online_last(online, end) ? online_finish(online, end) : NULL;
    printf("%s %" PRIu64 " %" PRIu64 "\n",
           actual == NULL              ? "none"
           : compare(expected, actual) ? "same"
                                       : "differs",
           told, actual != NULL ? actual->totals.late_news : 0);
    if (actual != NULL && argc > 4)
        save(actual, argv[4]);
    profile_destroy(actual);
    profile_destroy(expected);
    online_close(online);
    close(fd);
    capture_close(capture);
    return 0;
}
