"""The programs that bench/ measures: each checks its own result, and says the same when tracked."""
import os
import pathlib
import sys

import pytest

import interpreters
import tracked

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import suites  # pylint: disable=wrong-import-position

WITH_LOCK = [python for python in interpreters.found() if not python.is_free_threaded]
RUNS = {"oldest": (WITH_LOCK[0], ()), "newest": (WITH_LOCK[-1], (suites.ALLOCATORS,))}


def result_of(ended):
    """What it found, without what it took."""
    lines = ended.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["result", "cpu"] and ended.stderr == ""
    return lines[0]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", suites.PROGRAMS)
def test_programs_of_the_suite_find_the_same(memtrack, name, run):
    python, options = RUNS[run]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    plain = tracked.finish([python.path, str(suites.path_of(name)), "1"], env=environment)
    assert plain.returncode == 0, plain.stderr
    ended = memtrack.run(python.path, suites.path_of(name), "1", options=options, env=environment)
    assert result_of(ended) == result_of(plain)
    totals = ended.capture.assert_sound()
    assert totals["unknown_frees"] == 0
    assert totals["allocations"] > (10_000 if options else 100)


def test_the_suite_has_each_of_its_programs():
    files = {path.stem for path in suites.FOLDER.glob("*.py")}
    assert files == {*suites.PROGRAMS, "measured"}
