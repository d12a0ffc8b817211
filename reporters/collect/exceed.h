/*
 * What is to be done when the resident memory of the session first goes above a size.
 *
 * The clock thread adds up what it samples; the main thread acts. Each rule acts once.
 */
#ifndef COLLECT_EXCEED_H
#define COLLECT_EXCEED_H

#include "collect/collect.h"
#include "collect/control.h"
#include "collect/session.h"
#include "collect/starter.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* All zero but for what exceed_init() fills in. */
struct exceed {
    const struct collect_options *options; /* the caller's */
    struct session *session;
    struct control *control;
    const struct starter *starter;
    bool has_acted[COLLECT_MOST_RULES];
    pid_t commands[COLLECT_MOST_RULES]; /* of the rule at this place; 0: none that runs */
    int program_fd;                     /* a pidfd, when a signal may be sent; -1: none */
};

/*
 * Give it its beginning, and say what the clock is to look for. All pointers stay the caller's, and
 * are used until exceed_finish(). Context: main thread, before the clock runs.
 */
void exceed_init(struct exceed *exceed, const struct collect_options *options,
                 struct session *session, struct control *control, const struct starter *starter);

/* Do what is to be done now, and see which commands have ended. Context: main thread. */
void exceed_look(struct exceed *exceed);

/* Let go; commands that still run are not waited for. Context: main thread. */
void exceed_finish(struct exceed *exceed);

#endif
