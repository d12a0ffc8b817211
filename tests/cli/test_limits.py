"""Limits of memory: what there was, how near the program came, and what failed."""
import os
import pathlib
import resource

import pytest

import tracked
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


def near(capture, name, *options):
    [found] = [near for near in capture.stats(*options)["limits"] if near["limit"] == name]
    return found


def test_how_near_the_address_space_came_is_told(memtrack, any_python):
    ended = memtrack.run(any_python.path, "-S", "-c", KEEP, 300 * MIB, 0.3,
                         preexec_fn=limited(1000 * MIB))
    found = near(ended.capture, "RLIMIT_AS")
    assert found["bytes"] == 1000 * MIB
    assert found["used_bytes"] + found["left_bytes"] == found["bytes"]
    assert 300 * MIB < found["used_bytes"] < 500 * MIB
    assert found["measured"] == "address_space"
    text = memtrack.report("stats", ended.capture.path).stdout
    assert "\nlimit        1000 MiB, RLIMIT_AS\n             came within " in text


def test_what_others_have_in_a_cgroup_counts(memtrack, any_python, cgroup):
    folder, name = cgroup
    other = tracked.subprocess.Popen([any_python.path, "-S", "-c", KEEP, str(200 * MIB), "60"],
                                     preexec_fn=inside(folder))
    try:
        usage = {"memory.max": "memory.current"}.get(name, "memory.usage_in_bytes")
        wait_until(lambda: int((folder / usage).read_text()) > 200 * MIB, "the other's memory")
        ended = memtrack.run(any_python.path, "-S", "-c", KEEP, 100 * MIB, 1,
                             preexec_fn=inside(folder))
    finally:
        other.kill()
        other.wait()
    found = near(ended.capture, name)
    assert found["measured"] == "cgroup"
    assert 300 * MIB < found["used_bytes"] < 512 * MIB
    assert found["left_bytes"] < 212 * MIB


def test_page_cache_does_not_count(memtrack, any_python, cgroup, tmp_path):
    folder, name = cgroup
    large = tmp_path / "large"
    read = ("import sys, time\nwith open(sys.argv[1], 'wb') as file:\n    for i in range(300):\n"
            "        file.write(bytes(1 << 20))\ntime.sleep(1)")
    ended = memtrack.run(any_python.path, "-S", "-c", read, large, preexec_fn=inside(folder))
    usage = {"memory.max": "memory.current"}.get(name, "memory.usage_in_bytes")
    if int((folder / usage).read_text()) < 200 * MIB:
        pytest.skip("skipped: files here are in no page cache of the cgroup")
    assert near(ended.capture, name)["used_bytes"] < 150 * MIB


def failures(capture):
    return {event["bytes"]: event for event in capture.events() if event["op"] == "fail"}


def test_every_way_to_fail_is_recorded_and_leaves_what_was(memtrack, programs):
    ended = memtrack.run(programs("cli_fails"))
    assert ended.words() == {"refused": [8], "kept": [1]}
    found = failures(ended.capture)
    sizes = [(2 << 30) + i * 1_000_000 for i in range(1, 9)]
    sizes[4] -= sizes[4] % 64
    assert {size: event["allocator"] for size, event in found.items()} == dict(zip(sizes, (
        "malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign", "mmap", "mremap")))
    stats = ended.capture.stats()
    assert stats["totals"]["failed_allocations"] == 8
    assert stats["totals"]["order_violations"] == stats["totals"]["unknown_frees"] == 0
    # What was to be moved is there to the end.
    assert stats["totals"]["leaked_bytes"] >= 300000 + (1 << 20)
    [failure] = stats["failures"]
    assert (failure["count"], failure["largest_bytes"]) == (8, sizes[-1])


FAIL = """
kept = bytearray(50_000_000)
def ask(size):
    return bytes(size)  # line: ask
def grow(block):
    for i in range(12):
        block *= 2  # line: grow
for i in range(3):
    try:
        ask((2 + i) << 30)
    except MemoryError:
        print("refused", i)
try:
    grow(bytearray(10_000_000))
except MemoryError:
    print("refused", 3)
"""


def test_a_memory_error_shows_its_line(memtrack, python_of_all, tmp_path):
    program = tracked.Script(tmp_path, FAIL)
    ended = memtrack.run(python_of_all.path, "-S", program.path, preexec_fn=limited(1200 * MIB),
                         cwd=tmp_path)
    assert ended.stdout.count("refused") == 4
    first, second = ended.capture.stats()["failures"]
    assert (first["function"], first["line"], first["count"]) == ("ask", program.line("ask"), 3)
    assert 4 << 30 <= first["largest_bytes"] < (4 << 30) + 4096
    assert (second["function"], second["line"]) == ("grow", program.line("grow"))
    assert second["count"] == 1
    assert first["first_ns"] <= first["last_ns"] <= second["first_ns"]
    text = memtrack.report("stats", ended.capture.path, "--width", "80").stdout
    assert f"ask       program.py:{program.line('ask')}" in text


def test_a_memory_error_of_a_traced_allocator_is_one(memtrack, any_python, tmp_path):
    program = tracked.Script(tmp_path, FAIL)
    ended = memtrack.run(any_python.path, "-S", program.path, preexec_fn=limited(1200 * MIB),
                         options=["--trace-python-allocators"])
    first, second = ended.capture.stats()["failures"]
    assert (first["count"], second["count"]) == (3, 1)
    assert {event["allocator"].rsplit("_", 1)[0] for event in failures(ended.capture).values()} <= {
        "pymalloc_object", "pymalloc_mem"}


@pytest.mark.skipif(os.geteuid() != 0, reason="skipped: not root, who may become another user")
def test_limits_that_may_not_be_asked_for_are_absent_or_right(memtrack, any_python):
    """A program that has become another user, whom prlimit() is refused to nobody but root."""
    become = ("import os, resource, time\nos.setuid(65534)\nkept = bytearray(50_000_000)\n"
              "time.sleep(1.5)\nprint('done')")
    ended = memtrack.run(any_python.path, "-S", "-c", become, preexec_fn=limited(3000 * MIB))
    assert ended.stdout == "done\n"
    assert [limit["bytes"] for limit in limits_of(ended.capture, "RLIMIT_AS")] == [3000 * MIB]


def test_limits_of_cgroups_that_cannot_be_seen_are_absent(memtrack, any_python, cgroup):
    """An empty folder lies over all cgroups, as in a container that does not show them."""
    folder, name = cgroup
    argv, path = memtrack.command(any_python.path, "-S", "-c", KEEP, 50 * MIB, 0.2)
    hide = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh"]
    try:
        can_hide = tracked.finish([*hide, "true"]).returncode == 0
    except OSError:
        can_hide = False
    if not can_hide:
        pytest.skip("skipped: nothing can be mounted here")
    ended = tracked.finish([*hide, *argv], preexec_fn=inside(folder))
    assert ended.returncode == 0, ended.stderr
    limits = tracked.Capture(memtrack, path).json("info")["limits"]
    assert name not in {limit["limit"] for limit in limits}
    assert limits  # the machine's
