"""--on-exceed SIZE=ACTION: what is done when the memory of all processes together goes above a size."""
import json
import os
import pathlib
import signal
import subprocess

import pytest

from waiting import wait_until

MB = 1_000_000


class Growing:
    """A program under memtrack that takes memory when it is told to."""

    def __init__(self, binary, folder, program, *rules, options=(), name="out.bin"):
        self.binary, self.path = binary, folder / name
        given = [argument for rule in rules for argument in ("--on-exceed", rule)]
        self.process = subprocess.Popen(
            [binary, "run", "-q", "-o", self.path, *given, *options, program], cwd=folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.pid = int(self.process.stdout.readline().split()[1])

    def tell(self, what):
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()

    def grow(self, count_bytes):
        self.tell(count_bytes)
        assert self.process.stdout.readline() == "done\n"

    def end(self, expect=3):
        output, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == expect, errors
        return output, errors

    def report(self, kind, path=None):
        return subprocess.run([self.binary, kind, "--json", path or self.path], check=True,
                              capture_output=True, text=True).stdout

    def marks(self, path=None):
        return [mark["name"] for mark in json.loads(self.report("stats", path))["marks"]]

    def blocks(self, path=None):
        return [event["bytes"] for event in map(json.loads, self.report("dump", path).splitlines())
                if event["op"] in ("alloc", "map") and event["bytes"] % MB == 1]

    def failures(self):
        return json.loads(self.report("info"))["failures"]

    def wait_for(self, mark):
        """The capture is being written: its report ends with 0 all the same."""
        wait_until(lambda: mark in self.marks(), mark)


@pytest.fixture
def growing(binary, tmp_path, programs):
    started = []

    def start(*rules, **arguments):
        started.append(Growing(binary, tmp_path, programs("cli_grows"), *rules, **arguments))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def test_a_snapshot_is_made_once_when_it_is_first_exceeded(growing):
    program = growing("100M=snapshot")
    made = program.path.parent / "out.bin.snapshot-1"
    program.grow(30 * MB + 1)
    program.grow(90 * MB + 1)
    wait_until(made.exists, "a snapshot")
    program.grow(200 * MB + 1)
    assert program.end() == ("", "")
    assert program.blocks() == [30 * MB + 1, 90 * MB + 1, 200 * MB + 1]
    assert program.blocks(made)[:2] == [30 * MB + 1, 90 * MB + 1]
    assert json.loads(program.report("info", made))["snapshot"]
    assert program.marks() == ["exceeded 100 MiB: snapshot"]
    assert not (made.parent / "out.bin.snapshot-2").exists()


def test_a_size_that_is_not_exceeded_changes_nothing(growing):
    program = growing("1G=snapshot", "2 GiB=stop", "3GB=signal:KILL", "1T=exec:touch x")
    program.grow(30 * MB + 1)
    assert program.end() == ("", "")
    assert program.marks() == [] and program.failures() == []
    assert [path.name for path in program.path.parent.iterdir()] == ["out.bin"]


def test_recording_stops(growing):
    program = growing("100M=stop")
    program.grow(130 * MB + 1)
    program.wait_for("exceeded 100 MiB: stop")
    program.grow(50 * MB + 1)
    subprocess.run([program.binary, "ctl", str(program.pid), "start"], check=True)
    program.grow(60 * MB + 1)
    program.end()
    assert program.blocks() == [130 * MB + 1, 60 * MB + 1]
    [warning] = json.loads(program.report("stats"))["capture"]["warnings"]
    assert warning.startswith("recording was paused 1 time, for ")


@pytest.mark.parametrize("name, number", [("KILL", 9), ("SIGTERM", 15), ("9", 9), ("sigint", 2)])
def test_a_signal_ends_the_program_and_run_ends_so_too(growing, name, number):
    program = growing(f"100M=signal:{name}")
    program.tell(130 * MB + 1)
    program.process.wait(timeout=60)
    assert program.process.returncode == -number
    assert program.marks() == [f"exceeded 100 MiB: signal:{name}"]
    stats = json.loads(program.report("stats"))
    assert stats["capture"]["state"] == "clean"
    assert stats["processes"][0]["exit"] == {"signal": signal.Signals(number).name}


def test_a_signal_comes_to_the_program_and_to_nobody_else(growing):
    program = growing("100M=signal:USR1")
    program.grow(10 * MB + 1)
    program.tell("fork")
    assert program.process.stdout.readline() == "done\n"
    program.tell(130 * MB + 1)
    said = sorted(program.process.stdout.readline() for _ in range(2))
    assert said == ["done\n", "signal\n"]
    program.end()


def test_a_program_can_be_stopped(growing):
    program = growing("100M=signal:STOP")
    program.tell(130 * MB + 1)
    state = pathlib.Path(f"/proc/{program.pid}/stat")
    wait_until(lambda: state.read_text().rpartition(") ")[2][0] == "T", "a program that is stopped")
    os.kill(program.pid, signal.SIGCONT)
    os.kill(program.process.pid, signal.SIGCONT)
    assert program.process.stdout.readline() == "done\n"
    program.end()


def test_a_command_knows_what_it_is_about(growing, tmp_path):
    program = growing('100M=exec:env > environment; pwd; echo "$MEMTRACK_PID" >&2; touch made')
    program.grow(130 * MB + 1)
    wait_until((tmp_path / "made").exists, "the command's end")
    assert program.end() == ("", f"{tmp_path}\n{program.pid}\n")
    variables = dict(line.split("=", 1)
                     for line in (tmp_path / "environment").read_text().splitlines() if "=" in line)
    assert variables["MEMTRACK_PID"] == str(program.pid)
    assert variables["MEMTRACK_CAPTURE"] == str(program.path)
    assert 100 << 20 < int(variables["MEMTRACK_BYTES"]) < 300 << 20
    assert "LD_PRELOAD" not in variables and "MEMTRACK_SESSION" not in variables
    assert variables["PATH"] == os.environ["PATH"]
    assert program.failures() == []


def test_a_command_is_begun_as_a_shell_begins_one(growing, tmp_path):
    program = growing("100M=exec:cat /proc/self/status > status; ls /proc/self/fd > files; touch made")
    program.grow(130 * MB + 1)
    wait_until((tmp_path / "made").exists, "the command's end")
    program.end()
    status = dict(line.split(":\t", 1) for line in (tmp_path / "status").read_text().splitlines()
                  if ":\t" in line)
    assert int(status["SigBlk"], 16) == 0
    assert int(status["SigIgn"], 16) & ~(3 << 31) == 0  # glibc has two of its own
    assert (tmp_path / "files").read_text().split() == ["0", "1", "2", "3"]  # 3: the folder itself


def test_a_command_is_not_waited_for(growing, tmp_path):
    program = growing("100M=exec:echo $$ > pid; exec sleep 1000")
    program.grow(130 * MB + 1)
    path = tmp_path / "pid"
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"), "the command")
    program.process.stdin.close()
    assert program.process.wait(timeout=60) == 3
    pid = int(path.read_text())
    assert pathlib.Path(f"/proc/{pid}/comm").read_text() == "sleep\n"
    os.kill(pid, signal.SIGKILL)
    assert json.loads(program.report("stats"))["capture"]["state"] == "clean"


@pytest.mark.parametrize("command, reason", [
    ("exit 7", "it ended with exit code 7"), ("kill -9 $$", "it was killed by signal 9"),
    ("/no/such/command 2>/dev/null", "it ended with exit code 127")])
def test_a_command_that_fails_is_told_at_the_end(growing, tmp_path, command, reason):
    program = growing(f"100M=exec:touch made; {command}")
    program.grow(130 * MB + 1)
    wait_until((tmp_path / "made").exists, "the command")
    # It has ended when its parent has taken note of that.
    wait_until(lambda: not [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                            if is_command(path)], "the command's end")
    label = f"exceeded 100 MiB: exec:touch made; {command}: {reason}"
    assert program.end() == ("", f"memtrack: {label}\n")
    assert program.failures() == [label]


def is_command(path):
    try:
        return path.read_bytes().startswith(b"sh\0-c\0touch made; ")
    except OSError:
        return False


def test_a_snapshot_that_cannot_be_made_is_told_at_the_end(growing):
    program = growing("100M=snapshot", name="x" * 250)
    program.grow(130 * MB + 1)
    program.wait_for("exceeded 100 MiB: snapshot")
    reason = f"{program.path}.snapshot-1: cannot be written: File name too long"
    assert program.end() == ("", f"memtrack: {reason}\n")
    assert program.failures() == [reason]


def peaks_of(program):
    stats = json.loads(program.report("stats"))
    return [process["peak_rss_bytes"] for process in stats["processes"]]


def test_all_processes_count_together(growing):
    program = growing("200M=snapshot")
    made = program.path.parent / "out.bin.snapshot-1"
    program.grow(80 * MB + 1)
    for _ in range(3):  # what a child shares with its parent is resident in both
        program.tell("fork")
        assert program.process.stdout.readline() == "done\n"
        program.grow(MB + 1)
    wait_until(made.exists, "a snapshot")
    # A child that ends before it is looked at would have none.
    wait_until(lambda: None not in peaks_of(program), "a look at each process")
    program.end()
    peaks = peaks_of(program)
    assert len(peaks) == 4 and all(peak < 200 << 20 for peak in peaks)


def test_the_program_may_have_ended_when_its_signal_is_due(growing):
    program = growing("100M=signal:TERM")
    program.grow(10 * MB + 1)
    program.tell("orphan")
    wait_until(lambda: not os.path.exists(f"/proc/{program.pid}"), "the program's end")
    program.tell(130 * MB + 1)
    wait_until(lambda: "exceeded 100 MiB: signal:TERM" in program.marks(), "a mark")
    program.process.communicate(timeout=60)
    wait_until(lambda: json.loads(program.report("stats"))["capture"]["state"] == "clean", "an end")
    assert program.failures() == ["exceeded 100 MiB: signal:TERM: the program had ended"]


def test_many_may_be_given_and_act_in_their_order(growing):
    program = growing("100M=exec:true", "102400K=snapshot", "0.1 GB=stop", "100 MiB=signal:USR1")
    program.tell(10 * MB + 1)
    program.tell(200 * MB + 1)
    assert sorted(program.process.stdout.readline() for _ in range(3)) == [
        "done\n", "done\n", "signal\n"]
    program.end()
    marks = program.marks()
    assert sorted(marks) == ["exceeded 100 MiB: exec:true", "exceeded 100 MiB: signal:USR1",
                             "exceeded 100 MiB: snapshot", "exceeded 95.4 MiB: stop"]
    assert [mark.rpartition(" ")[2] for mark in marks if mark[9:12] == "100"] == [
        "exec:true", "snapshot", "signal:USR1"]


def test_python_is_watched_too(binary, tmp_path, any_python):
    path = tmp_path / "out.bin"
    subprocess.run([binary, "run", "-q", "-o", path, "--dormant", "--on-exceed=200M=snapshot",
                    any_python.path, "-c", """
import os, sys, time
block = b"x" * 300_000_000
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
""", f"{path}.snapshot-1"], check=True, timeout=60)


@pytest.mark.parametrize("value", [
    "", "=", "snapshot", "=snapshot", "100M", "100M=", "100M=snap", "100M=snapshot:", "x=stop",
    "0=stop", "-1=stop", "100M=stop=stop", "100M=signal", "100M=signal:", "100M=signal:FOO",
    "100M=signal:0", "100M=signal:65", "100M=signal:9x", "100M=exec", "100M=exec:"])
def test_what_makes_no_sense_is_refused_with_the_form(call, tmp_path, value):
    ended = call("run", "-o", "out.bin", "--on-exceed", value, "true")
    assert ended.returncode == 2
    assert ended.stderr.decode() == (
        f"memtrack: --on-exceed={value}: use SIZE=snapshot, SIZE=stop, SIZE=signal:USR1 or "
        "SIZE=exec:COMMAND, with a size such as 512M or 2 GiB\n")
    assert not (tmp_path / "out.bin").exists()


def test_too_many_are_refused(call):
    for count in 17, 40:
        ended = call("run", "-o", "out.bin", *["--on-exceed=1T=stop"] * count, "true")
        assert ended.returncode == 2 and ended.stderr.count(b"\n") == 1
