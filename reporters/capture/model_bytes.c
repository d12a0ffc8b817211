/*
 * Sections of a stored model. Runs in the tools, and in the collector at its end.
 */
#include "capture/model_bytes.h"

#include "base/memory.h"
#include "capture/load.h"
#include "memtrack/format.h"

#include <stdlib.h>

/* How large it is. Returns 0 when a section is missing. */
static size_t whole_bytes(const struct capture *capture)
{
    size_t size_bytes = 0;

    for (uint32_t i = 0; i < capture->model_count; i++) {
        if (capture->models[i].left_count != capture->model_count - 1 - i)
            return 0;
        size_bytes += capture->models[i].raw_bytes;
    }
    return size_bytes;
}

bool capture_model_unpack(const struct capture *capture, struct capture_model_bytes *ret_model,
                          const char **ret_fault)
{
    size_t size_bytes = whole_bytes(capture), done_bytes = 0;
    uint8_t *bytes;

    *ret_fault = NULL;
    if (capture->model_count == 0)
        return false;
    /* Beside events it must be of all of them; one that stands for them is as good as it is. */
    if (!capture->is_aggregated && (capture->state != CAPTURE_CLEAN || capture->damage.is_damaged))
        return false;
    if (size_bytes == 0) {
        *ret_fault = "model that lacks a section";
        return false;
    }
    bytes = memory_allocate(size_bytes, 1);
    for (uint32_t i = 0; i < capture->model_count; i++) {
        const struct capture_model_part *part = &capture->models[i];

        if (!capture_unpack(part->bytes, part->payload_bytes, part->is_packed, part->raw_bytes,
                            bytes + done_bytes)) {
            free(bytes);
            *ret_fault = "model that does not unpack";
            return false;
        }
        done_bytes += part->raw_bytes;
    }
    *ret_model = (struct capture_model_bytes){bytes, size_bytes};
    return true;
}

void capture_model_refuse(const struct capture *capture, const char *fault,
                          struct capture_damage *ret_damage)
{
    capture_damage_set(ret_damage, capture->file, capture->models[0].offset, fault,
                       capture->is_aggregated ? "nothing can be reported of it"
                                              : "the events are read instead");
}

bool capture_model_write(struct capture_writer *writer, const uint8_t *bytes, size_t size_bytes,
                         struct error *err)
{
    size_t section_count = (size_bytes + SECTION_MAX_RAW_BYTES - 1) / SECTION_MAX_RAW_BYTES;

    for (size_t i = 0; i < section_count; i++) {
        size_t begin = i * SECTION_MAX_RAW_BYTES;
        size_t left_bytes = size_bytes - begin;
        struct writer_section section = {
            .type = SECTION_MODEL,
            .record_count = (uint32_t)(section_count - 1 - i),
            .payload = bytes + begin,
            .payload_bytes =
                (uint32_t)(left_bytes < SECTION_MAX_RAW_BYTES ? left_bytes : SECTION_MAX_RAW_BYTES),
        };

        if (!capture_writer_section(writer, &section, err))
            return false;
    }
    return true;
}
