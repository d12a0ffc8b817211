"""`memtrack recompress`: the same reports from a smaller file, or a refusal and no file."""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "golden"))

pytest.importorskip("lz4.block")
pytest.importorskip("xxhash")

# pylint: disable=wrong-import-position
import capture_format as fmt
import captures

DATA = pathlib.Path(__file__).parents[1] / "golden" / "data"
CLEAN = ["compact", "empty", "family", "partial", "planes", "ranges", "script", "strange", "vector",
         "words", "stored"]
DONE, USAGE, UNREADABLE, NOT_WRITTEN = 0, 2, 3, 4
REPORTS = [["summary"], ["summary", "--leaks"], ["table"], ["table", "--allocated"], ["tree"],
           ["tree", "--inverted"], ["stats"], ["dump"], ["flamegraph", "-o", "-"]]
JSON = ["summary", "table", "tree", "stats", "dump"]


def without_the_file(text, keys):
    """A report without what it says of the capture's own name and size."""
    text = re.sub(rf'"({keys})":[^,}}]*', r'"\1":0', text)
    return re.sub(r"(?m)^capture .*$", "", re.sub(r"(small|twice)\.bin", "app.bin", text))


def assert_same_reports(call, original, small):
    # Where the collector did not say how many events there were, the page counts records.
    has_count = fmt.read_capture(original.read_bytes()).summary.get("events")
    keys = "captureBytes|capture_bytes|bytes_per_event" + ("" if has_count else "|events")
    for arguments in REPORTS + [[name, "--json"] for name in JSON]:
        ended = [call(*arguments, path) for path in (original, small)]
        assert [one.returncode for one in ended] == [DONE, DONE], ended
        before, after = (one.stdout.decode() for one in ended)
        if before != after:  # where it says something of the file; most do not
            before, after = (without_the_file(text, keys) for text in (before, after))
        assert before == after, arguments
        assert len(before) > 20 or original.stat().st_size < 1000


@pytest.fixture
def archive(call, tmp_path):
    """Recompress bytes; returns both files."""
    def make(data):
        original, small = tmp_path / "app.bin", tmp_path / "small.bin"
        original.write_bytes(data)
        ended = call("recompress", original, "-f", "-o", small)
        assert ended.returncode == DONE, ended
        assert re.fullmatch(rb"memtrack: wrote .*small.bin: .*, of .*\n", ended.stderr)
        return original, small

    return make


@pytest.mark.parametrize("name", CLEAN)
def test_reports_of_the_smaller_file_are_the_same(call, archive, name):
    assert_same_reports(call, *archive((DATA / f"{name}.bin").read_bytes()))


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_have_the_same_reports(call, archive, seed):
    for other in range(100):
        data = captures.storm(seed + 1000 * other, steps=1500, threads=1 + seed % 5,
                              forks=seed % 4, bound_steps=seed * 9)
        if fmt.read_capture(data).clean:
            break
    assert_same_reports(call, *archive(data))


def recorded(call, python, tmp_path):
    """A capture of a program with threads, large enough for several sections of a stream."""
    program = ("import threading, json\n"
               "def work():\n"
               "    for i in range(60): json.loads(json.dumps([{'a': [i, str(i)]}] * 60))\n"
               "threads = [threading.Thread(target=work) for _ in range(3)]\n"
               "[t.start() for t in threads]; [t.join() for t in threads]\n")
    capture = tmp_path / "recorded.bin"
    ended = call("run", "-q", "-o", capture, python, "-c", program,
                 env={**os.environ, "PYTHONMALLOC": "malloc"})
    assert ended.returncode == DONE, ended
    return capture.read_bytes()


def test_a_recorded_program_has_the_same_reports_from_fewer_bytes(call, archive, python, tmp_path):
    original, small = archive(recorded(call, python, tmp_path))
    assert_same_reports(call, original, small)
    assert small.stat().st_size < original.stat().st_size * 0.8
    before, after = (fmt.read_capture(path.read_bytes()) for path in (original, small))
    assert after.clean and after.damage is None
    assert len(after.events) < len(before.events)
    assert (after.session, after.processes, after.threads, after.stacks, after.bounds) == (
        before.session, before.processes, before.threads, before.stacks, before.bounds)
    info = json.loads(call("info", "--json", "--verify", small).stdout)
    assert {part["coder"] for part in info["sections"] if part["type"] == "events"} == {"compact"}


