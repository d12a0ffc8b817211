"""Python stacks: the functions and lines that stood there when the memory was asked for.

`bytearray(N)` asks for N + 1 bytes: how a program here marks its place. Interpreters without a GIL
have an allocator of their own for it, debug builds ask for more, and from 3.15 it is an object with a
head; so there `mark()` writes a call of malloc for as many bytes.
"""
import os
import re
import subprocess

import pytest

import interpreters
import tracked


@pytest.fixture
def run_script(memtrack, tmp_path, python):
    """Run a script under an interpreter; return (Script, its capture)."""
    def run(text, *arguments, options=(), name="program.py", **popen):
        script = tracked.Script(tmp_path, mark(text, python), name)
        ended = memtrack.run(python.path, *options, script, *arguments, **popen)
        return script, ended.capture

    return run


def mark(text, python, is_needed=False):
    """Replace the marks, where a bytearray is not a block of its own that the tracker can see.

    The first line of a program is empty for this.
    """
    has_block = not (python.is_free_threaded or python.is_debug) and python.version < (3, 15)
    if has_block and not is_needed:
        return text
    marked = re.sub(r"\bbytearray\(", "mark(1 + ", text)
    if marked == text or not text.startswith("\n"):
        return marked
    indent = re.match(r"\n( *)", text).group(1)
    return f"{indent}import builtins, ctypes; builtins.mark = ctypes.CDLL(None).malloc{marked}"


def assert_stack(script, event, *expected):
    """The stack is these functions, innermost first; `function@line` also says which line."""
    functions = [entry.partition("@")[0] for entry in expected]
    assert tracked.names(event) == functions
    for number, entry in zip(tracked.lines(event), expected):
        if "@" in entry:
            assert number == script.line(entry.partition("@")[2]), (entry, event["stack"])


def test_35_functions_and_exact_lines(run_script):
    script, capture = run_script("""
        def g(ignored):
            return bytearray(100_000)  # line: in g
        def f():
            return [
                1,
                g(  # line: in f
                    2),
            ]
        def many():
            return f(), \\
                3
        many()  # line: in module
        """)
    event = capture.one(100_001)
    assert_stack(script, event, "g@in g", "f@in f", "many", "<module>@in module")
    assert {frame["file"] for frame in event["stack"]} == {str(script)}


def test_36_locations_are_lines(run_script):
    script, capture = run_script("""
        def f():
            return [bytearray(100_000), bytearray(100_000)]  # line: two
        def g():
            a = bytearray(110_000)  # line: first
            b = bytearray(110_000)  # line: second
            return a, b
        kept = f(), g()
        """)
    rows = {}
    for row in capture.rows("--allocated"):
        # Without a lock the objects are there, too.
        if row["stack"] and row["stack"][0]["file"] == str(script) and row["bytes"] >= 100_000:
            rows.setdefault(row["stack"][0]["line"], []).append((row["allocations"], row["bytes"]))
    assert rows[script.line("two")] == [(2, 200_002)]
    assert rows[script.line("first")] == [(1, 110_001)]
    assert rows[script.line("second")] == [(1, 110_001)]


@pytest.mark.parametrize("depth", [3, 100, 2000])
def test_37_recursion_is_complete(run_script, depth):
    script, capture = run_script("""
        import sys
        sys.setrecursionlimit(10_000)
        def down(n):
            if n == 1:
                return bytearray(100_000)  # line: bottom
            return down(n - 1)  # line: down
        down(int(sys.argv[1]))  # line: top
        """, depth)
    assert_stack(script, capture.one(100_001), "down@bottom", *["down@down"] * (depth - 1),
                 "<module>@top")


def test_38_many_returns_between_two_allocations(run_script):
    script, capture = run_script("""
        def down(n):
            return bytearray(100_000) if n == 0 else down(n - 1)
        down(20)
        bytearray(110_000)  # line: after
        """)
    assert len(tracked.names(capture.one(100_001))) == 22
    assert_stack(script, capture.one(110_001), "<module>@after")


def test_39_generators_stand_under_their_consumer(run_script):
    script, capture = run_script("""
        def numbers():
            for i in range(3):
                yield bytearray(100_000 + 1000 * i)  # line: yield
        def consume(source):
            for block in source:  # line: loop
                pass
        consume(numbers())  # line: consume
        """)
    for i in range(3):
        assert_stack(script, capture.one(100_001 + 1000 * i), "numbers@yield", "consume@loop",
                     "<module>@consume")


