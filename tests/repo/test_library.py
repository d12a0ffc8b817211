"""What the built library may ask of the program that it lies in, read from the file itself.

malloc of the program runs through it: on that way no libc function may be called that allocates,
waits, prints, or reads the environment. The names that its objects leave to others say so.
"""
import json
import pathlib
import re
import subprocess

import pytest

import tree

# What an object may leave to libc, by folder of lib/. The first are calls that compilers make.
OF_COMPILER = {"memcpy", "memmove", "memset", "memcmp", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
OF_TEXT = {"strlen", "strnlen", "strcmp", "strncmp", "strncpy", "strspn", "strcspn",
           "strstr"}
MAY_CALL = {
    # The mutex is on the caller's stack: nobody else ever holds it. The clock is the vDSO's.
    "base": {"__errno_location", "syscall", "clock_gettime", "pthread_mutex_lock",
             "pthread_mutex_unlock"},
    "record": {"__errno_location", "strnlen"},
    # The search for an interpreter, at the start and after a dlopen(): never inside a recording.
    "python": OF_TEXT | {"dl_iterate_phdr", "dlopen", "pthread_self", "strtoul"},
    # At the start alone, but for getauxval(), which reads what the kernel has left.
    "unwind": OF_TEXT | {"dlsym", "getauxval", "strnlen"},
    "session": OF_TEXT,
}
# Of the whole file: as above, and what the constructor and the hooks of processes need.
MAY_IMPORT = set.union(*MAY_CALL.values()) - {"dlopen"} | OF_COMPILER | OF_TEXT | {
    "__environ", "environ", "__register_atfork", "dlsym", "getauxval",
    # Written by the linker into every library.
    "__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable",
}
MOST_TLS_BYTES = 64  # the loader keeps little room for libraries that come late

# On the way of the usual event: where it may go on.
CALL = re.compile(r"^\s+[0-9a-f]+:\s+(?:call|callq|jmp|jmpq|bl|b)\s+\S+ <([^+>]+)", re.M)


def ask(*command):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE,
                          text=True).stdout


@pytest.fixture(scope="module")
def options(binary):
    """The build's options."""
    path = binary.resolve().parent.parent / "meson-info" / "intro-buildoptions.json"
    return {option["name"]: option["value"] for option in json.loads(path.read_text())}


@pytest.fixture(scope="module")
def build(binary, options):
    if options["b_sanitize"] != "none":
        pytest.skip("a sanitizer's build has no library to preload")
    return binary.resolve().parent.parent


@pytest.fixture(scope="module")
def library(build):
    return build / "lib" / "libmemtrack.so"


@pytest.fixture(scope="module")
def dynamic(library):
    return ask("readelf", "-d", library)


def names(table):
    """Return the names of a table of nm, without the versions that they were linked with."""
    return {line.split()[-1].split("@")[0] for line in table.splitlines() if line.strip()}


def objects(build):
    """Yield each object that records: (folder, file, what it defines, what it leaves to others)."""
    table = ask("nm", build / "lib" / "libmemtrack-record.a")
    for part in re.split(r"\n(?=\S+\.o:\n)", "\n" + table):
        title, _, symbols = part.strip().partition(":\n")
        if not title:
            continue
        file = pathlib.PurePath(title).name
        rows = [row.split() for row in symbols.splitlines() if row.strip()]
        yield (file.split("_")[0], file, {row[-1] for row in rows if row[-2] not in "Uw"},
               {row[-1] for row in rows if row[-2] in "Uw"})


def test_objects_of_the_hot_path_call_only_what_never_allocates_or_waits(build):
    all_objects = list(objects(build))
    assert len(all_objects) > 15
    own = set().union(*(defined for _, _, defined, _ in all_objects))
    wrong = {file: bad for folder, file, _, left in all_objects
             if (bad := left - own - OF_COMPILER - MAY_CALL[folder])}
    assert not wrong


def test_the_loader_is_asked_at_the_start_and_by_the_search_for_an_interpreter(build):
    asking = {file for _, file, _, left in objects(build)
              if left & {"dl_iterate_phdr", "dlopen", "dlsym"}}
    assert asking == {"python_runtime.c.o", "unwind_objects.c.o"}


