/*
 * Finding the tables, and putting wrappers into them.
 *
 * Runs at start-up, then on slow paths of any of the program's threads, several at once perhaps, and
 * in signal handlers on top of them: nothing here waits. Words of the tables are read and exchanged
 * one by one; each is a function that fits its context, before and after. A compare-and-swap keeps us
 * from undoing what the interpreter stores at the same time.
 *
 * What holds: a layer's functions below are foreign ones, or wrappers of layers before it. So no
 * wrapper calls itself, unless a foreign allocator is made to.
 */
#include "python/allocators.h"

#include "python/runtime.h"

#include <memtrack/protocol.h>
#include <stdatomic.h>

enum layer_state {
    LAYER_FREE = 0,
    LAYER_FILLING = 1,
    LAYER_READY = 2,
};

enum {
    MAX_HOOKS = 4, /* of the interpreter, one on top of another: debug hooks, tracemalloc */
};

struct python_functions python_below[PYTHON_DOMAIN_COUNT][PYTHON_LAYERS];
uintptr_t python_arena_map;
bool python_traces_allocators;

static const struct python_functions (*all_wrappers)[PYTHON_DOMAIN_COUNT][PYTHON_LAYERS];
static _Atomic uint32_t layer_states[PYTHON_DOMAIN_COUNT][PYTHON_LAYERS];

/* Constant once the interpreter is found. */
static struct python_runtime runtime;

/* The interpreter's own tables; constant once they are found. */
static struct python_allocator *tables[PYTHON_DOMAIN_COUNT];

/*
 * Of the object domain: where its table is, or mem's, which is filled alike. Constant once an interpreter
 * is found, as is what raw and object had below their hooks before it began. NULL: not known.
 */
static const struct python_allocator *object_table;
static struct python_functions first_raw, first_object;

/* The words of a table: relaxed, each of them says only itself. */
#define LOAD(word_) __atomic_load_n(&(word_), __ATOMIC_RELAXED)

static struct python_functions load_functions(const struct python_functions *functions)
{
    return (struct python_functions){
        .malloc = LOAD(functions->malloc),
        .calloc = LOAD(functions->calloc),
        .realloc = LOAD(functions->realloc),
        .free = LOAD(functions->free),
    };
}

static bool are_equal(const struct python_functions *left, const struct python_functions *right)
{
    return left->malloc == right->malloc && left->calloc == right->calloc &&
           left->realloc == right->realloc && left->free == right->free;
}

void python_offer_wrappers(
    const struct python_functions (*wrappers)[PYTHON_DOMAIN_COUNT][PYTHON_LAYERS])
{
    all_wrappers = wrappers;
}

bool python_is_free_threaded(void)
{
    return runtime.layout.is_free_threaded;
}

/* Whether all four could be functions of an allocator: the interpreter's, or our wrappers. */
static bool are_functions(const struct python_functions *functions, enum python_domain domain)
{
    for (unsigned i = 0; i < PYTHON_LAYERS; i++)
        if (are_equal(functions, &(*all_wrappers)[domain][i]))
            return true;
    return range_has(&runtime.code, (uintptr_t)functions->malloc) &&
           range_has(&runtime.code, (uintptr_t)functions->calloc) &&
           range_has(&runtime.code, (uintptr_t)functions->realloc) &&
           range_has(&runtime.code, (uintptr_t)functions->free);
}

static bool is_wrapped(const struct python_functions *functions, enum python_domain domain)
{
    for (unsigned i = 0; i < PYTHON_LAYERS; i++)
        if (functions->malloc == (*all_wrappers)[domain][i].malloc)
            return true;
    return false;
}

/* Whether an allocator could lie there: among the interpreter's variables. */
static bool is_variable(uintptr_t address)
{
    for (unsigned i = 0; i < PYTHON_DATA_RANGES; i++) {
        const struct address_range *range = &runtime.data[i];

        if (range_has(range, address) && range->end - address >= sizeof(struct python_allocator))
            return address % sizeof(void *) == 0;
    }
    return false;
}

/*
 * Return the allocator that a hook of the interpreter's own calls, NULL when this is none. A hook's
 * context is where it keeps that allocator: tracemalloc at its beginning (Modules/_tracemalloc.c, from
 * 3.12 Python/tracemalloc.c), debug hooks behind one letter (debug_alloc_api_t, Objects/obmalloc.c,
 * from 3.12 Include/internal/pycore_pymem.h).
 */
static struct python_allocator *below_hook(const struct python_allocator *table,
                                           enum python_domain domain)
{
    uintptr_t context = (uintptr_t)LOAD(table->context);

    for (size_t at = 0; at <= sizeof(void *); at += sizeof(void *)) {
        struct python_allocator *below = (struct python_allocator *)(context + at);
        struct python_functions functions;

        if (!is_variable(context + at))
            return NULL;
        functions = load_functions(&below->functions);
        if (are_functions(&functions, domain))
            return below;
    }
    return NULL;
}

