"""Captures that are cut off or wrong somewhere: what stands before it is reported, and is said.

Every byte of every golden capture is tried by tests/unit/test_capture.c; here some of them are, by
the command, and its figures are compared with those of the reader in Python.
"""

import json
import pathlib
import re
import struct
import subprocess
import sys

import pytest

pytest.importorskip("lz4.block")
pytest.importorskip("xxhash")

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "golden"))

# pylint: disable=wrong-import-position
import capture_format as fmt
import capture_model
import capture_order
import captures
from capture_trace import MALLOC

REPORTS = ["stats", "summary", "table", "tree", "dump", "info", "flamegraph"]
DONE, UNREADABLE = 0, 3
SAMPLES = 24


def run(binary, *arguments):
    return subprocess.run([binary, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)


def assert_said(ended, path, limit):
    """One line that names the file and a place that is not behind the damage. Returns the place."""
    assert ended.returncode == UNREADABLE, ended
    match = re.fullmatch(rf"memtrack: {re.escape(str(path))}: .+ at offset (\d+): .+\n",
                         ended.stderr)
    assert match, ended.stderr
    assert int(match[1]) <= limit
    return int(match[1])


def assert_read_as_far(binary, path, limit):
    """The figures are those of what stands before the damage."""
    ended = run(binary, "stats", "--json", path)
    # The superblock is right or wrong as a whole.
    assert_said(ended, path, max(limit, fmt.SUPERBLOCK_BYTES))
    try:
        capture = fmt.read_capture(path.read_bytes())
    except fmt.FormatError:
        capture = fmt.Capture()
    if not capture.session:
        assert ended.stdout == ""
        return
    totals = json.loads(ended.stdout)["totals"]
    expected = capture_model.build(capture)["totals"]
    assert {name: totals[name] for name in expected} == expected


def places(size):
    """Some of all bytes: the ends, and what is between in steps that meet every kind of field."""
    return sorted({0, 1, 63, 64, size - 1, *range(17, size, size // SAMPLES | 1)})


@pytest.fixture(scope="module")
def storm():
    """A capture with bounds on the way: much of it is left wherever it is cut off."""
    return captures.storm(5, steps=1000, threads=3, forks=1, bound_steps=40)


def test_cut_off_anywhere_it_is_read_as_far(binary, tmp_path, storm):
    path = tmp_path / "part.bin"
    for size in places(len(storm)):
        path.write_bytes(storm[:size])
        assert_read_as_far(binary, path, size)


def test_a_wrong_byte_anywhere_is_noticed_and_what_is_before_is_read(binary, tmp_path, storm):
    path = tmp_path / "wrong.bin"
    for at in places(len(storm)):
        wrong = bytearray(storm)
        wrong[at] ^= 0x41
        path.write_bytes(wrong)
        assert_read_as_far(binary, path, at)


@pytest.mark.parametrize("kind", REPORTS)
def test_every_report_shows_what_is_before_the_damage(binary, tmp_path, storm, kind):
    path, out = tmp_path / "part.bin", tmp_path / "out"
    path.write_bytes(storm[:len(storm) * 2 // 3])
    ended = run(binary, kind, path, "-q", "-o", out)
    assert_said(ended, path, len(storm) * 2 // 3)
    assert kind == "info" or re.search("f[0-5]", out.read_text()) or kind == "flamegraph"


def forged(tmp_path):
    """Events whose section is whole, with its checksum, and one of them impossible."""
    trace = captures.Trace(section_records=3)
    trace.session("forged")
    process = trace.process(1)
    thread = process.thread(1)
    for i in range(20):
        thread.alloc(0x1000 + 64 * i, 48, trace.stack(0, MALLOC))
        if i == 9:
            thread.record(fmt.event(fmt.ALLOC, 0x9000, w1=0xFFFF_FFFF << 32))
    process.end()
    path = tmp_path / "forged.bin"
    path.write_bytes(trace.finish())
    return path


def with_events(payload, records, coder):
    """A capture with one section of events, as it is given. Returns it, and where the payload is."""
    writer = fmt.CaptureWriter()
    writer.session(version="0.9")
    writer.process(1)
    writer.thread(1, process=1)
    writer.records()
    offset = len(writer.data)
    writer.append(fmt.EVENTS, payload, records=records, stream=1, process=1, segment=1,
                  coder=coder, pack=False)
    return writer.finish(), offset + fmt.HEADER_BYTES


def test_a_coder_of_a_later_version_is_named_as_that(binary, tmp_path):
    path = tmp_path / "app.bin"
    data, start = with_events(bytes(16), 1, coder=4)
    path.write_bytes(data)
    ended = run(binary, "info", path)
    assert assert_said(ended, path, len(data)) == start - fmt.HEADER_BYTES
    assert "packed in an unknown way" in ended.stderr and "or a newer one" in ended.stderr
    assert "0.9" in ended.stdout, "what stands before it is reported"


@pytest.mark.parametrize("payload, records, place, what", [
    (b"\x90\x03\x02\x00\x00" + b"\x03", 2, 5, "event that is not right"),   # 2 ago, of 1
    (b"\x90\x03\x02\x00\x00" + b"\x78\x80", 2, 5, "event"),                # told, cut off
    (b"\x90\x03\x02\x00\x00", 2, 5, "events that end too early"),
    (b"\x90\x03\x02\x00\x00\x01\x01", 2, 6, "bytes behind the last event"),
])
def test_wrong_compact_events_are_said_where_they_stand(binary, tmp_path, payload, records, place,
                                                        what):
    path = tmp_path / "app.bin"
    data, start = with_events(payload, records, coder=3)
    path.write_bytes(data)
    ended = run(binary, "stats", path)
    assert assert_said(ended, path, len(data)) == start + place
    assert what in ended.stderr
    assert fmt.read_capture(data).damage.offset == start


@pytest.mark.parametrize("records", [0, 6, 1 << 17])
def test_compact_events_that_cannot_be_so_many_are_refused(binary, tmp_path, records):
    path = tmp_path / "app.bin"
    data, start = with_events(b"\x90\x03\x02\x00\x00", records, coder=3)
    path.write_bytes(data)
    ended = run(binary, "stats", path)
    assert assert_said(ended, path, len(data)) == start - fmt.HEADER_BYTES
    assert "do not fill their section" in ended.stderr


@pytest.mark.parametrize("kind", REPORTS)
def test_an_impossible_event_is_said_by_every_report_that_reads_events(binary, tmp_path, kind):
    path, out = forged(tmp_path), tmp_path / "out"
    ended = run(binary, kind, path, "-q", "-o", out)
    if kind == "info":
        assert (ended.returncode, ended.stderr) == (DONE, "")
    else:
        assert_said(ended, path, path.stat().st_size)
    assert out.stat().st_size > 100


def test_info_verifies_events_when_asked(binary, tmp_path, storm):
    path = forged(tmp_path)
    ended = run(binary, "info", "--verify", "--json", path)
    assert_said(ended, path, path.stat().st_size)
    assert json.loads(ended.stdout)["verified_events"] == 10
    path.write_bytes(storm)
    ended = run(binary, "info", "--verify", "--json", path)
    assert (ended.returncode, ended.stderr) == (DONE, "")
    events = list(capture_order.ordered_events(fmt.read_capture(storm)))
    assert json.loads(ended.stdout)["verified_events"] == len(events) > 500


def test_what_is_before_an_impossible_event_is_reported(binary, tmp_path):
    path = forged(tmp_path)
    events = [json.loads(line) for line in run(binary, "dump", "--json", path).stdout.splitlines()]
    assert [event["address"] for event in events if event["op"] == "alloc"] \
        == [0x1000 + 64 * i for i in range(10)]
    stats = json.loads(run(binary, "stats", "--json", path).stdout)
    assert stats["totals"]["allocations"] == 10
    assert any("event that is not right" in text for text in stats["capture"]["warnings"])


def listed(most_entries):
    """A capture of some sections, and where each section of its directory begins."""
    trace = captures.Trace(section_records=3)
    trace.session("listed")
    process = trace.process(1)
    thread = process.thread(1)
    for i in range(20):
        thread.alloc(0x1000 + 64 * i, 48, trace.stack(0, MALLOC))
    process.end()
    data = trace.finish(most_entries)
    offset, offsets = struct.unpack_from("<Q", data, len(data) - 32)[0], []
    while offset < len(data) - 32:
        offsets.append(offset)
        offset = fmt.read_section(data, offset)[1]
    return data, offsets


def with_end(data, directory_offset):
    """The trailer again, for another size."""
    trailer = struct.pack("<QQ8s", directory_offset, len(data) + 32, fmt.TRAILER_MAGIC)
    return data + trailer + struct.pack("<Q", fmt.checksum(trailer))


@pytest.mark.parametrize("most_entries", [1, 2, 5, 1000])
def test_a_long_directory_is_several_sections(binary, tmp_path, most_entries):
    path = tmp_path / "app.bin"
    data, offsets = listed(most_entries)
    assert (len(offsets) > 1) == (most_entries < 1000)
    path.write_bytes(data)
    ended = run(binary, "stats", "--json", path)
    assert (ended.returncode, ended.stderr) == (DONE, "")
    assert json.loads(ended.stdout)["totals"]["allocations"] == 20


def test_a_long_directory_that_is_wrong_is_damage(binary, tmp_path):
    path = tmp_path / "app.bin"
    data, offsets = listed(3)
    head, parts = data[:offsets[0]], [data[begin:end] for begin, end in
                                      zip(offsets, offsets[1:] + [len(data) - 32])]
    wrongs = [parts[:-1], parts[1:], parts + parts[-1:], parts[:1] * len(parts),
              parts[:1] + [fmt.section(fmt.RECORDS, b"", records=0)] + parts[1:],
              parts + [fmt.section(fmt.RECORDS, b"", records=0)]]
    for number, wrong in enumerate(wrongs):
        path.write_bytes(with_end(head + b"".join(wrong), offsets[0]))
        ended = run(binary, "stats", "--json", path)
        assert_said(ended, path, path.stat().st_size)
        assert "directory" in ended.stderr, number
        assert json.loads(ended.stdout)["totals"]["allocations"] == 20
