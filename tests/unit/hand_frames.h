/*
 * An interpreter made by hand: code objects, frames and a thread state as a CPython has them, and a
 * walk over them. For the tests of the walkers.
 */
#ifndef UNIT_HAND_FRAMES_H
#define UNIT_HAND_FRAMES_H

#include "test.h"

#include "python/code_names.h"
#include "python/layout_table.h"
#include "python/runtime.h"
#include "python/walk.h"

#include <memtrack/protocol.h>
#include <pthread.h>

enum {
    FRAME_WORDS = 12,
    FRAME_COUNT = 6000,
    CODE_COUNT = 8,
    CODE_WORDS = 32,
    MAX_SHOWN = 8000,
    BOUNDARY = 3, /* owner */
    GENERATOR = 1,
};

static uint64_t state[64];
static uint64_t cframe[4];
static uint64_t runtime_words[256];
static uint64_t frames[FRAME_COUNT][FRAME_WORDS];
static uint64_t codes[CODE_COUNT][CODE_WORDS];
static uint64_t code_type[32];
static uint64_t name_text[16];
static uint64_t line_table[8];

static struct python_runtime fake;
static struct python_walk walk;
static struct python_delta delta;
static uint64_t chain[MAX_SHOWN];
static uint32_t chain_depth;
static unsigned announced;
static bool is_refusing;
static bool is_seen_same; /* at the last step, without a walk */
static unsigned released;

static void *attached = state; /* NULL: the thread has let go of the interpreter */

static inline void *thread_state(void)
{
    return state;
}

static inline void *attached_state(void)
{
    return attached;
}

static inline void release_code(void *code)
{
    (void)code;
    released++;
}

static inline bool announce(void *owner, unsigned kind, const uint8_t *bytes, size_t count_bytes)
{
    (void)owner;
    (void)bytes;
    CHECK_EQUAL(kind, BLOB_CODE);
    CHECK(count_bytes >= BLOB_CODE_HEADER_BYTES);
    if (is_refusing)
        return false;
    announced++;
    return true;
}

static const struct announcer announcer = {.write = announce};

static inline void store_at(void *at, uint16_t offset, uint64_t value)
{
    memcpy((char *)at + offset, &value, sizeof(value));
}

static inline void start(unsigned minor)
{
    CHECK(layout_table_find(minor, false, false, &fake.layout));
    fake.thread_state = thread_state;
    fake.attached_state = minor >= 12 ? attached_state : NULL;
    fake.address = (uintptr_t)runtime_words;
    if (minor < 12) {
        store_at(runtime_words, fake.layout.runtime.current_state, (uintptr_t)state);
        store_at(state, fake.layout.runtime.state_thread, (uintptr_t)pthread_self());
    }
    fake.code_type = (uintptr_t)code_type;
    store_at(code_type, fake.layout.object.type_dealloc, (uintptr_t)release_code);
    store_at(name_text, fake.layout.object.text_length, 4);
    store_at(name_text, fake.layout.object.text_state, 0x64); /* one byte, compact, ASCII */
    memcpy((char *)name_text + fake.layout.object.text_ascii_data, "name", 4);
    for (unsigned i = 0; i < CODE_COUNT; i++) {
        store_at(codes[i], fake.layout.object.type, (uintptr_t)code_type);
        store_at(codes[i], fake.layout.object.size, 100);
        store_at(codes[i], fake.layout.code.file_name, (uintptr_t)name_text);
        store_at(codes[i], fake.layout.code.qualified_name, (uintptr_t)name_text);
        store_at(codes[i], fake.layout.code.line_table, (uintptr_t)line_table);
    }
    code_names_watch(&fake);
    python_walk_follow(&fake);
}

/* Frame i is on top of frame below, executes this code at this offset. below < 0: the root. */
static inline void put(unsigned i, int below, unsigned code, unsigned offset, unsigned owner)
{
    const struct frame_layout *layout = &fake.layout.frame;
    uintptr_t bytecode = (uintptr_t)codes[code] + fake.layout.code.bytecode;

    store_at(frames[i], layout->previous, below < 0 ? 0 : (uintptr_t)frames[below]);
    store_at(frames[i], layout->code, (uintptr_t)codes[code]);
    store_at(frames[i], layout->instruction, bytecode + offset);
    ((char *)frames[i])[layout->owner] = (char)owner;
}

/* Make it the running frame; below 0: none. */
static inline void run(int top)
{
    const struct frame_layout *layout = &fake.layout.frame;
    uint64_t frame = top < 0 ? 0 : (uintptr_t)frames[top];

    if (layout->has_cframe) {
        store_at(cframe, layout->cframe_frame, frame);
        frame = (uintptr_t)cframe;
    }
    store_at(state, layout->state_frame, frame);
}

/* Walk as lib/record does. Returns whether there was a delta; pop and push are in delta. */
static inline bool step(void)
{
    is_seen_same = python_walk_if_same(&walk) != NULL;
    if (!python_walk_update(&walk, &announcer, &delta)) {
        CHECK_EQUAL(chain_depth, walk.shown_depth);
        return false;
    }
    CHECK(!is_seen_same);
    CHECK(delta.pop <= chain_depth);
    chain_depth -= delta.pop;
    for (uint32_t i = 0; i < delta.push; i++)
        chain[chain_depth++] = delta.pushed[i];
    CHECK_EQUAL(chain_depth, walk.shown_depth);
    return true;
}

static inline unsigned code_of(uint64_t frame)
{
    return (unsigned)(frame >> FRAME_CODE_SHIFT & FRAME_CODE_MASK);
}

static inline unsigned offset_of(uint64_t frame)
{
    return (unsigned)(frame & 0x3fffffff);
}

/* base, entry, A@10, B@20, entry, C@30: two activations. Returns the top. */
static inline int usual(void)
{
    put(0, -1, 7, 0, BOUNDARY);
    put(1, 0, 7, 0, BOUNDARY);
    put(2, 1, 0, 10, FRAME_OWNED_BY_THREAD);
    put(3, 2, 1, 20, FRAME_OWNED_BY_THREAD);
    put(4, 3, 7, 0, BOUNDARY);
    put(5, 4, 2, 30, FRAME_OWNED_BY_THREAD);
    return 5;
}

/* A line of frames from an index on, all of one code and offset. */
static inline int tower(unsigned from, unsigned count)
{
    for (unsigned i = from; i < from + count; i++)
        put(i, (int)i - 1, 3, 40, FRAME_OWNED_BY_THREAD);
    return (int)(from + count - 1);
}

#endif
