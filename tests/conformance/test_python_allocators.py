"""Python's own allocators: every block of its raw, mem and object domains, once.

The sizes here are such that nothing else in a program asks for them, and what a line of a program does
is counted by that line.
"""
import collections
import json
import os
import subprocess

import pytest

import tracked

TRACED = ("--trace-python-allocators",)
DOMAINS = {"raw": "PyMem_Raw", "mem": "PyMem_", "object": "PyObject_"}

# Debug hooks stand above us: what they add to a block is part of it (obmalloc.c).
DEBUG_BYTES = (24, 32)

MODES = {
    "default": ([], None), "dev": (["-X", "dev"], None), "tracemalloc": (["-X", "tracemalloc"], None),
    **{name: ([], name) for name in ("malloc", "debug", "malloc_debug", "pymalloc",
                                     "pymalloc_debug", "mimalloc")},
}


@pytest.fixture
def run_traced(memtrack, tmp_path, python):
    """Run a script with Python's allocators traced; return (Script, Finished). All must be sound."""
    def run(text, *arguments, has_unknown=False, **popen):
        script = tracked.Script(tmp_path, text)
        ended = memtrack.run(python.path, *arguments, script, options=TRACED, **popen)
        totals = ended.capture.assert_sound()
        assert has_unknown or totals["unknown_frees"] == 0, totals
        assert ended.capture.stats()["capture"]["python_allocators"] is True
        return script, ended

    return run


def mode_of(python, mode):
    """Return (arguments, environment) of an interpreter in a mode, or skip."""
    arguments, allocator = MODES[mode]
    needs_own = {"malloc", "malloc_debug", "pymalloc", "pymalloc_debug"}
    if python.is_free_threaded and allocator in needs_own:
        pytest.skip("this interpreter must have its own")
    if python.version < (3, 13) and allocator == "mimalloc":
        pytest.skip("this interpreter has no mimalloc")
    environment = dict(os.environ)
    if allocator:
        environment["PYTHONMALLOC"] = allocator
    return arguments, environment


def has_debug_hooks(python, mode):
    return "debug" in mode or mode == "dev" or (
        python.is_debug and mode in ("default", "tracemalloc"))


CALLS = """
    import ctypes
    api, size, block = ctypes.pythonapi, ctypes.c_size_t, ctypes.c_void_p
    def function(name, result, *arguments):
        found = getattr(api, name)
        found.restype, found.argtypes = result, arguments
        return found
    for prefix in ("PyMem_Raw", "PyMem_", "PyObject_"):
        malloc = function(prefix + "Malloc", block, size)
        calloc = function(prefix + "Calloc", block, size, size)
        realloc = function(prefix + "Realloc", block, block, size)
        free = function(prefix + "Free", None, block)
        for small, large in [(479, 70_001)] * 20:  # line: first
            a, b = malloc(small), malloc(large)
            c, d = calloc(small, 1), calloc(1, large)
            a, b = realloc(a, large + 8_000), realloc(b, large + 9_000)
            c, d = realloc(c, small - 40), realloc(d, small - 60)
            e = realloc(None, 70_017)
            for kept in (a, b, c, d, e):
                free(kept)
        malloc(70_033)
    print("done")
    """