def test_the_library_imports_nothing_else(library):
    assert names(ask("nm", "-D", "--undefined-only", library)) <= MAY_IMPORT


def test_the_library_needs_libc_alone(dynamic):
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
    assert len(needed) == 1 and needed[0].startswith("libc."), needed


def test_the_exported_names_are_those_of_the_map(library):
    listed = tree.text(pathlib.Path("lib/memtrack.map")).partition("local:")[0]
    listed = set(re.findall(r"[\w*]+(?=;)", listed)) - {"memtrack_*"}
    exported = names(ask("nm", "-D", "--defined-only", library))
    assert len(listed) > 30
    assert {name for name in exported if not name.startswith("memtrack_")} == listed


def test_all_is_bound_before_the_first_call(dynamic):
    # A lazy binding takes the loader's lock, in whoever calls first.
    flags = " ".join(re.findall(r"\(FLAGS(?:_1)?\)\s+(.*)", dynamic))
    assert {"NOW", "NODELETE", "INITFIRST"} <= set(flags.split()), flags
    assert "TEXTREL" not in dynamic


def test_thread_variables_are_few_and_there_before_the_thread(library, dynamic):
    # Others are allocated by the loader at a thread's first access: by a malloc, inside ours.
    assert "STATIC_TLS" in dynamic
    [size] = re.findall(r"^\s+TLS\s+(?:0x\w+\s+){4}(0x\w+)", ask("readelf", "-lW", library), re.M)
    assert int(size, 16) <= MOST_TLS_BYTES


# Where the usual event ends: in the slow halves.
ENDS = {"malloc_failed", "malloc_with_stack", "malloc_of_deep_stack",
        "malloc_of_changed_stack", "free_slow", "free_apart",
        "chain_release_own"}
# The ways of malloc: what it jumps to. Of families that are alike the linker may keep one.
WAYS = ["malloc_plain", "malloc_with_mode", "malloc_3_8", "malloc_3_11", "malloc_3_13"]
# And those of all other allocations of a Python program.
NEAR_WAYS = ["allocated_3_8", "allocated_3_11", "allocated_3_13"]


def test_malloc_is_a_jump_to_the_way_of_its_mode(library, options):
    if options["optimization"] in "0g":
        pytest.skip("nothing is inlined here")
    code = ask("objdump", "-d", "--no-show-raw-insn", "--disassemble=malloc", library)
    lines = code.partition("<malloc>:\n")[2].partition("\n\n")[0].splitlines()
    assert len([line for line in lines if not re.search(r"\bnop|endbr|\bbti", line)]) <= 4, lines


@pytest.mark.parametrize("name", [*WAYS, *NEAR_WAYS, "free"])
def test_the_usual_event_is_recorded_without_a_call_a_lock_or_the_kernel(library, options, name):
    if options["optimization"] in "0g":
        pytest.skip("nothing is inlined here")
    code = ask("objdump", "-d", "--no-show-raw-insn", f"--disassemble={name}", library)
    code = code[code.index(f"<{name}>:"):]
    assert "cmpxchg" in code or "stxr" in code, "this is not where events are recorded"
    called = {place.removesuffix(".cold") for place in CALL.findall(code)} - {name}
    assert called and {place for place in called - ENDS if not place.startswith("track_")} == set()
    assert not re.search(r"\block\b|\bsyscall\b|\bsvc\b|\bxchg\b.*\(|\bmfence\b|\brdtsc", code)


@pytest.mark.parametrize("name", ["malloc_sampled", "free_apart"])
def test_a_block_that_is_not_in_the_sample_is_passed_over_without_a_call(library, options, name):
    if options["optimization"] in "0g":
        pytest.skip("nothing is inlined here")
    code = ask("objdump", "-d", "--no-show-raw-insn", f"--disassemble={name}", library)
    code = code[code.index(f"<{name}>:"):]
    called = {place.removesuffix(".cold") for place in CALL.findall(code)} - {name}
    assert called <= {"malloc_failed", "malloc_picked", "free_slow", "free_with_unwinder"}
    assert not re.search(r"\block\b|\bsyscall\b|\bsvc\b|cmpxchg|\bxchg\b.*\(|stxr|\bmfence\b", code)
