/* What was found: counts that all processes share, and the stacks that differ. */
#include "compare.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    MISMATCHES_SHOWN = 20,
    FRAMES_AROUND = 4,
    LINE_BYTES = 400,
};

static char text_path[4096];

bool report_prepare(void)
{
    const char *path = getenv("UNWIND_COUNTS");
    int file;
    void *memory;

    if (path == NULL)
        return false;
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(*counts)) != 0)
        abort();
    memory = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED)
        abort();
    counts = memory;
    snprintf(text_path, sizeof(text_path), "%s.txt", path);
    return true;
}

static void name_frame(const struct stack *stack, uint32_t index, char *text, size_t room)
{
    const char *file, *slash;
    Dl_info found;
    uintptr_t pc;

    snprintf(text, room, "-");
    if (index >= stack->count)
        return;
    pc = stack->frames[index];
    if (dladdr((void *)(pc - 1), &found) == 0 || found.dli_fname == NULL) {
        snprintf(text, room, "%#lx", pc);
        return;
    }
    slash = strrchr(found.dli_fname, '/');
    file = slash != NULL ? slash + 1 : found.dli_fname;
    snprintf(text, room, "%s+%#lx %s", file, pc - (uintptr_t)found.dli_fbase,
             found.dli_sname != NULL ? found.dli_sname : "");
}

void report_mismatch(const char *what, const struct stack *own, const struct stack *other)
{
    static _Atomic uint64_t shown;
    char text[LINE_BYTES * 2 * FRAMES_AROUND], left[LINE_BYTES / 2], right[LINE_BYTES / 2];
    uint32_t same = 0;
    int length, file;

    if (atomic_fetch_add(&shown, 1) >= MISMATCHES_SHOWN)
        return;
    while (same < own->count && same < other->count && own->frames[same] == other->frames[same])
        same++;
    length =
        snprintf(text, sizeof(text), "%s %d %s: of %u and %u frames the first %u are the same\n",
                 program_invocation_short_name, getpid(), what, own->count, other->count, same);
    for (uint32_t i = same > 2 ? same - 2 : 0; i < same + FRAMES_AROUND; i++) {
        if (i >= own->count && i >= other->count)
            break;
        name_frame(own, i, left, sizeof(left));
        name_frame(other, i, right, sizeof(right));
        length += snprintf(text + length, sizeof(text) - (size_t)length, "  %u: %s | %s\n", i, left,
                           right);
    }
    file = open(text_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 || write(file, text, (size_t)length) != length)
        abort();
    close(file);
}
