"""memtrack ctl: start, stop, mark and look at a recording from outside."""
import json
import os
import subprocess

import pytest

from served import Served
from waiting import wait_until


def test_a_dormant_program_is_recorded_from_the_start_command_on(serve, any_path):
    served = serve(any_path, "--dormant")
    served.tell(1_000_000)
    assert served.ctl("status").startswith("dormant, 1 process, ")
    assert served.ctl("start") == ""
    served.tell("drop")     # of what nobody saw
    served.tell(2_000_000)
    status = served.ctl("status")
    assert status.startswith("recording, 1 process, ") and status.endswith(f" {served.path}\n")
    stats = served.end().stats()
    assert list(served.events()) == [2_000_001]
    assert [frame["function"] for frame in served.events()[2_000_001]["stack"]] == [
        "serve", "main", "<module>"]
    totals = stats["totals"]
    assert totals["unknown_frees"] == totals["order_violations"] == totals["lost_events"] == 0
    assert len(stats["capture"]["recorded"]) == 1


def test_python_stacks_are_right_from_the_first_event_on(binary, tmp_path, python_of_all):
    if python_of_all.is_free_threaded:
        pytest.skip("its allocator maps memory: blocks of these sizes are no events")
    served = Served(binary, tmp_path, python_of_all.path, "--dormant")
    served.tell(1_000_000)
    served.ctl("start")
    served.tell(2_000_000)
    served.ctl("stop")
    served.tell(3_000_000)
    served.ctl("start")
    served.tell(4_000_000)
    events = served.end().events()
    assert [size // 1000 for size in events] == [2000, 4000]  # some builds add a few bytes
    for event in events.values():
        assert [frame["function"] for frame in event["stack"]] == ["serve", "main", "<module>"]


def test_a_pause_is_in_the_report(serve, any_path):
    served = serve(any_path)
    for number in range(1, 4):
        served.tell(number * 1_000_000)
        served.ctl("stop" if number % 2 else "start")
    served.tell(4_000_000)
    assert served.ctl("status").startswith("paused")
    stats = served.end().stats()
    assert list(served.events()) == [1_000_001, 3_000_001]
    assert len(stats["capture"]["recorded"]) == 2
    [warning] = stats["capture"]["warnings"]
    assert warning.startswith("recording was paused 2 times, for ")


def test_the_same_command_twice_is_as_once(serve, any_path):
    served = serve(any_path, "--dormant")
    served.ctl("stop")
    assert served.ctl("status").startswith("dormant")
    for _ in range(2):
        served.ctl("start")
    served.tell(1_000_000)
    for _ in range(2):
        served.ctl("stop")
    assert len(served.end().stats()["capture"]["recorded"]) == 1


def test_marks_are_between_those_of_the_program(serve, any_path):
    served = serve(any_path)
    served.ctl("mark", "first; \U0001F40D\t")
    served.tell(1_000_000)
    served.ctl("mark", "x" * 1000)
    marks = served.end().stats()["marks"]
    assert [mark["name"] for mark in marks] == ["first; \U0001F40D\t", "x" * 1000]
    assert {(mark["pid"], mark["tid"]) for mark in marks} == {(served.pid, None)}
    assert 0 < marks[0]["time_ns"] < marks[1]["time_ns"]


def test_a_delayed_recording_can_be_begun_before_its_time(serve, any_path):
    served = serve(any_path, "--delay", "1h", "--duration", "10h")
    served.ctl("start")
    served.tell(1_000_000)
    assert list(served.end().events()) == [1_000_001]


def test_two_users_at_once_are_served_one_after_the_other(serve, any_path):
    served = serve(any_path)
    commands = [["mark", f"mark {i}"] if i % 3 else ["stop" if i % 2 else "start"]
                for i in range(60)]
    running = [subprocess.Popen([served.binary, "ctl", str(served.pid), *command],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
               for command in commands]
    for one in running:
        _, errors = one.communicate(timeout=60)
        assert (one.returncode, errors) == (0, b"")
    stats = served.end().stats()
    assert sorted(mark["name"] for mark in stats["marks"]) == sorted(
        command[1] for command in commands if len(command) == 2)


def test_a_child_that_has_recorded_nothing_is_of_the_session(serve, binary, tmp_path, any_path):
    path = tmp_path / "child.bin"
    running = subprocess.Popen([binary, "run", "-q", "-o", path, "--dormant", any_path, "-c", """
import os, sys, time
child = os.fork()
if child == 0:
    sys.stdin.readline()
    block = bytearray(3000000)
    os._exit(0)
print(child, flush=True)
os.waitpid(child, 0)
"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child = running.stdout.readline().strip()
    subprocess.run([binary, "ctl", child, "start"], check=True, timeout=30)
    running.communicate("go\n", timeout=60)
    ended = subprocess.run([binary, "dump", "--json", path], check=True, capture_output=True,
                           text=True)
    [event] = [event for event in map(json.loads, ended.stdout.splitlines())
               if event["bytes"] == 3000001]
    assert event["pid"] == int(child)


@pytest.mark.parametrize("command", [["start"], ["stop"], ["mark", "x"], ["snapshot"], ["status"]])
def test_a_process_that_is_not_tracked_is_said_to_be_none(call, serve, any_path, command):
    serve(any_path)  # a session that it is not in
    ended = call("ctl", os.getpid(), *command)
    assert ended.returncode == 3 and ended.stdout == b""
    assert ended.stderr == (f"memtrack: process {os.getpid()}: is not tracked: "
                            "start it with memtrack run\n").encode()


def test_a_process_that_has_ended_is_said_to_be_none(call, serve, any_path):
    served = serve(any_path)
    served.end()
    wait_until(lambda: call("ctl", served.pid, "status").returncode == 3, "the session's end")
    assert b"there is none of this number" in call("ctl", served.pid, "status").stderr


@pytest.mark.parametrize("arguments", [
    [], ["1"], ["x", "start"], ["0", "start"], ["-1", "start"], ["1", "begin"], ["1", "start", "now"],
    ["1", "mark"], ["1", "mark", ""], ["1", "mark", "a", "b"], ["1", "mark", "x" * 1001],
    ["99999999999999999999", "start"], ["1", "snapshot", "now"], ["1", "start", "-f"],
    ["1", "mark", "x", "-o", "y"], ["1", "snapshot", "-o", ""], ["1", "snapshot", "-o", "-"],
    ["1", "snapshot", "-o", "/" + "x" * 3072]])
def test_what_makes_no_sense_is_refused(call, arguments):
    ended = call("ctl", *arguments)
    assert ended.returncode == 2 and ended.stderr.count(b"\n") == 1


def test_only_one_option_says_when_it_begins(call):
    ended = call("run", "-o", "out.bin", "--dormant", "--delay", "1s", "true")
    assert ended.returncode == 2 and b"use one of them" in ended.stderr
