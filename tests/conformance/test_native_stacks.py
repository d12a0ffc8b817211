"""Native stacks of known programs: every function by its name, innermost first, and none that is not there.

Programs are compiled here, as it is how they are compiled that matters. Blocks have sizes of their own,
by which their events are found.
"""
import collections
import pathlib
import shutil
import subprocess
import sys

import pytest

import interpreters
import tracked

NATIVE = ["--native"]
HEAD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noipa))
#define INLINE static inline __attribute__((always_inline))
static void *volatile kept;
#define KEEP(block) do { kept = (block); } while (0)
"""


@pytest.fixture
def build(tmp_path):
    """Compile a text of C (C++ by its flags) to a program, or a library, in the test's folder."""
    def compile_text(text, name="program", flags=("-O1", "-g"), compiler="gcc"):
        source = tmp_path / (pathlib.Path(name).stem + (".cpp" if compiler == "g++" else ".c"))
        source.write_text(HEAD + text, encoding="utf-8")
        shared = ["-shared", "-fPIC"] if name.endswith(".so") else []
        subprocess.run([compiler, *flags, *shared, source, "-o", tmp_path / name, "-pthread", "-ldl"], check=True)
        return tmp_path / name
    return compile_text


def functions(event):
    return [frame["function"] for frame in event["stack"]]


def line_of(program, text):
    """The number of the line of a program's source that holds a text."""
    lines = program.with_suffix(".c").read_text(encoding="utf-8").splitlines()
    numbers = [number for number, line in enumerate(lines, 1) if text in line]
    assert len(numbers) == 1, (text, numbers)
    return numbers[0]


CHAIN = r"""
NOINLINE void baz(void) { KEEP(valloc(1234)); }
NOINLINE void bar(void) { baz(); kept = &kept; }
NOINLINE void foo(void) { bar(); kept = &kept; }
int main(void) { foo(); return 0; }
"""


@pytest.mark.parametrize("flags", [["-O0"], ["-O2"], ["-O2", "-fomit-frame-pointer"], ["-O1", "-fno-pie", "-no-pie"],
                                   ["-O2", "-Wl,-z,lazy"], ["-O1", "-fcf-protection=full"]],
                         ids=" ".join)
def test_56_functions_in_functions(memtrack, build, flags):
    program = build(CHAIN, flags=["-g", *flags])
    event = memtrack.run(program, options=NATIVE).capture.one(1234)
    assert functions(event) == ["baz", "bar", "foo", "main"]
    assert all(frame["kind"] == "native" and frame["module"] == "program" for frame in event["stack"])
    assert event["stack"][0]["line"] == line_of(program, "valloc(1234)")
    assert event["stack"][0]["file"] == str(program.with_suffix(".c"))


def test_57_inlined_functions_are_frames_of_their_own(memtrack, build):
    program = build(r"""
    INLINE void leaf(int size) { KEEP(malloc(size)); }
    INLINE void middle(int size) { leaf(size); }
    NOINLINE void outer(void) { middle(1234); kept = &kept; }
    int main(void) { outer(); leaf(4321); return 0; }
    """, flags=["-O2", "-g"])
    capture = memtrack.run(program, options=NATIVE).capture
    event = capture.one(1234)
    assert functions(event) == ["leaf", "middle", "outer", "main"]
    assert [frame["kind"] for frame in event["stack"]] == ["inlined", "inlined", "native", "native"]
    assert [frame["kind"] for frame in capture.one(4321)["stack"]] == ["inlined", "native"]
    rows = {row["function"]: row for row in capture.json("summary")["rows"]}
    assert rows["leaf"]["own_bytes"] == 1234 + 4321


@pytest.mark.parametrize("depth", [100, 2048])
def test_58_deep_recursion(memtrack, build, depth):
    program = build(r"""
    NOINLINE int down(int left) { if (left == 0) KEEP(malloc(1234)); else return down(left - 1) + 1; return 0; }
    int main(int count, char **arguments) { return count > 1 ? down(atoi(arguments[1])) < 0 : 1; }
    """)
    event = memtrack.run(program, depth, options=NATIVE).capture.one(1234)
    called = functions(event)
    assert called[:-1] == ["down"] * (len(called) - 1)
    # What is too deep is cut, and says so.
    assert (called[-1] == "main" and len(called) == depth + 2) or (called[-1] == "[truncated]" and len(called) > 256)


