"""Programs built with a sanitizer, executed by a tracked one: they run, and report, as without.

Their runtimes end the program where another library comes first, or lose its frames from what they
report; so ours leaves such a program.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import tracked

SOURCE = pathlib.Path(__file__).resolve().parent / "c" / "sanitized.c"
BLOCK_BYTES = 40021
CODE_DONE, CODE_CANNOT = 9, 12

Build = collections.namedtuple("Build", "compiler options mistake")

JEALOUS = [Build(*row) for row in (
    ("gcc", "-fsanitize=address", "overflow"),
    ("gcc", "-fsanitize=address", "leak"),
    ("gcc", "-fsanitize=address -static-libasan", "overflow"),
    ("gcc", "-fsanitize=leak", "leak"),
    ("gcc", "-fsanitize=thread", "race"),
    ("gcc", "-fsanitize=thread -static-libtsan", "race"),
    ("clang", "-fsanitize=address", "leak"),
    ("clang", "-fsanitize=address -shared-libsan", "overflow"),
    ("clang", "-fsanitize=leak", "leak"),
    ("clang", "-fsanitize=thread", "race"),
    ("clang", "-fsanitize=memory", "uninitialised"))]
HARMLESS = [Build(*row) for row in (
    ("gcc", "-fsanitize=undefined", "shift"),
    ("gcc", "-fsanitize=undefined -static-libubsan", "shift"),
    ("clang", "-fsanitize=undefined", "shift"))]


def name_of(build):
    return f"{build.compiler} {build.options} {build.mistake}"


def find_compiler(name):
    for path in (shutil.which(name), *(shutil.which(f"{name}-{version}")
                                       for version in range(22, 11, -1))):
        if path is not None:
            return path
    return pytest.skip(f"there is no {name}")


def runtime_folder(compiler):
    """Where clang keeps its shared runtimes; gcc's are where the loader looks."""
    folder = subprocess.run([compiler, "-print-runtime-dir"], stdout=subprocess.PIPE, text=True,
                            stderr=subprocess.DEVNULL, check=False).stdout.strip()
    # Without a folder for each target it names one that is not there.
    return folder if os.path.isdir(folder) else str(pathlib.Path(folder).parent / "linux")


@pytest.fixture
def built(tmp_path):
    """Build the program, or skip where the compiler lacks the sanitizer."""
    def build(row):
        compiler, program = find_compiler(row.compiler), tmp_path / "sanitized"
        options = row.options.split()
        if "-shared-libsan" in options:
            options.append(f"-Wl,-rpath,{runtime_folder(compiler)}")
        ended = subprocess.run([compiler, "-g", "-pthread", *options, "-o", program, SOURCE],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               check=False)
        if ended.returncode != 0:
            pytest.skip(f"not built: {ended.stdout[-300:]}")
        return program

    return build


def without_numbers(report):
    """What differs from one run to the next: addresses, pids."""
    return re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{12}\b|==\d+==|[pt]id=\d+|: \d+ Segm", "N", report)


def without_ours(text):
    """What a tracked program says of itself, less the two variables that are ours."""
    text, count = re.subn(r"^(LD_PRELOAD|MEMTRACK_SESSION)=.*\n", "", text, flags=re.M)
    assert count == 2
    return text


@pytest.fixture
def assert_alike(memtrack, tmp_path):
    """Run a command alone, then tracked: nothing that anybody sees may differ."""
    def run(command, row, **popen):
        plain = tracked.finish(command, **popen)
        if plain.returncode in (0, 139):
            pytest.skip(f"the sanitizer does not work here: {plain.stderr[-300:]}")
        assert plain.stdout.startswith(str(tmp_path)) and plain.returncode != CODE_CANNOT, plain
        ended = memtrack.run(*command, check=False, **popen)
        seen = ended.stdout if row in JEALOUS else without_ours(ended.stdout)
        assert (ended.returncode, seen) == (plain.returncode, plain.stdout)
        if row.mistake == "race":  # which of the two came first is not certain
            assert "make_block" in plain.stderr and "make_block" in ended.stderr
        else:
            assert without_numbers(ended.stderr) == without_numbers(plain.stderr)
        ended.capture.assert_sound()
        assert ended.capture.stats()["capture"]["state"] == "clean"
        return ended.capture

    return run


@pytest.mark.parametrize("row", JEALOUS, ids=name_of)
def test_sanitized_child_of_a_shell_reports_as_without_us(assert_alike, built, row):
    capture = assert_alike(["sh", "-c", '"$0" "$1"; exit $?', str(built(row)), row.mistake], row)
    assert not capture.sized(BLOCK_BYTES)


@pytest.mark.parametrize("row", HARMLESS, ids=name_of)
def test_child_that_nothing_stands_in_the_way_of_is_recorded(assert_alike, built, row):
    capture = assert_alike(["sh", "-c", '"$0" "$1"; exit $?', str(built(row)), row.mistake], row)
    assert len(capture.sized(BLOCK_BYTES)) == 1


