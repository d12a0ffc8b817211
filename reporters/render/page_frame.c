/*
 * Frames of the page. Runs in the tools.
 */
#include "render/page_frame.h"

#include "report/labels.h"

struct frame page_frame_get(const struct frames *frames, const struct page_tree *tree,
                            uint32_t number)
{
    int64_t frame_id = tree->frame_ids[number];
    struct frame special = {.file = "", .kind = FRAME_SPECIAL};

    if (frame_id >= 0)
        return *frames_get(frames, (uint32_t)frame_id);
    if (frame_id == PAGE_FRAME_FOLDED)
        special.function = "[smaller stacks]";
    else if (frame_id <= PAGE_FRAME_PROCESS)
        special.function = tree->process_names[PAGE_FRAME_PROCESS - frame_id];
    else
        special.function =
            label_allocator(tree->capture, (uint8_t)(frame_id - PAGE_FRAME_ALLOCATOR));
    return special;
}