def test_39_coroutines_show_who_awaits(run_script):
    script, capture = run_script("""
        import asyncio
        async def inner():
            bytearray(100_000)  # line: first
            await asyncio.sleep(0.001)
            bytearray(110_000)  # line: resumed
        async def middle():
            await inner()  # line: inner
        async def outer():
            await middle()  # line: middle
        asyncio.run(outer())
        """)
    for count_bytes, line in ((100_001, "first"), (110_001, "resumed")):
        event = capture.one(count_bytes)
        assert tracked.names(event)[:3] == ["inner", "middle", "outer"]
        assert tracked.lines(event)[:3] == [script.line(line), script.line("inner"),
                                            script.line("middle")]


def test_40_every_kind_of_code_has_its_name(run_script, python):
    script, capture = run_script("""
        import functools
        def decorate(function):
            @functools.wraps(function)
            def wrapper():
                return function()  # line: wrapper
            return wrapper
        @decorate
        def decorated():
            return bytearray(100_000)
        decorated()
        a_lambda = lambda: bytearray(101_000)
        a_lambda()
        class Body:
            field = bytearray(102_000)
            def method(self):
                return bytearray(103_000)
        Body().method()
        def comprehend():
            return [bytearray(104_000) for _ in range(1)]
        comprehend()
        exec("def made():\\n    bytearray(105_000)\\nmade()")
        """)
    stacks = {count: tracked.names(capture.one(count + 1))
              for count in range(100_000, 106_000, 1000)}
    inlined = python.version >= (3, 12)
    assert stacks == {
        100_000: ["decorated", "wrapper", "<module>"],
        101_000: ["<lambda>", "<module>"],
        102_000: ["Body", "<module>"],
        103_000: ["method", "<module>"],
        104_000: ([] if inlined else ["<listcomp>"]) + ["comprehend", "<module>"],
        105_000: ["made", "<module>", "<module>"],
    }
    made = capture.one(105_001)["stack"]
    assert [frame["file"] for frame in made] == ["<string>", "<string>", str(script)]
    assert [frame["line"] for frame in made[:2]] == [2, 3]


def test_40_frozen_modules_have_names(run_script):
    _, capture = run_script("""
        import importlib.util, pathlib, sys
        path = pathlib.Path(sys.argv[0]).with_name("heavy.py")
        path.write_text('block = bytearray(100_000)')
        spec = importlib.util.spec_from_file_location("heavy", path)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
        """)
    files = [frame["file"] for frame in capture.one(100_001, "--show-runtime")["stack"]]
    assert any("importlib" in file and file.startswith("<frozen") for file in files), files


def test_41_after_an_exception_through_five_frames(run_script):
    script, capture = run_script("""
        def fall(n):
            if n == 0:
                raise ValueError
            fall(n - 1)
        def catch():
            try:
                fall(5)
            except ValueError:
                bytearray(100_000)  # line: caught
            bytearray(110_000)  # line: after
        catch()  # line: catch
        """)
    assert_stack(script, capture.one(100_001), "catch@caught", "<module>@catch")
    assert_stack(script, capture.one(110_001), "catch@after", "<module>@catch")


def test_42_python_on_both_sides_of_c(run_script, programs):
    script, capture = run_script("""
        import ctypes, functools, sys
        def key(value):
            return (bytearray(100_000) and 0) + value  # line: key
        def by_sorted():
            sorted([1], key=key)  # line: sorted
        def add(a, b):
            return a + (bytearray(101_000) and b)
        def by_partial():
            return functools.partial(add, 1)(2)  # line: partial
        def by_map():
            return list(map(lambda x: bytearray(102_000), [1]))  # line: map
        @ctypes.CFUNCTYPE(None)
        def back():
            bytearray(103_000)
        def by_foreign():
            foreign.foreign_call(back, ctypes.c_size_t(104_001))  # line: foreign
        foreign = ctypes.CDLL(sys.argv[1])
        by_sorted(), by_partial(), by_map(), by_foreign()
        """, programs("conformance_foreign.so"))
    assert_stack(script, capture.one(100_001), "key@key", "by_sorted@sorted", "<module>")
    assert_stack(script, capture.one(101_001), "add", "by_partial@partial", "<module>")
    assert_stack(script, capture.one(102_001), "<lambda>", "by_map@map", "<module>")
    assert_stack(script, capture.one(103_001), "back", "by_foreign@foreign", "<module>")
    assert_stack(script, capture.one(104_001), "by_foreign@foreign", "<module>")


