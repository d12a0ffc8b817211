"""Captures that do not hold every block: nothing that they say is wrong."""
import math

import pytest

import tracked

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


def test_smaller_blocks_are_left_out_and_nothing_else(run_case):
    capture = run_case("limit", "--min-size", str(LIMIT))
    assert capture.json("stats")["capture"]["min_size"] == LIMIT
    assert tracked.sums(capture.rows("--leaks")) == {"malloc": (10 * LIMIT, 10), "realloc": (6000, 1),
                                             "mmap": (4096, 1)}
    allocated = tracked.sums(capture.rows("--allocated"))
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


MEAN = 1 << 16
SAMPLED = ["--sample-bytes", "64K"]


def chance(size):
    return 1.0 if size >= MEAN else -math.expm1(-size / MEAN)


def assert_near(found, size, count):
    """(bytes, allocations) are an estimate of so many blocks: at most five standard errors off."""
    error = math.sqrt(count * (1 - chance(size)) / chance(size))
    assert abs(found[0] - size * count) <= 5 * size * error + count, (found, size, count)
    assert abs(found[1] - count) <= 5 * error + 5, (found, size, count)


def assert_every_free_has_its_alloc(events):
    """Block by block and process by process; returns how many were released."""
    live, count = set(), 0
    for event in events:
        key = event["pid"], event["address"]
        if event["op"] == "alloc":
            assert key not in live
            live.add(key)
        elif event["op"] == "free":
            live.remove(key)
            count += 1
        else:
            assert event["op"] != "realloc"
    return count


def test_estimates_are_near_and_large_blocks_exact(memtrack, programs):
    ended = memtrack.run(programs("conformance_partial"), "sizes", options=SAMPLED)
    totals = ended.capture.assert_sound()
    assert totals["unknown_frees"] == 0 and totals["temporary_allocations"] is None
    leaked, allocated = (tracked.sums(ended.capture.rows(view)) for view in ("--leaks", "--allocated"))
    said = ended.words()
    for name, (size, count) in said.items():
        if size >= MEAN:
            assert leaked[name] == (size * count, count)
            assert allocated[name] == (2 * size * count, 2 * count)
        else:
            assert_near(leaked[name], size, count)
            assert_near(allocated[name], size, 2 * count)
    assert_every_free_has_its_alloc(ended.capture.events())
    view = ended.capture.json("stats", "--leaks")["view"]
    truth = sum(size * count for size, count in said.values())
    assert 0 < view["standard_error_bytes"] < truth / 20
    assert abs(view["bytes"] - truth) < 5 * view["standard_error_bytes"] + MEAN
    # Few of 690,000 blocks, and their releases.
    assert ended.capture.json("info")["counts"]["events"] < 12_000


def test_a_block_may_be_released_by_another_thread(run_case):
    capture = run_case("handed_over", *SAMPLED)
    released = assert_every_free_has_its_alloc(capture.events())
    assert released > 500
    assert tracked.sums(capture.rows("--leaks")).get("malloc", (0, 0))[0] < 10 * MEAN


def test_children_know_what_of_their_parents_blocks_is_in_the_sample(run_case):
    capture = run_case("forked", *SAMPLED)
    pids = {process["pid"] for process in capture.stats()["processes"]}
    assert len(pids) == 4
    firsts = []
    for pid in pids:
        rows = [row for row in capture.rows("--allocated", "--process", str(pid))
                if row["allocator"] == "malloc"]
        is_parent = pid == capture.stats()["capture"]["pid"]
        assert_near(tracked.sums(rows)["malloc"], 500, 40_000 if is_parent else 20_000)
        firsts.append(tuple(event["address"] for event in capture.events("--process", str(pid))
                            if event["op"] == "alloc")[:20])
    assert len(set(firsts)) == 4


def test_a_sample_without_small_blocks_has_neither(run_case):
    capture = run_case("sizes", *SAMPLED, "--min-size", "2000")
    leaked = tracked.sums(capture.rows("--leaks"))
    assert "malloc" not in leaked and "calloc" not in leaked
    assert_near(leaked["memalign"], 20_000, 3000)
    assert_every_free_has_its_alloc(capture.events())


def test_a_mean_of_one_byte_records_all(run_case):
    sampled, full = run_case("limit", "--sample-bytes", "1"), run_case("limit")
    assert tracked.sums(sampled.rows("--allocated")) == tracked.sums(full.rows("--allocated"))
    assert tracked.sums(sampled.rows("--leaks")) == tracked.sums(full.rows("--leaks"))
    assert sampled.stats()["view"]["standard_error_bytes"] == 0


