"""`timeline` tells what the samples are: its numbers agree with each other and with the other reports."""
import json
import pathlib
import subprocess

import pytest

CAPTURES = pathlib.Path(__file__).resolve().parents[1] / "golden" / "data"
NAMES = ("script", "words", "family", "ranges", "native")
BLOCKS = " ▁▂▃▄▅▆▇█"


@pytest.fixture
def timeline(binary):
    def run(name, *options):
        ended = subprocess.run([binary, "timeline", f"{name}.bin", *options], cwd=CAPTURES, check=True,
                               capture_output=True, env={"LC_ALL": "C.UTF-8"})
        return ended.stdout.decode()

    return run


@pytest.fixture
def facts(binary):
    def run(report, name, *options):
        ended = subprocess.run([binary, report, "--json", f"{name}.bin", *options], cwd=CAPTURES,
                               check=True, capture_output=True)
        return json.loads(ended.stdout)

    return run


@pytest.mark.parametrize("name", NAMES)
def test_the_highest_sample_is_the_peak(facts, name):
    report, totals = facts("timeline", name), facts("stats", name)["totals"]
    highest = max(report["samples"], key=lambda sample: sample["heap_bytes"])
    assert highest["heap_bytes"] == totals["peak_bytes"]
    assert highest["heap_blocks"] == totals["peak_allocations"]
    assert highest["time_ns"] == totals["peak_time_ns"]


@pytest.mark.parametrize("name", NAMES)
def test_allocations_are_counted_up_to_all_of_them(facts, name):
    counts = [sample["allocations"] or 0 for sample in facts("timeline", name)["samples"]]
    assert counts == sorted(counts)
    assert counts[-1] == facts("stats", name)["totals"]["allocations"]


@pytest.mark.parametrize("name", NAMES)
def test_processes_add_up_to_the_heap(facts, name):
    report = facts("timeline", name)
    bands = [process["heap_bytes"] for process in report["processes"]]
    for i, sample in enumerate(report["samples"]):
        assert sum(band[i] for band in bands) == sample["heap_bytes"], i
    assert all(max(band) <= process["peak_bytes"]
               for band, process in zip(bands, report["processes"]))


def test_growth_is_the_slope_of_the_nearest_line(facts):
    report = facts("timeline", "script")
    points = [(sample["time_ns"] / 1e9, sample["heap_bytes"]) for sample in report["samples"]]
    while points[-1][1] == 0:
        points.pop()
    for since, told in [(0, "growth_bytes_per_second"),
                        (report["capture"]["duration_ns"] / 2e9, "late_growth_bytes_per_second")]:
        part = [point for point in points if point[0] >= since]
        time, heap = (sum(values) / len(part) for values in zip(*part))
        slope = sum((x - time) * (y - heap) for x, y in part) / sum((x - time) ** 2 for x, _ in part)
        assert report[told] == pytest.approx(slope, abs=2)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_picture_shows_the_samples(timeline, facts, width):
    lines = timeline("script", "--width", str(width)).splitlines()
    top = next(i for i, line in enumerate(lines) if line[11:12] == "|")
    rows = [line[12:].ljust(width - 12) for line in lines[top:top + 10]]
    samples = facts("timeline", "script")["samples"]
    end = facts("stats", "script")["capture"]["duration_ns"]
    peak = max(sample["heap_bytes"] for sample in samples)
    assert lines[top].startswith(f"{peak / 2**20:7.2f} MiB"[-10:].rjust(10))
    for column in range(width - 12):
        inside = [sample["heap_bytes"] for sample in samples
                  if min(int(sample["time_ns"] / end * (width - 12)), width - 13) == column]
        height = sum(BLOCKS.index(row[column]) for row in rows)
        if inside:
            most = max(inside)
            assert height == (max(1, most * 80 // peak) if most else 0), column


def test_ascii_has_the_same_shape(timeline):
    plain, ascii_text = timeline("script", "--width", "80"), timeline("script", "--width", "80", "--ascii")
    assert ascii_text.isascii()
    for left, right in zip(plain.splitlines(), ascii_text.splitlines()):
        if left[11:12] == "|":
            assert [c == " " for c in left] == [c == " " for c in right]


def test_marks_and_phases_stand_where_they_were(timeline, facts):
    lines = timeline("words", "--width", "112").splitlines()
    words = facts("timeline", "words")
    end = words["capture"]["duration_ns"]
    marks = next(line for line in lines if line.lstrip().startswith("marks"))
    first = words["marks"][0]
    assert marks[12 + first["time_ns"] * 100 // end:].startswith("^" + first["name"])
    phases = lines[next(i for i, line in enumerate(lines) if line.startswith("phases")) + 1:]
    for line, phase in zip(phases, words["phases"]):
        assert line[12 + phase["from_ns"] * 100 // end] in "[|"
        assert phase["name"] in line


def test_fewer_rows_are_said(timeline):
    assert "more phases" in timeline("words", "--rows", "2")
