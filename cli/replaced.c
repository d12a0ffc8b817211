/*
 * What `run -f` replaces. The collector takes the name before the program is executed, so that no
 * instant of it goes unrecorded; should that fail, the old file comes back.
 */
#include "replaced.h"

#include "words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void finish(struct replaced *replaced)
{
    free(replaced->path);
    free(replaced->kept);
    *replaced = (struct replaced){0};
}

bool replaced_keep(const char *path, struct replaced *ret_replaced, struct error *err)
{
    /* A link stays a link: what it leads to is replaced. */
    struct replaced replaced = {.path = realpath(path, NULL)};

    if (replaced.path != NULL) {
        replaced.kept = words_format("%s.%ld.old", replaced.path, (long)getpid());
        unlink(replaced.kept); /* what a killed process of the same pid has left */
        /* Where there are no hard links its own name is free for a moment. */
        if (link(replaced.path, replaced.kept) == 0 || rename(replaced.path, replaced.kept) == 0) {
            *ret_replaced = replaced;
            return true;
        }
    }
    error_set(err, "%s: cannot be replaced: %s", path, strerror(errno));
    finish(&replaced);
    return false;
}

void replaced_restore(struct replaced *replaced)
{
    if (replaced->kept == NULL)
        return;
    /* Two names of one file are both left by rename(). */
    if (rename(replaced->kept, replaced->path) == 0)
        unlink(replaced->kept);
    finish(replaced);
}

void replaced_let_go(struct replaced *replaced)
{
    if (replaced->kept != NULL)
        unlink(replaced->kept);
    finish(replaced);
}
