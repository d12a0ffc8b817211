/*
 * Names for numbers. Runs in the tools.
 */
#include "report/labels.h"

#include "memtrack/protocol.h"
#include "report/function_names.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char *const allocator_names[ALLOCATOR_COUNT] = {
    [ALLOCATOR_MALLOC] = "malloc",
    [ALLOCATOR_CALLOC] = "calloc",
    [ALLOCATOR_REALLOC] = "realloc",
    [ALLOCATOR_REALLOCARRAY] = "reallocarray",
    [ALLOCATOR_MEMALIGN] = "memalign",
    [ALLOCATOR_POSIX_MEMALIGN] = "posix_memalign",
    [ALLOCATOR_ALIGNED_ALLOC] = "aligned_alloc",
    [ALLOCATOR_VALLOC] = "valloc",
    [ALLOCATOR_PVALLOC] = "pvalloc",
    [ALLOCATOR_FREE] = "free",
    [ALLOCATOR_FREE_SIZED] = "free_sized",
    [ALLOCATOR_FREE_ALIGNED_SIZED] = "free_aligned_sized",
    [ALLOCATOR_MMAP] = "mmap",
    [ALLOCATOR_MREMAP] = "mremap",
    [ALLOCATOR_MUNMAP] = "munmap",
    [ALLOCATOR_BRK] = "brk",
    [ALLOCATOR_MPROTECT] = "mprotect",
    [ALLOCATOR_POOL] = "pool",
    [ALLOCATOR_PYMALLOC + 0] = "pymalloc_raw_malloc",
    [ALLOCATOR_PYMALLOC + 1] = "pymalloc_raw_calloc",
    [ALLOCATOR_PYMALLOC + 2] = "pymalloc_raw_realloc",
    [ALLOCATOR_PYMALLOC + 3] = "pymalloc_raw_free",
    [ALLOCATOR_PYMALLOC + 4] = "pymalloc_mem_malloc",
    [ALLOCATOR_PYMALLOC + 5] = "pymalloc_mem_calloc",
    [ALLOCATOR_PYMALLOC + 6] = "pymalloc_mem_realloc",
    [ALLOCATOR_PYMALLOC + 7] = "pymalloc_mem_free",
    [ALLOCATOR_PYMALLOC + 8] = "pymalloc_object_malloc",
    [ALLOCATOR_PYMALLOC + 9] = "pymalloc_object_calloc",
    [ALLOCATOR_PYMALLOC + 10] = "pymalloc_object_realloc",
    [ALLOCATOR_PYMALLOC + 11] = "pymalloc_object_free",
    [ALLOCATOR_PYMALLOC_ARENA] = "pymalloc_arena",
};

static const char *const class_names[CLASS_COUNT] = {
    [CLASS_ANONYMOUS] = "anonymous",
    [CLASS_RESERVED] = "reserved",
    [CLASS_FILE_PRIVATE] = "file, private",
    [CLASS_FILE_SHARED] = "file, shared",
    [CLASS_SHARED] = "shared memory",
    [CLASS_STACK] = "stack",
    [CLASS_DRIVER] = "driver",
    [CLASS_ARENA] = "arena",
};

#define SIGNAL(name_) [name_] = #name_

static const char *const signal_names[] = {
    SIGNAL(SIGHUP),  SIGNAL(SIGINT),  SIGNAL(SIGQUIT),   SIGNAL(SIGILL),  SIGNAL(SIGTRAP),
    SIGNAL(SIGABRT), SIGNAL(SIGBUS),  SIGNAL(SIGFPE),    SIGNAL(SIGKILL), SIGNAL(SIGUSR1),
    SIGNAL(SIGSEGV), SIGNAL(SIGUSR2), SIGNAL(SIGPIPE),   SIGNAL(SIGALRM), SIGNAL(SIGTERM),
    SIGNAL(SIGXCPU), SIGNAL(SIGXFSZ), SIGNAL(SIGVTALRM), SIGNAL(SIGPROF), SIGNAL(SIGIO),
    SIGNAL(SIGPWR),  SIGNAL(SIGSYS),
};

const char *label_allocator(const struct capture *capture, uint8_t allocator)
{
    if (capture->pool_names[allocator] != NULL)
        return capture->pool_names[allocator];
    return allocator_names[allocator] != NULL ? allocator_names[allocator] : "unknown";
}

const char *label_map_class(uint8_t map_class)
{
    return map_class < CLASS_COUNT ? class_names[map_class] : "unknown";
}

