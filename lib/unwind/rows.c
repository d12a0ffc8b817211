/*
 * The table of rows. Runs in the program's threads.
 *
 * What holds: an entry, once written, is right until its object is unloaded; it is taken out before the
 * loader can map another there (rows_forget() runs while the loader frees what it knew of the object).
 * A child by fork goes on with its copy: it has the same objects.
 */
#include "unwind/rows.h"

#include "unwind/cfi.h"
#include "unwind/epilogue.h"
#include "unwind/expression.h"
#include "unwind/objects.h"

enum {
    SPECIALS_MAX = 4096,
    OBJECTS_MAX = 4096,
    SPECIALS_SEARCHED = 256, /* few are met, and most of them more than once */
    SAVED_MAX = ROW_SAVED_MASK * ROW_WORD_BYTES,
    CFA_MAX = ROW_CFA_MASK * ROW_WORD_BYTES,
    ROW_FP_SAVED_BYTES = -2 * ROW_WORD_BYTES, /* where code that keeps frame pointers has them */
};

_Atomic uint64_t rows_table[1 << ROWS_COUNT_BITS] __attribute__((aligned(64)));
_Atomic uint32_t rows_generation;

/* The first two stand for all of their kind. */
static struct special_row specials[SPECIALS_MAX] = {
    {.kind = SPECIAL_NO_TABLE},
    {.kind = SPECIAL_NOT_KNOWN},
};
static _Atomic uint32_t specials_count = 2;

/* Objects that rows lie in. A child by fork goes on with its copy, as with the rows. */
static struct met_object {
    const void *_Atomic identity; /* the loader's; NULL: free; &gone: free again */
    _Atomic uintptr_t start, end;
} met[OBJECTS_MAX];
static const char gone;        /* stands in the place of an object that went away */
static _Atomic bool has_unmet; /* there was no room for all */

/* Where code without tables was met. */
static _Atomic uintptr_t made_start = UINTPTR_MAX, made_end;

static unwind_row row_without_table(void)
{
    return ROW_MAKE(ROW_SPECIAL, 0, 0) | SPECIAL_NO_TABLE;
}

static unwind_row row_not_known(void)
{
    return ROW_MAKE(ROW_SPECIAL, 0, 0) | SPECIAL_NOT_KNOWN;
}

static bool is_equal(const struct special_row *a, const struct special_row *b)
{
    return a->kind == b->kind && a->where == b->where &&
           a->is_from_frame_pointer == b->is_from_frame_pointer && a->inner == b->inner &&
           a->outer == b->outer && a->saved == b->saved;
}

static unwind_row make_special(const struct special_row *special)
{
    /* Acquire: of those that are counted the first ones are filled in; a later one is not equal. */
    uint32_t count = atomic_load_explicit(&specials_count, memory_order_acquire);

    for (uint32_t i = 2; i < count && i < SPECIALS_SEARCHED; i++)
        if (is_equal(&specials[i], special))
            return ROW_MAKE(ROW_SPECIAL, 0, 0) | i;
    count = atomic_fetch_add_explicit(&specials_count, 1, memory_order_relaxed);
    if (count >= SPECIALS_MAX) {
        atomic_store_explicit(&specials_count, SPECIALS_MAX, memory_order_relaxed);
        return row_not_known();
    }
    specials[count] = *special;
    /* Release: who finds the row in the table finds this. */
    atomic_thread_fence(memory_order_release);
    return ROW_MAKE(ROW_SPECIAL, 0, 0) | count;
}

const struct special_row *rows_special(unwind_row row)
{
    uint32_t number = row & ROW_NUMBER_MASK;

    atomic_thread_fence(memory_order_acquire);
    return &specials[number < SPECIALS_MAX ? number : SPECIAL_NOT_KNOWN];
}

bool rows_is_guess(unwind_row row)
{
    return row == row_without_table();
}

/* Where the CFA is counted from. Returns false when a row cannot say it. */
static bool read_cfa(const struct cfi_row *rules, uintptr_t address, struct special_row *row)
{
    struct expression_value value;

    if (rules->cfa_register == CFI_CFA_EXPRESSION) {
        if (!expression_reduce(&rules->cfa_expression, address, &value))
            return false;
        row->kind = value.is_loaded ? SPECIAL_LOADED : SPECIAL_FAR;
        row->is_from_frame_pointer = value.base == EXPRESSION_FRAME_POINTER;
        row->inner = value.is_loaded ? value.inner : value.outer;
        row->outer = value.is_loaded ? value.outer : 0;
        return true;
    }
    row->kind = SPECIAL_FAR;
    row->is_from_frame_pointer = rules->cfa_register == CFI_FRAME_POINTER;
    row->inner = rules->cfa_offset;
    return rules->cfa_register == CFI_FRAME_POINTER || rules->cfa_register == CFI_STACK_POINTER;
}

static bool read_frame_pointer(const struct cfi_row *rules, uintptr_t address,
                               struct special_row *row)
{
    const struct cfi_rule *rule = &rules->frame_pointer;
    struct expression_value value;