/*
 * What lies below an allocator's hooks, ours included. ret_has_debug_hooks: whether there are such of the
 * interpreter's.
 */
static struct python_functions base_of(const struct python_allocator *allocator,
                                       enum python_domain domain, bool *ret_has_debug_hooks)
{
    struct python_functions functions;

    *ret_has_debug_hooks = false;
    for (unsigned i = 0; i < MAX_HOOKS; i++) {
        const struct python_allocator *below = below_hook(allocator, domain);

        if (below == NULL)
            break;
        *ret_has_debug_hooks |= (uintptr_t)below != (uintptr_t)LOAD(allocator->context);
        allocator = below;
    }
    functions = load_functions(&allocator->functions);
    for (unsigned i = 0; i < PYTHON_LAYERS; i++)
        if (functions.malloc == (*all_wrappers)[domain][i].malloc)
            return python_below[domain][i];
    return functions;
}

/* Return the wrappers of these functions; NULL when there are too many different ones. */
static const struct python_functions *layer_above(const struct python_functions *below,
                                                  enum python_domain domain)
{
    for (unsigned i = 0; i < PYTHON_LAYERS; i++) {
        _Atomic uint32_t *state = &layer_states[domain][i];
        uint32_t seen = atomic_load_explicit(state, memory_order_acquire);

        if (seen == LAYER_READY && are_equal(&python_below[domain][i], below))
            return &(*all_wrappers)[domain][i];
        if (seen == LAYER_FREE &&
            atomic_compare_exchange_strong_explicit(state, &seen, LAYER_FILLING,
                                                    memory_order_relaxed, memory_order_relaxed)) {
            python_below[domain][i] = *below;
            /* Release: who finds a wrapper ready, here or in a table, finds what it calls. */
            atomic_store_explicit(state, LAYER_READY, memory_order_release);
            return &(*all_wrappers)[domain][i];
        }
    }
    return NULL;
}

/* Put a function in another one's place, unless somebody has changed it meanwhile. */
#define EXCHANGE(word_, before_, after_)                                                        \
    ((void)__atomic_compare_exchange_n(&(word_), &(before_), (after_), false, __ATOMIC_RELEASE, \
                                       __ATOMIC_RELAXED))

/*
 * Releases first: what another thread allocates in between is not recorded, and its release, which
 * is, is one of a block from before.
 */
static void exchange(struct python_functions *functions, struct python_functions before,
                     const struct python_functions *after)
{
    EXCHANGE(functions->free, before.free, after->free);
    EXCHANGE(functions->realloc, before.realloc, after->realloc);
    EXCHANGE(functions->calloc, before.calloc, after->calloc);
    EXCHANGE(functions->malloc, before.malloc, after->malloc);
}

/*
 * Wrap a table, unless it is. Below the interpreter's own hooks: PyMem_SetupDebugHooks() does nothing
 * when it finds its hooks in the table, and would put them there twice, each calling the other, if it
 * found something of ours. What hooks add to a block is memory, too.
 */
static void keep(struct python_allocator *table, enum python_domain domain)
{
    const struct python_functions *wrapper;
    struct python_functions functions = load_functions(&table->functions);

    for (unsigned i = 0; i < MAX_HOOKS && !is_wrapped(&functions, domain); i++) {
        struct python_allocator *below = below_hook(table, domain);

        if (below == NULL)
            break;
        table = below;
        functions = load_functions(&table->functions);
    }
    if (is_wrapped(&functions, domain) || functions.malloc == NULL)
        return;
    wrapper = layer_above(&functions, domain);
    if (wrapper != NULL)
        exchange(&table->functions, functions, wrapper);
}

void python_wrap_allocators(void)
{
    for (unsigned domain = 0; domain < PYTHON_DOMAIN_COUNT; domain++)
        keep(tables[domain], (enum python_domain)domain);
}

/* Return where in a range of variables the four functions stand one behind the other, or NULL. */
static struct python_allocator *search_range(const struct address_range *range,
                                             const struct python_functions *functions)
{
    uintptr_t start = (range->start + sizeof(void *) - 1) & ~(sizeof(void *) - 1);

    for (uintptr_t at = start;
         at < range->end && range->end - at >= sizeof(struct python_allocator);
         at += sizeof(void *)) {
        struct python_allocator *candidate = (struct python_allocator *)at;

        if (LOAD(candidate->functions.malloc) == functions->malloc &&
            are_equal(&candidate->functions, functions))
            return candidate;
    }
    return NULL;
}

/* Letters that stand before the debug hooks' own copies of the allocators. */
static bool is_api_letter(uintptr_t word)
{
    return word == 'r' || word == 'm' || word == 'o';
}

/*
 * Find the object domain's table, without a change to it: it holds what the interpreter says it does. From
 * 3.12 on the tables are in _PyRuntime, of which there is a copy, to begin with once more.
 */