@pytest.mark.parametrize("mode", MODES)
def test_54_65_counts_and_bytes_of_each_domain(run_traced, python, mode):
    arguments, environment = mode_of(python, mode)
    script, ended = run_traced(CALLS, *arguments, env=environment)
    assert ended.stdout == "done\n" and ended.stderr == ""
    added = DEBUG_BYTES if has_debug_hooks(python, mode) else (0,)
    said = collections.Counter()
    for event in ended.capture.holding(json.dumps(str(script))):
        if event["stack"][0]["file"] == str(script) \
                and (event["stack"][0]["line"] or 0) > script.line("first"):
            said[event["allocator"], event["bytes"]] += event["op"] in ("alloc", "realloc")
    # With hooks above us the one added size is the same for all.
    added = [extra for extra in added if said["pymalloc_raw_malloc", 70_033 + extra]]
    assert len(added) == 1, said
    for domain in DOMAINS:
        of_nothing = "malloc" if added[0] else "realloc"  # the hooks make one of the other
        expected = {
            ("malloc", 479): 20, ("malloc", 70_001): 20, ("calloc", 479): 20,
            ("calloc", 70_001): 20, ("realloc", 78_001): 20, ("realloc", 79_001): 20,
            ("realloc", 439): 20, ("realloc", 419): 20, (of_nothing, 70_017): 20,
            ("malloc", 70_033): 1,
        }
        for (entry, count_bytes), count in expected.items():
            name = f"pymalloc_{domain}_{entry}"
            assert said[name, count_bytes + added[0]] == count, (name, count_bytes, said)
    # The block of libc that a large one is is not there a second time, hooks added or not.
    for (allocator, count_bytes), count in said.items():
        if allocator in ("malloc", "calloc", "realloc"):
            assert count == 0 or not 70_001 <= count_bytes < 80_000, (allocator, count_bytes, count)
    if mode == "tracemalloc":
        return  # which keeps blocks of its own for the same lines
    leaked = [row for row in ended.capture.rows("--leaks") if row["bytes"] == 70_033 + added[0]]
    assert sorted(row["allocator"] for row in leaked) == [
        "pymalloc_mem_malloc", "pymalloc_object_malloc", "pymalloc_raw_malloc"]


@pytest.mark.parametrize("mode", ["default", "dev", "malloc"])
def test_65_totals_by_line_are_those_of_tracemalloc(run_traced, python, mode):
    """In the same process, at the same instant: the snapshot's and the end of the program."""
    arguments, environment = mode_of(python, mode)
    script, ended = run_traced("""
        import json, os, sys, tracemalloc
        class Thing:
            __slots__ = ("name",)
            def __init__(self, name):
                self.name = name
        tracemalloc.start()
        texts = ["%d" % i * 20 for i in range(2000)]  # line: texts
        blocks = [bytes(600 + i) for i in range(300)]  # line: blocks
        things = [Thing(text) for text in texts]  # line: things
        names = {text: text for text in texts}  # line: names
        del texts[:1000]
        blocks.append(b"x" * 100_000)  # line: append
        snapshot = tracemalloc.take_snapshot()
        said = {}
        for line in snapshot.statistics("lineno"):
            if line.traceback[0].filename == __file__:
                said[line.traceback[0].lineno] = (line.count, line.size)
        print(json.dumps(said), flush=True)
        os._exit(0)
        """, *arguments, env=environment)
    said = {int(line): tuple(sums) for line, sums in json.loads(ended.stdout).items()}
    live = collections.defaultdict(lambda: [0, 0])
    for row in ended.capture.rows("--leaks"):
        # What tracemalloc keeps of them is of the raw domain, and of the same lines.
        if row["stack"] and row["allocator"].startswith(("pymalloc_mem", "pymalloc_object")):
            if row["stack"][0]["file"] == str(script):
                live[row["stack"][0]["line"]][0] += row["allocations"]
                live[row["stack"][0]["line"]][1] += row["bytes"]
    added = 24 if has_debug_hooks(python, mode) else 0
    for name in ("texts", "blocks", "things", "names", "append"):
        count, count_bytes = said[script.line(name)]
        ours, our_bytes = live[script.line(name)]
        if python.is_free_threaded:  # seen: by one, either way
            assert abs(ours - count) <= 2, name
            continue
        assert ours == count, name
        assert our_bytes in (count_bytes + added * count, count_bytes + 32 * bool(added) * count), name


def test_65_objects_of_a_script(run_traced, python):
    script, ended = run_traced("""
        import collections
        class Thing:
            __slots__ = ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k")
        kept = [Thing() for _ in range(1234)]  # line: things
        del kept[1000:]
        """)
    capture = ended.capture
    made = collections.Counter(event["bytes"] for event in capture.of_line(script, "things", "alloc")
                               if event["allocator"] == "pymalloc_object_malloc")
    assert 1234 in made.values(), made
    assert python.is_debug or {event["allocator"] for event in capture.of_line(script, "things")} & {
        "pymalloc_mem_malloc", "pymalloc_mem_realloc", "pymalloc_object_malloc"}
    result = tracked.replay(capture.events())
    assert result.violations == 0 and result.unknown_frees == 0


