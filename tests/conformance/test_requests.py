"""What programs ask for through memtrack.h: to record, to pause, to make snapshots; from C and Python."""
import os
import pathlib
import signal
import subprocess
import time

import pytest

import tracked

BASE = 1_000_000


@pytest.fixture
def program(programs):
    return programs("conformance_requests")


def allocated(capture):
    """When the program's blocks were allocated, as their sizes say."""
    return [event["bytes"] - BASE for event in capture.events()
            if event["op"] == "alloc" and BASE < event["bytes"] < BASE + 100]


def snapshots(capture):
    """The snapshots beside a capture, by what stands behind its name."""
    prefix = capture.path.name + ".snapshot-"
    return {path.name.removeprefix(prefix): tracked.Capture(capture.memtrack, path)
            for path in capture.path.parent.iterdir() if path.name.startswith(prefix)}


def assert_no_mistakes(capture):
    totals = capture.assert_sound()
    assert totals["unknown_frees"] == 0
    return totals


def test_it_is_so_when_the_call_has_returned(memtrack, program):
    ended = memtrack.run(program, "steps")
    assert ended.words()["errno"] == [1] and ended.stderr == ""
    assert allocated(ended.capture) == [1, 2, 4]
    assert_no_mistakes(ended.capture)
    assert len(ended.capture.stats()["capture"]["recorded"]) == 2


def test_a_snapshot_has_all_that_its_thread_has_recorded_before(memtrack, program):
    for _ in range(5):
        made = snapshots(memtrack.run(program, "steps").capture)
        assert set(made) == {"one", "one-2", "a-b-\u00e4", "1", "2"}
        assert allocated(made["one"])[:1] == [1]
        for name in "one-2", "a-b-\u00e4", "1", "2":
            assert allocated(made[name]) == [1, 2, 4]
            assert_no_mistakes(made[name])
            assert made[name].json("info")["snapshot"]


def test_what_is_asked_for_last_is_made(memtrack, program):
    for _ in range(5):
        [(name, made)] = snapshots(memtrack.run(program, "last").capture).items()
        assert name == "last" and allocated(made) == [1]


def test_a_dormant_recording_is_begun_by_the_program(memtrack, program):
    capture = memtrack.run(program, "wakes", options=["--dormant"]).capture
    assert allocated(capture) == [1]
    [span] = capture.stats()["capture"]["recorded"]
    assert span["from_ns"] > 0
    capture = memtrack.run(program, "wakes", options=["--delay", "1h", "--duration", "1h"]).capture
    assert allocated(capture) == [1]


def test_a_stop_ends_the_waiting_for_a_delay(memtrack, program):
    process, capture = memtrack.start(program, "told", options=["--delay", "300ms"],
                                      stdin=subprocess.PIPE)
    process.stdout.readline()
    process.stdin.write("-")
    process.stdin.flush()
    process.stdout.readline()
    time.sleep(0.5)  # longer than the delay
    process.communicate("x", timeout=60)
    assert allocated(capture) == [] and capture.stats()["capture"]["recorded"] == []


def test_threads_may_ask_all_at_once(memtrack, program):
    capture = memtrack.run(program, "crowd").capture
    assert_no_mistakes(capture)
    assert allocated(capture) == [1]


def test_a_child_speaks_for_all_of_the_session(memtrack, program):
    assert allocated(memtrack.run(program, "forks").capture) == [1, 2]


def test_a_child_that_is_not_recorded_speaks_for_nobody(memtrack, program):
    assert allocated(memtrack.run(program, "forks", options=["--no-follow"]).capture) == [1, 4]


def test_a_signal_handler_may_ask(memtrack, program):
    capture = memtrack.run(program, "handler").capture
    assert allocated(capture) == [1] and set(snapshots(capture)) == {"1"}


def test_a_program_that_expects_a_filter_is_heard(memtrack, program):
    capture = memtrack.run(program, "filtered").capture
    assert allocated(capture) == [1] and allocated(snapshots(capture)["filtered"]) == [1]


def test_any_number_is_made_or_said_to_be_too_many(memtrack, program):
    ended = memtrack.run(program, "many")
    made = snapshots(ended.capture)
    failures = ended.capture.json("info")["failures"]
    unheard = [warning for warning in ended.capture.stats()["capture"]["warnings"]
               if "not heard" in warning]
    assert len(made) == 400 or failures or unheard
    assert set(made) == {str(i) for i in range(1, len(made) + 1)}
    assert ended.stderr.splitlines() == [f"memtrack: {failure}" for failure in failures]
    assert all("snapshots are being made" in failure for failure in failures)
    for one in list(made.values())[::40]:
        assert allocated(one) == [1]


def test_a_file_that_cannot_be_written_is_said_at_the_end(memtrack, program):
    output = memtrack.folder / ("x" * 250)
    ended = memtrack.run(program, "last", output=output)
    [line] = ended.stderr.splitlines()
    assert line == f"memtrack: {output}.snapshot-last: cannot be written: File name too long"
    assert f"memtrack: {ended.capture.json('info')['failures'][0]}" == line
    assert allocated(ended.capture) == [1]


def test_a_collector_that_stands_still_keeps_nobody(memtrack, program):
    process, capture = memtrack.start(program, "told", stdin=subprocess.PIPE)
    process.stdout.readline()
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    [collector] = [int(child) for child in children
                   if pathlib.Path(f"/proc/{child}/comm").read_text() == "memtrack\n"]
    os.kill(collector, signal.SIGSTOP)
    try:
        process.stdin.write("-abcdef+")  # more than there is room for
        process.stdin.flush()
        assert [process.stdout.readline() for _ in range(8)] == [f"done {i}\n" for i in range(1, 9)]
    finally:
        os.kill(collector, signal.SIGCONT)
    process.communicate(timeout=60)
    assert process.returncode == 0
    made = snapshots(capture)
    assert set(made) == {"a", "b", "c"}
    warnings = capture.stats()["capture"]["warnings"]
    assert "requests of the program that were not heard: 4" in warnings


@pytest.mark.parametrize("name", ["steps", "crowd", "forks", "handler", "wakes", "last"])
def test_without_memtrack_nothing_happens(program, tmp_path, name):
    ended = subprocess.run([program, name], check=True, timeout=30, capture_output=True, text=True,
                           cwd=tmp_path)
    assert ended.stderr == "" and not list(tmp_path.iterdir())


PYTHON = """
import ctypes
memtrack = ctypes.CDLL(None)
def early():
    return bytearray(1000000)
def late():
    return bytearray(1000001)
a = early()
memtrack.memtrack_start()
b = late()
memtrack.memtrack_snapshot(b"python")
memtrack.memtrack_stop()
c = early()
"""


def test_python_asks_through_ctypes(memtrack, python):
    if python.is_free_threaded:
        pytest.skip("its allocator maps memory: blocks of these sizes are no events")
    capture = memtrack.run(python.path, "-c", PYTHON, options=["--dormant"]).capture
    for one in capture, snapshots(capture)["python"]:
        [event] = [event for event in one.events()
                   if event["op"] == "alloc" and BASE <= event["bytes"] < BASE + 100]
        assert event["stack"][0]["function"] == "late"
