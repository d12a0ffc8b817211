"""Programs that take away what a profiler counts on: they end as they would, and are recorded."""
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

import interpreters
import killing
import tracked

COUNT, BLOCK_BYTES = 2000, 40021
CODE_DONE, CODE_CANNOT = 11, 12


@pytest.fixture
def plain_and_tracked(memtrack, programs):
    """Run a case of `hostile` alone, then tracked: it must end alike. Returns the capture."""
    def run(case, *arguments, env=None, prefix=()):
        argv = [*prefix, str(programs("hostile")), case, *map(str, arguments)]
        plain = tracked.finish(argv, env=env)
        if plain.returncode == CODE_CANNOT:
            pytest.skip(f"not allowed on this machine: {plain.stderr}")
        assert plain.returncode == CODE_DONE, plain
        ended = memtrack.run(*argv, env=env, check=False)
        assert (ended.returncode, ended.stdout, ended.stderr) == (CODE_DONE, "", "")
        return ended.capture

    return run


def own_blocks(capture):
    """Return the events of the blocks that a case allocates behind its hostility."""
    return [event for event in capture.events() if event["op"] == "alloc"
            and event["bytes"] == BLOCK_BYTES]


@pytest.mark.parametrize("case, blocks", [
    ("closes_all", COUNT), ("changes_directory", COUNT), ("changes_user", 2 * COUNT),
    ("strict", COUNT + 1), ("filter", COUNT), ("filter_threads", 2 * COUNT),
    ("address_space", COUNT), ("small_signal_stack", COUNT), ("locks_memory", 2 * COUNT),
    ("small_thread", COUNT)])
def test_program_is_unharmed_and_recorded(plain_and_tracked, case, blocks):
    capture = plain_and_tracked(case)
    capture.assert_sound()
    assert len(own_blocks(capture)) == blocks
    assert capture.stats()["capture"]["state"] == "clean"


def test_program_that_a_filter_is_laid_upon_is_unharmed(plain_and_tracked, programs):
    """It may not even ask for the session."""
    capture = plain_and_tracked("filter_and_exec", programs("hostile"))
    capture.assert_sound()
    assert len(own_blocks(capture)) == COUNT


def test_program_that_may_not_gain_privileges_is_recorded(plain_and_tracked, programs):
    status = pathlib.Path("/proc/self/status").read_text(encoding="utf-8")
    if "Seccomp:\t0" not in status and "Seccomp_filters:" not in status:
        pytest.skip("a filter is in force here already, and this Linux does not count them")
    capture = plain_and_tracked("no_privileges_and_exec", programs("hostile"))
    capture.assert_sound()
    assert len(own_blocks(capture)) == 2 * COUNT


def test_end_of_a_child_by_vfork_is_not_its_parents(plain_and_tracked):
    """Behind a filter nobody can ask whose memory it runs in."""
    capture = plain_and_tracked("no_privileges_and_vfork")
    capture.assert_sound()
    assert [event["value"] for event in capture.events() if event["op"] == "exit"] == [CODE_DONE]


