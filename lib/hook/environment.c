/*
 * Looking at an environment, and copying it without what is ours, or with a mark on it.
 *
 * Runs in the program's threads and in children of vfork, and first of all in our constructor: of
 * libc only memcpy, memcmp and strlen are called, see session/leave.c. The program's own environment
 * is never changed. A copy that does not fit on the stack is mapped; when the exec that it is for
 * succeeds in a child of vfork, the parent keeps that mapping: nobody can tell it.
 */
#include "hook/environment.h"

#include "base/syscalls.h"
#include "hook/filter.h"
#include "memtrack/protocol.h"
#include "record/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

enum {
    LIBRARY_MAX_BYTES = 512, /* a longer path is not looked for */
};

static const char library_name[] = "libmemtrack.so";
static const char preload_variable[] = "LD_PRELOAD=";
static const char session_variable[] = SESSION_VARIABLE "=";

static bool begins_with(const char *text, const char *prefix)
{
    while (*prefix != '\0' && *text == *prefix) {
        text++;
        prefix++;
    }
    return *prefix == '\0';
}

/* LD_PRELOAD's elements end so (ld.so(8)). */
static bool is_separator(char character)
{
    return character == ':' || character == ' ';
}

/* Return the next element of such a list, and its length; 0: there is none. */
static const char *next_element(const char *list, size_t *ret_length)
{
    size_t length = 0;

    while (is_separator(*list))
        list++;
    while (list[length] != '\0' && !is_separator(list[length]))
        length++;
    *ret_length = length;
    return list;
}

/* Whether an element of LD_PRELOAD is our library, wherever it lies. */
static bool is_our_library(const char *element, size_t length)
{
    size_t name_length = sizeof(library_name) - 1;

    return length >= name_length &&
           memcmp(element + length - name_length, library_name, name_length) == 0 &&
           (length == name_length || element[length - name_length - 1] == '/');
}

/* Return our library's element of an LD_PRELOAD list, and its length; NULL: it has none. */
static const char *find_our_library(const char *list, size_t *ret_length)
{
    size_t length;

    for (; *list != '\0'; list += length) {
        list = next_element(list, &length);
        if (is_our_library(list, length)) {
            *ret_length = length;
            return list;
        }
    }
    return NULL;
}

/*
 * Whether our library is not there any more for who would load it next: behind another root, or not
 * to be read by another user. The loader would say so on the program's stderr.
 */
static bool is_library_gone(char *const *vector)
{
    char path[LIBRARY_MAX_BYTES];
    const char *element = NULL;
    size_t length = 0;
    long fd;

    for (; *vector != NULL && element == NULL; vector++)
        if (begins_with(*vector, preload_variable))
            element = find_our_library(*vector + strlen(preload_variable), &length);
    if (element == NULL || *element != '/' || length >= sizeof(path) || sys_makes_no_calls())
        return false;
    memcpy(path, element, length);
    path[length] = '\0';
    fd = sys_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (!sys_failed(fd))
        sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES;
}

bool environment_has_library(char *const *vector)
{
    size_t length;

    for (; vector != NULL && *vector != NULL; vector++)
        if (begins_with(*vector, preload_variable) &&
            find_our_library(*vector + strlen(preload_variable), &length) != NULL)
            return true;
    return false;
}

bool environment_has_session(char *const *vector)
{
    if (!environment_has_library(vector))
        return false;
    for (; *vector != NULL; vector++)
        if (begins_with(*vector, session_variable))
            return true;
    return false;
}

/* Copy LD_PRELOAD without our library. Returns false when nothing is left of it. */
static bool copy_preload(char *to, const char *from)
{
    char *end = to + strlen(preload_variable);
    size_t length;

    memcpy(to, preload_variable, strlen(preload_variable));
    for (from += strlen(preload_variable); *from != '\0'; from += length) {
        from = next_element(from, &length);
        if (length == 0 || is_our_library(from, length))
            continue;
        if (end > to + strlen(preload_variable))
            *end++ = ':';
        memcpy(end, from, length);
        end += length;
    }
    *end = '\0';
    return end > to + strlen(preload_variable);
}