    switch (rule->kind) {
    case CFI_SAME:
    case CFI_UNDEFINED:
        row->where = SAVED_NOT;
        return true;
    case CFI_AT_OFFSET:
        row->where = SAVED_AT_CFA;
        row->saved = rule->offset;
        return true;
    case CFI_AT_EXPRESSION:
        row->where = SAVED_AT_FP;
        if (!expression_reduce(&rule->expression, address, &value) || value.is_loaded ||
            value.base != EXPRESSION_FRAME_POINTER)
            return false;
        row->saved = value.outer;
        return true;
    default:
        return false;
    }
}

/* Whether the usual form has room for it. */
static bool is_usual(const struct special_row *row)
{
    if (row->kind != SPECIAL_FAR || row->where == SAVED_AT_FP || row->inner <= 0 ||
        row->inner > CFA_MAX || row->inner % ROW_WORD_BYTES != 0)
        return false;
    if (row->where == SAVED_NOT)
        return true;
    if (row->saved >= 0 || -row->saved > SAVED_MAX || row->saved % ROW_WORD_BYTES != 0)
        return false;
    /* It lies on the stack, whatever the registers are: a step by such a row does not look. */
    return row->is_from_frame_pointer ? row->saved == ROW_FP_SAVED_BYTES
                                      : row->inner + row->saved >= 0;
}

static unwind_row make_usual(const struct special_row *row)
{
    uint32_t cfa = (uint32_t)(row->inner / ROW_WORD_BYTES);

    if (row->where == SAVED_NOT)
        return ROW_MAKE(row->is_from_frame_pointer ? ROW_FP : ROW_SP, cfa, ROW_NOT_SAVED);
    return ROW_MAKE(row->is_from_frame_pointer ? ROW_FP_SAVED : ROW_SP_SAVED, cfa,
                    -row->saved / ROW_WORD_BYTES);
}

static unwind_row encode(const struct cfi_row *rules, const struct cfi_range *range,
                         uintptr_t address)
{
    const struct cfi_rule *sp = &rules->stack_pointer, *ra = &rules->return_address;
    struct special_row row = {0};

    if (range->is_signal_frame)
        return ROW_MAKE(ROW_SIGNAL, 0, 0);
    if (ra->kind == CFI_UNDEFINED)
        return ROW_MAKE(ROW_END, 0, 0);
    /* The return address is where a call puts it, and the caller's stack pointer is the CFA. */
    if (ra->kind != CFI_AT_OFFSET || ra->offset != -ROW_WORD_BYTES ||
        (sp->kind != CFI_SAME && (sp->kind != CFI_IS_OFFSET || sp->offset != 0)))
        return row_not_known();
    if (!read_cfa(rules, address, &row) || !read_frame_pointer(rules, address, &row))
        return row_not_known();
    return is_usual(&row) ? make_usual(&row) : make_special(&row);
}

/* An executable in several parts: what is forgotten with it. */
static void widen(struct met_object *entry, const struct object *object)
{
    if (object->start < atomic_load_explicit(&entry->start, memory_order_relaxed))
        atomic_store_explicit(&entry->start, object->start, memory_order_relaxed);
    if (object->end > atomic_load_explicit(&entry->end, memory_order_relaxed))
        atomic_store_explicit(&entry->end, object->end, memory_order_relaxed);
}

/* Remember an object, until it is gone. Two threads may both remember it, which harms nobody. */
static void meet(const struct object *object)
{
    for (size_t i = 0; i < OBJECTS_MAX; i++) {
        const void *seen = atomic_load_explicit(&met[i].identity, memory_order_acquire);

        if (seen == object->identity) {
            widen(&met[i], object);
            return;
        }
        if (seen != NULL && seen != &gone)
            continue;
        if (!atomic_compare_exchange_strong(&met[i].identity, &seen, object->identity))
            continue;
        atomic_store_explicit(&met[i].start, object->start, memory_order_relaxed);
        atomic_store_explicit(&met[i].end, object->end, memory_order_relaxed);
        return;
    }
    atomic_store_explicit(&has_unmet, true, memory_order_relaxed);
}

/*
 * Of code that no table tells of. It is remembered as that of objects is, until memory where such code was
 * met is unmapped or its protection changes. Code that is written over without either, which then returns in
 * another way, is walked by what was there before.
 */
static unwind_row read_code(uintptr_t address, bool *ret_is_known)
{
    unwind_row row;

    if (address < atomic_load_explicit(&made_start, memory_order_relaxed))
        atomic_store_explicit(&made_start, address, memory_order_relaxed);
    if (address >= atomic_load_explicit(&made_end, memory_order_relaxed))
        atomic_store_explicit(&made_end, address + 1, memory_order_relaxed);
    *ret_is_known = epilogue_read(address, &row);
    return *ret_is_known ? row : row_without_table();
}

