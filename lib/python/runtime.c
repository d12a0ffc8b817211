/*
 * Finding the interpreter: a library, or the program itself, that defines _PyRuntime.
 *
 * Runs at start-up, and later in whatever thread passes a slow path after a library has come. Calls
 * nothing of the interpreter's but Py_GetVersion(), which needs no GIL and no initialisation.
 */
#include "python/runtime.h"

#include "python/attached.h"
#include "python/layout_debug_offsets.h"
#include "python/layout_table.h"
#include "python/load.h"
#include "python/loaded_symbol.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Include/patchlevel.h: level of a release, in bits 4 to 7 of the version. */
enum {
    BOUNDARY_MINOR_FIRST = 10,     /* boundary.c */
    RELEASE_LEVEL_CANDIDATE = 0xc, /* from here on the structures do not change */
};

struct search {
    unsigned long long libraries_added; /* dlpi_adds of the search before */
    struct loaded_module program;
    bool is_first;
    bool has_program;
    bool has_host;
    bool has_pypy;
    struct loaded_module host;        /* defines the interpreter's functions */
    struct address_range whole, text; /* of the host */
    struct address_range data[PYTHON_DATA_RANGES / 2];
    struct address_range program_data[PYTHON_DATA_RANGES / 2];
    const char *host_name; /* as the loader knows it; empty: the program */
    uintptr_t runtime;
};

/*
 * Return the address of an object of the interpreter. The program comes first: when it refers to an
 * object directly the linker moves the object into it (copy relocation), and the library uses it
 * there.
 */
static uintptr_t search_object(const struct search *search, const char *name)
{
    uintptr_t address = search->has_program ? loaded_symbol(&search->program, name) : 0;

    return address != 0 ? address : loaded_symbol(&search->host, name);
}

/* Return the addresses that a module's parts with all of these flags take up. */
static struct address_range parts_range(const struct dl_phdr_info *info, unsigned flags)
{
    struct address_range range = {UINTPTR_MAX, 0};

    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;

        if (part->p_type != PT_LOAD || (part->p_flags & flags) != flags)
            continue;
        if (start < range.start)
            range.start = start;
        if (start + part->p_memsz > range.end)
            range.end = start + part->p_memsz;
    }
    return range.end != 0 ? range : (struct address_range){0, 0};
}

/* Return the parts of a module that can be written; between them nothing need be mapped. */
static void note_data(const struct dl_phdr_info *info, struct address_range *ret_ranges)
{
    unsigned count = 0;

    for (unsigned i = 0; i < info->dlpi_phnum && count < PYTHON_DATA_RANGES / 2; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_LOAD && (part->p_flags & PF_W) != 0)
            ret_ranges[count++] = (struct address_range){start, start + part->p_memsz};
    }
}

/* For dl_iterate_phdr(): returns 1 to end the search. */
static int look_at_module(struct dl_phdr_info *info, size_t info_bytes, void *argument)
{
    struct search *search = argument;
    struct loaded_module module;

    if (search->is_first) {
        search->is_first = false;
        if (info_bytes >= offsetof(struct dl_phdr_info, dlpi_subs)) {
            if (info->dlpi_adds == search->libraries_added)
                return 1;
            search->libraries_added = info->dlpi_adds;
        }
        search->has_program = loaded_module_read(info, &search->program);
        note_data(info, search->program_data);
    }
    if (!loaded_module_read(info, &module))
        return 0;
    if (loaded_symbol(&module, "pypy_main_startup") != 0) {
        search->has_pypy = true;
        return 1;
    }
    if (loaded_symbol(&module, "PyGILState_GetThisThreadState") == 0)
        return 0;
    search->host = module;
    search->host_name = info->dlpi_name;
    search->whole = parts_range(info, 0);
    search->text = parts_range(info, PF_X);
    note_data(info, search->data);
    search->runtime = search_object(search, "_PyRuntime");
    search->has_host = search->runtime != 0; /* else a library that only carries the name */
    return search->has_host;
}

/* "3.10.13 (main, ..." as PY_VERSION_HEX, taken for a final release; 0 when it reads otherwise. */
static uint32_t version_of_text(const char *text)
{
    char *end;
    unsigned long part[3] = {0};

    for (unsigned i = 0; i < 3; i++) {
        part[i] = strtoul(text, &end, 10);
        if (end == text || part[i] > 255)
            return 0;
        if (*end != '.')
            break;
        text = end + 1;
    }
    return (uint32_t)(part[0] << 24 | part[1] << 16 | part[2] << 8 | 0xf0);
}

