"""The unwinder against others, at each allocation of real programs and of stacks made on purpose.

Quick sizes by default, which compare some of the stacks of each program. All of them, and more programs:

    MEMTRACK_BUILD=build pytest tests/unwind --full
"""
import os
import pathlib
import shutil
import signal
import sys

import pytest

import comparing
import interpreters

SCENES = {
    "frames": {}, "exceptions": {}, "jumps": {}, "handlers": {}, "up-and-down": {}, "threads": {},
    "generated": {},
    # A coroutine's outermost frame lies in code that no table tells of: all end there.
    "coroutines": {"stuck_alike": None},
    # By hand and without tables: unw_step() guesses with a frame pointer that is another's.
    "assembly": {"libunwind": None, "guessed": None},
    "bare": {"libunwind": None, "stuck_alike": None, "guessed": None},
}


@pytest.fixture
def compare(programs, tmp_path):
    """Run a program with the library that compares."""
    library = sorted(path for path in programs("unwind_library_one.so").parent.glob("unwind_compare.so"))
    if not library:
        pytest.skip("built without libunwind's headers")

    def run(*argv, **settings):
        return comparing.compare(library[0], tmp_path, argv, **settings)

    return run


@pytest.fixture
def have():
    """Return the path of a program, or skip the test."""
    def find(name):
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"{name} is not installed")
        return path

    return find


@pytest.fixture(params=["omit", "keep"])
def stress(request, programs):
    """The stacks made on purpose: without frame pointers, and with."""
    return programs(f"unwind_stress_{request.param}")


@pytest.mark.parametrize("scene", SCENES)
def test_stacks_made_on_purpose(compare, stress, is_full, scene):
    rounds = 5000 if is_full else 100
    compared = compare(stress, scene, rounds, steps=5, glibc=5)
    compared.assert_equal(rounds, **SCENES[scene])
    assert compared["by_steps"] > 0 and compared["by_glibc"] > 0


def test_coroutines_end_at_their_first_frame(compare, stress):
    """Three frames and what calls them, not one more: nothing lies behind the end of their stacks."""
    compared = compare(stress, "coroutines", 100)
    assert compared["stuck"] == 0 and compared["stuck_alike"] > 100
    assert compared["frames"] < 20 * compared["stacks"]


def test_deep_stacks_are_cut_and_say_so(compare, stress):
    """40 000 frames: what is kept is right, and more than libunwind is asked for."""
    compared = compare(stress, "deep", 2, room=50000).assert_equal(80, truncated=None)
    assert compared["truncated"] > 8
    assert compared["frames"] > 80 * 10000


def test_a_forked_child_begins_anew(compare, stress, is_full):
    rounds = 200 if is_full else 10
    compare(stress, "forks", rounds, steps=5).assert_equal(300 * rounds)


@pytest.fixture
def come_and_go(compare, programs, stress):
    """Run a scene that loads two libraries by turns, at one address, with frames of different sizes."""
    def run(scene, rounds, **settings):
        compared = compare(stress, scene, rounds, programs("unwind_library_one.so"),
                           programs("unwind_library_two.so"), **settings)
        assert compared.ended.returncode != 0 or "at one address 1" in compared.ended.stdout
        return compared

    return run


@pytest.mark.parametrize("scene", ["libraries", "libraries-and-threads"])
def test_libraries_come_and_go_at_one_address(come_and_go, is_full, scene):
    """As glibc has it: libunwind goes on with what it knew of the library before."""
    rounds = 2000 if is_full else 100
    compared = come_and_go(scene, rounds, libunwind=0).assert_equal(10 * rounds)
    assert compared["forgotten"] >= rounds


def test_libunwind_is_wrong_about_libraries_that_come_and_go(come_and_go):
    """Where it differs glibc says what we say; now and then it reads what is no memory, and the program dies."""
    compared = come_and_go("libraries", 100, check=False)
    assert compared.ended.returncode in (0, -signal.SIGSEGV)
    assert compared["libunwind"] > 0 and compared["mismatches"] == 0, compared.text


def test_what_binds_names_late(compare, programs, stress):
    """The loader's own frame there is counted from a register that is not followed: the stack ends with a mark."""
    compared = compare(stress, "late", 1, programs("unwind_library_one.so"),
                       programs("unwind_library_two.so"), steps=1, glibc=1)
    compared.assert_equal(5, stuck=1)


