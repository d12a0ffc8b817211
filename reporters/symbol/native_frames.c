/*
 * Native nodes to frames. Runs in the tools; not thread-safe.
 *
 * What holds: a node is resolved once. Which frames are the runtime's is decided by what runs there,
 * not by how it is called, as far as that can be known: names may be missing.
 *
 * The runtime's are: code of the interpreter, that is, of a module with evaluation loops in it (where
 * the interpreter is a part of a larger program only its own functions); what the C library runs
 * before main() and a thread's function; what hands out memory and no more, as operator new.
 */
#include "symbol/native_frames.h"

#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "symbol/native.h"

#include <stdlib.h>
#include <string.h>

/* What is known of a module. */
enum {
    MODULE_HAS_LOOP = 1u << 0,   /* the interpreter's code is in it */
    MODULE_IS_PYTHON = 1u << 1,  /* and nothing else */
    MODULE_IS_LIBC = 1u << 2,    /* of the C library */
    MODULE_IS_LOADER = 1u << 3,  /* and of it the part that runs first of all */
    MODULE_IS_TRACKER = 1u << 4, /* memtrack's own */
};

/* What is known of a node. */
enum {
    NODE_KNOWN = 1u << 0, /* whether it is a start is */
    NODE_IS_START = 1u << 1,
    NODE_CALLS_LIBC =
        1u << 2, /* of an outermost one: some frame that it calls is the C library's */
    NODE_CALLS_OTHERS = 1u << 3,
};

struct node_frames {
    uint32_t first, count; /* in natives.frames; count 0: not yet */
};

struct native_frames {
    const struct capture *capture;
    struct frame_table *table;
    struct native_symbols *symbols;
    uint8_t *modules, *nodes; /* what is known, by number */
    struct node_frames *node_frames;
    uint32_t *frames; /* outermost first */
    size_t frame_count, frame_capacity;
    bool is_prepared;
};

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

static bool begins_with_any(const char *text, const char *const *begins, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (begins_with(text, begins[i]))
            return true;
    return false;
}

/* python3, python3.13, libpython3.13.so.1.0: nothing but the interpreter is in them. */
static bool is_python(const char *module)
{
    if (begins_with(module, "lib"))
        module += strlen("lib");
    if (!begins_with(module, "python"))
        return false;
    module += strlen("python");
    return *module == '\0' || (*module >= '0' && *module <= '9');
}

static void look_at_modules(struct native_frames *natives)
{
    static const char *const loader[] = {"ld-", "ld.so", "ld64.so"};
    static const char *const libc[] = {"libc.so", "libc-", "libc.musl", "libpthread.so",
                                       "libpthread-"};
    const struct capture *capture = natives->capture;

    for (uint32_t i = 1; i < capture->module_count; i++) {
        const char *name = native_symbols_module(natives->symbols, i);

        if (is_python(name))
            natives->modules[i] = MODULE_HAS_LOOP | MODULE_IS_PYTHON;
        else if (begins_with_any(name, loader, sizeof(loader) / sizeof(loader[0])))
            natives->modules[i] = MODULE_IS_LIBC | MODULE_IS_LOADER;
        else if (begins_with_any(name, libc, sizeof(libc) / sizeof(libc[0])))
            natives->modules[i] = MODULE_IS_LIBC;
        else if (begins_with(name, "libmemtrack"))
            natives->modules[i] = MODULE_IS_TRACKER;
    }
}

static void look_at_nodes(struct native_frames *natives)
{
    const struct capture *capture = natives->capture;

    for (uint32_t i = 1; i < capture->native_node_count; i++) {
        const struct capture_native_node *node = &capture->native_nodes[i];
        bool is_libc = natives->modules[node->module] & MODULE_IS_LIBC;

        /* A loop in generated code says nothing about all the rest of it. */
        if (node->is_eval && capture->modules[node->module].kind != MODULE_JIT)
            natives->modules[node->module] |= MODULE_HAS_LOOP;
        natives->nodes[node->parent] |= is_libc ? NODE_CALLS_LIBC : NODE_CALLS_OTHERS;
    }
}

struct native_frames *native_frames_create(const struct capture *capture, struct frame_table *table)
{
    struct native_frames *natives = memory_allocate(1, sizeof(*natives));

