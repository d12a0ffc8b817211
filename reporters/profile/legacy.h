/*
 * What a process that forks leaves to its next child: the keys of its blocks, and what it has
 * inherited itself.
 *
 * It is kept from one fork to the next, and only the leaves in which something has changed are made
 * anew: many children cost what the parent has, and what it and they change. Not thread-safe.
 */
#ifndef PROFILE_LEGACY_H
#define PROFILE_LEGACY_H

#include "profile/inherited.h"
#include "profile/live_blocks.h"

#include <stdint.h>

/* All zero bytes: nothing has been left yet. */
struct legacy {
    struct inherited all; /* as it was at the last fork */
    uint8_t *changed;     /* by leaf: not 0: something has since; NULL: nothing is kept */
};

/*
 * Return what a child begins with that forks now: a set of its own.
 * blocks: of the process. inherited: likewise; it may be given other leaves. Context: tool.
 */
struct inherited legacy_leave(struct legacy *legacy, const struct live_blocks *blocks,
                              struct inherited *inherited);

/* Say that a block of the process, or one it has inherited, has come or gone. Context: tool. */
static inline void legacy_touch(const struct legacy *legacy, uint64_t key)
{
    if (legacy->changed != NULL)
        legacy->changed[inherited_leaf_of(key, legacy->all.root->bits)] = 1;
}

/* There are no more children: keep nothing. Context: tool. */
void legacy_finish(struct legacy *legacy);

#endif