def test_59_a_hundred_threads(memtrack, build):
    program = build(r"""
    NOINLINE void allocate_memory(void) { void *block; if (posix_memalign(&block, 64, 1234) == 0) { KEEP(block); free(block); } }
    static void *worker(void *arg) { for (int i = 0; i < 100; i++) allocate_memory(); return arg; }
    int main(void) { pthread_t threads[100];
        for (int i = 0; i < 100; i++) pthread_create(&threads[i], NULL, worker, NULL);
        for (int i = 0; i < 100; i++) pthread_join(threads[i], NULL);
        return 0; }
    """)
    capture = memtrack.run(program, options=NATIVE).capture
    events = capture.sized(1234)
    assert len(events) == 10_000 and {event["allocator"] for event in events} == {"posix_memalign"}
    assert {tuple(functions(event)) for event in events} == {("allocate_memory", "worker")}
    assert len({event["tid"] for event in events}) == 100
    capture.assert_sound()


MIXED = r"""
typedef void callback(void);
NOINLINE void c_allocate(int size) { KEEP(malloc(size)); kept = &kept; }
NOINLINE void c_inner(callback *back) { back(); kept = &kept; }
void c_call(callback *back) { c_inner(back); kept = &kept; }
void c_leaf(int size) { c_allocate(size); kept = &kept; }
"""

MIXED_SCRIPT = r"""
    import ctypes, sys
    lib = ctypes.CDLL(sys.argv[1])
    def inner():
        lib.c_leaf(12345)
    @ctypes.CFUNCTYPE(None)
    def back():
        inner()
    def outer(depth):
        if depth:
            return outer(depth - 1)
        lib.c_call(back)
    def begin():
        outer(3)
    begin()
"""


def test_60_python_calls_c_calls_python_calls_c(memtrack, build, tmp_path, python):
    library = build(MIXED, "libmixed.so")
    script = tracked.Script(tmp_path, MIXED_SCRIPT)
    capture = memtrack.run(python.path, script, library, options=NATIVE).capture
    event = capture.one(12345)
    mine = [frame["function"] for frame in event["stack"]
            if frame["kind"] == "python" or frame["module"] == library.name]
    assert mine == ["c_allocate", "c_leaf", "inner", "back", "c_inner", "c_call"] + ["outer"] * 4 + ["begin", "<module>"]
    # What is between is how Python calls C: nothing of the interpreter's own is shown.
    others = {frame["module"] for frame in event["stack"] if frame["kind"] == "native"} - {library.name}
    assert all("ctypes" in module or "ffi" in module for module in others), others
    plain = capture.one(12345, "--no-native")
    assert [frame["function"] for frame in plain["stack"]] == \
        [frame["function"] for frame in event["stack"] if frame["kind"] == "python"]
    with_runtime = capture.one(12345, "--show-runtime")
    assert [name for name in functions(with_runtime) if name in mine] == mine
    assert len(with_runtime["stack"]) > len(event["stack"])


def test_60_recursion_in_python_shows_no_frame_of_the_interpreter(memtrack, tmp_path, python):
    script = tracked.Script(tmp_path, r"""
    import ctypes
    malloc = ctypes.CDLL(None).malloc
    def down(left):
        return [malloc(12345)] if left == 0 else [value for value in down(left - 1)]
    down(20)
    """)
    event = memtrack.run(python.path, script, options=NATIVE).capture.one(12345)
    called = [frame for frame in event["stack"] if frame["kind"] == "python"]
    assert [name for name in tracked.names(event) if name != "<listcomp>"] == ["down"] * 21 + ["<module>"]
    # Those of ctypes are innermost, and the only ones.
    assert event["stack"][-len(called):] == called


