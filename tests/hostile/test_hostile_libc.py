"""What others make of libc: a clock that lies, and forks that announce themselves to nobody."""
import os
import subprocess

import pytest

import tracked

# As libfaketime does: its clock allocates, and it cannot be asked from inside itself.
FALSE_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
static __thread int is_inside;
int clock_gettime(clockid_t id, struct timespec *now)
{
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result;

    if (is_inside)
        abort();
    is_inside = 1;
    free(malloc(30));
    result = real(id, now);
    now->tv_sec = 1000000 + now->tv_sec % 1000;
    is_inside = 0;
    return result;
}
__attribute__((constructor)) static void ask(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
}
"""

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(void)
{
    struct timespec now;
    for (int i = 0; i < 20000; i++)
        free(malloc(i + 1));
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%ld\\n", (long)now.tv_sec / 1000);
    return 5;
}
"""


def compile_c(path, text, *flags):
    """Compile, or skip the test. Returns path."""
    source = path.with_suffix(".source.c")
    source.write_text(text)
    built = subprocess.run(["gcc", "-O0", "-fno-builtin", *flags, "-o", path, source], check=False,
                           stderr=subprocess.PIPE, text=True)
    if built.returncode != 0:
        pytest.skip(f"cannot be built here: {built.stderr[-300:]}")
    return path


def test_a_clock_that_lies_is_the_programs_alone(memtrack, tmp_path):
    library = compile_c(tmp_path / "libclock.so", FALSE_CLOCK, "-shared", "-fPIC", "-ldl")
    program = compile_c(tmp_path / "program", PROGRAM)
    env = {**os.environ, "LD_PRELOAD": str(library)}
    plain = tracked.finish([program], env=env)
    assert (plain.returncode, plain.stdout) == (5, "1000\n")
    ended = memtrack.run("sh", "-c", 'LD_PRELOAD=$LD_PRELOAD:"$0" "$1"', library, program, expect=5)
    assert (ended.stdout, ended.stderr) == (plain.stdout, plain.stderr)
    ended.capture.assert_sound()
    stats = ended.capture.stats()
    assert stats["totals"]["allocations"] >= 20000
    # On the collector's clock: it began and ended while the capture was written.
    for process in stats["processes"]:
        assert 0 < process["started_ns"] <= process["ended_ns"] <= stats["capture"]["duration_ns"]


FORKS = """
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int child(void *none)
{
    (void)none;
    for (int i = 0; i < 50; i++)
        free(malloc(4000));
    return 7;
}
static int wait_and_allocate(pid_t pid)
{
    void *blocks[10];
    int status;

    for (int i = 0; i < 10; i++)
        blocks[i] = malloc(3900 + i); /* where the child has its own */
    waitpid(pid, &status, 0);
    for (int i = 0; i < 10; i++)
        free(blocks[i]);
    return WEXITSTATUS(status);
}
int main(void)
{
    char *stack = malloc(65536);
    int codes = 0;

    for (int i = 0; i < 10; i++) {
        pid_t pid;

        codes += wait_and_allocate(clone(child, stack + 65536, SIGCHLD, NULL));
        pid = _Fork();
        if (pid == 0)
            _exit(child(NULL));
        codes += wait_and_allocate(pid);
    }
    return codes;
}
"""


def test_forks_without_handlers_have_their_parents_blocks(memtrack, tmp_path):
    """Not what the parent allocates meanwhile: that would be an allocation of a live block."""
    program = compile_c(tmp_path / "program", FORKS)
    ended = memtrack.run(program, expect=140)
    totals = ended.capture.assert_sound()
    assert totals["unknown_frees"] == 0
    assert len(ended.capture.stats()["processes"]) == 21
