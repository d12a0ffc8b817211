"""Limits of memory: what there was, how near the program came, and what failed."""
import json
import os
import pathlib
import resource
import sys

import pytest

from waiting import wait_until

MIB = 1 << 20
KEEP = "import sys, time; kept = bytearray(int(sys.argv[1])); time.sleep(float(sys.argv[2]))"


def limited(size, kind=resource.RLIMIT_AS):
    """What a child does before it executes a program."""
    return lambda: resource.setrlimit(kind, (size, resource.RLIM_INFINITY))


def limits_of(capture, name):
    return [limit for limit in capture.json("info")["limits"] if limit["limit"] == name]


@pytest.fixture
def cgroup():
    """A cgroup with a limit of 512 MiB, of whichever version; the folder and the name of the limit."""
    roots = {"memory.max": pathlib.Path("/sys/fs/cgroup"),
             "memory.limit_in_bytes": pathlib.Path("/sys/fs/cgroup/memory")}
    own = pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    paths = {"memory" in line.split(":")[1].split(","): line.split(":", 2)[2] for line in own
             if line.startswith("0:") or "memory" in line.split(":")[1].split(",")}
    name = "memory.limit_in_bytes" if True in paths else "memory.max"
    folder = roots[name] / paths.get(True, paths.get(False, "/")).lstrip("/")
    folder = folder / f"memtrack-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"skipped: no cgroup can be made here: {error}")
    try:
        (folder / name).write_text(str(512 * MIB))
    except OSError as error:
        folder.rmdir()
        pytest.skip(f"skipped: no limit can be set here: {error}")
    yield folder, name
    wait_until(lambda: (folder / "cgroup.procs").read_text() == "", "the cgroup to be empty")
    folder.rmdir()


def inside(folder):
    """What a child does to be in a cgroup."""
    return lambda: (folder / "cgroup.procs").write_text(str(os.getpid()))


def test_a_limit_of_address_space_is_recorded(memtrack, any_python):
    ended = memtrack.run(any_python.path, "-S", "-c", KEEP, 50 * MIB, 0.1,
                         preexec_fn=limited(3000 * MIB))
    [limit] = limits_of(ended.capture, "RLIMIT_AS")
    assert limit["bytes"] == 3000 * MIB
    assert (limit["processes"], limit["cgroup"]) == (1, None)
    assert not limits_of(ended.capture, "RLIMIT_DATA")
    [machine] = limits_of(ended.capture, "machine")
    assert machine["bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    text = memtrack.report("info", ended.capture.path).stdout
    assert "RLIMIT_AS  2.93 GiB" in text


def test_a_limit_of_data_is_recorded(memtrack, any_python):
    ended = memtrack.run(any_python.path, "-S", "-c", KEEP, 50 * MIB, 0.1,
                         preexec_fn=limited(2000 * MIB, resource.RLIMIT_DATA))
    [limit] = limits_of(ended.capture, "RLIMIT_DATA")
    assert limit["bytes"] == 2000 * MIB


LOWER = """
import resource, time
kept = []
for limit in 3000, 2000:
    resource.setrlimit(resource.RLIMIT_AS, (limit << 20, resource.RLIM_INFINITY))
    end = time.monotonic() + 1.6
    while time.monotonic() < end:
        kept.append(bytearray(100000))
        time.sleep(0.02)
"""


def test_a_limit_that_changes_while_the_program_runs_is_seen(memtrack, any_python):
    ended = memtrack.run(any_python.path, "-S", "-c", LOWER)
    first, second = limits_of(ended.capture, "RLIMIT_AS")
    assert (first["bytes"], second["bytes"]) == (3000 * MIB, 2000 * MIB)
    assert second["from_ns"] > first["from_ns"]


def test_processes_of_one_limit_are_one_line(memtrack, any_python):
    fork = ("import os, time\nfor i in range(3):\n    if os.fork() == 0:\n        kept = bytearray(100000)\n"
            "        time.sleep(0.5)\n        os._exit(0)\nfor i in range(3):\n    os.wait()")
    ended = memtrack.run(any_python.path, "-S", "-c", fork, preexec_fn=limited(3000 * MIB))
    [limit] = limits_of(ended.capture, "RLIMIT_AS")
    assert limit["processes"] == 4


def test_a_limit_of_a_cgroup_is_recorded(memtrack, any_python, cgroup):
    folder, name = cgroup
    ended = memtrack.run(any_python.path, "-S", "-c", KEEP, 50 * MIB, 0.3, preexec_fn=inside(folder))
    [limit] = limits_of(ended.capture, name)
    assert limit["bytes"] == 512 * MIB
    assert pathlib.PurePath(limit["cgroup"]).name == folder.name
    assert limit["processes"] == 1


def test_a_cgroup_that_is_changed_from_outside_is_seen(memtrack, any_python, cgroup, tmp_path):
    folder, name = cgroup
    busy = ("import pathlib, sys, time\nend = time.monotonic() + 3\nkept = []\n"
            "while time.monotonic() < end and not pathlib.Path(sys.argv[1]).exists():\n"
            "    kept.append(bytearray(100000))\n    time.sleep(0.02)")
    stop = tmp_path / "stop"
    running, capture = memtrack.start(any_python.path, "-S", "-c", busy, stop,
                                      preexec_fn=inside(folder))
    wait_until(lambda: capture.path.exists(), "the capture to be there")
    with running:
        wait_until(lambda: len((folder / "cgroup.procs").read_text().split()) > 2, "the program")
        (folder / name).write_text(str(400 * MIB))
        running.wait(timeout=20)
    limits = limits_of(capture, name)
    assert limits[-1]["bytes"] == 400 * MIB
    assert len(limits) <= 2
