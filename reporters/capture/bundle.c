/*
 * Copying captures. Runs in the tools.
 */
#include "capture/bundle.h"

#include "capture/section.h"
#include "memtrack/format.h"
#include "memtrack/varint.h"

enum {
    SUPERBLOCK_AT_BYTES = 12,
};

struct bundle {
    const struct capture *capture;
    struct capture_writer *writer;
    bundle_add *add;
    void *user;
    bool has_added;
};

static bool add_once(struct bundle *bundle, struct error *err)
{
    if (bundle->has_added)
        return true;
    bundle->has_added = true;
    return bundle->add(bundle->user, bundle->writer, err);
}

static bool take_section(struct bundle *bundle, const struct section *section, size_t offset,
                         struct error *err)
{
    if (section->type == SECTION_DIRECTORY)
        return true; /* the writer makes its own */
    if (section->type == SECTION_MODEL && !add_once(bundle, err))
        return false;
    return capture_writer_copy_section(bundle->writer, section, bundle->capture->bytes + offset,
                                       err);
}

static bool take_sections(struct bundle *bundle, capture_progress *progress, void *user,
                          struct error *err)
{
    const struct capture *capture = bundle->capture;
    struct capture_bytes bytes = {capture->file, capture->bytes,
                                  (size_t)capture->file_bytes - TRAILER_BYTES};
    size_t offset = le_load_u32(capture->bytes + SUPERBLOCK_AT_BYTES);
    struct section section;

    for (; offset < bytes.size_bytes; offset = section.next_offset) {
        if (!section_read(&bytes, offset, &section, err) ||
            !take_section(bundle, &section, offset, err))
            return false;
        if (progress != NULL && !progress(user, offset, bytes.size_bytes)) {
            error_set(err, "%s: reading was given up", capture->file);
            return false;
        }
    }
    return add_once(bundle, err);
}

bool bundle_write(const struct capture *capture, int fd, const char *name, bundle_add *add,
                  void *user, capture_progress *progress, void *progress_user, struct error *err)
{
    struct bundle bundle = {.capture = capture, .add = add, .user = user};

    bundle.writer = capture_writer_adopt_copy(
        fd, name, capture->bytes, le_load_u32(capture->bytes + SUPERBLOCK_AT_BYTES), err);
    if (bundle.writer == NULL)
        return false;
    if (take_sections(&bundle, progress, progress_user, err))
        return capture_writer_close(bundle.writer, err);
    capture_writer_abandon(bundle.writer);
    return false;
}