static uint32_t read_version(const struct search *search, const char *text)
{
    uintptr_t version = search_object(search, "Py_Version"); /* from 3.11, an unsigned long */

    return version != 0 ? (uint32_t)load_word(version, 0) : version_of_text(text);
}

enum python_refusal runtime_choose_layout(uint32_t version, bool has_trace_refs,
                                          const void *debug_offsets,
                                          struct python_layout *ret_layout)
{
    unsigned major = version >> 24, minor = version >> 16 & 0xff, level = version >> 4 & 0xf;
    bool is_described = minor >= DEBUG_OFFSETS_MINOR_FIRST;
    bool is_free_threaded = false;
    uint64_t described_version = 0;

    if (major != 3 || level < RELEASE_LEVEL_CANDIDATE)
        return REFUSAL_VERSION;
    if (minor < LAYOUT_MINOR_FIRST || minor > LAYOUT_MINOR_LAST)
        return REFUSAL_VERSION;
    if (is_described &&
        (!layout_debug_offsets_identify(debug_offsets, &described_version, &is_free_threaded) ||
         described_version != version))
        return REFUSAL_DESCRIPTION;
    if (!layout_table_find(minor, is_free_threaded, has_trace_refs, ret_layout))
        return REFUSAL_VERSION;
    if (is_described && !layout_debug_offsets_apply(debug_offsets, ret_layout))
        return REFUSAL_DESCRIPTION;
    return REFUSAL_NONE;
}

/*
 * Keep the library when the program closes it: our hook and our calls go into it. Nothing is loaded
 * and nothing runs, the loader only makes a note.
 */
