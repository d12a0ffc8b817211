/*
 * The wrappers of Python's allocators: raw, mem and object.
 *
 * Run in the program's threads, with the GIL or without. Each makes the call that was wrapped and
 * records it, once: what that call does in turn, through another of Python's domains or through
 * malloc, is no event of the program, and what it maps is an arena. Nested calls come here too, and
 * pass through. python/allocators.c puts the wrappers into the interpreter's tables; a table that has
 * been filled anew gets those of another layer, which call what stands there then.
 */
#include "hook/pymem.h"

#include "python/allocators.h"
#include "record/track.h"

/*
 * Layers above the first, one bit each, that this thread is inside of. A foreign allocator can be made
 * to call the wrapper that calls it; the first layer calls what was there at the start.
 */
static __thread uint32_t pymem_inside __attribute__((tls_model("initial-exec")));

/* What a wrapper found when it was entered. */
struct entered {
    struct context *context;
    uint32_t inside;
};

static inline uint32_t bit_of(enum python_domain domain, unsigned layer)
{
    return UINT32_C(1) << (domain * PYTHON_LAYERS + layer);
}

/* Whether a thread is inside a layer indeed, and has not left it for good by a jump. */
static __attribute__((cold, noinline)) bool is_inside(uint32_t bit)
{
    if (!context_is_muted((uintptr_t)__builtin_frame_address(0)))
        pymem_inside = 0;
    return (pymem_inside & bit) != 0;
}

/*
 * Mute the thread, but for what is not about this block.
 * block, size_bytes: as in struct context_held.
 * Returns what to call; after that leave().
 */
static inline __attribute__((always_inline)) const struct python_functions *
enter(enum python_domain domain, unsigned layer, uintptr_t block, size_t size_bytes,
      struct entered *ret_entered)
{
    const struct python_functions *below = &python_below[domain][layer];

    ret_entered->context = context_mute_for(block, size_bytes);
    if (layer == 0)
        return below;
    if (unlikely((pymem_inside & bit_of(domain, layer)) != 0) && is_inside(bit_of(domain, layer)))
        below = &python_below[domain][0];
    ret_entered->inside = pymem_inside;
    pymem_inside |= bit_of(domain, layer);
    return below;
}

static inline __attribute__((always_inline)) void leave(unsigned layer,
                                                        const struct entered *entered)
{
    if (layer != 0)
        pymem_inside = entered->inside;
    context_unmute(entered->context);
}

/* A wrapper inside another one: it is this block now. Returns the one before. */
static inline struct context_held take_up(uintptr_t block, size_t size_bytes)
{
    struct context_held outer = context_held;

    context_held.block = block;
    context_held.size_bytes = size_bytes;
    return outer;
}

/* It is the one before again. */
static inline void put_down(const struct context_held *outer)
{
    context_held.block = outer->block;
    context_held.size_bytes = outer->size_bytes;
}

static inline enum domain domain_of(enum python_domain domain)
{
    return (enum domain)(DOMAIN_PYTHON_RAW + domain);
}

enum entry {
    ENTRY_MALLOC = 0,
    ENTRY_CALLOC = 1,
    ENTRY_REALLOC = 2,
    ENTRY_FREE = 3,
    ENTRY_COUNT = 4,
};

static inline enum allocator allocator_of(enum python_domain domain, enum entry entry)
{
    return (enum allocator)(ALLOCATOR_PYMALLOC + ENTRY_COUNT * domain + entry);
}

/* Record what a call has returned. */
static inline __attribute__((always_inline)) void *record(enum python_domain domain,
                                                          enum entry entry, void *block,
                                                          size_t size_bytes, const void *caller)
{
    if (unlikely(block == NULL)) {
        track_failed(domain_of(domain), size_bytes, allocator_of(domain, entry), caller);
        return NULL;
    }
    if (unlikely((track_mode() & PROCESS_WALKS_NATIVE) != 0))
        return (void *)track_allocated_from_here(domain_of(domain), (uintptr_t)block, size_bytes,
                                                 allocator_of(domain, entry));
    return (void *)track_allocated_python(domain_of(domain), (uintptr_t)block, size_bytes,
                                          allocator_of(domain, entry), caller);
}

