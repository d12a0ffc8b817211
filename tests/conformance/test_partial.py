"""Captures that do not hold every block: nothing that they say is wrong."""
import pytest

LIMIT = 1000


@pytest.fixture
def run_case(memtrack, programs):
    """Run one case of conformance_partial; return its capture."""
    def run(name, *options):
        capture = memtrack.run(programs("conformance_partial"), name, options=options).capture
        totals = capture.assert_sound()
        assert totals["unknown_frees"] == 0
        return capture

    return run


def sums(rows):
    """Add rows up by allocator: {allocator: (bytes, allocations)}."""
    result = {}
    for row in rows:
        count_bytes, allocations = result.get(row["allocator"], (0, 0))
        result[row["allocator"]] = (count_bytes + row["bytes"], allocations + row["allocations"])
    return result


def test_smaller_blocks_are_left_out_and_nothing_else(run_case):
    capture = run_case("limit", "--min-size", str(LIMIT))
    assert capture.json("stats")["capture"]["min_size"] == LIMIT
    assert sums(capture.rows("--leaks")) == {"malloc": (10 * LIMIT, 10), "realloc": (6000, 1),
                                             "mmap": (4096, 1)}
    allocated = sums(capture.rows("--allocated"))
    assert allocated == {"malloc": (10 * LIMIT + 4000, 11), "calloc": (50_000, 10),
                         "realloc": (6000, 1), "mmap": (4096, 1)}


def test_releases_of_what_was_left_out_take_no_room(run_case):
    events = run_case("limit", "--min-size", str(LIMIT)).events()
    # Those of blocks that were rounded up to the limit are there; a thousand others are not.
    assert len([event for event in events if event["op"] == "free"]) < 150
    assert len(run_case("limit").events()) > 2000


def test_a_realloc_across_the_limit_is_a_release_or_an_allocation(run_case):
    capture = run_case("limit", "--min-size", str(LIMIT))
    [grown] = capture.sized(6000)
    assert grown["op"] == "alloc" and grown["allocator"] == "realloc"
    failures = [event for event in capture.events() if event["op"] == "fail"]
    assert len(failures) == 3


def test_every_report_names_the_limit(run_case, memtrack):
    capture = run_case("limit", "--min-size", "1000")
    for report in ["summary", "table", "tree", "stats", "info"]:
        text = memtrack.report(report, capture.path).stdout
        assert "left out: blocks smaller than 1000 B\n" in text, report
    page = capture.path.with_suffix(".html")
    assert memtrack.report("flamegraph", "-o", page, capture.path).returncode == 0
    assert '"minSize":1000' in page.read_text(encoding="utf-8")


def test_python_is_recorded_above_the_limit_too(memtrack, any_python, tmp_path):
    script = tmp_path / "app.py"
    script.write_text("kept = [bytearray(size) for size in range(700, 1300)]\n"
                      "kept += [bytearray(100_000)]\n", encoding="utf-8")
    capture = memtrack.run(any_python.path, script, options=["--min-size", "1000"]).capture
    totals = capture.assert_sound()
    assert totals["unknown_frees"] == 0
    assert capture.sized(100_001)[0]["stack"][0]["line"] == 2
    assert not [event for event in capture.events()
                if event["op"] == "alloc" and event["bytes"] < 1000]
    assert len(capture.sized(1200)) >= 1


@pytest.mark.parametrize("size, said", [
    ("0", "--min-size=0: use a size such as 512K or 2 GiB, from 1 B to"),
    ("-5", "--min-size: '-5': expected a size such as 512K or 2 GiB"),
    ("many", "--min-size: 'many': expected a size such as 512K or 2 GiB"),
    ("3X", "--min-size: '3X': unknown unit 'X': use B, K, M, G or T"),
    ("200T", "--min-size=200T: use a size such as 512K or 2 GiB, from 1 B to 128 TiB"),
])
def test_sizes_that_make_no_sense_are_refused(memtrack, size, said):
    ended = memtrack.run("true", options=["--min-size", size], check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("memtrack: " + said)
    assert not ended.capture.path.exists()