@pytest.mark.parametrize("way", ["system", "popen", "spawn", "spawnp", "spawn_elsewhere", "vfork",
                                 "vfork_search", "execlp", "fexecve", "execveat", "raw"])
def test_way_of_starting_a_sanitized_program(assert_alike, built, programs, tmp_path, way):
    built(JEALOUS[0])
    is_searched = way in ("spawnp", "vfork_search", "execlp")
    is_shell = way in ("system", "popen")
    command = f"{tmp_path}/sanitized overflow" if is_shell else \
        "sanitized" if is_searched else f"{tmp_path}/sanitized"
    env = {**os.environ, "PATH": f"/nonexistent:{tmp_path}:{os.environ['PATH']}"}
    assert_alike([programs("starter"), way, command, *([] if is_shell else ["overflow"])],
                 JEALOUS[0], env=env)


@pytest.mark.parametrize("row", [JEALOUS[0], JEALOUS[5]], ids=name_of)
@pytest.mark.parametrize("way", ["spawn", "raw", "vfork"])
def test_script_whose_interpreter_is_sanitized(assert_alike, built, programs, tmp_path, way, row):
    """The process is named after the script."""
    script = tmp_path / "script"
    script.write_text(f"#!{built(row)} {row.mistake}\n")
    script.chmod(0o755)
    assert_alike([programs("starter"), way, str(script), "one", "two words", ""], row)


def test_script_that_starts_a_sanitized_program(assert_alike, built, tmp_path):
    script = tmp_path / "script"
    script.write_text('#!/bin/sh\nenv -u HOME ./sanitized "$@"\nexit $?\n')
    script.chmod(0o755)
    built(JEALOUS[0])
    assert_alike(["env", "EXTRA=1", "./script", "overflow"], JEALOUS[0], cwd=tmp_path)


def test_link_to_a_sanitized_program(assert_alike, built, tmp_path):
    os.symlink(built(JEALOUS[0]), tmp_path / "link")
    assert_alike(["sh", "-c", './link overflow; exit $?'], JEALOUS[0], cwd=tmp_path)


def test_suppressions_by_function_hold(memtrack, built, tmp_path):
    row = Build("gcc", "-fsanitize=leak", "leak")
    (tmp_path / "suppressions").write_text("leak:make_block\n")
    env = {**os.environ, "LSAN_OPTIONS": f"suppressions={tmp_path}/suppressions"}
    command = ["sh", "-c", '"$0" leak; exit $?', str(built(row))]
    assert tracked.finish(command, env=env).returncode == CODE_DONE
    memtrack.run(*command, env=env, expect=CODE_DONE)


def test_sanitizer_that_is_preloaded_behind_us(memtrack, programs):
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE,
                             text=True, check=True).stdout.strip()
    program = programs("sanitized")
    if not os.path.isabs(library):
        pytest.skip("gcc has no AddressSanitizer here")
    plain = tracked.finish(["sh", "-c", 'LD_PRELOAD="$1" exec "$0"', program, library])
    assert plain.returncode == CODE_DONE
    ended = memtrack.run("sh", "-c", 'LD_PRELOAD="$LD_PRELOAD $1" exec "$0"', program, library,
                         expect=CODE_DONE)
    assert (ended.stdout, ended.stderr) == (plain.stdout, plain.stderr)


def test_our_own_traces_without_a_session_are_no_harm(built, programs, binary):
    """The library is preloaded, but nobody records."""
    program = built(JEALOUS[0])
    library = binary.parent.parent / "lib" / "libmemtrack.so"
    if not library.exists():
        pytest.skip("this is an installation")
    command = [programs("starter"), "spawn", program]
    plain = tracked.finish(command, env={"A": "1", "B": "2"})
    ended = tracked.finish(command, env={"A": "1", "LD_PRELOAD": str(library), "B": "2"})
    assert (ended.returncode, ended.stdout, ended.stderr) == \
        (CODE_DONE, plain.stdout, plain.stderr)


@pytest.mark.parametrize("row", JEALOUS, ids=name_of)
def test_sanitized_program_is_refused_with_a_reason(memtrack, built, row):
    ended = memtrack.run(built(row), expect=126)
    assert re.search(r"is built with (\w+Sanitizer|a sanitizer), ", ended.stderr)
    assert ended.stdout == "" and not ended.capture.path.exists()


def test_preloaded_sanitizer_is_refused_with_a_reason(memtrack, programs):
    env = {**os.environ, "LD_PRELOAD": "/nonexistent/a.so:/nonexistent/libasan.so.8"}
    ended = memtrack.run(programs("sanitized"), expect=126, env=env)
    assert "LD_PRELOAD gives it AddressSanitizer" in ended.stderr
    assert ended.stdout == "" and not ended.capture.path.exists()