/* The calls that are wrapped, muted but for what is not about the block. */
static inline __attribute__((always_inline)) void *
call_malloc(enum python_domain domain, unsigned layer, void *state, size_t size_bytes)
{
    struct entered entered;
    void *block = enter(domain, layer, 0, size_bytes, &entered)->malloc(state, size_bytes);

    leave(layer, &entered);
    return block;
}

static inline __attribute__((always_inline)) void *
call_calloc(enum python_domain domain, unsigned layer, void *state, size_t count, size_t size_bytes)
{
    struct entered entered;
    void *block =
        enter(domain, layer, 0, count * size_bytes, &entered)->calloc(state, count, size_bytes);

    leave(layer, &entered);
    return block;
}

static inline __attribute__((always_inline)) void *
call_realloc(enum python_domain domain, unsigned layer, void *state, void *old, size_t size_bytes)
{
    struct entered entered;
    void *block =
        enter(domain, layer, (uintptr_t)old, size_bytes, &entered)->realloc(state, old, size_bytes);

    leave(layer, &entered);
    return block;
}

static inline __attribute__((always_inline)) void
call_free(enum python_domain domain, unsigned layer, void *state, void *block)
{
    struct entered entered;

    enter(domain, layer, (uintptr_t)block, CONTEXT_NO_SIZE, &entered)->free(state, block);
    leave(layer, &entered);
}

/* Record what a realloc has returned. released: the old block, if its release is recorded; else 0. */
static inline __attribute__((always_inline)) void *record_realloc(enum python_domain domain,
                                                                  uintptr_t released, void *block,
                                                                  size_t size_bytes,
                                                                  const void *caller)
{
    if (unlikely(block == NULL) && released != 0)
        track_undone(domain_of(domain), released, 0, allocator_of(domain, ENTRY_REALLOC), caller);
    return record(domain, ENTRY_REALLOC, block, size_bytes, caller);
}

/*
 * The same for calls inside another wrapper's: they are events unless they are about its block, which
 * the slow path of recording sees; after them it is that block again.
 */
static __attribute__((noinline)) void *nested_malloc(enum python_domain domain, unsigned layer,
                                                     void *state, size_t size_bytes,
                                                     const void *caller)
{
    struct context_held outer = take_up(0, size_bytes);
    void *block = call_malloc(domain, layer, state, size_bytes);

    put_down(&outer);
    return record(domain, ENTRY_MALLOC, block, size_bytes, caller);
}

static __attribute__((noinline)) void *nested_calloc(enum python_domain domain, unsigned layer,
                                                     void *state, size_t count, size_t size_bytes,
                                                     const void *caller)
{
    struct context_held outer = take_up(0, count * size_bytes);
    void *block = call_calloc(domain, layer, state, count, size_bytes);

    put_down(&outer);
    return record(domain, ENTRY_CALLOC, block, count * size_bytes, caller);
}

static __attribute__((noinline)) void *nested_realloc(enum python_domain domain, unsigned layer,
                                                      void *state, void *old, size_t size_bytes,
                                                      const void *caller)
{
    struct context_held outer;
    uintptr_t released = 0;
    void *block;

    if (old != NULL)
        released = track_released_slow(domain_of(domain), (uintptr_t)old,
                                       allocator_of(domain, ENTRY_REALLOC), caller);
    outer = take_up((uintptr_t)old, size_bytes);
    block = call_realloc(domain, layer, state, old, size_bytes);
    put_down(&outer);
    return record_realloc(domain, released, block, size_bytes, caller);
}

static __attribute__((noinline)) void nested_free(enum python_domain domain, unsigned layer,
                                                  void *state, void *block, const void *caller)
{
    struct context_held outer;

    if (block != NULL)
        track_released_slow(domain_of(domain), (uintptr_t)block, allocator_of(domain, ENTRY_FREE),
                            caller);
    outer = take_up((uintptr_t)block, CONTEXT_NO_SIZE);
    call_free(domain, layer, state, block);
    put_down(&outer);
}

static inline bool is_nested(void)
{
    return unlikely(context_own == &context_muted);
}

