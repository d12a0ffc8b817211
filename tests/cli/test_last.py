"""memtrack run --last: a capture that holds the last part of a run, whoever is killed when."""
import json
import os
import pathlib
import signal
import subprocess
import textwrap
import time

import pytest

import killing
from disks import small_disk
from waiting import wait_until

DONE, USAGE, UNREADABLE = 0, 2, 3
LAST_NS = 1_000_000_000
MOST_NS = 6_000_000_000  # twice that, and a cut on a machine that others keep busy

# Blocks and a map that are there from the start, one that grows all the time, and much that comes and goes.
EARLY, MAP_BYTES, CHILDREN = 60, 1 << 20, 2
PROGRAM = f"""
import mmap, os, sys, threading, time
early = [bytearray(100_000 + i) for i in range({EARLY})]  # early
mapped = mmap.mmap(-1, {MAP_BYTES})
growing, recent, end = bytearray(50_000), [], time.monotonic() + float(sys.argv[1])
def work():
    while time.monotonic() < end:
        recent.append([bytearray(3000 + i) for i in range(40)])
        if len(recent) > 30: del recent[:10]
        growing.extend(bytes(1000))
        time.sleep(0.001)
def family():
    for _ in range({CHILDREN}):
        if os.fork() == 0:
            work()
            del early[:10]
            os._exit(0)
threads = [threading.Thread(target=work) for _ in range(3)]
if len(sys.argv) > 2: family()
for thread in threads: thread.start()
for thread in threads: thread.join()
for thread in threads[:len(sys.argv) - 2]: os.wait()
last = bytearray(777_777)
os._exit(0)
"""


@pytest.fixture
def record(call, python, tmp_path):
    """Record the program for so many seconds. Returns its capture."""
    def run(seconds, *arguments, options=()):
        path = tmp_path / "app.bin"
        ended = call("run", "-q", "-f", "--last", "1s", *options, "-o", path, python, "-c", PROGRAM,
                     str(seconds), *arguments)
        assert (ended.returncode, ended.stderr) == (DONE, b""), ended
        return path

    return run


def stats_of(call, path):
    """What stats says, also of a capture that was cut off; nothing in it may be wrong."""
    ended = call("stats", "--json", path)
    assert ended.returncode in (DONE, UNREADABLE), ended
    stats = json.loads(ended.stdout)
    assert {name: stats["totals"][name] for name in ("lost_events", "order_violations", "unknown_frees")
            if stats["totals"][name]} == {}
    return stats


def events_of(call, path):
    return [json.loads(line) for line in call("dump", "--json", path).stdout.splitlines()]


def assert_last_part(stats, at_least_ns=LAST_NS):
    """It is the last part, as long as it was to be and not much longer. Returns where it begins."""
    [period] = stats["capture"]["recorded"]
    assert period["from_ns"] > 0
    assert at_least_ns <= period["to_ns"] - period["from_ns"] < MOST_NS
    assert any(text.startswith("this is the last part, from ") for text in
               stats["capture"]["warnings"])
    return period["from_ns"]


@pytest.mark.parametrize("arguments", [(), ("family",)], ids=["threads", "family"])
def test_what_was_live_and_what_came_last_is_there(call, record, arguments):
    path = record(4, *arguments)
    stats = stats_of(call, path)
    began_ns = assert_last_part(stats)
    assert stats["capture"]["state"] == "clean"
    assert len(stats["processes"]) == 1 + CHILDREN * len(arguments)
    assert all(process["exit"] == {"code": 0} for process in stats["processes"])
    assert call("info", "--verify", path).returncode == DONE
    pid = stats["processes"][0]["pid"]
    leaks = json.loads(call("table", "--json", "--rows", "0", "--leaks", "--process", pid,
                            path).stdout)["rows"]
    early = [row for row in leaks if row["stack"] and row["stack"][0]["line"] == 3
             and row["stack"][0]["file"] == "<string>"]
    assert [(row["allocations"], row["bytes"]) for row in early] == [
        (EARLY, sum(100_001 + i for i in range(EARLY)))]
    assert MAP_BYTES in {row["bytes"] for row in leaks}
    # What was live at the beginning is told there, and no event is of before.
    events = events_of(call, path)
    assert min(event["time_ns"] for event in events) > began_ns - 100_000_000
    [mapped] = [event for event in events if event["op"] == "map" and event["bytes"] == MAP_BYTES
                and event["pid"] == pid and "mmap" in event["allocator"]]
    assert mapped["time_ns"] <= began_ns
    assert 777_778 in {event["bytes"] for event in events[-100:]}


