"""Tools that hold other programs by the hand: debuggers, terminals, shells, sandboxes, browsers."""
import subprocess

import pytest

import tracked

DEBUGGED = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int twice(int n) { void *block = malloc(n); free(block); return n * 2; }
int main(void)
{
    FILE *file = fopen("pid", "w");

    fprintf(file, "%d", getpid());
    fclose(file);
    while (access("go", F_OK) != 0) {
        free(malloc(100));
        usleep(1000);
    }
    return twice(4);
}
"""
DEBUG = r"""
./program & for i in $(seq 200); do test -s pid && break; sleep 0.02; done
gdb -q -batch -nx -p $(cat pid) -ex 'print (long)malloc(1000) != 0' -ex 'print twice(3)' \
    -ex detach 2>errors | grep '^\$[12]'
touch go; wait $!; echo $?
gdb -q -batch -nx -ex 'break twice' -ex run -ex bt -ex continue ./program 2>errors |
    grep -c '^#[01]'
"""


def test_debugger(same_as_plain, have):
    """It stops a tracked program anywhere, calls functions in it, and is tracked itself."""
    have("gdb")

    def prepare(folder):
        (folder / "program.c").write_text(DEBUGGED)
        subprocess.run([have("gcc"), "-g", "-O0", "-fno-builtin", "-o", "program", "program.c"],
                       cwd=folder, check=True)
        probe = tracked.finish(["gdb", "-q", "-batch", "-nx", "-ex", "run", "--args", "true"])
        if "exited normally" not in probe.stdout:
            pytest.skip("nothing may be traced here")

    same_as_plain("bash", "-c", DEBUG, prepare=prepare)


JOBS = r"""
set -m; sleep 0.2 & jobs; kill -STOP %1; sleep 0.1; jobs; kill -CONT %1; wait
coproc C { cat; }; pid=$C_PID; echo hi >&${C[1]}; read -u ${C[0]} x; echo $x
exec {C[1]}>&-; wait $pid; echo $?; trap 'echo got' USR1; kill -USR1 $$; diff <(seq 3) <(seq 4)
seq 5 | xargs -P2 -n1 sh -c 'exit 0'; timeout 0.1 sleep 5; echo $?; env -i /bin/echo alone
setsid -w sh -c 'exit 4'; echo $?; exit 9
"""


def test_job_control(same_as_plain, have):
    have("setsid")
    same_as_plain("bash", "-c", JOBS, expect=9)


TERMINALS = r"""
t() { tmux -S "$PWD/s" -f /dev/null "$@"; }
t new-session -d -x 80 -y 24 'echo inside; sleep 5'
for i in $(seq 100); do t capture-pane -p 2>errors | grep -q inside && break; sleep 0.05; done
t capture-pane -p | head -1; t kill-server; echo $?
"""


def test_terminal_multiplexer(same_as_plain, have, tmp_path):
    have("tmux")
    if len(str(tmp_path)) > 85:
        pytest.skip("a socket's path is short")
    same_as_plain("bash", "-c", TERMINALS)


NAMESPACES = r"""
unshare -r -m -p -f --mount-proc sh -c '
    echo $$; set -- /proc/[0-9]*; echo $#; id -u; seq 9999 | sort | tail -1; exit 4'
echo $?; unshare -r -n sh -c 'ls / | wc -l'
setpriv --no-new-privs sh -c 'echo no more; exit 3'; echo $?
"""


def test_namespaces(same_as_plain, have):
    have("setpriv")
    probe = tracked.finish([have("unshare"), "-r", "-m", "-p", "-f", "--mount-proc", "true"])
    if probe.returncode != 0:
        pytest.skip("no namespaces here")
    same_as_plain("sh", "-c", NAMESPACES)


def test_traced_children(same_as_plain, have):
    have("strace")
    if tracked.finish(["strace", "-o", "/dev/null", "true"]).returncode != 0:
        pytest.skip("nothing may be traced here")
    same_as_plain("strace", "-f", "-o", "/dev/null", "sh", "-c", "ls / | sort | tail -2; exit 3",
                  expect=3)


def test_valgrind(same_as_plain, have):
    same_as_plain(have("valgrind"), "-q", "--leak-check=full", "--error-exitcode=9", "sh", "-c",
                  "echo $((1 + 1)); exit 3", expect=3)


PAGE = "data:text/html,<script>document.write(1 + 1)</script>"


def test_browser(same_as_plain, have):
    """Zygotes, processes that may hardly make a system call, an allocator of its own."""
    have("chromium")
    same_as_plain("sh", "-c", 'exec chromium --headless --no-sandbox --disable-gpu '
                  '--user-data-dir="$PWD/user" --dump-dom "$0" 2>/dev/null', PAGE)