EVERYTHING = """
import ctypes, json, re, sqlite3, threading

def generate(n):
    for i in range(n):
        yield [i] * 100

def fail(depth):
    if depth == 0:
        raise ValueError("x" * 1000)
    fail(depth - 1)

def work(rounds):
    for i in range(rounds):
        json.loads(json.dumps({str(k): [k, "y" * 600] for k in range(30)}))
        re.compile("(a|b)+%d[c-x]*" % i).match("abab%dcc" % i)
        sum(map(len, generate(30)))
        try:
            fail(20)
        except ValueError as error:
            str(error)
        db = sqlite3.connect(":memory:")
        db.execute("create table t (a, b)")
        db.create_function("f", 1, lambda a: "z" * 700)
        db.executemany("insert into t values (?, ?)", [(k, "b" * 600) for k in range(20)])
        db.execute("select f(a), b from t order by b").fetchall()
        compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        numbers = (ctypes.c_int * 20)(*range(20, 0, -1))
        ctypes.CDLL(None).qsort(numbers, 20, 4, compare(lambda a, b: bytearray(900) and 1))

threads = [threading.Thread(target=work, args=(ROUNDS,)) for _ in range(2)]
[thread.start() for thread in threads]
work(ROUNDS)
[thread.join() for thread in threads]
"""

LIBRARY_TESTS = ["test_json", "test_re", "test_sqlite3", "test_ctypes", "test_threading",
                 "test_exceptions", "test_generators", "test_descr", "test_dict", "test_decimal"]


@pytest.mark.parametrize("malloc", ["pymalloc", "malloc"])
def test_python(compare, python, is_full, monkeypatch, malloc):
    if not is_full and (python.is_debug or python.version[1] not in (8, 11, 13)):
        pytest.skip("with --full")
    if malloc == "malloc" and (python.is_free_threaded or not is_full and python.version[1] != 13):
        pytest.skip("pymalloc is all there is, or with --full")
    if malloc == "malloc":
        monkeypatch.setenv("PYTHONMALLOC", malloc)
    rounds = "20" if is_full else "2"
    compared = compare(python.path, "-c", EVERYTHING.replace("ROUNDS", rounds))
    compared.assert_equal(1000)
    assert compared["recalled"] > 0, "stacks that come again are not met"


@pytest.mark.parametrize("minor", [11, 13])
def test_python_and_its_own_tests(compare, is_full, minor):
    if not is_full:
        pytest.skip("with --full")
    python = [python for python in interpreters.found() if python.version[1] == minor
              and not (python.is_debug or python.is_free_threaded) and python.name.startswith("own")]
    if not python:
        pytest.skip(f"there is no 3.{minor} with its tests")
    compared = compare(python[0].path, "-m", "test", "-q", *LIBRARY_TESTS, timeout=1200, steps=1000,
                       check=False)
    # Tests of recursion are deeper than is kept; some call C functions of no library.
    compared.assert_equal(500_000, truncated=None)


NUMPY = """
import numpy, threading
def work():
    for n in range(30, 60):
        a = numpy.random.rand(n, n)
        numpy.linalg.svd(a); numpy.sort(a @ a.T, axis=0).astype(str); numpy.fft.fft(a)
threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
work()
[thread.join() for thread in threads]
"""


def test_numpy(compare, packages, is_full):
    if not is_full and "MEMTRACK_TEST_PACKAGES" not in os.environ:
        pytest.skip("with --full, or where packages are kept")
    compare(packages("numpy"), "-c", NUMPY).assert_equal(5000)


CPLUSPLUS = """
#include <%s>
#include <string>
#include <vector>
int main(int count, char **words) { std::vector<std::string> all(words, words + count);
%s return int(all.size()); }
"""


def compile_with(compare, compiler, folder, is_full):
    source = folder / "program.cc"
    source.write_text(CPLUSPLUS % (
        ("regex", 'return std::regex_match(all[0], std::regex("a.*b|[x-z]+"));') if is_full
        else ("map", "")))
    return compare(compiler, "-O2", "-c", "-o", folder / "program.o", source,
                   each=1 if is_full else 20, steps=1000)


def test_gcc(compare, have, tmp_path, is_full):
    compile_with(compare, have("g++"), tmp_path, is_full).assert_equal(10_000)


def test_clang(compare, have, tmp_path, is_full):
    compile_with(compare, have("clang++-14"), tmp_path, is_full).assert_equal(5000)