def test_every_report_names_the_sample(run_case, memtrack):
    capture = run_case("sizes", *SAMPLED)
    facts = capture.stats()["capture"]
    assert facts["mode"] == "sampled" and facts["sample_bytes"] == MEAN
    for report in ["summary", "table", "tree", "stats"]:
        text = " ".join(memtrack.report(report, capture.path, "--ascii").stdout.split())
        assert "sampled: one block in 64.0 KiB, those of 64.0 KiB and more all; shown: an " \
               "estimate, +-" in text, report
    assert "sampled: one block in 64.0 KiB" in memtrack.report("info", capture.path).stdout
    page = capture.path.with_suffix(".html")
    assert memtrack.report("flamegraph", "-o", page, capture.path).returncode == 0
    assert '"sampleBytes":65536' in page.read_text(encoding="utf-8")


def test_what_was_temporary_is_not_asked_of_a_sample(run_case, memtrack):
    capture = run_case("limit", *SAMPLED)
    ended = memtrack.report("summary", capture.path, "--temporary-allocations")
    assert ended.returncode == 2 and ended.stdout == ""
    assert "does not tell what was temporary: use --allocated" in ended.stderr


def test_python_is_sampled_with_its_stacks(memtrack, python, tmp_path):
    if python.is_free_threaded:
        pytest.skip("its blocks are cut by an allocator of its own")
    script = tmp_path / "app.py"
    script.write_text("def make(size):\n    return bytearray(size)\n"
                      "kept = [make(3000) for _ in range(20_000)]\n"
                      "large = [make(1 << 20) for _ in range(7)]\n", encoding="utf-8")
    capture = memtrack.run(python.path, script, options=SAMPLED).capture
    totals = capture.assert_sound()
    assert totals["unknown_frees"] == 0
    rows = [row for row in capture.rows() if row["stack"] and row["stack"][0]["function"] == "make"]
    large = sum(row["bytes"] for row in rows if row["stack"][-1]["line"] == 4)
    assert 7 << 20 < large < (7 << 20) + 1000  # some versions put a few bytes before a block
    small = [row for row in rows if row["stack"][-1]["line"] == 3]
    assert_near((sum(row["bytes"] for row in small), sum(row["allocations"] for row in small)),
                3001, 20_000)


def test_objects_of_python_are_sampled_where_they_are_recorded(memtrack, any_python, tmp_path):
    script = tmp_path / "app.py"
    script.write_text("kept = [(i, str(i)) for i in range(100_000)]\n"
                      "for turn in range(20):\n    lost = [(i, str(i)) for i in range(10_000)]\n",
                      encoding="utf-8")
    found = []
    for options in [], ["--sample-bytes", "16K"]:
        capture = memtrack.run(any_python.path, script,
                               options=["--trace-python-allocators", *options]).capture
        assert capture.assert_sound()["unknown_frees"] == 0
        found.append(capture.json("stats", "--allocated")["view"])
    full, sampled = found
    error = sampled["standard_error_bytes"]
    assert 0 < error < full["bytes"] / 20
    assert abs(sampled["bytes"] - full["bytes"]) < 5 * error
    assert abs(sampled["allocations"] / full["allocations"] - 1) < 0.2


SIZE = "use a size such as 512K or 2 GiB, from 1 B to"


@pytest.mark.parametrize("option, size, said", [
    ("--min-size", "0", f"=0: {SIZE} "), ("--min-size", "200T", f"=200T: {SIZE} 128 TiB"),
    ("--min-size", "-5", ": '-5': expected a size such as 512K or 2 GiB"),
    ("--min-size", "many", ": 'many': expected a size such as 512K or 2 GiB"),
    ("--min-size", "3X", ": '3X': unknown unit 'X': use B, K, M, G or T"),
    ("--sample-bytes", "0", f"=0: {SIZE} 1.00 GiB"), ("--sample-bytes", "1T", f"=1T: {SIZE} 1.00 GiB"),
    ("--sample-bytes", "often", ": 'often': expected a size such as 512K or 2 GiB")])
def test_sizes_that_make_no_sense_are_refused(memtrack, option, size, said):
    ended = memtrack.run("true", options=[option, size], check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"memtrack: {option}{said}")
    assert not ended.capture.path.exists()