def test_55_65_threads(run_traced):
    script, ended = run_traced("""
        import threading
        def body(number):
            for i in range(60):
                kept = [bytes(5000 + number) for _ in range(5)]  # line: bytes
        threads = [threading.Thread(target=body, args=(n,)) for n in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        """)
    made = ended.capture.of_line(script, "bytes", "alloc")
    for number in range(8):
        found = [event for event in made if 5000 + number <= event["bytes"] - 33 <= 5000 + number + 32
                 and event["allocator"].startswith("pymalloc_object")]
        by_thread = collections.Counter(event["tid"] for event in found)
        assert 300 in by_thread.values(), by_thread


def test_65_forked_child(run_traced):
    script, ended = run_traced("""
        import os, sys
        inherited = [bytes(9000 + i) for i in range(50)]  # line: before
        child = os.fork()
        if child == 0:
            del inherited[:]
            own = [bytes(30_000 + i) for i in range(70)]  # line: child
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
        after = [bytes(40_000 + i) for i in range(30)]  # line: parent
        """)
    capture = ended.capture
    pids = {name: collections.Counter(event["pid"] for event in capture.of_line(script, name, "alloc")
                                      if event["bytes"] > 9000)
            for name in ("before", "child", "parent")}
    (parent, count), = pids["before"].items()
    assert count == 50 and pids["parent"] == {parent: 30}
    (child, count), = pids["child"].items()
    assert count == 70 and child != parent


def test_65_finalisation(run_traced):
    _, ended = run_traced("""
        import atexit, sys, threading, time
        class Late:
            def __del__(self):
                self.kept = [bytes(7000) for _ in range(10)]
        sys.late = Late()
        atexit.register(lambda: [object() for _ in range(1000)])
        def forever():
            while True:
                [str(i) for i in range(100)]
        threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.02)
        """)
    assert ended.stdout == ""


SUBINTERPRETER = """
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    other = interpreters.create()
    run = getattr(interpreters, "run_string", None) or interpreters.exec
    run(other, "def inside():\\n    return [bytes(7777) for _ in range(90)]\\nkept = inside()\\n")
    interpreters.destroy(other)
    """


def test_65_subinterpreter(memtrack, tmp_path, python):
    """What it holds when it ends, its arenas go with from 3.13 on, the blocks in them unseen."""
    script = tracked.Script(tmp_path, SUBINTERPRETER)
    capture = memtrack.run(python.path, script, options=TRACED).capture
    capture.assert_sound()
    found = [event for event in capture.holding("inside") if event["op"] == "alloc" and event["bytes"]
             and 7777 + 33 <= event["bytes"] <= 7777 + 33 + 32 and "inside" in tracked.names(event)]
    assert len(found) == 90


@pytest.mark.parametrize("late", [False, True], ids=["from-the-start", "later"])
def test_65_tables_replaced_by_the_program(run_traced, programs, python, late):
    """An allocator of the program's own, put over ours. What it gives out before we see it is unknown."""
    library = programs("conformance_python_allocator.so")
    script, ended = run_traced(f"""
        import ctypes, time
        library, api = ctypes.CDLL({str(library)!r}), ctypes.pythonapi
        before = [bytes(40 + i % 9) for i in range(5000)]
        library.replace(api.PyMem_GetAllocator, api.PyMem_SetAllocator)
        if {late}:
            end = time.monotonic() + 0.05
            while time.monotonic() < end:
                [bytes(3000) for _ in range(50)]
        kept = [bytes(20_000 + i) for i in range(100)]  # line: kept
        del before[::2]
        small = [bytes(15) for i in range(3000)]  # line: small
        del before, small
        print(len(kept))
        """, has_unknown=True)
    assert ended.stdout == "100\n"
    found = [event for event in ended.capture.of_line(script, "kept", "alloc")
             if event["bytes"] > 20_000]
    assert len(found) == 100
    assert {event["allocator"] for event in found} <= {"pymalloc_object_calloc",
                                                       "pymalloc_object_malloc"}
    if late:
        assert len([event for event in ended.capture.of_line(script, "small", "alloc")
                    if event["allocator"].startswith("pymalloc_object")]) >= 3000


