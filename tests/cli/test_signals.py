"""Signals and job control: as without memtrack."""
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import termios
import time

import pytest

from waiting import wait_until

# Writes each signal it gets into the file "got", and is ready when the file is there.
LISTENER = """
import os, signal, sys, time
got = os.open("got", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def note(number, frame):
    os.write(got, b"%d\\n" % number)
    if number == signal.SIGTERM:
        sys.exit(5)
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), note)
os.write(got, b"ready\\n")
while True:
    time.sleep(1)
"""


class Job:
    """A tracked Python program whose signals can be read."""

    def __init__(self, binary, folder, code, *arguments, **popen):
        self.folder = folder
        self.process = subprocess.Popen(
            [binary, "run", "-q", "-o", "out.bin", sys.executable, "-c", code, *arguments],
            cwd=folder, **popen)
        wait_until(lambda: "ready" in self.got(), "the program starts")

    def got(self):
        path = self.folder / "got"
        return path.read_text().split() if path.exists() else []

    def await_signal(self, number):
        wait_until(lambda: str(int(number)) in self.got(), f"signal {number}")


@pytest.fixture
def listen(binary, tmp_path):
    """Start a program that writes down the signals it gets."""
    jobs = []

    def start(*names, **popen):
        jobs.append(Job(binary, tmp_path, LISTENER, *names, **popen))
        return jobs[-1]

    yield start
    for job in jobs:
        if job.process.poll() is None:
            job.process.terminate()
            job.process.wait(30)


@pytest.mark.parametrize("name", ["SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH",
                                  "SIGALRM"])
def test_a_signal_sent_to_run_reaches_the_program(listen, name):
    job = listen(name, "SIGTERM")
    job.process.send_signal(getattr(signal, name))
    job.await_signal(getattr(signal, name))
    job.process.terminate()
    assert job.process.wait(30) == 5
    assert job.got() == ["ready", str(int(getattr(signal, name))), "15"], "each once"


def test_a_deadly_signal_ends_both_the_same_way(listen):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        job = listen()
        job.process.send_signal(number)
        ended = job.process.wait(30)
        (job.folder / "got").unlink()
        (job.folder / "out.bin").unlink()
        # Python turns SIGINT into an exception, and ends by the signal after that.
        assert ended == -number