def test_the_same_capture_becomes_the_same_bytes(call, archive, python, tmp_path):
    original, small = archive(recorded(call, python, tmp_path))
    again, twice = tmp_path / "again.bin", tmp_path / "twice.bin"
    assert call("recompress", "-q", original, "-o", again).returncode == DONE
    assert again.read_bytes() == small.read_bytes()
    assert call("recompress", "-q", small, "-o", twice).returncode == DONE
    assert_same_reports(call, original, twice)
    assert twice.stat().st_size == pytest.approx(small.stat().st_size, rel=0.01)


def test_streams_longer_than_their_sections_stay_in_order(call, archive):
    """Sections end at each place of a row of WIDE, ALLOC, FREE: WIDE is not parted from its record."""
    trace = captures.Trace(section_records=4000)
    trace.session("long")
    process = trace.process(1)
    stack = trace.stack(0, captures.MALLOC)
    for shift in range(4):
        thread = process.thread(1 + shift)
        for i in range(shift):
            thread.free(captures.HEAP + i)
        for i in range(6000):
            address = captures.HEAP + i % 700 * 64
            thread.free(thread.alloc(address, 5 * captures.GIB + i % 9, stack))
    original, small = archive(trace.finish())
    assert_same_reports(call, original, small)
    assert len(fmt.read_capture(small.read_bytes()).events) == 8


def test_bounds_stand_behind_their_events(archive):
    data = next(data for data in (captures.storm(seed, steps=4000, threads=3, bound_steps=50)
                                  for seed in range(50)) if fmt.read_capture(data).clean)
    _, small = archive(data)
    content, offset = small.read_bytes(), fmt.SUPERBLOCK_BYTES
    highest, bounds = {}, {}
    while offset < len(content) - 32:
        part, offset = fmt.read_section(content, offset)
        for w0, _ in struct.iter_unpack("<QQ", part.payload if part.kind == fmt.EVENTS else b""):
            if w0 >> 60 == fmt.SYNC:
                segment = w0 & fmt.ADDRESS_MASK
                assert segment > bounds.get(part.process, 0)
                highest[part.process] = max(segment, highest.get(part.process, 0))
        if part.kind == fmt.RECORDS:
            capture = fmt.Capture()
            cursor = fmt.Cursor(part.payload)
            while cursor.left():
                kind, body = cursor.varint(), cursor.blob()
                if kind == fmt.BOUND:
                    fmt.read_record(capture, kind, body)
            bounds.update(capture.bounds)
    assert bounds == fmt.read_capture(data).bounds and bounds


@pytest.mark.parametrize("damage", ["cut", "changed", "short", "later"])
def test_what_is_not_whole_is_refused(call, tmp_path, damage):
    data = (DATA / "script.bin").read_bytes()
    data = {"cut": (DATA / "cut.bin").read_bytes(), "short": data[:3000],
            "changed": data[:900] + bytes([data[900] ^ 1]) + data[901:],
            "later": fmt.superblock(data[16:32], 7, minor=9) + data[64:]}[damage]
    path = tmp_path / "app.bin"
    path.write_bytes(data)
    ended = call("recompress", path, "-o", tmp_path / "small.bin")
    assert ended.returncode == UNREADABLE and ended.stdout == b""
    assert re.fullmatch(rb"memtrack: .*app.bin: .* at offset \d+: .*\n", ended.stderr)
    assert [entry.name for entry in tmp_path.iterdir()] == ["app.bin"]


def test_events_that_are_wrong_inside_are_refused(call, tmp_path):
    """Its checksum is right and its bytes are no events."""
    writer = fmt.CaptureWriter()
    writer.session(version="0")
    writer.process(1)
    writer.thread(1, process=1)
    writer.records()
    writer.append(fmt.EVENTS, b"\x01" * 9, records=9, stream=1, process=1, segment=1, coder=3,
                  pack=False)
    path = tmp_path / "app.bin"
    path.write_bytes(writer.finish())
    ended = call("recompress", path, "-o", tmp_path / "small.bin")
    assert ended.returncode == UNREADABLE and b"event that is not right at offset" in ended.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["app.bin"]