def test_65_debug_hooks_set_up_again(run_traced, python):
    """PyMem_SetupDebugHooks() finds its hooks where it put them; twice is once."""
    _, ended = run_traced("""
        import ctypes, time
        def work():
            end = time.monotonic() + 0.03
            while time.monotonic() < end:
                [str(i) for i in range(100)]
        for _ in range(3):
            work()
            ctypes.pythonapi.PyMem_SetupDebugHooks()
        work()
        print("fine")
        """, env={**os.environ, "PYTHONMALLOC": "debug"})
    assert ended.stdout == "fine\n"


def test_65_same_output_and_end(memtrack, tmp_path, python):
    script = tracked.Script(tmp_path, """
        import gc, sys
        class Node:
            pass
        for i in range(2000):
            a, b = Node(), Node()
            a.other, b.other = b, a
        print(gc.collect() >= 0, sorted({"b": 1, "a": 2}.items()), file=sys.stderr)
        try:
            bytes(1 << 62)
        except (MemoryError, OverflowError) as error:
            print(type(error).__name__)
        sys.exit(3)
        """)
    plain = tracked.finish([python.path, str(script)])
    ended = memtrack.run(python.path, script, options=TRACED, expect=3)
    assert (plain.returncode, plain.stdout, plain.stderr) == (3, ended.stdout, ended.stderr)


def test_66_arenas_are_named(memtrack, tmp_path, python):
    """Without tracing pymalloc's arenas are what is known of its blocks; with it they are not summed."""
    if python.is_free_threaded:
        pytest.skip("this interpreter has no arenas")
    script = tracked.Script(tmp_path, """
        kept = [(i, str(i)) for i in range(30_000)]
        """)
    arena = 256 << 10 if python.version < (3, 10) else 1 << 20
    plain = memtrack.run(python.path, script).capture
    traced = memtrack.run(python.path, script, options=TRACED).capture
    for capture, kind in ((plain, "anonymous"), (traced, "arena")):
        maps = [json.loads(line) for line in capture.lines()
                if '"allocator":"pymalloc_arena"' in line]
        assert len(maps) >= 30_000 * 100 // arena
        assert {event["op"] for event in maps} == {"map"}
        assert {event["bytes"] for event in maps} == {arena}
        assert {event["class"] for event in maps} == {kind}
    assert plain.stats()["capture"]["python_allocators"] is False
    rows = {row["allocator"]: row for row in plain.stats()["allocators"]}
    assert rows["pymalloc_arena"]["peak_bytes"] >= 30_000 * 100
    rows = {row["allocator"]: row for row in traced.stats()["allocators"]}
    assert "pymalloc_arena" not in rows and rows["pymalloc_object_malloc"]["allocations"] >= 30_000
    # All that is allocated at the peak, whoever counts it; what is free in arenas is not allocated.
    assert traced.totals()["peak_bytes"] < plain.totals()["peak_bytes"]


def test_66_without_a_lock_they_are_traced_by_themselves(memtrack, tmp_path, python):
    if not python.is_free_threaded:
        pytest.skip("this interpreter has arenas")
    script = tracked.Script(tmp_path, """
        kept = [(i, str(i)) for i in range(10_000)]  # line: kept
        """)
    capture = memtrack.run(python.path, script).capture
    assert capture.assert_sound()["unknown_frees"] == 0
    assert capture.json("info")["capture"]["python_allocators"] is True
    assert len(capture.of_line(script, "kept", "alloc")) >= 20_000


# What the interpreter itself calls its allocator: it is exported for the tests of CPython's own.
ASK_ALLOCATOR = """
import ctypes
ask = ctypes.pythonapi._PyMem_GetCurrentAllocatorName
ask.restype = ctypes.c_char_p
print(ask().decode())
"""


@pytest.mark.parametrize("is_traced", [False, True], ids=["", "traced"])
@pytest.mark.parametrize("mode", MODES)
def test_54_the_allocator_has_its_name(memtrack, python, mode, is_traced):
    arguments, environment = mode_of(python, mode)
    # Under tracemalloc the interpreter does not know the name any more.
    asked = [] if mode == "tracemalloc" else arguments
    name = subprocess.run([python.path, *asked, "-c", ASK_ALLOCATOR], env=environment, check=True,
                          capture_output=True, text=True).stdout.strip()
    ended = memtrack.run(python.path, *arguments, "-c", "pass", env=environment,
                         options=TRACED if is_traced else ())
    assert ended.capture.stats()["capture"]["python"]["allocator"] == name