def test_43_import_frames_hide_unless_asked_for(run_script, tmp_path, python):
    (tmp_path / "heavy.py").write_text(mark("\nblock = bytearray(100_000)\n", python))
    script, capture = run_script("""
        def load():
            import heavy  # line: import
        load()  # line: load
        """)
    event = capture.one(100_001)
    assert_stack(script, event, "<module>", "load@import", "<module>@load")
    assert event["stack"][0]["file"].endswith("heavy.py")
    shown = capture.one(100_001, "--show-runtime")
    assert any("importlib" in frame["file"] for frame in shown["stack"])


def test_44_other_tools_hooks_change_no_stack(run_script):
    script, capture = run_script("""
        import cProfile, sys, threading
        def work(count):
            return bytearray(count)  # line: work
        def trace(frame, event, argument):
            return trace
        sys.setprofile(lambda *ignored: None)
        work(100_000)  # line: profiled
        sys.setprofile(None)
        work(101_000)  # line: after profile
        sys.settrace(trace)
        work(102_000)  # line: traced
        sys.settrace(None)
        work(103_000)  # line: after trace
        profile = cProfile.Profile()
        profile.enable()
        work(104_000)  # line: cprofile
        profile.disable()
        work(105_000)  # line: after cprofile
        """)
    for count, line in ((100_001, "profiled"), (101_001, "after profile"), (102_001, "traced"),
                        (103_001, "after trace"), (104_001, "cprofile"),
                        (105_001, "after cprofile")):
        assert_stack(script, capture.one(count), "work@work", f"<module>@{line}")


def test_44_coverage_changes_no_stack(memtrack, tmp_path, packages):
    script = tracked.Script(tmp_path, """
        def work(count):
            return bytearray(count)  # line: work
        work(100_000)  # line: call
        """)
    capture = memtrack.run(packages("coverage"), "-m", "coverage", "run", "--data-file",
                           tmp_path / "coverage.data", script).capture
    event = capture.one(100_001)
    assert tracked.names(event)[:2] == ["work", "<module>"]
    assert tracked.lines(event)[:2] == [script.line("work"), script.line("call")]


def test_45_first_allocation_of_a_thread_has_its_whole_stack(run_script):
    script, capture = run_script("""
        import threading
        go = threading.Event()
        def deep(n):
            return go.wait() and bytearray(100_000) if n == 0 else deep(n - 1)
        def body():
            deep(10)  # line: deep
        thread = threading.Thread(target=body)
        thread.start()
        go.set()
        thread.join()
        """)
    names = tracked.names(capture.one(100_001))
    assert names[:12] == ["deep"] * 11 + ["body"]
    assert names[12:15] == ["run", "_bootstrap_inner", "_bootstrap"]