static const struct python_allocator *find_object_table(const struct python_functions *functions)
{
    for (unsigned i = 0; i < PYTHON_DATA_RANGES; i++) {
        struct address_range range = runtime.data[i];
        const struct python_allocator *table;

        if (runtime.layout.minor >= 12) {
            if (!range_has(&range, runtime.address))
                continue;
            range.start = runtime.address;
        }
        while ((table = search_range(&range, functions)) != NULL) {
            if ((uintptr_t)table == runtime.data[i].start ||
                !is_api_letter(load_word((uintptr_t)table - sizeof(void *), 0)))
                return table;
            range.start = (uintptr_t)table + sizeof(void *);
        }
    }
    return NULL;
}

/*
 * Note what the allocators are called by. Before the interpreter begins there is one thread, and nobody
 * holds the lock that PyMem_GetAllocator() takes from 3.12 on.
 */
static void know_names(void)
{
    struct python_allocator raw, object;
    bool has_hooks;

    if (!runtime.is_initial || runtime.get_allocator == NULL || all_wrappers == NULL)
        return;
    runtime.get_allocator(PYTHON_RAW, &raw);
    runtime.get_allocator(PYTHON_OBJECT, &object);
    first_raw = base_of(&raw, PYTHON_RAW, &has_hooks);
    first_object = base_of(&object, PYTHON_OBJECT, &has_hooks);
    object_table = find_object_table(&object.functions);
}

void python_know_allocators(const struct python_runtime *found)
{
    struct arena_allocator arena = {0};

    runtime = *found;
    if (runtime.get_arena_allocator != NULL)
        runtime.get_arena_allocator(&arena);
    if (range_has(&runtime.code, (uintptr_t)arena.allocate))
        python_arena_map = (uintptr_t)arena.allocate;
    know_names();
}

static enum python_allocator_kind kind_of(const struct python_functions *functions)
{
    bool has_mimalloc = runtime.layout.minor >= 13;

    if (are_equal(functions, &first_raw) && !runtime.layout.is_free_threaded)
        return PYTHON_ALLOCATOR_MALLOC;
    if (are_equal(functions, &first_object))
        return runtime.layout.is_free_threaded ? PYTHON_ALLOCATOR_MIMALLOC
                                               : PYTHON_ALLOCATOR_PYMALLOC;
    /* Its third one is in no table before it is asked for. */
    return has_mimalloc && are_functions(functions, PYTHON_OBJECT) ? PYTHON_ALLOCATOR_MIMALLOC
                                                                   : PYTHON_ALLOCATOR_UNKNOWN;
}

unsigned python_allocator_flags(void)
{
    /* The other one may be mem's, which has no wrappers of the object domain, nor any. */
    const struct python_allocator *table =
        tables[PYTHON_OBJECT] != NULL ? tables[PYTHON_OBJECT] : object_table;
    struct python_functions functions;
    enum python_allocator_kind kind;
    bool has_debug_hooks;

    if (object_table == NULL)
        return 0;
    functions = base_of(table, PYTHON_OBJECT, &has_debug_hooks);
    kind = kind_of(&functions);
    return (unsigned)kind << PYTHON_ALLOCATOR_SHIFT | (has_debug_hooks ? PYTHON_DEBUG_HOOKS : 0);
}

/*
 * Find a table, which no symbol names: put wrappers in by the function that every version exports,
 * and look where they are. What was there is put back.
 */
static struct python_allocator *find_table(enum python_domain domain)
{
    struct python_allocator before, probe, *table = NULL;
    const struct python_functions *wrapper;

    runtime.get_allocator((int)domain, &before);
    if (before.functions.malloc == NULL)
        return NULL;
    wrapper = layer_above(&before.functions, domain);
    if (wrapper == NULL)
        return NULL;
    probe = (struct python_allocator){before.context, *wrapper};
    runtime.set_allocator((int)domain, &probe);
    for (unsigned i = 0; i < PYTHON_DATA_RANGES && table == NULL; i++)
        table = search_range(&runtime.data[i], wrapper);
    if (table != NULL)
        exchange(&table->functions, *wrapper, &before.functions);
    else
        runtime.set_allocator((int)domain, &before);
    return table;
}

bool python_trace_allocators(void)
{
    static atomic_flag is_begun = ATOMIC_FLAG_INIT;

    /* Once: of two threads that find the interpreter the second goes on while the first is here. */
    if (atomic_flag_test_and_set_explicit(&is_begun, memory_order_relaxed))
        return python_traces_allocators;
    if (all_wrappers == NULL || runtime.get_allocator == NULL || runtime.set_allocator == NULL)
        return false;
    for (unsigned domain = 0; domain < PYTHON_DOMAIN_COUNT; domain++) {
        tables[domain] = find_table((enum python_domain)domain);
        if (tables[domain] == NULL)
            return false;
    }
    python_wrap_allocators();
    __atomic_store_n(&python_traces_allocators, true, __ATOMIC_RELEASE);
    return true;
}
