"""Programs of another architecture, executed by a tracked one: nobody says anything of our library.

Their loader could not load it, and would say so on stderr. They run untracked, as what they start.
"""
import os
import pathlib
import shutil
import subprocess

import pytest

import tracked

SOURCE = pathlib.Path(__file__).resolve().parent / "c" / "foreign.c"
BUILD = ["gcc", "-m32", "-O1", "-ffreestanding", "-fno-stack-protector", "-nostdlib"]
DYNAMIC = ["-fPIE", "-pie", "-Wl,--dynamic-linker=/lib/ld-linux.so.2"]
STATIC = ["-fno-pie", "-no-pie", "-static"]
COUNT, BLOCK_BYTES = 2000, 40021  # of `hostile`
CODE_DONE, CODE_CANNOT = 9, 12
CODE_HOSTILE = 11
SAID = "foreign\n"


def build(program, options):
    """Build the program, or skip where it cannot be built or does not run."""
    ended = subprocess.run([*BUILD, *options, "-o", program, SOURCE], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
    if ended.returncode != 0:
        pytest.skip(f"not built: {ended.stdout[-300:]}")
    try:
        plain = tracked.finish([program])
    except OSError as error:
        pytest.skip(f"does not run here: {error}")
    assert (plain.returncode, plain.stdout, plain.stderr) == (CODE_DONE, SAID, "")
    return program


@pytest.fixture
def foreign(tmp_path):
    return build(tmp_path / "foreign", DYNAMIC)


@pytest.fixture
def assert_quiet(memtrack):
    """Run a command alone, then tracked: nothing that anybody sees may differ."""
    def run(command, expect, **popen):
        plain = tracked.finish(command, **popen)
        assert (plain.returncode, plain.stderr) == (expect, ""), plain
        ended = memtrack.run(*command, expect=expect, **popen)
        assert (ended.stdout, ended.stderr) == (plain.stdout, "")
        ended.capture.assert_sound()
        assert ended.capture.stats()["capture"]["state"] == "clean"
        return ended.capture

    return run


def write_script(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_its_loader_complains_when_it_gets_the_library(foreign, binary):
    """Else the others here prove nothing."""
    library = binary.parent.parent / "lib" / "libmemtrack.so"
    if not library.exists():
        pytest.skip("this is an installation")
    ended = tracked.finish([foreign], env={"LD_PRELOAD": str(library)})
    assert ended.returncode == CODE_DONE and "cannot be preloaded" in ended.stderr


def test_child_of_a_shell(assert_quiet, foreign):
    assert_quiet(["sh", "-c", '"$0"; exit $?', foreign], CODE_DONE)


@pytest.mark.parametrize("way", ["system", "popen", "spawn", "spawnp", "vfork", "vfork_search",
                                 "execlp", "fexecve", "execveat"])
def test_way_of_starting(assert_quiet, foreign, programs, way):
    is_searched = way in ("spawnp", "vfork_search", "execlp")
    env = {**os.environ, "PATH": f"/nonexistent:{foreign.parent}:{os.environ['PATH']}"}
    assert_quiet([programs("starter"), way, "foreign" if is_searched else foreign], CODE_DONE,
                 env=env)


@pytest.mark.parametrize("way", ["spawn", "vfork", "vfork_search", "execveat"])
def test_relative_path(assert_quiet, foreign, programs, way):
    assert_quiet([programs("starter"), way, "./foreign"], CODE_DONE, cwd=foreign.parent)


def test_search_that_has_no_list(assert_quiet, foreign, programs):
    """Where libc looks then, there is no such program."""
    env = {name: value for name, value in os.environ.items() if name != "PATH"}
    assert_quiet([programs("starter"), "vfork_search", "foreign"], CODE_CANNOT, env=env,
                 cwd=foreign.parent)


def test_search_goes_on_where_libc_does(assert_quiet, foreign, programs, tmp_path):
    """By a folder of that name, a file that is not to be executed, and an empty element."""
    (tmp_path / "folder" / "foreign").mkdir(parents=True)
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / "foreign").write_bytes(programs("hostile").read_bytes())
    env = {**os.environ, "PATH": f"{tmp_path}/folder:{tmp_path}/file::/usr/bin:/bin"}
    assert_quiet([programs("starter"), "vfork_search", "foreign"], CODE_DONE, env=env,
                 cwd=tmp_path)


def test_search_ends_where_libc_does(assert_quiet, foreign, programs, tmp_path):
    """Behind the one that is executed lies another."""
    (tmp_path / "first").mkdir()
    shutil.copy(programs("hostile"), tmp_path / "first" / "foreign")
    env = {**os.environ, "PATH": f"{tmp_path}/first:{foreign.parent}:{os.environ['PATH']}"}
    capture = assert_quiet([programs("starter"), "vfork_search", "foreign", "closes_all"],
                           CODE_HOSTILE, env=env)
    assert len(capture.sized(BLOCK_BYTES)) == COUNT


@pytest.mark.parametrize("first_line", ["#!{0}", "#! \t{0} argument", "#!{1}/inner"])
@pytest.mark.parametrize("way", ["system", "spawn", "vfork", "fexecve"])
def test_script_with_such_an_interpreter(assert_quiet, foreign, programs, tmp_path, way,
                                         first_line):
    write_script(tmp_path / "inner", f"#!{foreign}")
    script = write_script(tmp_path / "script", first_line.format(foreign, tmp_path) + "\nexit 3\n")
    assert_quiet([programs("starter"), way, script], CODE_DONE)


def test_script_of_ours_is_recorded(assert_quiet, foreign, programs, tmp_path):
    """What else stands in it does not matter."""
    script = write_script(tmp_path / "script", f'#!/bin/sh\n#!{foreign}\n"$@"\nexit $?\n')
    capture = assert_quiet([programs("starter"), "vfork", script, programs("hostile"),
                            "closes_all"], CODE_HOSTILE)
    assert len(capture.sized(BLOCK_BYTES)) == COUNT


def test_what_it_starts_runs_untracked(assert_quiet, foreign, programs):
    capture = assert_quiet(["sh", "-c", '"$0" run "$1" closes_all; "$1" closes_all; exit $?', foreign,
                            programs("hostile")], CODE_HOSTILE)
    assert len(capture.sized(BLOCK_BYTES)) == COUNT, "beside it, all is as ever"


def test_what_a_static_one_starts_is_recorded(assert_quiet, programs, tmp_path):
    """It has no loader that would complain, and hands the environment on."""
    static = build(tmp_path / "static", STATIC)
    capture = assert_quiet(["sh", "-c", '"$0" run "$1" closes_all; exit $?', static,
                            programs("hostile")], CODE_HOSTILE)
    assert len(capture.sized(BLOCK_BYTES)) == COUNT


def test_spawn_in_another_folder_is_not_guessed_at(assert_quiet, foreign, programs, tmp_path):
    """The path that is given is right there only; here another program has it."""
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(programs("hostile"), tmp_path / "elsewhere" / "foreign")
    capture = assert_quiet([programs("starter"), "spawn_elsewhere",
                            tmp_path / "elsewhere" / "foreign", "closes_all"], CODE_HOSTILE,
                           cwd=foreign.parent)
    assert len(capture.sized(BLOCK_BYTES)) == COUNT


def test_pipe_is_not_opened(assert_quiet, programs, tmp_path):
    """Whoever opens one waits for its other end."""
    os.mkfifo(tmp_path / "pipe", 0o755)
    assert_quiet([programs("starter"), "vfork", tmp_path / "pipe"], CODE_CANNOT)