static inline __attribute__((always_inline)) void *
wrap_malloc(enum python_domain domain, unsigned layer, void *state, size_t size_bytes)
{
    const void *caller = __builtin_return_address(0);

    if (is_nested())
        return nested_malloc(domain, layer, state, size_bytes, caller);
    return record(domain, ENTRY_MALLOC, call_malloc(domain, layer, state, size_bytes), size_bytes,
                  caller);
}

static inline __attribute__((always_inline)) void *
wrap_calloc(enum python_domain domain, unsigned layer, void *state, size_t count, size_t size_bytes)
{
    const void *caller = __builtin_return_address(0);

    if (is_nested())
        return nested_calloc(domain, layer, state, count, size_bytes, caller);
    /* The interpreter has seen to it that the product is a size. */
    return record(domain, ENTRY_CALLOC, call_calloc(domain, layer, state, count, size_bytes),
                  count * size_bytes, caller);
}

static inline __attribute__((always_inline)) void *
wrap_realloc(enum python_domain domain, unsigned layer, void *state, void *old, size_t size_bytes)
{
    const void *caller = __builtin_return_address(0);
    uintptr_t released = 0;

    if (is_nested())
        return nested_realloc(domain, layer, state, old, size_bytes, caller);
    if (old != NULL)
        released =
            track_released(domain_of(domain), (uintptr_t)old, allocator_of(domain, ENTRY_REALLOC));
    return record_realloc(domain, released, call_realloc(domain, layer, state, old, size_bytes),
                          size_bytes, caller);
}

static inline __attribute__((always_inline)) void
wrap_free(enum python_domain domain, unsigned layer, void *state, void *block)
{
    if (is_nested()) {
        nested_free(domain, layer, state, block, __builtin_return_address(0));
        return;
    }
    if (likely(block != NULL))
        track_released(domain_of(domain), (uintptr_t)block, allocator_of(domain, ENTRY_FREE));
    call_free(domain, layer, state, block);
}

/* The functions of one layer of one domain. */
#define WRAPPERS(name_, domain_, layer_)                                               \
    static void *name_##_malloc_##layer_(void *state, size_t size_bytes)               \
    {                                                                                  \
        return wrap_malloc(domain_, layer_, state, size_bytes);                        \
    }                                                                                  \
    static void *name_##_calloc_##layer_(void *state, size_t count, size_t size_bytes) \
    {                                                                                  \
        return wrap_calloc(domain_, layer_, state, count, size_bytes);                 \
    }                                                                                  \
    static void *name_##_realloc_##layer_(void *state, void *old, size_t size_bytes)   \
    {                                                                                  \
        return wrap_realloc(domain_, layer_, state, old, size_bytes);                  \
    }                                                                                  \
    static void name_##_free_##layer_(void *state, void *block)                        \
    {                                                                                  \
        wrap_free(domain_, layer_, state, block);                                      \
    }

#define LAYERS(name_, domain_)  \
    WRAPPERS(name_, domain_, 0) \
    WRAPPERS(name_, domain_, 1) \
    WRAPPERS(name_, domain_, 2) \
    WRAPPERS(name_, domain_, 3)

LAYERS(raw, PYTHON_RAW)
LAYERS(mem, PYTHON_MEM)
LAYERS(object, PYTHON_OBJECT)

#define LAYER(name_, layer_)                                                                \
    [layer_] = {name_##_malloc_##layer_, name_##_calloc_##layer_, name_##_realloc_##layer_, \
                name_##_free_##layer_}

static const struct python_functions wrappers[PYTHON_DOMAIN_COUNT][PYTHON_LAYERS] = {
    [PYTHON_RAW] = {LAYER(raw, 0), LAYER(raw, 1), LAYER(raw, 2), LAYER(raw, 3)},
    [PYTHON_MEM] = {LAYER(mem, 0), LAYER(mem, 1), LAYER(mem, 2), LAYER(mem, 3)},
    [PYTHON_OBJECT] = {LAYER(object, 0), LAYER(object, 1), LAYER(object, 2), LAYER(object, 3)},
};

_Static_assert(PYTHON_LAYERS == 4, "a set of wrappers for each layer");

void pymem_offer(void)
{
    python_offer_wrappers(&wrappers);
}