    natives->capture = capture;
    natives->table = table;
    natives->symbols = native_symbols_create(capture);
    natives->modules = memory_allocate((size_t)capture->module_count + 1, 1);
    natives->nodes = memory_allocate((size_t)capture->native_node_count + 1, 1);
    natives->node_frames =
        memory_allocate((size_t)capture->native_node_count + 1, sizeof(*natives->node_frames));
    look_at_modules(natives);
    look_at_nodes(natives);
    return natives;
}

void native_frames_destroy(struct native_frames *natives)
{
    if (natives == NULL)
        return;
    native_symbols_destroy(natives->symbols);
    free(natives->modules);
    free(natives->nodes);
    free(natives->node_frames);
    free(natives->frames);
    free(natives);
}

void native_frames_prepare(struct native_frames *natives, const uint32_t *native_nodes,
                           size_t count)
{
    const struct capture *capture = natives->capture;
    bool *is_wanted = memory_allocate((size_t)capture->native_node_count + 1, sizeof(bool));
    uint32_t *wanted = memory_allocate((size_t)capture->native_node_count + 1, sizeof(*wanted));
    size_t wanted_count = 0;

    for (size_t i = 0; i < count; i++)
        is_wanted[native_nodes[i]] = true;
    for (uint32_t i = capture->native_node_count; i-- > 1;) {
        if (!is_wanted[i])
            continue;
        is_wanted[capture->native_nodes[i].parent] = true;
        if (natives->node_frames[i].count == 0 && capture->native_nodes[i].module != 0)
            wanted[wanted_count++] = i;
    }
    native_symbols_resolve(natives->symbols, wanted, wanted_count);
    free(wanted);
    free(is_wanted);
    natives->is_prepared = true;
}

uint32_t native_frames_parent(const struct native_frames *natives, uint32_t native_node)
{
    const struct capture_native_node *nodes = natives->capture->native_nodes;
    uint32_t parent = nodes[native_node].parent;
    bool is_end = parent != 0 && nodes[parent].module == 0 && nodes[parent].parent == 0 &&
                  nodes[parent].offset == SPECIAL_UNWINDER;

    /* The kernel's first instructions of a program are not described: nothing is missing there. */
    return is_end && natives->modules[nodes[native_node].module] & MODULE_IS_LOADER ? 0 : parent;
}

/* Nobody has said which ones will be asked for: all that are in a stack may be. */
static void prepare_all(struct native_frames *natives)
{
    const struct capture *capture = natives->capture;
    uint32_t *nodes = memory_allocate((size_t)capture->stack_count + 1, sizeof(*nodes));

    for (uint32_t i = 0; i < capture->stack_count; i++)
        nodes[i] = capture->stacks[i].native_node;
    native_frames_prepare(natives, nodes, capture->stack_count);
    free(nodes);
}

/* Whether a name is only where the frame lies: libfoo.so+0x1234. */
static bool is_offset(const struct native_frames *natives, uint32_t module, const char *function)
{
    const char *name = native_symbols_module(natives->symbols, module);

    return begins_with(function, name) && begins_with(function + strlen(name), "+0x");
}

/* Whether an outermost frame is where the kernel has begun: `_start`, which often has no name. */
static bool begins_program(struct native_frames *natives, uint32_t native_node)
{
    uint32_t module = natives->capture->native_nodes[native_node].module;
    uint8_t calls = natives->nodes[native_node] & (NODE_CALLS_LIBC | NODE_CALLS_OTHERS);
    const struct native_place *places;

    if (module == 0)
        return false;
    if (natives->modules[module] & MODULE_IS_LIBC)
        return true;
    native_symbols_of_node(natives->symbols, native_node, &places);
    return strcmp(places[0].function, "_start") == 0 ||
           (calls == NODE_CALLS_LIBC && is_offset(natives, module, places[0].function));
}

/*
 * Whether all frames from a node outwards are what the C library does before it calls the program.
 * Up to where that is known, then down again.
 */