def test_ignored_signals_stay_ignored(listen):
    job = listen("SIGTERM", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    job.process.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    assert job.process.poll() is None
    job.process.terminate()
    assert job.process.wait(30) == 5


def test_exit_codes_are_known_though_sigchld_was_ignored(binary, tmp_path):
    ended = subprocess.run([binary, "run", "-q", "-o", tmp_path / "out.bin", "sh", "-c", "exit 7"],
                           preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
                           check=False, timeout=60)
    assert ended.returncode == 7


def test_a_signal_to_the_own_group_comes_once(binary, tmp_path):
    """`kill 0` reaches the program and memtrack; memtrack must not send it again."""
    code = LISTENER + "\n"
    code = code.replace("while True:", "os.kill(0, signal.SIGUSR1); time.sleep(.3)\nos._exit(0)\nwhile True:")
    process = subprocess.Popen(
        [binary, "run", "-q", "-o", "out.bin", sys.executable, "-c", code, "SIGUSR1"],
        cwd=tmp_path, start_new_session=True)
    assert process.wait(30) == 0
    assert (tmp_path / "got").read_text().split() == ["ready", str(int(signal.SIGUSR1))]


def test_an_alarm_set_before_the_start_rings_in_the_program(binary, tmp_path):
    """`perl -e 'alarm 1; exec @ARGV'` is a usual way to end what takes too long."""
    code = ("import os, signal, sys; signal.alarm(1);"
            "os.execv(sys.argv[1], sys.argv[1:])")
    ended = subprocess.run([sys.executable, "-c", code, binary, "run", "-q", "-o",
                            tmp_path / "out.bin", "sleep", "50"], check=False, timeout=60)
    assert ended.returncode == -signal.SIGALRM


def state_of(pid):
    """Return the letter of a process's state, '' when it is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def program_of(run_pid):
    children = pathlib.Path(f"/proc/{run_pid}/task/{run_pid}/children").read_text().split()
    for child in map(int, children):
        if b"collect" not in pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[1:2]:
            return child
    raise AssertionError("no program")


def test_run_stops_and_continues_with_the_program(listen):
    job = listen("SIGCONT", "SIGTERM")
    program = program_of(job.process.pid)
    os.kill(program, signal.SIGSTOP)
    wait_until(lambda: state_of(job.process.pid) == "T", "run stops when its program does")
    job.process.send_signal(signal.SIGCONT)
    wait_until(lambda: state_of(program) not in "T", "the program goes on when run does")
    job.await_signal(signal.SIGCONT)
    job.process.terminate()
    assert job.process.wait(30) == 5


class Shell:
    """An interactive shell on a terminal of its own."""

    def __init__(self, folder):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(PS1="$ ", TERM="dumb")
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        self.text = ""
        self.wait_for("$ ")

    def type(self, text):
        self.text = ""
        os.write(self.terminal, text.encode())

    def wait_for(self, expected, timeout_s=20):
        end = time.monotonic() + timeout_s
        while expected not in self.text:
            left = end - time.monotonic()
            assert left > 0, f"{expected!r} never came: {self.text!r}"
            if select.select([self.terminal], [], [], left)[0]:
                self.text += os.read(self.terminal, 65536).decode(errors="replace")

    def close(self):
        os.close(self.terminal)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture
def shell(tmp_path):
    started = Shell(tmp_path)
    yield started
    started.close()


COUNTER = """
import os, select, signal, sys
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
# A read from the terminal would sleep through a signal that comes between Python's last look for one
# and the call; a descriptor that each signal writes to ends the wait whenever it comes.
woken, wakes = os.pipe()
os.set_blocking(wakes, False)
signal.set_wakeup_fd(wakes)
signal.signal(signal.SIGINT, lambda number, frame: say("got", number))
signal.signal(signal.SIGCONT, lambda number, frame: say("got", number))
say("in front" if os.tcgetpgrp(0) == os.getpgrp() else "behind")
while True:
    ready = select.select([0, woken], [], [])[0]
    if woken in ready:
        os.read(woken, 100)
    if 0 in ready:
        line = os.read(0, 1000).decode().strip()
        say("read", line)
        if line == "end":
            sys.exit(3)
"""


def test_job_control_is_as_without(shell, binary, tmp_path):
    (tmp_path / "counter.py").write_text(COUNTER)
    shell.type(f"MEMTRACK_PYTHON={sys.executable} {binary} run -o out.bin counter.py\n")
    shell.wait_for("in front")
    shell.type("\x03")
    shell.wait_for("got 2")
    time.sleep(0.2)
    assert shell.text.count("got 2") == 1, "Ctrl-C comes once"
    shell.type("first\n")
    shell.wait_for("read first")
    shell.type("\x1a")
    shell.wait_for("Stopped")
    shell.wait_for("$ ")
    shell.type("fg\n")
    shell.wait_for("got 18")
    before = shell.text
    shell.type("second\n")
    shell.wait_for("read second")
    assert (before + shell.text).count("got 18") == 1, "continued once"
    shell.type("end\n")
    shell.wait_for("memtrack: wrote out.bin")
    shell.wait_for("$ ")
    shell.type("echo code=$?\n")
    shell.wait_for("code=3")


def test_a_background_job_that_reads_is_stopped_and_brought_back(shell, binary, tmp_path):
    shell.type(f"{binary} run -q -o out.bin cat &\n")
    shell.wait_for("$ ")
    wait_until(lambda: (shell.type("jobs\n"), time.sleep(0.1), shell.wait_for("$ "),
                        "Stopped" in shell.text)[-1], "the job is stopped")
    shell.type("fg\n")
    shell.wait_for("cat")
    shell.type("typed\n")
    shell.wait_for("typed\r\ntyped")
    shell.type("\x04")
    shell.wait_for("$ ")


def test_ctrl_c_ends_the_program_and_the_capture_is_written(shell, binary, tmp_path):
    shell.type(f"{binary} run -o out.bin sleep 50\n")
    wait_until((tmp_path / "out.bin").exists, "the capture is begun")
    time.sleep(0.3)
    shell.type("\x03")
    shell.wait_for("memtrack: wrote out.bin")
    shell.wait_for("$ ")
    shell.type("echo code=$?\n")
    shell.wait_for("code=130")


def test_the_terminal_is_left_as_it_was(shell, binary, tmp_path):
    before = termios.tcgetattr(shell.terminal)
    shell.type(f"{binary} run -q -o out.bin true; echo done\n")
    shell.wait_for("done\r\n")
    shell.wait_for("$ ")
    assert termios.tcgetattr(shell.terminal)[0:4] == before[0:4]
