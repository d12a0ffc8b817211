/*
 * Short names of functions. Runs in the tools.
 *
 * What holds: a name whose brackets do not match is left as it is, and so is what is no bracket:
 * `operator<`, `operator()`, `(anonymous namespace)`.
 */
#include "report/function_names.h"

#include <string.h>

enum {
    SHORT_NAME_BYTES = 40, /* names up to here are left alone */
    ALL_LEVELS = 1 << 20,
};

/* How much of a name is kept. */
struct measure {
    unsigned template_levels; /* arguments of templates in templates ... */
    bool keeps_parameters;
};

struct shortening {
    const char *at;
    char *to;
    const char *ellipsis;
    unsigned level; /* of templates that are open */
};

static bool is_word(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* How long what stands here is, which looks like brackets and is none; 0: it is as it looks. */
static size_t plain_length(const char *name, const char *at)
{
    static const char *const operators[] = {"()",  "<<=", ">>=", "<=>", "<<", ">>",
                                            "->*", "->",  "<=",  ">=",  "<",  ">"};
    static const char *const whole[] = {"(anonymous namespace)", "(anonymous class)"};
    size_t word = strlen("operator");

    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        if (strncmp(at, whole[i], strlen(whole[i])) == 0)
            return strlen(whole[i]);
    if (strncmp(at, "->", 2) == 0)
        return 2;
    if (strncmp(at, "operator", word) != 0 || (at > name && is_word(at[-1])))
        return 0;
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
        if (strncmp(at + word, operators[i], strlen(operators[i])) == 0)
            return word + strlen(operators[i]);
    return 0;
}

/* Where the bracket ends that begins here: behind its last character; NULL: nowhere. */
static const char *end_of_bracket(const char *name, const char *at)
{
    char open = *at, close = open == '<' ? '>' : ')';
    unsigned depth = 0, other_depth = 0;

    while (*at != '\0') {
        size_t plain = plain_length(name, at);

        if (plain > 0) {
            at += plain;
            continue;
        }
        if (open == '<' && (*at == '(' || *at == ')'))
            other_depth += *at == '(' ? 1u : -1u;
        else if (other_depth == 0 && *at == open)
            depth++;
        else if (other_depth == 0 && *at == close && --depth == 0)
            return at + 1;
        at++;
    }
    return NULL;
}

/* Leave out what is in the bracket that begins here. Returns false when it has no end. */
static bool leave_out(struct shortening *it, const char *name)
{
    const char *end = end_of_bracket(name, it->at);

    if (end == NULL)
        return false;
    if (end - it->at > 2 + (long)strlen(it->ellipsis)) {
        *it->to++ = *it->at;
        it->to = stpcpy(it->to, it->ellipsis);
        *it->to++ = end[-1];
    } else {
        memcpy(it->to, it->at, (size_t)(end - it->at));
        it->to += end - it->at;
    }
    it->at = end;
    return true;
}

/* Returns the short name; NULL when its brackets do not match. */
static char *shorten(struct memory_pool *pool, const char *name, struct measure measure,
                     const char *ellipsis)
{
    char *text = memory_pool_allocate(pool, strlen(name) + 1);
    struct shortening it = {name, text, ellipsis, 0};

    while (*it.at != '\0') {
        size_t plain = plain_length(name, it.at);
        bool is_left_out =
            plain == 0 && ((*it.at == '<' && it.level >= measure.template_levels) ||
                           (*it.at == '(' && it.level == 0 && !measure.keeps_parameters));

        if (is_left_out) {
            if (!leave_out(&it, name))
                return NULL;
            continue;
        }
        if (plain == 0 && *it.at == '(' && it.level > 0) { /* what is in it may compare */
            const char *end = end_of_bracket(name, it.at);

            plain = end != NULL ? (size_t)(end - it.at) : 0;
        }
        if (plain == 0) {
            plain = 1;
            if (*it.at == '>' && it.level == 0)
                return NULL;
            it.level += *it.at == '<';
            it.level -= *it.at == '>';
        }
        memcpy(it.to, it.at, plain);
        it.to += plain;
        it.at += plain;
    }
    *it.to = '\0';
    return text;
}

const char *label_module(struct memory_pool *pool, const char *module)
{
    const char *begin = strstr(module, ".cpython-"), *end;
    char *text;

    if (begin == NULL)
        begin = strstr(module, ".abi3.");
    end = begin != NULL ? strstr(begin, ".so") : NULL;
    if (begin == module || end == NULL)
        return module;
    text = memory_pool_copy(pool, module, strlen(module));
    memmove(text + (begin - module), end, strlen(end) + 1);
    return text;
}

const char *label_function(struct memory_pool *pool, const struct frame *frame, bool is_ascii)
{
    static const struct measure measures[] = {{3, true}, {2, true}, {1, true}, {1, false}};
    const char *name = frame->function;

    if (frame->kind != FRAME_NATIVE && frame->kind != FRAME_INLINED)
        return name;
    name = label_module(pool, name);
    if (strlen(name) <= SHORT_NAME_BYTES)
        return name;
    for (size_t i = 0; i <= sizeof(measures) / sizeof(measures[0]); i++) {
        /* Rust's `<Type as Trait>::method` says nothing without its first bracket. */
        bool is_last = i == sizeof(measures) / sizeof(measures[0]);
        struct measure measure =
            is_last ? (struct measure){frame->function[0] == '<', false} : measures[i];
        const char *text = shorten(pool, name, measure, is_ascii ? "..." : "\xe2\x80\xa6");

        if (text == NULL)
            return name;
        if (strlen(text) <= SHORT_NAME_BYTES || is_last)
            return text;
    }
    return name;
}
