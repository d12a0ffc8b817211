"""The walker in every interpreter we have: checks/*.py run there, with the probe preloaded.

A check script compares what the walker says with what the interpreter says of itself, and prints
what it has compared as one line of JSON. Nothing may be wrong, and no check may be missing.
"""

import json
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
PROBE = os.environ["MEMTRACK_PROBE"]
CACHE = os.environ.get("MEMTRACK_INTERPRETERS") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "memtrack/interpreters")


def path_of(interpreter):
    name, path = interpreter
    if path.startswith("skipped: "):
        pytest.skip("%s: %s" % (name, path[len("skipped: "):]))
    return path


def run(interpreter, script, *arguments, **more):
    """Run a check script and return its result; its failures fail the test."""
    environment = dict(os.environ, MEMTRACK_PROBE=PROBE, LD_PRELOAD=PROBE,
                       PYTHONDONTWRITEBYTECODE="1", PYTHONIOENCODING="utf-8",
                       MALLOC_PERTURB_="0",  # meson sets it, and the interpreters crawl
                       PYTHONPATH=os.path.join(CACHE, "packages", interpreter[0]), **more)
    done = subprocess.run([path_of(interpreter), str(HERE / "checks" / script), *arguments],
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", timeout=300)
    assert done.returncode >= 0, "killed by signal %d: %s" % (-done.returncode, done.stderr[-2000:])
    lines = done.stdout.splitlines()
    assert lines, "no result: %s" % done.stderr[-2000:]
    result = json.loads(lines[-1])
    assert result["failures"] == []
    assert result["failed"] == 0 and result["faults"] == 0 and done.returncode == 0, done.stderr
    assert result["ready"] == 1
    return result


def test_every_way_to_a_line_gives_the_stack_of_traceback(interpreter):
    result = run(interpreter, "cases.py")
    assert result["passed"] >= 1400
    assert result["names_lost"] == 0
    if result["skipped"]:
        pytest.skip("but for " + "; ".join(result["skipped"]))


def test_random_programs_give_the_stack_of_the_frame_objects(interpreter):
    assert run(interpreter, "random_programs.py", "1", "60")["passed"] >= 49000


def test_the_stack_is_right_whatever_else_is_walked_between(interpreter):
    """Each allocation of the interpreter is walked, at every point where there is one."""
    free_threaded = interpreter[0].endswith("t")
    more = {} if free_threaded else {"PYTHONMALLOC": "malloc"}
    result = run(interpreter, "random_programs.py", "5", "8", PROBE_EVERY="1", **more)
    assert result["passed"] >= 5000
    assert result["walks"] >= (5000 if free_threaded else 100000)


@pytest.mark.parametrize("jit", ["0", "1"])
def test_the_stack_is_right_in_compiled_code(interpreter, jit):
    if interpreter[0] not in ("3.14", "3.15"):
        pytest.skip("no compiler in it")
    run(interpreter, "random_programs.py", "3", "60", PYTHON_JIT=jit)


def test_code_at_an_address_that_was_used_before_has_its_own_name(interpreter):
    assert run(interpreter, "released_code.py", "20000")["passed"] > 30000


def test_deep_stacks_are_right_healed_or_cut(interpreter):
    run(interpreter, "deep_stacks.py")


def test_activations_are_marked_where_they_begin(interpreter):
    run(interpreter, "entries.py")


def test_names_are_announced_whole_and_once(interpreter):
    run(interpreter, "names.py")