/* Copy our own variable with the mark behind its name. Returns what comes behind the copy. */
static char *copy_marked(char *to, const char *from)
{
    size_t name_bytes = strlen(session_variable);

    memcpy(to, from, name_bytes);
    to += name_bytes;
    to += filter_write_mark(to);
    from = filter_skip_mark(from + name_bytes);
    memcpy(to, from, strlen(from) + 1);
    return to + strlen(from) + 1;
}

/* How much room a copy takes, at most. */
static void measure(char *const *vector, size_t *ret_count, size_t *ret_text_bytes)
{
    *ret_count = 1;
    *ret_text_bytes = 0;
    for (; *vector != NULL; vector++) {
        (*ret_count)++;
        if (begins_with(*vector, preload_variable) || begins_with(*vector, session_variable))
            *ret_text_bytes += strlen(*vector) + 1 + FILTER_MARK_MAX_BYTES;
    }
}

/* Give the copy room. Returns false when there is none. */
static bool make_room(struct environment *copy, size_t count, size_t text_bytes,
                      char ***ret_entries, char **ret_text)
{
    long address;

    *ret_entries = copy->entries;
    *ret_text = copy->text;
    if (count <= ENVIRONMENT_MAX_COUNT && text_bytes <= ENVIRONMENT_MAX_TEXT_BYTES)
        return true;
    copy->mapped_bytes = count * sizeof(char *) + text_bytes;
    address = sys_call(SYS_mmap, 0, (long)copy->mapped_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_failed(address))
        return false;
    copy->mapped = (char **)address;
    *ret_entries = copy->mapped;
    *ret_text = (char *)(copy->mapped + count);
    return true;
}

static void copy_without_session(char *const *vector, char **entries, char *text)
{
    for (; *vector != NULL; vector++) {
        if (begins_with(*vector, session_variable))
            continue;
        if (!begins_with(*vector, preload_variable)) {
            *entries++ = *vector;
        } else if (copy_preload(text, *vector)) {
            *entries++ = text;
            text += strlen(text) + 1;
        }
    }
    *entries = NULL;
}

static void copy_with_mark(char *const *vector, char **entries, char *text)
{
    for (; *vector != NULL; vector++) {
        if (begins_with(*vector, session_variable)) {
            *entries++ = text;
            text = copy_marked(text, *vector);
        } else {
            *entries++ = *vector;
        }
    }
    *entries = NULL;
}

bool environment_copy_without_us(struct environment *copy, char *const *vector)
{
    size_t count, text_bytes;
    char **entries, *text;

    copy->mapped = NULL;
    measure(vector, &count, &text_bytes);
    if (!make_room(copy, count, text_bytes, &entries, &text))
        return false;
    copy_without_session(vector, entries, text);
    copy->vector = entries;
    return true;
}

/* Whether who would load our library next could not: the loader would say so. */
static bool is_of_no_use(char *const *vector, const struct program *program)
{
    return environment_has_library(vector) &&
           (is_library_gone(vector) || program_is_foreign(program));
}

void environment_copy(struct environment *copy, char *const *vector, const struct program *program)
{
    size_t count, text_bytes;
    char **entries, *text;

    copy->vector = vector;
    copy->mapped = NULL;
    if (process.header == NULL || vector == NULL)
        return;
    /* Without memory for it the child asks for the session: unmarked, or the collector says no. */
    if (!process_is_followed() || is_of_no_use(vector, program)) {
        environment_copy_without_us(copy, vector);
        return;
    }
    if (!sys_makes_no_calls())
        return;
    measure(vector, &count, &text_bytes);
    if (!make_room(copy, count, text_bytes, &entries, &text))
        return;
    copy_with_mark(vector, entries, text);
    copy->vector = entries;
}

void environment_finish(struct environment *copy)
{
    if (copy->mapped != NULL)
        sys_unmap(copy->mapped, copy->mapped_bytes);
    copy->mapped = NULL;
}
