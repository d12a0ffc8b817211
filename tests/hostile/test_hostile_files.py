"""Files that are no captures, or not whole, or not ours; disks that are full."""
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

import killing
import tracked
from disks import small_disk

REPORTS = ["stats", "summary", "table", "tree", "dump", "info"]
UNREADABLE, NOT_WRITTEN = 3, 4


@pytest.fixture(scope="module")
def whole(binary, programs, tmp_path_factory):
    """A small capture, as bytes."""
    memtrack = tracked.Memtrack(binary, tmp_path_factory.mktemp("whole"))
    capture = memtrack.run(programs("conformance_allocators"), "aligned").capture
    return capture.path.read_bytes()


def assert_refused(memtrack, path):
    """Every report says which file and why, in one line, and shows nothing."""
    for report in (*REPORTS, "flamegraph"):
        page = ["-o", memtrack.folder / "page.html"] if report == "flamegraph" else []
        ended = memtrack.report(report, *page, path)
        assert ended.returncode == UNREADABLE, (report, ended)
        assert ended.stderr.startswith(f"memtrack: {path}: "), (report, ended.stderr)
        assert len(ended.stderr.splitlines()) == 1
        assert not page or not page[1].exists()


FOREIGN = {
    "empty": b"",
    "one byte": b"\x89",
    "text": b"hello, world\n" * 100,
    "program": pathlib.Path(sys.executable).read_bytes()[:100_000],
    "zeros": bytes(8192),
    "magic alone": b"\x89MTK\r\n\x1a\n",
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_file_that_is_no_capture(memtrack, tmp_path, kind):
    path = tmp_path / "foreign.bin"
    path.write_bytes(FOREIGN[kind])
    assert_refused(memtrack, path)


def test_file_that_is_not_there(memtrack, tmp_path):
    assert_refused(memtrack, tmp_path / "nothing.bin")
    assert_refused(memtrack, tmp_path)


@pytest.fixture
def public(binary, tmp_path):
    """The command where users without rights reach it: the build may lie in root's home."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        for file in (binary, binary.parent.parent / "lib" / "libmemtrack.so"):
            folder = pathlib.Path(name) / file.parent.name
            folder.mkdir(mode=0o755)
            shutil.copy(file, folder)
        yield tracked.Memtrack(pathlib.Path(name) / binary.parent.name / binary.name, tmp_path)


def test_file_that_may_not_be_read(public, whole):
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        path = pathlib.Path(name) / "secret.bin"
        path.write_bytes(whole)
        path.chmod(0)
        ended = public.report("stats", path, preexec_fn=give_up_root)
        assert ended.returncode == UNREADABLE
        assert ended.stderr.startswith(f"memtrack: {path}: ")


def give_up_root():
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


@pytest.mark.parametrize("change, word", [({"major": 2}, "version"), ({"features": 2}, "")],
                         ids=["next major version", "unknown feature"])
def test_capture_of_the_future_is_refused(memtrack, tmp_path, whole, change, word):
    capture_format = pytest.importorskip("capture_format", exc_type=ImportError)
    path = tmp_path / "future.bin"
    head = capture_format.superblock(whole[16:32], 0, **change)
    path.write_bytes(head + whole[len(head):])
    assert_refused(memtrack, path)
    assert word in memtrack.report("stats", path).stderr


def test_capture_of_the_next_minor_version_is_read(memtrack, tmp_path, whole):
    capture_format = pytest.importorskip("capture_format", exc_type=ImportError)
    path = tmp_path / "minor.bin"
    head = capture_format.superblock(whole[16:32], 0, minor=7)
    path.write_bytes(head + whole[len(head):])
    assert memtrack.report("stats", path).returncode == 0


def test_random_damage_never_breaks_a_report(memtrack, tmp_path, whole, is_full):
    """Some bytes are changed: the report ends by itself, with what it could read or a message."""
    chance = random.Random(17)
    path = tmp_path / "damaged.bin"
    for _ in range(500 if is_full else 60):
        content = bytearray(whole)
        for _ in range(chance.choice([1, 1, 8])):
            content[chance.randrange(len(content))] = chance.randrange(256)
        path.write_bytes(content)
        report = chance.choice(REPORTS)
        ended = memtrack.report(report, path)
        assert ended.returncode in (0, UNREADABLE), (report, ended)
        assert (ended.returncode == 0) == (ended.stderr == ""), (report, ended)


def test_capture_that_is_still_written(memtrack, any_python):
    process, capture = memtrack.start(
        any_python.path, "-c",
        "import sys; b = bytearray(100000); print('here', flush=True); sys.stdin.read()",
        stdin=subprocess.PIPE)
    assert process.stdout.readline() == "here\n"
    collector = killing.collector_of(capture.path)
    for report in REPORTS:
        ended = memtrack.report(report, capture.path)
        assert ended.returncode == 0, (report, ended.stderr)
        assert ended.stderr == f"memtrack: {capture.path}: the program is still running: " \
            "shown is what stands there by now\n"
    for _ in range(100):
        stats = capture.stats()
        if stats["totals"]["allocated_bytes"] > 100_000:
            break
    assert stats["capture"]["state"] == "running"
    assert stats["totals"]["allocated_bytes"] > 100_000
    assert stats["totals"]["order_violations"] == 0
    process.communicate("", timeout=30)
    assert process.returncode == 0
    deadline = time.monotonic() + 10
    while pathlib.Path(f"/proc/{collector}").exists():
        assert time.monotonic() < deadline, "the collector does not end"
        time.sleep(0.01)
    assert capture.stats()["capture"]["state"] == "clean"


def test_output_that_is_there_is_kept(memtrack, any_python, tmp_path):
    path = tmp_path / "mine.bin"
    path.write_bytes(b"precious")
    marker = tmp_path / "started"
    command = [any_python.path, "-c", f"open({str(marker)!r}, 'w')"]
    ended = memtrack.run(*command, output=path, expect=NOT_WRITTEN)
    assert str(path) in ended.stderr
    assert path.read_bytes() == b"precious" and not marker.exists()
    memtrack.run(*command, output=path, options=["-f"])
    assert tracked.Capture(memtrack, path).stats()["capture"]["state"] == "clean"
    page = tmp_path / "page.html"
    page.write_text("precious")
    ended = memtrack.report("flamegraph", path, "-o", page)
    assert ended.returncode == NOT_WRITTEN and page.read_text() == "precious"


@pytest.mark.parametrize("path", ["/proc/memtrack.bin", "/nonexistent/folder/out.bin", "/dev/null",
                                  "/tmp"])
def test_output_that_cannot_be_made(memtrack, any_python, tmp_path, path):
    marker = tmp_path / "started"
    ended = memtrack.run(any_python.path, "-c", f"open({str(marker)!r}, 'w')",
                         output=pathlib.Path(path), expect=NOT_WRITTEN)
    assert ended.stderr.startswith("memtrack: ") and path in ended.stderr
    assert not marker.exists()


def test_output_in_a_folder_that_is_not_ours(public):
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o555)
        output = pathlib.Path(name) / "out.bin"
        ended = public.run("true", output=output, expect=NOT_WRITTEN, preexec_fn=give_up_root)
        assert ended.stderr.startswith(f"memtrack: {output}: "), ended.stderr


def test_output_on_a_disk_that_is_read_only(memtrack, whole):
    with small_disk(1 << 20) as folder:
        (folder / "whole.bin").write_bytes(whole)
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        output = folder / "out.bin"
        ended = memtrack.run("true", output=output, expect=NOT_WRITTEN)
        assert ended.stderr.startswith(f"memtrack: {output}: "), ended.stderr
        # What lies there can be read all the same, if not reported into the same place.
        assert memtrack.report("stats", folder / "whole.bin").returncode == 0
        page = memtrack.report("flamegraph", folder / "whole.bin", "-o", folder / "page.html")
        assert page.returncode == NOT_WRITTEN and str(folder) in page.stderr


def test_report_that_cannot_be_written(memtrack, tmp_path, whole):
    path = tmp_path / "whole.bin"
    path.write_bytes(whole)
    for report in REPORTS:
        with open("/dev/full", "wb") as full:
            ended = subprocess.run([memtrack.binary, report, str(path)], stdout=full,
                                   stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        assert ended.returncode == NOT_WRITTEN, report
        assert ended.stderr.startswith("memtrack: ")
    ended = memtrack.report("flamegraph", path, "-o", "/nonexistent/page.html")
    assert ended.returncode == NOT_WRITTEN


def assert_program_is_unharmed(memtrack, programs, output, **popen):
    """The program makes far more events than there is room for, and ends as it would."""
    ended = memtrack.run(programs("stress_events"), "random", 2, 400_000, output=output,
                         check=False, **popen)
    return ended


@pytest.mark.parametrize("count_bytes", [4096, 16384, 65536, 1 << 20])
def test_75_disk_that_fills_up(memtrack, programs, count_bytes):
    with small_disk(count_bytes) as folder:
        output = folder / "full.bin"
        ended = assert_program_is_unharmed(memtrack, programs, output)
        assert_ends_at_what_fitted(ended, output)


def assert_ends_at_what_fitted(ended, output):
    """Either it never began, for want of room, or the program ran through and what is there holds."""
    if ended.returncode == NOT_WRITTEN:
        assert ended.stdout == "" and str(output) in ended.stderr
        return
    assert ended.returncode == 0, ended
    words = ended.words()
    assert words["allocations"] == [800_000]
    assert ended.stderr.startswith("memtrack: "), "a capture that is not whole, and not a word"
    stats = ended.capture.cut_stats()
    assert stats["totals"]["allocations"] < 800_000
    assert stats["totals"]["order_violations"] == 0


def test_75_disk_that_has_no_room_at_all(memtrack, programs):
    with small_disk(4096) as folder:
        (folder / "filler").write_bytes(bytes(4096))
        ended = assert_program_is_unharmed(memtrack, programs, folder / "full.bin")
        assert_ends_at_what_fitted(ended, folder / "full.bin")


def test_75_disk_that_is_full_at_any_page(memtrack, programs):
    """From the first section to the last: where the room ends, the capture does."""
    states = []
    for pages in range(1, 30):
        with small_disk(pages * os.sysconf("SC_PAGE_SIZE")) as folder:
            ended = memtrack.run(programs("stress_events"), "random", 1, 3000,
                                 output=folder / "full.bin", check=False)
            if ended.returncode == NOT_WRITTEN:
                states.append("refused")
                continue
            assert (ended.returncode, ended.words()["allocations"]) == (0, [3000])
            info = memtrack.report("stats", folder / "full.bin", "--json")
            state = json.loads(info.stdout)["capture"]["state"]
            assert (state == "clean") == (info.returncode == 0) == (ended.stderr == ""), ended
            states.append(state)
            if state == "clean":
                break
    assert states[-1] == "clean" and "truncated" in states, states


def limit_file_size(soft_bytes, hard_bytes):
    """Return what sets RLIMIT_FSIZE in a child, with the signal that comes with it as it is."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft_bytes, hard_bytes))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)

    return limit


def test_file_size_limit_of_the_program_is_not_the_captures(memtrack, programs, tmp_path):
    ended = assert_program_is_unharmed(memtrack, programs, tmp_path / "limited.bin",
                                       preexec_fn=limit_file_size(4096, resource.RLIM_INFINITY))
    assert ended.returncode == 0 and ended.stderr == "", ended
    assert ended.capture.assert_sound()["allocations"] >= 800_000


def test_file_size_limit_that_nobody_may_raise(memtrack, programs, tmp_path):
    """It brings a signal besides the error: neither may reach anybody."""
    output = tmp_path / "limited.bin"
    ended = assert_program_is_unharmed(memtrack, programs, output,
                                       preexec_fn=limit_file_size(3 << 20, 3 << 20))
    assert_ends_at_what_fitted(ended, output)
    assert ended.returncode == 0, "3 MB is enough to begin with"


def test_file_size_limit_below_any_use(memtrack, programs, tmp_path):
    output = tmp_path / "limited.bin"
    ended = assert_program_is_unharmed(memtrack, programs, output,
                                       preexec_fn=limit_file_size(65536, 65536))
    assert ended.returncode == NOT_WRITTEN and ended.stdout == ""
    assert "ulimit -f" in ended.stderr and not output.exists()


def test_capture_that_is_cut_while_it_is_written(memtrack, programs, tmp_path):
    """A stranger truncates or removes the file: the program does not notice."""
    for change in (lambda path: os.truncate(path, 100), os.unlink):
        process, capture = memtrack.start(programs("stress_events"), "random", 1, 2_000_000,
                                          options=["-f"])
        killing.collector_of(capture.path)
        change(capture.path)
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0 and "allocations 2000000\n" in out