def test_45_recording_that_begins_late_and_again(memtrack, binary, tmp_path, python):
    script = tracked.Script(tmp_path, mark("""
        import os, subprocess, sys, threading
        turns = threading.Barrier(2)
        def turn():
            turns.wait(); turns.wait()
        def inner():
            kept.append(bytearray(200_000))
            turn()
            kept.append(bytearray(300_000))  # line: inner
        def deep(n):
            return inner() if n == 0 else deep(n - 1)
        def body():
            turn()
            kept.append(bytearray(100_000))  # line: first
            turn()
            deep(5)  # line: deep
            kept.append(bytearray(400_000))  # line: last
        kept = []
        thread = threading.Thread(target=body)
        thread.start()
        for command in "start", "stop", "start":
            turns.wait()
            subprocess.run([sys.argv[1], "ctl", str(os.getpid()), command], check=True)
            turns.wait()
        thread.join()
        """, python))
    capture = memtrack.run(python.path, script, binary, options=["--dormant"]).capture
    seen = [event for event in capture.events() if event["op"] == "alloc" and
            event["bytes"] % 100_000 == 1]
    assert [event["bytes"] // 100_000 for event in seen] == [1, 3, 4]
    assert [tracked.names(event)[:8] for event in seen] == [
        ["body", "run", "_bootstrap_inner", "_bootstrap"], ["inner", *["deep"] * 6, "body"],
        ["body", "run", "_bootstrap_inner", "_bootstrap"]]
    assert [tracked.lines(event)[0] for event in seen] == [
        script.line("first"), script.line("inner"), script.line("last")]
    assert tracked.lines(seen[1])[7] == script.line("deep")


def test_46_thread_that_python_did_not_make(run_script, programs):
    script, capture = run_script("""
        import ctypes, sys
        @ctypes.CFUNCTYPE(None)
        def callback():
            bytearray(110_000)  # line: callback
        foreign = ctypes.CDLL(sys.argv[1])
        assert foreign.foreign_thread(callback, ctypes.c_size_t(100_001)) == 0
        """, programs("conformance_foreign.so"))
    assert_stack(script, capture.one(110_001), "callback@callback")
    assert tracked.names(capture.one(100_001)) == []
    assert tracked.names(capture.one(100_003)) == []


def test_47_greenlets_have_stacks_of_their_own(run_script, python):
    folder = interpreters.packages_of(python)
    if folder is None:
        pytest.skip("script/interpreters -g has no greenlet for it")
    script, capture = run_script("""
        from greenlet import greenlet
        def first():
            bytearray(100_000)  # line: first
            two.switch()
            bytearray(101_000)  # line: first again
        def second():
            deeper()
        def deeper():
            bytearray(102_000)  # line: deeper
            one.switch()
        one, two = greenlet(first), greenlet(second)
        one.switch()
        bytearray(103_000)  # line: main
        """, env={**os.environ, "PYTHONPATH": folder})
    assert tracked.names(capture.one(100_001))[0] == "first"
    assert_stack(script, capture.one(101_001), "first@first again")
    assert tracked.names(capture.one(102_001))[:2] == ["deeper", "second"]
    assert_stack(script, capture.one(103_001), "<module>@main")


def test_48_without_the_interpreters_lock(run_script):
    script, capture = run_script("""
        import ctypes, threading
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        libc.malloc.argtypes = [ctypes.c_size_t]
        def take(count):
            libc.malloc(count)  # line: malloc
        def body(number):
            for i in range(50):
                take(100_000 + number)  # line: take
        threads = [threading.Thread(target=body, args=(n,)) for n in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        """)
    for number in range(4):
        events = capture.sized(100_000 + number)
        assert len(events) == 50
        for event in events:
            assert tracked.names(event)[:2] == ["take", "body"]
            assert tracked.lines(event)[:2] == [script.line("malloc"), script.line("take")]


def test_49_start_and_end_of_the_interpreter(run_script):
    script, capture = run_script("""
        import atexit, sys
        class Late:
            def __del__(self):
                bytearray(110_000)
        late = Late()
        sys.late = late
        def at_exit():
            bytearray(100_000)  # line: at exit
        atexit.register(at_exit)
        """)
    capture.assert_sound()
    assert_stack(script, capture.one(100_001), "at_exit@at exit")
    assert len(capture.sized(110_001)) <= 1
    assert [event for event in capture.events() if not event["stack"]], "nothing before the program"


@pytest.mark.parametrize("call, code", [("os._exit(3)", 3), ("ctypes.CDLL(None).exit(4)", 4),
                                        ("ctypes.CDLL(None)._exit(5)", 5),
                                        ("sys.exit(6)", 6)])
def test_50_ends_in_the_middle(run_script, call, code):
    _, capture = run_script(f"""
        import ctypes, os, sys
        block = bytearray(100_000)
        {call}
        """, expect=code)
    assert capture.one(100_001)["op"] in ("alloc", "map")
    assert capture.stats()["processes"][0]["exit"] == {"code": code}


def test_50_thread_local_destructor_counts_once(memtrack, programs):
    capture = memtrack.run(programs("conformance_aggregates"), "thread_destructor").capture
    capture.assert_sound()
    assert len(capture.sized(30011)) == 5


def test_51_names_of_dead_code_are_not_mixed(run_script):
    script, capture = run_script("""
        def make(i):
            space = {}
            exec("def name_%d():\\n    return bytearray(%d)\\n" % (i, 100_000 + i), space)
            space["name_%d" % i]()
        for i in range(300):
            make(i)
        """)
    rows = {row["bytes"]: row for row in capture.rows("--allocated") if row["allocations"] == 1}
    for i in range(300):
        assert tracked.names(rows[100_001 + i])[0] == f"name_{i}"


def test_52_odd_names_arrive_whole(run_script):
    names = ["a<b>;c|d\"e'&f", "x" * 10_000, "\u00e9\u4e2d\U0001f40d", "tab\tline\n"]
    _, capture = run_script(f"""
        import sys
        def template():
            return bytearray(size)
        for number, name in enumerate({names!r}):
            size = 100_000 + number
            fields = {{"co_name": name}}
            if sys.version_info >= (3, 11):
                fields["co_qualname"] = name
            type(template)(template.__code__.replace(**fields), globals())()
        """)
    for number, name in enumerate(names):
        event = capture.one(100_001 + number)
        assert event["stack"][0]["function"] == name


def test_52_file_name_that_is_not_utf8(memtrack, tmp_path, python):
    text = mark("\nblock = bytearray(100_000)\n", python)
    path = bytes(tmp_path) + b"/odd\xff\xc3name.py"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    argv, output = memtrack.command(python.path)
    ended = tracked.finish([*argv, path])
    assert ended.returncode == 0, ended.stderr
    event = tracked.Capture(memtrack, output).one(100_001)
    file = event["stack"][0]["file"].rpartition("/")[2]
    assert file.startswith("odd") and file.endswith("name.py") and len(file) > len("oddname.py")


SUBINTERPRETER = """
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    bytearray(100_000)  # line: before
    other = interpreters.create()
    run = getattr(interpreters, "run_string", None) or interpreters.exec
    run(other, "import mmap\\ndef inside():\\n    return mmap.mmap(-1, 27 << 12)\\ninside()\\n")
    interpreters.destroy(other)
    bytearray(120_000)  # line: after
    """


def test_53_subinterpreter(run_script):
    script, capture = run_script(SUBINTERPRETER)
    assert_stack(script, capture.one(100_001), "<module>@before")
    assert_stack(script, capture.one(120_001), "<module>@after")
    event = capture.one(27 << 12)
    assert tracked.names(event)[:2] == ["inside", "<module>"] or any(
        frame["kind"] == "special" for frame in event["stack"])


@pytest.mark.parametrize("options, variables", [
    (["-X", "dev"], {}), ([], {"PYTHONMALLOC": "malloc"}), ([], {"PYTHONMALLOC": "debug"}),
    ([], {"PYTHONMALLOC": "mimalloc"})], ids=["dev", "malloc", "debug", "mimalloc"])
def test_54_other_allocators_of_python(memtrack, tmp_path, python, options, variables):
    allocator = variables.get("PYTHONMALLOC")
    if python.is_free_threaded and allocator == "malloc":
        pytest.skip("this interpreter must have its own")
    if python.version < (3, 13) and allocator == "mimalloc":
        pytest.skip("this interpreter has no mimalloc")
    text = """
        def f():
            return bytearray(100_000)  # line: f
        f()
        """
    # Only malloc is what the tracker sees; the block of another is marked.
    script = tracked.Script(tmp_path, mark(text, python, allocator == "mimalloc"))
    ended = memtrack.run(python.path, *options, script, env={**os.environ, **variables})
    ended.capture.assert_sound()
    rows = [row for row in ended.capture.rows("--allocated")
            if 100_001 <= row["bytes"] < 100_200 and row["allocations"] == 1
            and row["stack"]]  # the object too, from 3.15 on
    assert [tracked.names(row) for row in rows] == [["f", "<module>"]]


def test_55_eight_threads_at_once(run_script):
    script, capture = run_script("""
        import mmap, threading
        start = threading.Barrier(8)
        def body(number):
            start.wait()
            for i in range(100):
                held = [mmap.mmap(-1, (100 + number) << 12), bytearray(110_000 + number)]
                [x for x in range(50)]
        threads = [threading.Thread(target=body, args=(n,)) for n in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        """)
    capture.assert_sound()
    for number in range(8):
        assert len(capture.sized((100 + number) << 12)) == 100
        assert len(capture.sized(110_001 + number)) == 100
    result = tracked.replay(capture.events())
    assert result.violations == 0


def test_66_small_objects_come_in_arenas(run_script, python):
    """What Python hands out of its arenas is not ours to see; that it maps them is."""
    if python.is_free_threaded:
        pytest.skip("this interpreter maps its heaps before any of the program's")
    script, capture = run_script("""
        kept = [(i, str(i)) for i in range(200_000)]  # line: kept
        """)
    mine = [event for event in capture.events() if event["stack"]
            and event["stack"][0]["file"] == str(script) and event["op"] in ("alloc", "map")]
    arena = 256 << 10 if python.version < (3, 10) else 1 << 20
    maps = [event["bytes"] for event in mine if event["op"] == "map"]
    assert maps.count(arena) >= 200_000 * 100 // arena
    assert len(mine) < 1000, "there are objects among them"
