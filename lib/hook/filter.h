/*
 * The mark that a session carries for programs behind a system call filter.
 */
#ifndef HOOK_FILTER_H
#define HOOK_FILTER_H

#include <stdbool.h>
#include <stddef.h>

enum {
    FILTER_MARK_MAX_BYTES = 16,
};

/*
 * The program is about to have a filter, perhaps: remember how many are in force. Only what is
 * remembered first counts. To be called before sys_expect_filter(). Context: any thread.
 */
void filter_remember(void);

/*
 * Write the mark: how many were remembered.
 * to: room for FILTER_MARK_MAX_BYTES. Returns the number of bytes written.
 * Context: any thread.
 */
size_t filter_write_mark(char *to);

/* Return what stands behind the mark, if there is one. text: a session. Context: any thread. */
const char *filter_skip_mark(const char *text);

/*
 * Whether a session may be asked for: it has no mark, or no filter was added since it got it. What
 * is in force now is remembered with a mark.
 * Context: start-up.
 */
bool filter_allows(const char *text);

#endif