/* ret_is_known: it is the same as long as the object is loaded. */
static unwind_row find_out(uintptr_t address, bool is_return, bool *ret_is_known)
{
    struct cfi_tables tables;
    struct cfi_range range;
    struct object object;
    struct cfi_row rules;

    *ret_is_known = objects_find(address, &object);
    if (!*ret_is_known)
        return is_return ? read_code(address + 1, ret_is_known) : row_without_table();
    meet(&object);
    if (object.tables == NULL)
        return is_return ? read_code(address + 1, ret_is_known) : row_without_table();
    objects_tables(&object, &tables);
    switch (cfi_find(&tables, address, &rules, &range)) {
    case CFI_FOUND:
        return encode(&rules, &range, address);
    case CFI_NO_TABLE:
        return is_return ? read_code(address + 1, ret_is_known) : row_without_table();
    default:
        return row_not_known();
    }
}

/* Find out, and remember, the row of an address that is not in the table. */
static __attribute__((cold, noinline)) unwind_row miss(uintptr_t key)
{
    uint32_t generation = atomic_load_explicit(&rows_generation, memory_order_acquire);
    size_t at = key & ((1u << ROWS_COUNT_BITS) - 1);
    uint64_t tag = (uint64_t)(key >> ROWS_COUNT_BITS) << 3, word;
    bool is_known;
    unwind_row row = find_out(key - 1, true, &is_known);

    if (!is_known || tag >> (64 - ROW_BITS) != 0)
        return row;
    for (unsigned probe = 0; probe < ROWS_PROBES; probe++) {
        _Atomic uint64_t *entry = &rows_table[at ^ probe];
        uint64_t seen = 0;

        word = (tag | probe) << ROW_BITS | row;
        if (!atomic_compare_exchange_strong_explicit(entry, &seen, word, memory_order_release,
                                                     memory_order_relaxed))
            continue;
        /* An object went away meanwhile: whether it was this one, nobody knows. */
        if (atomic_load(&rows_generation) != generation)
            atomic_compare_exchange_strong(entry, &word, 0);
        return row;
    }
    /* No room: the first one gives way. */
    atomic_store_explicit(&rows_table[at], tag << ROW_BITS | row, memory_order_release);
    if (atomic_load(&rows_generation) != generation)
        atomic_store_explicit(&rows_table[at], 0, memory_order_relaxed);
    return row;
}

unwind_row rows_find(uintptr_t key)
{
    size_t at = key & ((1u << ROWS_COUNT_BITS) - 1);
    uint64_t tag = (uint64_t)(key >> ROWS_COUNT_BITS) << 3;

    for (unsigned probe = 0; probe < ROWS_PROBES; probe++) {
        uint64_t entry = atomic_load_explicit(&rows_table[at ^ probe], memory_order_relaxed);

        if (entry >> ROW_BITS == (tag | probe))
            return (unwind_row)entry & ((1u << ROW_BITS) - 1);
    }
    return miss(key);
}

unwind_row rows_interrupted(uintptr_t address)
{
    bool is_known;

    return find_out(address, false, &is_known);
}

void rows_prefault(void)
{
    enum {
        PAGE_WORDS = 4096 / sizeof(rows_table[0]),
    };

    for (size_t i = 0; i < 1u << ROWS_COUNT_BITS; i += PAGE_WORDS)
        atomic_fetch_or_explicit(&rows_table[i], 0, memory_order_relaxed);
}

/* Take out the rows of a range; all, when it is the whole address space. */
static void forget(uintptr_t start, uintptr_t end)
{
    atomic_fetch_add(&rows_generation, 1);
    for (size_t i = 0; i < 1u << ROWS_COUNT_BITS; i++) {
        uint64_t entry = atomic_load_explicit(&rows_table[i], memory_order_relaxed);
        uint64_t probe = entry >> ROW_BITS & (ROWS_PROBES - 1);
        uintptr_t key = (uintptr_t)(entry >> (ROW_BITS + 3)) << ROWS_COUNT_BITS | (i ^ probe);

        if (entry != 0 && key > start && key <= end)
            atomic_compare_exchange_strong(&rows_table[i], &entry, 0);
    }
    atomic_fetch_add(&rows_generation, 1);
}

void rows_note_free(const void *block)
{
    if (atomic_load_explicit(&has_unmet, memory_order_relaxed)) {
        forget(0, UINTPTR_MAX);
        return;
    }
    for (size_t i = 0; i < OBJECTS_MAX; i++) {
        const void *identity = atomic_load_explicit(&met[i].identity, memory_order_relaxed);

        if (identity == NULL)
            return;
        if (identity == block) {
            forget(met[i].start, met[i].end);
            atomic_store_explicit(&met[i].identity, &gone, memory_order_release);
        }
    }
}

void rows_note_change(uintptr_t start, size_t size_bytes)
{
    uintptr_t first = atomic_load_explicit(&made_start, memory_order_relaxed);
    uintptr_t end = atomic_load_explicit(&made_end, memory_order_relaxed);

    if (first < end && start < end && start + size_bytes > first) {
        epilogue_forget();
        forget(start, start + size_bytes);
    }
}