def test_a_short_run_is_there_as_a_whole(call, record):
    stats = stats_of(call, record(0.1))
    assert stats["capture"]["recorded"] in ([], [{"from_ns": 0, "to_ns": stats["capture"]["duration_ns"]}])
    assert stats["capture"]["warnings"] == []


def running(binary, path, programs, tmp_path, pause_us=50):
    return killing.running([binary, "run", "-q", "-f", "--last=1s", "-o", path,
                            programs("stress_counted")], tmp_path / "counters", pause_us)


def wait_for_cut(path):
    """Wait until another file has the name."""
    first = os.stat(path).st_ino
    wait_until(lambda: os.stat(path).st_ino != first, "a cut")


def end(process, number=signal.SIGTERM):
    os.kill(killing.child_named(process.pid, "stress_counted"), number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -number
    return errors.decode()


def test_the_program_is_killed_behind_a_cut(binary, call, programs, tmp_path):
    path = tmp_path / "app.bin"
    with running(binary, path, programs, tmp_path) as (process, counters):
        wait_for_cut(path)
        wait_for_cut(path)
        assert end(process, signal.SIGKILL) == ""
        stats = stats_of(call, path)
    assert stats["capture"]["state"] == "clean"
    assert stats["processes"][0]["exit"] == {"signal": "SIGKILL"}
    assert_last_part(stats)
    killing.assert_is_last_part(counters.now(), killing.recorded(stats), True)


def test_the_collector_is_killed_behind_a_cut(binary, call, programs, tmp_path):
    path = tmp_path / "app.bin"
    with running(binary, path, programs, tmp_path) as (_, counters):
        wait_for_cut(path)
        os.kill(killing.collector_of_name(path), signal.SIGKILL)
        # Its last thread may hold the file for a while.
        wait_until(lambda: stats_of(call, path)["capture"]["state"] == "truncated",
                   "the end of the collector")
        stats = stats_of(call, path)
        assert_last_part(stats, LAST_NS // 2)
        killing.assert_is_last_part(counters.now(), killing.recorded(stats), False)


def cutters(path):
    """The processes that cut a capture."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[1:2] == [b"cut"] and str(path).encode() in words:
            found.append(int(folder.name))
    return found


def test_who_cuts_is_killed_and_the_capture_holds_more(binary, call, programs, tmp_path):
    path, killed = tmp_path / "app.bin", []
    with running(binary, path, programs, tmp_path, pause_us=0) as (process, counters):
        first = os.stat(path).st_ino
        wait_until(lambda: killed.extend(cutters(path)) or killed, "a cut")
        os.kill(killed[0], signal.SIGKILL)
        time.sleep(0.2)
        assert os.stat(path).st_ino == first
        said = end(process)
        stats = stats_of(call, path)
    assert "--last: the process that cuts the capture was killed: the capture holds more" in said
    assert said.count("\n") == 1
    assert stats["capture"]["state"] == "clean" and stats["capture"]["recorded"][0]["from_ns"] == 0
    assert b"the capture holds more" in call("info", path).stdout
    killing.assert_same(counters.now(), killing.recorded(stats))
    assert {file.name for file in tmp_path.iterdir()} == {"counters", "app.bin"}


def test_nothing_is_left_when_all_are_killed_in_a_cut(binary, call, programs, tmp_path):
    path, found = tmp_path / "app.bin", []
    with running(binary, path, programs, tmp_path, pause_us=0) as (_, counters):
        wait_until(lambda: found.extend(cutters(path)) or found, "a cut")
        os.kill(killing.collector_of_name(path), signal.SIGKILL)
        wait_until(lambda: not cutters(path), "its end with the collector")
        stats = stats_of(call, path)
        killing.assert_is_last_part(counters.now(), killing.recorded(stats), False)
    assert {file.name for file in tmp_path.iterdir()} == {"counters", "app.bin"}


def test_a_disk_with_no_room_for_two_holds_more(binary, call, programs, tmp_path):
    with small_disk(40 << 20) as folder:
        path = folder / "app.bin"
        with running(binary, path, programs, tmp_path, pause_us=0) as (process, _):
            wait_until(lambda: path.stat().st_size > 20 << 20, "much", timeout_s=60)
            (folder / "other").write_bytes(bytes(os.statvfs(folder).f_bavail * 4096 - (8 << 20)))
            said = end(process)
        assert said.count("\n") <= 2
        assert stats_of(call, path)["capture"]["state"] in ("clean", "truncated")


def test_a_name_that_others_have_taken_is_left_alone(binary, call, programs, tmp_path):
    path = tmp_path / "app.bin"
    with running(binary, path, programs, tmp_path) as (process, counters):
        path.rename(tmp_path / "renamed.bin")
        path.write_text("mine")
        time.sleep(3)
        said = end(process)
    assert path.read_text() == "mine"
    assert "--last: " in said and "was replaced while it was written" in said
    stats = stats_of(call, tmp_path / "renamed.bin")  # it goes on there, and lacks nothing
    killing.assert_same(counters.now(), killing.recorded(stats))


def test_a_name_that_is_gone_is_made_again(binary, call, programs, tmp_path):
    path = tmp_path / "app.bin"
    with running(binary, path, programs, tmp_path) as (process, counters):
        path.unlink()
        wait_until(path.exists, "a cut")
        assert end(process) == ""
    stats = stats_of(call, path)
    assert stats["capture"]["state"] == "clean"
    killing.assert_is_last_part(counters.now(), killing.recorded(stats), True)


def test_rights_and_links_stay_as_they_are(binary, programs, tmp_path):
    path, link = tmp_path / "real.bin", tmp_path / "link.bin"
    path.write_bytes(b"old")
    link.symlink_to(path)
    with running(binary, link, programs, tmp_path) as (process, _):
        path.chmod(0o640)
        wait_for_cut(path)
        end(process)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640


def test_it_can_be_read_and_copied_while_it_goes_on(binary, call, programs, tmp_path):
    path, other = tmp_path / "app.bin", tmp_path / "other.bin"
    with running(binary, path, programs, tmp_path) as (process, counters):
        wait_for_cut(path)
        assert stats_of(call, path)["capture"]["state"] == "running"
        before = counters.now()
        assert call("ctl", killing.child_named(process.pid, "stress_counted"), "snapshot", "-o",
                    other).returncode == DONE
        stats = stats_of(call, other)
        assert stats["capture"]["state"] == "clean"
        assert_last_part(stats)
        killing.assert_is_last_part(counters.now(), killing.recorded(stats), False)
        assert all(killing.recorded(stats)[tid][0] > 0 for tid in before)
        wait_for_cut(path)
        end(process)
    assert_last_part(stats_of(call, path))


def test_a_recording_that_is_paused(serve, any_path):
    served = serve(any_path, "--last", "1s", "--trace-python-allocators")
    first = os.stat(served.path).st_ino
    ends = time.monotonic() + 30
    while os.stat(served.path).st_ino == first:
        assert time.monotonic() < ends
        for _ in range(40):
            served.tell(1_000_000)
            served.tell("drop")
        time.sleep(0.02)
    served.ctl("stop")
    served.tell(3_000_000)
    served.ctl("start")
    served.tell(5_000_000)
    stats = served.end().stats()
    assert stats["totals"]["unknown_frees"] == 0
    assert 5_000_000 < stats["totals"]["peak_bytes"] < 8_000_000
    assert stats["capture"]["recorded"][0]["from_ns"] > 0 and len(stats["capture"]["recorded"]) == 2


@pytest.mark.parametrize("options, said", [
    (["--last=0.5s"], b"use a second or more"), (["--last=0"], b"--last"), (["--last=soon"], b"--last"),
    (["--last=5s", "--aggregate"], b"--aggregate and --last: use one of them"),
    (["--last=5s", "--index=always"], b"use one of them"),
    (["--last=5s", "--sample-bytes=1K"], b"use one of them"),
    (["--last=5s", "--max-file=1G"], b"use one of them"),
    (["--last=5s", "--max-overhead=5%"], b"use one of them")])
def test_usage(call, python, tmp_path, options, said):
    ended = call("run", *options, "-o", tmp_path / "app.bin", python, "-c", "0")
    assert ended.returncode == USAGE and said in ended.stderr and ended.stderr.count(b"\n") == 1
    assert not (tmp_path / "app.bin").exists()


def test_who_cuts_is_not_for_hands(call):
    ended = call("cut", "1", "2", "3", "4")
    assert ended.returncode == USAGE and b"is started by the collector" in ended.stderr