RUST = """
use std::collections::HashMap;
fn main() {
    let threads: Vec<_> = (0..3).map(|k| std::thread::spawn(move || {
        (0..2000).map(|i| format!("{}{}", k, i)).collect::<Vec<_>>().len() })).collect();
    for thread in threads { println!("{}", thread.join().unwrap()); }
    let mut map: HashMap<String, Vec<usize>> = HashMap::new();
    for i in 0..2000 { map.entry(format!("k{}", i % 100)).or_default().push(i); }
    let failed = std::panic::catch_unwind(|| { let none: Vec<i32> = vec![]; none[map.len()] });
    println!("{}", failed.is_err());
}
"""


def test_rust(compare, have, tmp_path):
    (tmp_path / "main.rs").write_text(RUST)
    compiled = compare(have("rustc"), "-O", "-o", tmp_path / "main", tmp_path / "main.rs", each=20)
    compiled.assert_equal(500)
    (tmp_path / "counts").unlink()
    compare(tmp_path / "main").assert_equal(5000)


def test_perl(compare, have):
    compare(have("perl"), "-e", "my %h; $h{$_} = [1..5] for 1..9000; eval { die {a => 1} };"
            "print join ',', sort { $a <=> $b } keys %h").assert_equal(10_000)


def test_git(compare, have, tmp_path):
    git = have("git")
    shutil.copytree(pathlib.Path(__file__).parent, tmp_path / "tree")
    for words in (["init", "-q", "."], ["add", "tree"],
                  ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "c"],
                  ["log", "--stat"], ["grep", "-c", "unwind"], ["gc", "-q"]):
        compared = compare(git, *words)
    compared.assert_equal(3000)


def test_sqlite(compare, have):
    compare(have("sqlite3"), ":memory:", "create table t(a, b); with recursive c(x) as (select 1 union all "
            "select x + 1 from c where x < 2000) insert into t select x, x || 'a' from c; "
            "select count(distinct b), group_concat(b) from t order by b;").assert_equal(3000)


RECORDED = [*SCENES, "deep", "forks", "libraries", "libraries-and-threads", "late", "liars", "overflow"]


@pytest.mark.parametrize("scene", RECORDED)
def test_stacks_made_on_purpose_are_recorded(memtrack, programs, stress, scene):
    """Tables that lie, frame pointers that are garbage, stacks with nothing behind them: it runs, nothing is lost."""
    ended = memtrack.run(stress, scene, 20 if scene != "deep" else 2, programs("unwind_library_one.so"),
                         programs("unwind_library_two.so"), options=["--native"])
    assert ended.stdout.splitlines()[-1].split()[0] == scene
    totals = ended.capture.assert_sound()
    assert totals["unknown_frees"] == 0 and totals["allocations"] >= 10


# Each instruction, where functions begin and end: from allocations on, through all that comes.
STEPPED = {"frames": 20, "exceptions": 10, "up-and-down": 15}


def assert_stepped(compared, least, share_stuck):
    """What is counted from a register that is not followed has a mark; nothing else has."""
    compared.assert_equal(1, stuck=None, stuck_alike=None, libunwind=None, guessed=None)
    assert compared["instructions"] >= least, compared.counts
    assert compared["stuck"] <= share_stuck * compared["instructions"], (compared.counts,
                                                                        compared.text)


@pytest.mark.parametrize("scene", STEPPED)
def test_each_instruction(compare, stress, is_full, scene):
    """With libunwind's unw_step() from the interrupted registers."""
    rounds = STEPPED[scene] * (100 if is_full else 1)
    compared = compare(stress, scene, rounds, trap_each=7, trap_length=400)
    assert_stepped(compared, 3000, 0.02)
    assert compared["instructions_libc"] > 100


def test_each_instruction_of_binding_names(compare, programs, stress):
    compared = compare(stress, "late", 1, programs("unwind_library_one.so"),
                       programs("unwind_library_two.so"), trap_each=1, trap_length=20000)
    assert_stepped(compared, 1000, 0.5)
    assert compared["instructions_loader"] > 500


def test_each_instruction_of_python(compare, is_full):
    each = 50 if is_full else 500
    compared = compare(sys.executable, "-c", "import json; [json.loads('[1, {\"a\": 2.5}]') for _ in range(999)]",
                       trap_each=each, trap_length=500)
    assert_stepped(compared, 2000, 0.02)