const char *label_signal(struct memory_pool *pool, int64_t number)
{
    char text[32];
    int length;

    if (number > 0 && (uint64_t)number < sizeof(signal_names) / sizeof(signal_names[0]) &&
        signal_names[number] != NULL)
        return signal_names[number];
    length = snprintf(text, sizeof(text), "signal %" PRId64, number);
    return memory_pool_copy(pool, text, (size_t)length);
}

const char *label_state(enum capture_state state)
{
    switch (state) {
    case CAPTURE_CLEAN:
        return "clean";
    case CAPTURE_RUNNING:
        return "running";
    case CAPTURE_TRUNCATED:
        return "truncated";
    }
    return "unknown";
}

const char *label_thread(struct memory_pool *pool, const struct capture *capture, uint32_t stream)
{
    const struct capture_thread *thread;
    char text[32];
    int length;

    if (stream == 0 || stream > capture->thread_count)
        return "unknown";
    thread = &capture->threads[stream - 1];
    if (thread->name[0] != '\0')
        return thread->name;
    if (thread->is_main)
        return "main";
    length = snprintf(text, sizeof(text), "thread %" PRIu32, thread->tid);
    return memory_pool_copy(pool, text, (size_t)length);
}

const char *label_command(struct memory_pool *pool, const char *const *arguments)
{
    size_t bytes = 0, at = 0;
    char *text;

    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++)
        bytes += strlen(arguments[i]) + 1;
    if (bytes == 0)
        return "";
    text = memory_pool_allocate(pool, bytes);
    for (size_t i = 0; arguments[i] != NULL; i++) {
        size_t length = strlen(arguments[i]);

        if (i > 0)
            text[at++] = ' ';
        memcpy(text + at, arguments[i], length);
        at += length;
    }
    return text;
}

const char *label_short_command(struct memory_pool *pool, const char *const *arguments)
{
    const char *command = label_command(pool, arguments), *slash;

    if (arguments == NULL || arguments[0] == NULL)
        return command;
    slash = strrchr(arguments[0], '/');
    return slash != NULL && slash[1] != '\0' ? command + (slash + 1 - arguments[0]) : command;
}

/* Where the name of a file begins that lies in a folder of Python's: lib/python3.13/email/x.py. */
static const char *skip_library(const char *file)
{
    static const char *const packages[] = {"site-packages/", "dist-packages/"};
    const char *library = strstr(file, "/lib/python3");

    if (library == NULL)
        return file;
    library = strchr(library + strlen("/lib/"), '/');
    if (library == NULL)
        return file;
    library++;
    for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++) {
        if (strncmp(library, packages[i], strlen(packages[i])) == 0)
            library += strlen(packages[i]);
    }
    return library[0] != '\0' ? library : file;
}

static const char *shorten_file(const struct capture *capture, const char *file)
{
    const char *directory = capture->session.directory;
    size_t length = directory != NULL ? strlen(directory) : 0;

    if (length > 1 && strncmp(file, directory, length) == 0 && file[length] == '/' &&
        file[length + 1] != '\0')
        return file + length + 1;
    return skip_library(file);
}

/* A native frame whose function is not known: libfoo.so+0x1234. */
static bool is_named_after_module(const struct frame *frame)
{
    size_t length = strlen(frame->module);

    return strncmp(frame->function, frame->module, length) == 0 && frame->function[length] == '+';
}

const char *label_place(struct memory_pool *pool, const struct capture *capture,
                        const struct frame *frame, uint32_t line)
{
    const char *file = shorten_file(capture, frame->file);
    size_t room_bytes = strlen(file) + 16;
    char *text;

    if (file[0] == '\0' && frame->module != NULL && !is_named_after_module(frame))
        return label_module(pool, frame->module);
    if (file[0] == '\0' || line == 0)
        return file;
    text = memory_pool_allocate(pool, room_bytes);
    snprintf(text, room_bytes, "%s:%" PRIu32, file, line);
    return text;
}

const struct capture_process *label_python_process(const struct capture *capture)
{
    for (uint32_t i = 0; i < capture->process_count; i++) {
        if (capture->processes[i].python_version[0] != '\0')
            return &capture->processes[i];
    }
    return NULL;
}

bool label_has_python_allocators(const struct capture *capture)
{
    if ((capture->session.options & POOL_OPTION_PYTHON_ALLOCATORS) != 0)
        return true;
    for (uint32_t i = 0; i < capture->process_count; i++) {
        if (capture->processes[i].has_python_allocators)
            return true;
    }
    return false;
}

const char *label_python_version(struct memory_pool *pool, const struct capture_process *process)
{
    return memory_pool_copy(pool, process->python_version, strcspn(process->python_version, " "));
}