static bool is_start(struct native_frames *natives, uint32_t native_node)
{
    const struct capture_native_node *nodes = natives->capture->native_nodes;
    uint32_t at = native_node, parent, end;
    uint8_t state;

    while ((parent = native_frames_parent(natives, at)) != 0 &&
           !(natives->nodes[at] & NODE_KNOWN) &&
           natives->modules[nodes[at].module] & MODULE_IS_LIBC)
        at = parent;
    if (natives->nodes[at] & NODE_KNOWN)
        state = natives->nodes[at] & NODE_IS_START;
    else
        state = parent == 0 && begins_program(natives, at) ? NODE_IS_START : 0;
    end = nodes[at].parent;
    for (at = native_node; at != end; at = nodes[at].parent)
        natives->nodes[at] |= state | NODE_KNOWN;
    return state != 0;
}

/* Functions that hand out memory for the compiler, and those that call main(), by their beginnings. */
static bool is_language(const char *function)
{
    static const char *const begins[] = {
        "operator new(",
        "operator new[](",
        "std::allocator<",
        "std::allocator_traits<",
        "std::__new_allocator<",
        "std::_Vector_base<",
        "__gnu_cxx::new_allocator<",
        "__gnu_cxx::__alloc_traits<",
        "__rust_alloc",
        "__rust_realloc",
        "__rdl_",
        "__rg_",
        "alloc::alloc::",
        "std::rt::lang_start",
        "std::sys::backtrace::__rust_",
        "std::sys_common::backtrace::__rust_",
    };

    return begins_with_any(function, begins, sizeof(begins) / sizeof(begins[0]));
}

static bool is_runtime(struct native_frames *natives, uint32_t native_node, const char *function)
{
    const struct capture_native_node *node = &natives->capture->native_nodes[native_node];
    uint8_t module = natives->modules[node->module];

    if (node->is_eval || module & (MODULE_IS_PYTHON | MODULE_IS_TRACKER))
        return true;
    if (module & MODULE_HAS_LOOP && (begins_with(function, "Py") || begins_with(function, "_Py")))
        return true;
    return is_language(function) || is_start(natives, native_node);
}

static void add_frame(struct native_frames *natives, struct node_frames *to, uint32_t frame)
{
    natives->frames = memory_grow(natives->frames, &natives->frame_capacity,
                                  natives->frame_count + 1, sizeof(natives->frames[0]));
    natives->frames[natives->frame_count++] = frame;
    to->count++;
}

static void add_place(struct native_frames *natives, uint32_t native_node, bool parts_columns,
                      const struct native_place *place)
{
    uint32_t module = natives->capture->native_nodes[native_node].module;
    const char *module_name = native_symbols_module(natives->symbols, module);
    struct frame_key key = {
        .function =
            frame_table_name(natives->table, place->function, (uint32_t)strlen(place->function)),
        .file = frame_table_name(natives->table, place->file, (uint32_t)strlen(place->file)),
        .module = frame_table_name(natives->table, module_name, (uint32_t)strlen(module_name)),
        .line = place->line,
        .column = parts_columns ? place->column : 0,
        .kind = place->is_inlined ? FRAME_INLINED : FRAME_NATIVE,
        .is_runtime = is_runtime(natives, native_node, place->function),
    };
    struct frame model = {.column = place->column};

    add_frame(natives, &natives->node_frames[native_node],
              frame_table_intern(natives->table, &key, &model));
}

uint32_t native_frames_of_node(struct native_frames *natives, uint32_t native_node,
                               bool parts_columns, const uint32_t **ret_frames)
{
    const struct capture_native_node *node = &natives->capture->native_nodes[native_node];
    struct node_frames *frames = &natives->node_frames[native_node];

    if (frames->count == 0) {
        const struct native_place *places;
        uint32_t count;

        frames->first = (uint32_t)natives->frame_count;
        if (node->module == 0) {
            add_frame(
                natives, frames,
                frame_table_special(natives->table, frame_special_name((int64_t)node->offset)));
        } else {
            if (!natives->is_prepared)
                prepare_all(natives);
            count = native_symbols_of_node(natives->symbols, native_node, &places);
            while (count > 0)
                add_place(natives, native_node, parts_columns, &places[--count]);
        }
    }
    *ret_frames = natives->frames + frames->first;
    return frames->count;
}

struct native_symbols *native_frames_symbols(struct native_frames *natives)
{
    return natives->symbols;
}

bool native_frames_is_interpreter(const struct native_frames *natives, uint32_t native_node)
{
    return natives->modules[natives->capture->native_nodes[native_node].module] & MODULE_HAS_LOOP;
}
