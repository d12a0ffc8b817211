/*
 * Locking all memory.
 *
 * Runs in the program's threads. The pool that we map is mostly holes, for threads that may never
 * be: locked, each page of it would be memory, and counted against the program's limit.
 */
#include "hook/real.h"
#include "record/process.h"

#include <sys/mman.h>

HOOK int mlockall(int flags)
{
    if (real.mlockall == NULL)
        return real_is_missing();
    if ((flags & MCL_CURRENT) != 0)
        process_keep_few_rings();
    return real.mlockall(flags);
}
