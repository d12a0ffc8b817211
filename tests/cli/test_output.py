"""The files that reports are written to: whole, or not there at all."""
import contextlib
import fcntl
import os
import pathlib
import re
import resource
import signal
import stat
import subprocess

import pytest

from waiting import wait_until

CAPTURE = pathlib.Path(__file__).parent.parent / "golden" / "data" / "script.bin"
REPORTS = ["flamegraph", "table", "dump", "stats"]
NOT_WRITTEN = 4


@pytest.fixture
def capture(tmp_path):
    path = tmp_path / "app.bin"
    path.write_bytes(CAPTURE.read_bytes())
    return path


@pytest.fixture(params=["nameless", "named"])
def environment(request, programs):
    """With files that have no name until they are complete, and where there are none."""
    if request.param == "nameless":
        return dict(os.environ)
    return {**os.environ, "LD_PRELOAD": str(programs("cli_no_nameless_files.so"))}


@contextlib.contextmanager
def waiting_report(binary, capture, *arguments, **popen):
    """A report that has opened its output and waits for a collector, which we pretend to be.

    Yields it, and a function that lets it go on.
    """
    whole = capture.read_bytes()
    capture.write_bytes(whole[:-8])
    with open(capture, "r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        report = subprocess.Popen([binary, *arguments, capture], stderr=subprocess.PIPE, **popen)
        assert b"still being written" in report.stderr.readline()
        try:
            yield report, lambda: fcntl.flock(held, fcntl.LOCK_UN)
        finally:
            if report.poll() is None:
                report.kill()
            report.communicate()


def others(capture):
    """What lies beside the capture."""
    return sorted(path.name for path in capture.parent.iterdir() if path != capture)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
                                    signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("before", ["", "precious"], ids=["new", "replaced"])
def test_an_interrupted_report_leaves_nothing(binary, capture, environment, number, before):
    page = capture.parent / "page.html"
    if before:
        page.write_text(before)
    with waiting_report(binary, capture, "flamegraph", "-f", "-o", page,
                        env=environment) as (report, _):
        report.send_signal(number)
        assert report.wait(20) == -number
    left = [name for name in others(capture) if name != page.name]
    if number == signal.SIGKILL and "LD_PRELOAD" in environment:
        assert len(left) == 1 and left[0].startswith("page.html."), "nothing else can be done there"
    else:
        assert not left
    assert page.exists() == bool(before)
    if before:
        assert page.read_text() == before


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_appears_when_it_is_complete(binary, capture, environment, report):
    page = capture.parent / "out"
    with waiting_report(binary, capture, report, "-o", page,
                        env=environment) as (running, go_on):
        assert not page.exists()
        assert bool(others(capture)) == ("LD_PRELOAD" in environment)
        go_on()
        running.wait(60)
    assert others(capture) == ["out"]
    assert page.stat().st_size > 100
    assert stat.S_IMODE(page.stat().st_mode) == 0o666 & ~_mask()
    assert report != "flamegraph" or page.read_text().rstrip().endswith("</html>")


def _mask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_file_that_came_meanwhile_is_kept(binary, capture, environment):
    page = capture.parent / "page.html"
    with waiting_report(binary, capture, "flamegraph", "-o", page,
                        env=environment) as (report, go_on):
        page.write_text("precious")
        go_on()
        said = report.communicate(timeout=60)[1]
    assert report.returncode == NOT_WRITTEN and b"page.html: cannot be written" in said
    assert page.read_text() == "precious" and others(capture) == ["page.html"]


def test_a_file_is_replaced_at_once(call, capture, environment):
    page, link = capture.parent / "page.html", capture.parent / "link.html"
    page.write_text("old")
    link.symlink_to("page.html")
    with open(page, encoding="utf-8") as old:
        assert call("flamegraph", "-f", "-o", link, capture, env=environment).returncode == 0
        assert old.read() == "old", "who reads it goes on reading"
    assert link.is_symlink() and page.read_text().rstrip().endswith("</html>")
    assert others(capture) == ["link.html", "page.html"]


@pytest.mark.parametrize("report", REPORTS)
def test_a_disk_that_is_full_leaves_nothing(call, capture, environment, report):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))

    ended = call(report, "-o", "out", capture, env=environment, preexec_fn=limit)
    assert ended.returncode == NOT_WRITTEN and ended.stderr.startswith(b"memtrack: ")
    assert not others(capture)


def test_a_pipe_is_written_in_place(binary, capture):
    pipe = capture.parent / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([binary, "stats", "-q", "-o", pipe, capture]) as report:
        assert b"peak heap" in pipe.read_bytes()
        assert report.wait(20) == 0
    assert pipe.is_fifo() and others(capture) == ["pipe"]


@pytest.mark.parametrize("report", REPORTS)
def test_the_capture_itself_is_never_replaced(binary, capture, report):
    """A slip of the hand, -f and all, under whatever name it has."""
    before = capture.read_bytes()
    link, second = capture.parent / "link", capture.parent / "second"
    link.symlink_to(capture)
    second.hardlink_to(capture)
    for name in (capture, link, second):
        for options in ([], ["-f"]):
            ended = subprocess.run([binary, report, *options, "-o", name, capture],
                                   capture_output=True, text=True, check=False)
            assert ended.returncode == NOT_WRITTEN
            assert ended.stderr == (f"memtrack: {name}: is the capture that is read: "
                                    "give another name\n")
    assert capture.read_bytes() == before and link.is_symlink()


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "JSON"])
def test_a_dump_into_a_file_says_how_far_it_is(memtrack, programs, binary, tmp_path, options):
    """So many events are never written in half a second, when the first line is due."""
    path = memtrack.run(programs("stress_events"), "pairs", "1", "3000000").capture.path
    leader, terminal = os.openpty()
    with subprocess.Popen([binary, "dump", *options, "-o", "out", path], cwd=tmp_path,
                          stderr=terminal) as report:
        os.close(terminal)
        said = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while not re.search(rb"\rmemtrack: writing the records +\d+%", said):
                said += os.read(leader, 1000)
        report.kill()
    os.close(leader)
    assert said.endswith(b"%")
    path.unlink()