def test_61_a_stripped_interpreter(memtrack, tmp_path):
    stripped = [python for python in interpreters.found() if python.path.startswith("/usr/bin/")]
    if not stripped:
        pytest.skip("there is none")
    script = tracked.Script(tmp_path, r"""
    import ctypes
    def inner():
        ctypes.CDLL(None).malloc(12345)
    def main():
        inner()
    main()
    """)
    capture = memtrack.run(stripped[0].path, script, options=NATIVE).capture
    assert tracked.names(capture.one(12345)) == ["inner", "main", "<module>"]


def test_61_a_stripped_library_is_told_by_module_and_offset(memtrack, build):
    program = build(CHAIN)
    subprocess.run(["strip", program], check=True)
    capture = memtrack.run(program, options=NATIVE).capture
    called = functions(capture.one(1234))
    assert len(called) == 4 and all(name.startswith("program+0x") for name in called)
    names = capture.stats()["native_names"]
    mine = [module for module in names["unnamed_modules"] if module["module"] == "program"]
    assert len(mine) == 1 and mine[0]["why"] == "stripped" and mine[0]["unnamed"] == mine[0]["addresses"] >= 4


def test_61_a_file_that_has_changed_gives_no_names(memtrack, build):
    program = build(CHAIN)
    capture = memtrack.run(program, options=[*NATIVE, *no_symbols(memtrack)]).capture
    assert functions(capture.one(1234))[0] == "baz"
    build(CHAIN.replace("baz", "wrong_name"))
    other = tracked.Capture(memtrack, capture.path)
    assert functions(other.one(1234))[0].startswith("program+0x")
    assert [module["why"] for module in other.stats()["native_names"]["unnamed_modules"]
            if module["module"] == "program"] == ["changed"]
    program.unlink()
    assert [module["why"] for module in other.stats()["native_names"]["unnamed_modules"]
            if module["module"] == "program"] == ["missing"]


def no_symbols(memtrack):
    """What keeps `run` from storing names, where it does that."""
    return ["--no-symbols"] if "--no-symbols" in memtrack.report("run", "--help").stdout else []


def test_62_a_library_in_the_place_of_another(memtrack, build, tmp_path):
    for number in 1, 2:
        build(f"NOINLINE void allocate_{number}(void) {{ KEEP(malloc(1000 + {number})); kept = &kept; }}\n"
              f"void enter(void) {{ allocate_{number}(); kept = &kept; }}\n", f"libpart{number}.so")
    program = build(r"""
    NOINLINE void *load(const char *name) {
        void *library = dlopen(name, RTLD_NOW);
        void *enter = dlsym(library, "enter");
        ((void (*)(void))enter)();
        dlclose(library);
        return enter;
    }
    int main(int count, char **arguments) {
        int same = 0;
        for (int i = 0; i < 10; i++)
            same += load(arguments[1]) == load(arguments[2]);
        printf("SAME %d\n", same);
        return count != 3;
    }
    """)
    ended = memtrack.run(program, tmp_path / "libpart1.so", tmp_path / "libpart2.so", options=NATIVE)
    assert ended.words()["SAME"][0] > 0
    for number in 1, 2:
        events = ended.capture.sized(1000 + number)
        assert len(events) == 10
        assert {tuple(functions(event)) for event in events} == {(f"allocate_{number}", "enter", "load", "main")}
        assert {event["stack"][0]["module"] for event in events} == {f"libpart{number}.so"}


def test_63_no_frame_is_the_trackers(memtrack, build, tmp_path, any_python):
    program = build(CHAIN)
    script = tracked.Script(tmp_path, "import json, threading\n"
                                      "t = threading.Thread(target=json.dumps, args=([1] * 9999,)); t.start(); t.join()\n")
    for command in [program], [any_python.path, script]:
        capture = memtrack.run(*command, options=NATIVE).capture
        modules = collections.Counter(frame["module"] for event in capture.events("--show-runtime")
                                      for frame in event["stack"])
        assert modules and not [name for name in modules if name and "memtrack" in name], modules