static void keep_loaded(const char *name)
{
    if (name != NULL && name[0] != '\0')
        (void)dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/*
 * Whether a release may keep one chunk of frames for the next call, Python/pystate.c:
 * _PyThreadState_PopFrame(). 3.13.13 and 3.14.4 are seen to; of 3.14 before that nobody could look.
 */
static bool keeps_chunk(uint32_t version)
{
    unsigned minor = version >> 16 & 0xff, patch = version >> 8 & 0xff;

    return minor > 13 || (minor == 13 && patch > 12);
}

/* Functions that make walks cheaper, where they are there. */
static void find_helpers(const struct search *search, bool is_start, struct python_runtime *runtime)
{
    unsigned minor = runtime->layout.minor;

    /* Up to 3.11 it returns the state of whoever holds the GIL. Renamed in 3.13. */
    if (minor >= 12)
        runtime->attached_state = (void *(*)(void))loaded_symbol(
            &search->host,
            minor == 12 ? "_PyThreadState_UncheckedGet" : "PyThreadState_GetUnchecked");
    runtime->attached_distance = attached_find(runtime->attached_state, is_start);
    runtime->is_initial = is_start;
    runtime->keeps_chunk = keeps_chunk(runtime->version);
    if (runtime->layout.frame.chunk != 0 &&
        layout_table_family(&runtime->layout.frame) != FRAMES_COUNT)
        runtime->arena_allocator = (void (*)(struct arena_allocator *))loaded_symbol(
            &search->host, "PyObject_GetArenaAllocator");
    runtime->host_start = search->whole.start;
    runtime->host_end = search->whole.end;
}

/* What wrapping its allocators takes; all of it is exported by every version. */
static void find_allocators(const struct search *search, struct python_runtime *runtime)
{
    runtime->get_arena_allocator = (void (*)(struct arena_allocator *))loaded_symbol(
        &search->host, "PyObject_GetArenaAllocator");
    runtime->get_allocator = (void (*)(int, struct python_allocator *))loaded_symbol(
        &search->host, "PyMem_GetAllocator");
    runtime->set_allocator = (void (*)(int, const struct python_allocator *))loaded_symbol(
        &search->host, "PyMem_SetAllocator");
    runtime->code = search->text;
    memcpy(runtime->data, search->data, sizeof(search->data));
    /* From 3.12 on the tables are in _PyRuntime. */
    if (!range_has(&search->whole, search->runtime))
        memcpy(runtime->data + PYTHON_DATA_RANGES / 2, search->program_data,
               sizeof(search->program_data));
}

struct greenlet_search {
    unsigned long long libraries_added; /* dlpi_adds of the search before */
    bool is_first, is_found;
};

/* For dl_iterate_phdr(): returns 1 to end the search. */
static int look_for_greenlet(struct dl_phdr_info *info, size_t info_bytes, void *argument)
{
    struct greenlet_search *search = argument;
    struct loaded_module module;

    if (search->is_first && info_bytes >= offsetof(struct dl_phdr_info, dlpi_subs)) {
        search->is_first = false;
        if (info->dlpi_adds == search->libraries_added)
            return 1;
        search->libraries_added = info->dlpi_adds;
    }
    search->is_found =
        loaded_module_read(info, &module) && loaded_symbol(&module, "PyInit__greenlet") != 0;
    return search->is_found;
}

bool runtime_find_greenlet(void)
{
    static unsigned long long libraries_added; /* the searcher's */
    struct greenlet_search search = {libraries_added, true, false};

    dl_iterate_phdr(look_for_greenlet, &search);
    libraries_added = search.libraries_added;
    return search.is_found;
}

enum python_refusal runtime_search(struct python_runtime *ret_runtime, bool *ret_is_found)
{
    static unsigned long long libraries_added; /* loads seen so far; the searcher's */
    struct search search = {.is_first = true, .libraries_added = libraries_added};
    bool is_start = libraries_added == 0;
    struct python_runtime runtime = {0};
    const char *(*get_version)(void);
    bool has_trace_refs;
    enum python_refusal refusal;

    *ret_is_found = false;
    dl_iterate_phdr(look_at_module, &search);
    libraries_added = search.libraries_added;
    if (search.has_pypy)
        return REFUSAL_PYPY;
    if (!search.has_host)
        return REFUSAL_NONE;

    runtime.address = search.runtime;
    runtime.code_type = search_object(&search, "PyCode_Type");
    runtime.thread_state =
        (void *(*)(void))loaded_symbol(&search.host, "PyGILState_GetThisThreadState");
    get_version = (const char *(*)(void))loaded_symbol(&search.host, "Py_GetVersion");
    if (runtime.code_type == 0 || get_version == NULL)
        return REFUSAL_SYMBOLS;
    /*
     * What is there at the start stays by itself. And dlopen() must not be called then: it would run
     * libc's constructor before the loader does, without arguments, and the program would find its
     * environment empty.
     */
    if (!is_start)
        keep_loaded(search.host_name);
    strncpy(runtime.text, get_version(), sizeof(runtime.text) - 1);
    runtime.version = read_version(&search, runtime.text);
    /* Objects/object.c exports it in such builds only. */
    has_trace_refs = loaded_symbol(&search.host, "_Py_PrintReferences") != 0;
    refusal = runtime_choose_layout(runtime.version, has_trace_refs, (void *)runtime.address,
                                    &runtime.layout);
    if (refusal != REFUSAL_NONE)
        return refusal;
    if (runtime.layout.minor < BOUNDARY_MINOR_FIRST)
        runtime.eval_function = loaded_symbol(&search.host, "_PyEval_EvalFrameDefault");
    find_helpers(&search, is_start, &runtime);
    find_allocators(&search, &runtime);
    *ret_runtime = runtime;
    *ret_is_found = true;
    return REFUSAL_NONE;
}

/*
 * Up to 3.11 the thread's slot holds the first state it ever had. With several interpreters the one
 * in use may be another: the state that holds the GIL, if it is this thread's. (Another thread's may
 * be freed while we look at it; between these two loads its memory would have to be unmapped too.)
 */
uintptr_t runtime_state_in_use(const struct python_runtime *runtime, uintptr_t state)
{
    const struct runtime_layout *layout = &runtime->layout.runtime;
    uintptr_t current = load_word(runtime->address, layout->current_state);
    uintptr_t interpreter;

    if (current == state || current == 0)
        return state;
    interpreter = load_word(runtime->address, layout->interpreters);
    if (interpreter == 0 || load_word(interpreter, layout->interpreter_next) == 0)
        return state;
    return load_word(current, layout->state_thread) == (uintptr_t)pthread_self() ? current : state;
}