def test_the_output_is_as_that_of_a_report(call, tmp_path):
    path, small = tmp_path / "app.bin", tmp_path / "small.bin"
    path.write_bytes((DATA / "script.bin").read_bytes())
    small.write_text("precious")
    ended = call("recompress", path, "-o", small)
    assert ended.returncode == NOT_WRITTEN and b"use -f to replace it" in ended.stderr
    assert small.read_text() == "precious"
    assert call("recompress", "-q", path, "-f", "-o", small).returncode == DONE
    piped = call("recompress", path, "-o", "-")
    assert piped.returncode == DONE and piped.stderr == b""
    assert piped.stdout == small.read_bytes()
    assert call("recompress", "-q", path, "-f", "-o", path).returncode == DONE, "itself"
    assert path.read_bytes() == piped.stdout
    full = call("recompress", path, "-f", "-o", "/dev/full")
    assert full.returncode == NOT_WRITTEN and b"/dev/full: cannot be written" in full.stderr


def test_usage(call, tmp_path):
    path = tmp_path / "app.bin"
    path.write_bytes((DATA / "script.bin").read_bytes())
    for arguments, said in [([], b"name one capture"), ([path], b"say with -o FILE"),
                            ([path, path, "-o", "x"], b"only one capture")]:
        ended = call("recompress", *arguments)
        assert ended.returncode == USAGE and said in ended.stderr
    assert call("recompress", tmp_path / "none", "-o", tmp_path / "x").returncode == UNREADABLE
    assert [entry.name for entry in tmp_path.iterdir()] == ["app.bin"]


def test_a_terminal_gets_no_capture(binary, tmp_path):
    path = tmp_path / "app.bin"
    path.write_bytes((DATA / "script.bin").read_bytes())
    leader, terminal = os.openpty()
    ended = subprocess.run([binary, "recompress", path, "-o", "-"], stdout=terminal,
                           stderr=subprocess.PIPE, check=False)
    os.close(terminal)
    os.close(leader)
    assert ended.returncode == USAGE and b"not for a terminal" in ended.stderr


@pytest.mark.parametrize("name", ["script", "family", "ranges", "words", "limits"])
def test_the_last_part_is_a_capture_of_its_own(call, tmp_path, name):
    """What it shows is compared in tests/golden/test_cut.py."""
    part = tmp_path / "part.bin"
    info = json.loads(call("info", "--json", DATA / f"{name}.bin").stdout)
    end_ns = info["capture"]["duration_ns"]
    kept_ns = end_ns // 2
    ended = call("recompress", "--last", f"{kept_ns}ns", "-o", part, DATA / f"{name}.bin")
    assert ended.returncode == DONE, ended
    assert call("info", "--verify", part).returncode == DONE
    stats = json.loads(call("stats", "--json", part).stdout)
    began_ns = end_ns - kept_ns
    assert stats["capture"]["recorded"] == [{"from_ns": began_ns, "to_ns": end_ns}]
    assert any(warning.startswith("this is the last part, from ") for warning in
               stats["capture"]["warnings"])
    times = [json.loads(line)["time_ns"] for line in call("dump", "--json", part).stdout.splitlines()]
    before = [json.loads(line)["time_ns"] for line in
              call("dump", "--json", DATA / f"{name}.bin").stdout.splitlines()]
    first_tick = max([0] + [time for time in before if time <= began_ns])
    assert min(times, default=first_tick) >= first_tick
    assert [time for time in times if time > began_ns] == [time for time in before if time > began_ns]
    # And once more, of what is left.
    again = tmp_path / "again.bin"
    ended = call("recompress", "--last", f"{kept_ns // 2}ns", "-o", again, part)
    assert ended.returncode == DONE, ended
    stats = json.loads(call("stats", "--json", again).stdout)
    assert stats["capture"]["recorded"][0]["from_ns"] == end_ns - kept_ns // 2


def test_a_capture_that_is_shorter_is_kept_whole(call, archive, tmp_path):
    original, small = archive(DATA.joinpath("script.bin").read_bytes())
    ended = call("recompress", "--last", "1h", "-o", tmp_path / "whole.bin", original)
    assert ended.returncode == DONE
    assert (tmp_path / "whole.bin").read_bytes() == small.read_bytes()


@pytest.mark.parametrize("time", ["0", "soon", "-1s"])
def test_a_last_part_of_no_time_is_refused(call, tmp_path, time):
    ended = call("recompress", f"--last={time}", "-o", tmp_path / "part.bin", DATA / "script.bin")
    assert ended.returncode == USAGE and b"--last" in ended.stderr
    assert not (tmp_path / "part.bin").exists()


def test_of_a_sample_no_part_can_be_taken(call, tmp_path):
    ended = call("recompress", "--last", "1ms", "-o", tmp_path / "part.bin", DATA / "sampled.bin")
    assert ended.returncode == UNREADABLE and b"is a sample" in ended.stderr
    assert not (tmp_path / "part.bin").exists()