def test_14_what_the_c_library_allocates_for_its_caller(memtrack, build):
    program = build(r"""
    NOINLINE void copy(void) { char text[1235]; memset(text, 'x', 1234); text[1234] = 0; KEEP(strdup(text)); }
    int main(void) { copy(); return 0; }
    """, flags=["-O1", "-g", "-fno-builtin"])
    event = memtrack.run(program, options=NATIVE).capture.one(1235)
    assert event["stack"][0]["module"].startswith("libc.") and functions(event)[1:] == ["copy", "main"]


def test_16_constructor_of_a_loaded_library(memtrack, build, tmp_path):
    build("__attribute__((constructor)) static void construct(void) { KEEP(malloc(1234)); kept = &kept; }\n",
          "libconstructed.so")
    program = build("""
    NOINLINE int load(const char *name) { void *library = dlopen(name, RTLD_NOW); kept = library; return library == NULL; }
    int main(int count, char **arguments) { return count != 2 || load(arguments[1]); }
    """)
    event = memtrack.run(program, tmp_path / "libconstructed.so", options=NATIVE).capture.one(1234)
    called = functions(event)
    assert called[0] == "construct" and called[-2:] == ["load", "main"]


def test_13_what_the_compiler_calls_to_have_memory_is_folded(memtrack, build):
    program = build(r"""
    #include <vector>
    struct Big { char bytes[12345]; };
    NOINLINE Big *make() { return new Big; }
    NOINLINE std::vector<short> *fill() { auto v = new std::vector<short>; v->reserve(5000); return v; }
    int main() { KEEP(make()); KEEP(fill()); return 0; }
    """, compiler="g++", flags=["-O1", "-g"])
    capture = memtrack.run(program, options=NATIVE).capture
    assert [name.partition("(")[0] for name in functions(capture.one(12345))] == ["make", "main"]
    assert functions(capture.one(12345, "--show-runtime"))[0].startswith("operator new(")
    called = functions(capture.one(10_000))
    assert called[-1].startswith("main") and called[-2].startswith("fill") and called[0].startswith("std::vector<")
    text = memtrack.report("summary", capture.path, "--width", "80").stdout
    assert all(len(line) <= 80 for line in text.splitlines()), text


def test_46_threads_that_are_not_pythons(memtrack, build, tmp_path, any_python):
    library = build(r"""
    NOINLINE void work_hard(void) { KEEP(malloc(12345)); kept = &kept; }
    static void *run_thread(void *arg) { work_hard(); return arg; }
    void start(void) { pthread_t thread; if (pthread_create(&thread, NULL, run_thread, NULL) == 0) pthread_join(thread, NULL); }
    """, "libthread.so")
    script = tracked.Script(tmp_path, "import ctypes, sys\nctypes.CDLL(sys.argv[1]).start()\n")
    capture = memtrack.run(any_python.path, script, library, options=NATIVE).capture
    assert functions(capture.one(12345)) == ["work_hard", "run_thread"]
    assert capture.one(12345, "--no-native")["stack"] == []


def test_reports_of_a_program_without_python_say_functions_and_lines(memtrack, build):
    program = build(CHAIN)
    capture = memtrack.run(program, options=NATIVE).capture
    line = line_of(program, "valloc(1234)")
    row = next(row for row in capture.rows("--leaks") if row["allocator"] == "valloc")
    assert (row["stack"][0]["function"], row["stack"][0]["line"]) == ("baz", line)
    text = memtrack.report("tree", capture.path, "--leaks").stdout
    assert "baz" in text and f"program.c:{line}" in text
    assert capture.json("info")["counts"]["native_frames"] >= 4
    page = capture.path.with_suffix(".html")
    assert memtrack.report("flamegraph", "-q", "-o", page, capture.path).returncode == 0
    without = memtrack.report("tree", capture.path, "--leaks", "--no-native").stdout
    assert "baz" not in without and "[no Python stack]" in without


def test_a_capture_without_native_stacks_has_none(memtrack, build):
    capture = memtrack.run(build(CHAIN)).capture
    assert capture.one(1234)["stack"] == [] and capture.stats()["native_names"] is None


if shutil.which("gcc") is None or sys.platform != "linux":
    pytestmark = pytest.mark.skip(reason="no compiler")
