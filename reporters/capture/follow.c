/*
 * Reading along. Runs in the collector's model thread, then in its main thread.
 *
 * What holds: nothing is read that has not been written completely. The checksums are not looked at:
 * the bytes have come from this process, and whoever reads the file later checks them.
 */
#include "capture/follow.h"

#include "base/memory.h"
#include "capture/load.h"
#include "capture/section.h"
#include "capture/thin.h"
#include "memtrack/format.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    FORGET_TICKS = 1 << 12,
};

static bool spoil(struct capture *capture, uint64_t offset, const char *what)
{
    capture_damage_set(&capture->damage, capture->file, offset, what, capture_remedy_damaged);
    return false;
}

bool capture_read_at(const struct capture *capture, uint64_t offset, uint8_t *ret_bytes,
                     size_t size_bytes)
{
    while (size_bytes > 0) {
        ssize_t count = pread(capture->follow_fd, ret_bytes, size_bytes, (off_t)offset);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        ret_bytes += count;
        offset += (uint64_t)count;
        size_bytes -= (size_t)count;
    }
    return true;
}

struct capture *capture_follow_open(int fd, const char *file)
{
    struct capture *capture = memory_allocate(1, sizeof(*capture));

    capture->memory = memory_allocate(1, sizeof(struct capture_memory));
    capture->file = memory_copy_text(file);
    capture->state = CAPTURE_RUNNING;
    capture->is_followed = true;
    capture->follow_fd = fd;
    capture->file_bytes = SUPERBLOCK_BYTES; /* as far as it has been taken */
    capture_load_begin(capture);
    return capture;
}

struct capture *capture_follow_once(int fd, const char *file, capture_follow_records *take_records,
                                    void *user)
{
    struct capture *capture = capture_follow_open(fd, file);
    struct capture_memory *memory = capture->memory;

    capture->is_read_once = true;
    memory->take_records = take_records;
    memory->records_user = user;
    return capture;
}

static bool take_records(struct capture *capture, const struct section *section)
{
    struct capture_memory *memory = capture->memory;
    size_t needed_bytes = (size_t)section->payload_bytes + section->raw_bytes;
    uint8_t *bytes;
    size_t wrong;
    record_fault fault;

    memory->payload = memory_grow(memory->payload, &memory->payload_capacity, needed_bytes + 1, 1);
    bytes = memory->payload + section->payload_bytes;
    if (!capture_read_at(capture, section->payload_offset, memory->payload, section->payload_bytes))
        return spoil(capture, section->payload_offset, "file cut off");
    if (!capture_unpack(memory->payload, section->payload_bytes, section->flags & SECTION_LZ4,
                        section->raw_bytes, bytes))
        return spoil(capture, section->payload_offset, "payload that does not unpack");
    fault = capture_load_payload(capture, bytes, section->raw_bytes, &wrong);
    if (fault != NULL)
        return spoil(capture, section->payload_offset, fault);
    if (memory->take_records != NULL)
        memory->take_records(memory->records_user, bytes, section->raw_bytes);
    if (capture->is_read_once)
        capture_thin(capture);
    return true;
}

static bool take_events(struct capture *capture, struct section *section)
{
    struct events_fault fault;

    section->payload = NULL; /* it is not in memory */
    return capture_load_events(capture, section, &fault) ||
           spoil(capture, section->payload_offset, fault.what);
}

static bool take_section(struct capture *capture, uint64_t end_offset)
{
    uint8_t header[SECTION_HEADER_BYTES];
    /* Of the payload only its size is looked at: there are no more bytes than the header. */
    struct capture_bytes content = {capture->file, header,
                                    (size_t)(end_offset - capture->file_bytes)};
    struct section section;

    if (content.size_bytes < sizeof(header) ||
        !capture_read_at(capture, capture->file_bytes, header, sizeof(header)))
        return spoil(capture, capture->file_bytes, "file cut off");
    if (!section_read(&content, 0, &section, &capture->damage.error)) {
        capture->damage.is_damaged = true;
        return false;
    }
    section.payload_offset += (size_t)capture->file_bytes;
    if (section.type == SECTION_RECORDS && !take_records(capture, &section))
        return false;
    if (section.type == SECTION_EVENTS && !take_events(capture, &section))
        return false;
    capture->file_bytes += section.next_offset;
    return true;
}

bool capture_follow(struct capture *capture, uint64_t end_offset)
{
    while (!capture->damage.is_damaged && capture->file_bytes < end_offset)
        if (!take_section(capture, end_offset))
            return false;
    return !capture->damage.is_damaged;
}

void capture_follow_forget(struct capture *capture, uint64_t before_ns)
{
    uint32_t count = 0;

    while (count < capture->tick_count && capture->ticks[count].time_ns < before_ns)
        count++;
    /* Many at a time: those that stay are moved. */
    if (capture->state_count > 0 || count < FORGET_TICKS || count <= capture->tick_count / 2 ||
        count == capture->tick_count)
        return;
    capture->tick_count -= count;
    capture->tick_base += count;
    memmove(capture->ticks, capture->ticks + count, capture->tick_count * sizeof(*capture->ticks));
}

uint64_t capture_follow_needed(const struct capture *capture)
{
    /* By the file's order, so the first is the lowest. */
    return capture->section_count > 0 ? capture->sections[0].offset : capture->file_bytes;
}

void capture_follow_end(struct capture *capture)
{
    for (uint32_t i = 0; i < capture->process_count; i++)
        capture->processes[i].bound_segment = UINT64_MAX;
}
