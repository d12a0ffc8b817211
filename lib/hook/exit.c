/*
 * The end of the process, as it announces it itself.
 *
 * Nothing has to be flushed at the end: what stands in a ring is safe. The code is noted, because
 * who is not the parent of a process does not get it.
 */
#include "base/syscalls.h"
#include "hook/real.h"
#include "record/life.h"

#include <stdlib.h>
#include <unistd.h>

static _Noreturn void end(void (*function)(int code), int code)
{
    life_record(LIFE_EXIT, (uint64_t)(code & 0xff), false);
    if (function != NULL)
        function(code);
    for (;;)
        sys_call(SYS_exit_group, code, 0, 0, 0, 0, 0);
}

HOOK void exit(int code)
{
    end(real.exit, code);
}

HOOK void _exit(int code)
{
    end(real._exit, code);
}

HOOK void _Exit(int code)
{
    end(real._Exit, code);
}

HOOK void quick_exit(int code)
{
    end(real.quick_exit, code);
}
