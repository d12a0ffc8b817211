"""Recording that begins late or ends early: the program goes on, and the reports say so."""
import json
import subprocess

import pytest

from waiting import wait_until

# A block before and after each second half; what was there is released while it is recorded.
PROGRAM = """
import sys, time
early = bytearray(3000017)
def late():
    return bytearray(3000029)
time.sleep(float(sys.argv[1]))
del early
kept = late()
print("done")
sys.exit(7)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def report(call, *arguments):
    ended = call(*arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.decode()


def sizes(call, capture):
    lines = report(call, "dump", "--json", capture).splitlines()
    return {event["bytes"]: event for event in map(json.loads, lines) if event["op"] == "alloc"}


def state(call):
    return json.loads(report(call, "info", "--json", "out.bin"))["capture"]["state"]


def test_a_delay_leaves_out_what_is_before_it(call, program, any_python):
    ended = call("run", "-q", "-o", "out.bin", "--delay", "700ms", any_python.path, program, "2")
    assert (ended.returncode, ended.stdout, ended.stderr) == (7, b"done\n", b"")
    events = sizes(call, "out.bin")
    assert 3000017 + 1 not in events and 3000029 + 1 in events
    assert events[3000029 + 1]["stack"][0]["function"] == "late"
    stats = json.loads(report(call, "stats", "--json", "out.bin"))
    [span] = stats["capture"]["recorded"]
    assert 700_000_000 <= span["from_ns"] < 1_500_000_000
    assert stats["totals"]["unknown_frees"] == stats["totals"]["order_violations"] == 0
    [warning] = stats["capture"]["warnings"]
    assert warning.startswith("recording began after ")


def test_a_duration_ends_the_capture_and_not_the_program(call, binary, program, any_python, tmp_path):
    running = subprocess.Popen([binary, "run", "-q", "-o", "out.bin", "--duration=400ms",
                                any_python.path, program, "3"], cwd=tmp_path,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until((tmp_path / "out.bin").exists, "a capture")
    wait_until(lambda: state(call) == "clean", "the capture's end")
    assert running.poll() is None
    events = sizes(call, "out.bin")
    assert 3000017 + 1 in events and 3000029 + 1 not in events
    stats = json.loads(report(call, "stats", "--json", "out.bin"))
    [warning] = stats["capture"]["warnings"]
    assert warning.startswith("recording ended after ") and "the program went on" in warning
    output, errors = running.communicate(timeout=60)
    assert (running.returncode, output, errors) == (7, b"done\n", b"")
    assert sizes(call, "out.bin") == events


def test_a_duration_counts_from_the_end_of_the_delay(call, any_python):
    call("run", "-q", "-o", "out.bin", "--delay=300ms", "--duration=200ms", any_python.path, "-c",
         "import time; time.sleep(1.5)")
    stats = json.loads(report(call, "stats", "--json", "out.bin"))
    [span] = stats["capture"]["recorded"]
    assert 300_000_000 <= span["from_ns"] and 200_000_000 <= span["to_ns"] - span["from_ns"]
    assert span["to_ns"] < 1_400_000_000


def test_a_program_that_ends_before_the_delay_has_nothing_recorded(call, programs):
    call("run", "-q", "-o", "out.bin", "--delay", "1h", programs("cli_ends"))
    stats = json.loads(report(call, "stats", "--json", "out.bin"))
    assert stats["totals"]["allocations"] == 0 and stats["capture"]["recorded"] == []
    assert stats["capture"]["warnings"] == ["recording was never begun"]
    assert [process["exit"] for process in stats["processes"]] == [{"code": 0}]


def test_children_of_a_silent_time_are_recorded_when_it_is_over(call, any_python):
    call("run", "-q", "-o", "out.bin", "--delay", "600ms", any_python.path, "-c", """
import os, time
child = os.fork()
time.sleep(1.2)
def both():
    return bytearray(3000043 if child else 3000061)
both()
if child:
    os.waitpid(child, 0)
""")
    events = sizes(call, "out.bin")
    assert events[3000044]["stack"][0]["function"] == "both"
    assert events[3000062]["stack"][0]["function"] == "both"
    assert events[3000044]["pid"] != events[3000062]["pid"]


def test_the_collector_waits_for_children_of_a_silent_time(call, any_python):
    """The parent ends at once; its child is first seen when recording begins."""
    call("run", "-q", "-o", "out.bin", "--delay", "800ms", any_python.path, "-c", """
import os, time
if os.fork() == 0:
    os.setsid()
    for fd in range(3):
        os.close(fd)
    time.sleep(1.5)
    bytearray(3000073)
""")
    wait_until(lambda: state(call) == "clean", "the child's end")
    assert 3000074 in sizes(call, "out.bin")


@pytest.mark.parametrize("option", ["--delay", "--duration"])
@pytest.mark.parametrize("value", ["", "0", "0ms", "-1s", "soon", "5y", "1e9h", "20000h"])
def test_times_that_make_no_sense_are_refused(call, option, value, tmp_path):
    ended = call("run", "-o", "out.bin", option, value, "true")
    assert ended.returncode == 2
    assert option.encode() in ended.stderr and ended.stderr.count(b"\n") == 1
    assert any(unit in ended.stderr for unit in (b"500ms", b"100ms", b"ns, us, ms, s, m or h"))
    assert not (tmp_path / "out.bin").exists()
