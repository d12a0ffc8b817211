"""How near a program came to its limits, and what failed: of a capture whose content is known."""
import json
import subprocess

import pytest

from test_reports import CAPTURES

MIB, GIB = 1 << 20, 1 << 30


@pytest.fixture
def stats(binary):
    def run(*options):
        ended = subprocess.run([binary, "stats", "limits.bin", *options], cwd=CAPTURES, check=True,
                               capture_output=True, text=True)
        return json.loads(ended.stdout) if "--json" in options else ended.stdout
    return run


def test_each_limit_is_told_at_the_instant_when_least_was_left(stats):
    said = [(near["limit"], near["bytes"], near["used_bytes"], near["time_ns"] // 1_000_000,
             near["measured"]) for near in stats("--json")["limits"]]
    assert said == [
        ("memory.limit_in_bytes", 64 * MIB, 70 * MIB, 9, "rss"),
        # 900 of 1024 MiB were nearer than 200 of 500 later; what was used before is not compared with those.
        ("RLIMIT_AS", GIB, 900 * MIB, 7, "address_space"),
        # What the cgroup holds, not what its process has.
        ("memory.max", 512 * MIB, 331 * MIB, 4, "cgroup"),
        # Before it was taken away.
        ("memory.high", 400 * MIB, 60 * MIB, 1, "rss"),
        ("RLIMIT_DATA", 800 * MIB, 30 * MIB, 9, "data"),
        ("swap", 2 * GIB, 5 * MIB, 9, "swap"),
        # Both processes, up to the end of one.
        ("machine", 16 * GIB, 570 * MIB, 10, "rss"),
    ]
    for near in stats("--json")["limits"]:
        assert near["left_bytes"] == max(0, near["bytes"] - near["used_bytes"])


def test_limits_of_one_process_can_be_asked_for(stats):
    said = {(near["limit"], near["pid"]) for near in stats("--json", "--process", "80")["limits"]}
    assert said == {("RLIMIT_AS", 80), ("memory.max", None), ("memory.high", None), ("swap", None),
                    ("machine", None)}


def test_the_nearest_limit_is_told_in_words(stats):
    assert ("limit        64.0 MiB, memory.limit_in_bytes of the cgroup\n"
            "             was reached at 9.00 ms\n") in stats()
    assert ("limit        1.00 GiB, RLIMIT_AS of process 80\n"
            "             came within 124 MiB of it at 7.00 ms\n") in stats("--process", "80")


def test_failures_are_told_by_location(stats):
    failures = stats("--json")["failures"]
    assert [(f["function"], f["count"], f["largest_bytes"]) for f in failures] == [
        ("Parser.parse", 3, 5 * GIB), ("worker", 2, 2**64 - 1), ("load", 1, 2 * GIB)]
    assert (failures[0]["first_ns"], failures[0]["last_ns"]) == (4_000_000, 6_000_000)
    assert sum(f["count"] for f in failures) == stats("--json")["totals"]["failed_allocations"]
    lines = stats("--width", "80").splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("FAILED"))
    assert lines[at + 1].split() == ["3", "5.00", "GiB", "4.00", "ms", "Parser.parse", "app.py:26"]
    assert max(map(len, lines)) <= 80


def test_failures_of_a_thread_and_no_more_than_asked_for(stats):
    [failure] = stats("--json", "--thread", "81")["failures"]
    assert (failure["function"], failure["count"], failure["first_ns"]) == ("worker", 1, 7_000_000)
    assert len(stats("--json", "--rows", "2")["failures"]) == 2
    assert "1 more location" in stats("--rows", "2")