def lay_filter(*instructions):
    """Lay a filter on what is executed next: rows of code, jumps and k."""
    class Instruction(ctypes.Structure):
        _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte),
                    ("k", ctypes.c_uint)]

    class Program(ctypes.Structure):
        _fields_ = [("count", ctypes.c_ushort), ("first", ctypes.POINTER(Instruction))]

    rows = (Instruction * len(instructions))(*(Instruction(*row) for row in instructions))
    program = Program(len(instructions), ctypes.cast(rows, ctypes.POINTER(Instruction)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no filter")


ALLOW, KILL = (0x06, 0, 0, 0x7fff0000), (0x06, 0, 0, 0x80000000)
LOAD_CALL, PROCESS_VM_READV = (0x20, 0, 0, 0), {"x86_64": 310, "aarch64": 270}


def lay_harmless_filter():
    """Allow every call, as a container's filter does for most."""
    lay_filter(ALLOW)


def lay_filter_against_reading():
    """End who asks the kernel for what is in a process."""
    lay_filter(LOAD_CALL, (0x15, 0, 1, PROCESS_VM_READV[os.uname().machine]), KILL, ALLOW)


NAMED = """
import ctypes, sys, threading
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
def allocate(size):
    thread = threading.Thread(target=libc.malloc, args=(size,), name=f"of {size}")
    thread.start()
    thread.join()
if len(sys.argv) > 1:
    allocate(100_001)
    sys.path.insert(0, sys.argv[1])
    import test_hostile_programs
    test_hostile_programs.lay_filter_against_reading()
allocate(100_003)
sys.exit(11)
"""


@pytest.mark.parametrize("python", [python for python in interpreters.found()
                                    if python.version < (3, 14)],
                         ids=lambda python: python.name)
def test_names_of_threads_are_not_read_where_a_filter_ends_who_does(memtrack, python):
    """A filter that is there, and one that comes later; the kernel says what it thinks of the call."""
    argv = [python.path, "-c", NAMED]
    ended = memtrack.run(*argv, expect=CODE_DONE, preexec_fn=lay_filter_against_reading)
    assert {thread["name"] for thread in ended.capture.stats()["threads"]} == {None}
    ended = memtrack.run(*argv, expect=CODE_DONE)
    assert "of 100003" in {thread["name"] for thread in ended.capture.stats()["threads"]}


def test_names_of_threads_are_not_read_behind_a_later_filter(memtrack):
    argv = [sys.executable, "-c", NAMED, str(pathlib.Path(__file__).parent)]
    ended = memtrack.run(*argv, expect=CODE_DONE,
                         env={**os.environ, "PYTHONPATH": str(pathlib.Path(tracked.__file__).parent)})
    names = {thread["name"] for thread in ended.capture.stats()["threads"]}
    assert "of 100003" not in names
    assert "of 100001" in names or sys.version_info >= (3, 14)


@pytest.mark.parametrize("case, blocks", [("no_privileges_and_exec", 2 * COUNT),
                                          ("filter_and_exec", COUNT)])
def test_program_behind_the_filter_of_a_container(memtrack, programs, case, blocks):
    """Only a filter that comes later keeps us from what is executed then."""
    if "Seccomp_filters:" not in pathlib.Path("/proc/self/status").read_text(encoding="utf-8"):
        pytest.skip("this Linux does not count filters")
    argv = [programs("hostile"), case, programs("hostile")]
    plain = tracked.finish(argv, preexec_fn=lay_harmless_filter)
    assert plain.returncode == CODE_DONE, plain
    ended = memtrack.run(*argv, expect=CODE_DONE, preexec_fn=lay_harmless_filter)
    ended.capture.assert_sound()
    assert len(own_blocks(ended.capture)) == blocks


def test_program_that_changes_its_root(plain_and_tracked, tmp_path):
    capture = plain_and_tracked("changes_root", tmp_path)
    capture.assert_sound()
    assert len(own_blocks(capture)) == COUNT


def test_program_that_executes_behind_another_root(plain_and_tracked, programs, tmp_path):
    """Our library is not there: the loader must not say so on the program's stderr."""
    program = programs("hostile")
    shutil.copy(program, tmp_path / "hostile")
    listed = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    for path in re.findall(r"(/\S+) \(0x", listed):
        target = tmp_path / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    capture = plain_and_tracked("changes_root_and_execs", tmp_path)
    capture.assert_sound()
    assert len(own_blocks(capture)) == COUNT


def test_program_that_runs_out_of_memory(plain_and_tracked):
    capture = plain_and_tracked("out_of_memory")
    capture.assert_sound()
    failed = [event for event in capture.events() if event["op"] == "fail"]
    assert {event["bytes"] for event in failed} >= {1 << 20, 1 << 40}


def test_program_under_a_small_address_space(plain_and_tracked):
    """The limit stands before the program begins."""
    capture = plain_and_tracked("changes_directory", prefix=["sh", "-c", "ulimit -v 200000; "
                                                             'exec "$@"', "sh"])
    capture.assert_sound()
    assert len(own_blocks(capture)) == COUNT


@pytest.mark.parametrize("descriptors, blocks", [(5, COUNT), (4, 0)])
def test_program_with_few_descriptors(plain_and_tracked, descriptors, blocks):
    """Two are enough to be recorded: both are closed again at once. With less it runs without."""
    capture = plain_and_tracked("changes_directory", prefix=["sh", "-c", f"ulimit -n {descriptors}; "
                                                             'exec "$@"', "sh"])
    capture.assert_sound()
    assert len(own_blocks(capture)) == blocks


def test_program_that_clears_its_environment(plain_and_tracked, programs):
    """Its next image finds no session, so it is not recorded: but it runs."""
    capture = plain_and_tracked("clears_environment", programs("hostile"))
    capture.assert_sound()
    assert len(own_blocks(capture)) == COUNT


def test_daemon_is_recorded_to_its_end(memtrack, programs):
    began = time.monotonic()
    ended = memtrack.run(programs("hostile"), "daemon", expect=CODE_DONE)
    deadline = began + 30
    while killing.holders(ended.capture.path):
        assert time.monotonic() < deadline, "the collector does not end"
        time.sleep(0.05)
    stats = ended.capture.stats()
    assert stats["capture"]["state"] == "clean"
    assert len(own_blocks(ended.capture)) == COUNT
    assert {"code": 4} in [process["exit"] for process in stats["processes"]]


def test_children_behind_a_pid_namespace(memtrack, any_python):
    """Their pids are those of strangers out here: nobody may wait for the strangers to end."""
    wall = ["unshare", "--pid", "--fork"]
    if subprocess.run([*wall, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        pytest.skip("no namespaces here")
    code = ("import os\nfor _ in range(80):\n  if os.fork() == 0:\n    b = bytearray(5000); os._exit(3)\n"
            "while True:\n  try: os.wait()\n  except ChildProcessError: break")
    ended = memtrack.run(*wall, any_python.path, "-c", code)
    assert not killing.holders(ended.capture.path), "the collector has ended"
    ended.capture.assert_sound()
    exits = [process["exit"] for process in ended.capture.stats()["processes"]]
    assert exits.count({"code": 3}) == 80


def test_sixty_four_threads(memtrack, programs):
    ended = memtrack.run(programs("stress_events"), "random", 64, 5000)
    totals = ended.capture.assert_sound()
    assert totals["allocations"] >= ended.words()["allocations"][0]
    assert len({thread["tid"] for thread in ended.capture.stats()["threads"]}) >= 64


def test_static_program_is_refused_with_a_reason(memtrack, programs):
    ended = memtrack.run(programs("hostile_static"), expect=126)
    assert "static" in ended.stderr and ended.stdout == ""
    assert not ended.capture.path.exists()


OTHER_LIBC = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *none)
{
    for (int i = 1; i < 5000; i++) {
        void *block = realloc(i % 2 ? malloc(i) : calloc(2, i), i + 7);
        void *aligned = aligned_alloc(64, 64 * i);
        if (block == NULL || aligned == NULL)
            abort();
        memset(aligned, 1, 64 * i);
        free(aligned);
        free(block);
    }
    return none;
}
int main(int count, char **arguments)
{
    pthread_t threads[3];
    int status;

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    if (fork() == 0)
        execv(arguments[1], arguments + 1);
    wait(&status);
    printf("%d\\n", WEXITSTATUS(status));
    exit(9);
}
"""


def test_static_child_runs_untracked(memtrack, programs):
    ended = memtrack.run("sh", "-c", '"$0"; exit $?', programs("hostile_static"), expect=9)
    assert ended.stdout == "static\n"
    assert ended.capture.stats()["capture"]["state"] == "clean"


def test_child_of_another_c_library_runs_untracked(memtrack, programs, tmp_path):
    """Its loader ends what it cannot link, and gives constructors no arguments."""
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(OTHER_LIBC)
    if shutil.which("musl-gcc") is None:
        pytest.skip("no musl here")
    subprocess.run(["musl-gcc", "-o", program, source], check=True)
    ended = memtrack.run("sh", "-c", '"$0" "$1" closes_all; exit $?', program,
                         programs("hostile"), expect=9)
    assert (ended.stdout, ended.stderr) == (f"{CODE_DONE}\n", "")
    ended.capture.assert_sound()
    assert len(own_blocks(ended.capture)) == COUNT, "what it starts is tracked again"


@pytest.mark.parametrize("command, code", [(["/nonexistent/program"], 127), (["/etc"], 126),
                                           (["/etc/passwd"], 126)])
def test_what_cannot_be_started_is_told(memtrack, command, code):
    ended = memtrack.run(*command, expect=code)
    assert ended.stderr.startswith("memtrack: ") and command[0] in ended.stderr
    assert not ended.capture.path.exists()


WHAT_A_PROGRAM_SEES = """
import json, os, resource, signal, sys
status = dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "environment": dict(os.environ),
    "directory": os.getcwd(),
    "descriptors": sorted(os.listdir("/proc/self/fd")),
    "umask": status["Umask"],
    "signals": {key: status[key] for key in ("SigBlk", "SigIgn", "SigCgt", "ShdPnd")},
    "limits": {name: resource.getrlimit(getattr(resource, name))
               for name in dir(resource) if name.startswith("RLIMIT_")},
    "threads": status["Threads"],
    "seccomp": status["Seccomp"],
    "privileges": status["NoNewPrivs"],
    "dumpable": status["CoreDumping"],
    "group": os.getpgid(0) == os.getpgid(os.getppid()),
    "session": os.getsid(0),
    "nice": os.nice(0),
    "arguments": sys.argv,
}))
"""


def test_program_sees_two_variables_and_nothing_else(memtrack, any_python, tmp_path):
    script = tmp_path / "look.py"
    script.write_text(WHAT_A_PROGRAM_SEES)
    command = [any_python.path, str(script), "an argument", ""]
    plain = json.loads(tracked.finish(command).stdout)
    seen = json.loads(memtrack.run(*command).stdout)
    added = set(seen["environment"]) - set(plain["environment"])
    assert added == {"LD_PRELOAD", "MEMTRACK_SESSION"}
    for name in added:
        del seen["environment"][name]
    assert seen == plain


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1"])
def test_signal_sent_to_run_reaches_the_program(memtrack, any_python, name):
    number = getattr(signal, name)
    process, capture = memtrack.start(
        any_python.path, "-c", "import time; print('here', flush=True); time.sleep(60)")
    assert process.stdout.readline() == "here\n"
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == -number
    assert capture.stats()["processes"][0]["exit"] == {"signal": name}


def preload_path(name):
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                   "/usr/lib"):
        path = pathlib.Path(folder) / name
        if path.exists():
            return str(path)
    pytest.skip(f"{name} is not installed")


ALLOCATORS = ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"]


@pytest.mark.parametrize("library", ALLOCATORS)
def test_19_other_allocator_beside_us(memtrack, programs, library):
    """Sizes are exact, whoever gives the memory; threads, forks and a storm do not lock up."""
    env = {**os.environ, "LD_PRELOAD": preload_path(library)}
    ended = memtrack.run(programs("conformance_allocators"), "aligned", env=env)
    ended.capture.assert_sound()
    said = ended.words()
    for name, count_bytes in (("posix_memalign", 10001), ("memalign", 10003), ("valloc", 10005)):
        assert ended.capture.one(count_bytes)["address"] == said[name][0]
    ended = memtrack.run(programs("stress_events"), "hand", 4, 50_000, env=env)
    totals = ended.capture.assert_sound()
    assert totals["unknown_frees"] == 0
    assert totals["allocations"] >= ended.words()["allocations"][0]
    ended = memtrack.run(programs("conformance_processes"), "fork_storm",
                         env={**env, "FORKS": "50"})
    assert ended.words()["forks"] == [50]


@pytest.mark.parametrize("library", ALLOCATORS)
def test_19_python_on_another_allocator(memtrack, python, tmp_path, library):
    if python.is_free_threaded:
        pytest.skip("this interpreter brings its own")
    script = tracked.Script(tmp_path, """
        import json
        def f():
            return bytearray(100_000)
        print(len(f()), json.dumps([1]))
        """)
    env = {**os.environ, "LD_PRELOAD": preload_path(library), "PYTHONMALLOC": "malloc"}
    plain = tracked.finish([python.path, str(script)], env=env)
    ended = memtrack.run(python.path, script, env=env)
    assert (ended.stdout, ended.stderr) == (plain.stdout, plain.stderr)
    # From 3.15 on it has a head, and the object is allocated at the same place.
    rows = [row for row in ended.capture.rows("--allocated") if 100_001 <= row["bytes"] < 100_128
            and row["allocations"] <= 2]
    assert [tracked.names(row) for row in rows] == [["f", "<module>"]]
    totals = ended.capture.assert_sound()
    assert totals["unknown_frees"] == 0


def test_interpreters_too_old_to_be_walked_run(memtrack):
    if not interpreters.too_old():
        pytest.skip("none here")
    for python in interpreters.too_old():
        ended = memtrack.run(python.path, "-c", "b = bytearray(100000); print(len(b))")
        assert ended.stdout == "100000\n"
        event = ended.capture.one(100001)
        assert tracked.names(event) == []
        ended.capture.assert_sound()


def test_switched_off_is_the_program_alone(memtrack, any_python):
    argv, output = memtrack.command(any_python.path, "-c",
                                    "import os; print('LD_PRELOAD' in os.environ)")
    ended = subprocess.run(argv, env={**os.environ, "MEMTRACK": "0"}, stdout=subprocess.PIPE,
                           text=True, timeout=60, check=True)
    assert ended.stdout == "False\n"
    assert not output.exists()
