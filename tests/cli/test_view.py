"""--at and --range: what they are asked for is what is shown, and what is not in a capture is said.

That the numbers are right is shown by tests/golden/test_window.py.
"""
import json
import pathlib

import pytest

import capture_stored

DATA = pathlib.Path(__file__).resolve().parents[1] / "golden" / "data"
SCRIPT, WORDS, SAMPLED = (DATA / f"{name}.bin" for name in ("script", "words", "sampled"))
END_NS = 189_000_000  # of script.bin


@pytest.fixture
def view(call):
    """A report's view; what else it says with what="range"."""
    def run(capture, *options, report="stats", what="view"):
        ended = call(report, "--json", *options, capture)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)[what]

    return run


@pytest.mark.parametrize("named, time_ns", [
    ("90ms", 90_000_000), ("0.09s", 90_000_000), ("0.09", 90_000_000), ("90000us", 90_000_000),
    ("50%", END_NS // 2), ("100%", END_NS), ("0", 0), ("0s90ms", 90_000_000),
])
def test_an_instant_is_named_in_many_ways(view, named, time_ns):
    shown = view(SCRIPT, "--at", named)
    assert (shown["what"], shown["from_ns"], shown["to_ns"]) == ("at", 0, time_ns)
    assert shown["instant_ns"] == time_ns


def test_the_peak_is_the_view_that_is_shown_anyway(call):
    assert call("tree", SCRIPT, "--at=peak").stdout == call("tree", SCRIPT).stdout


def test_the_end_is_that_of_the_programs(call, view):
    """Not an instant after it, when they have gone and nothing is live any more."""
    assert call("tree", WORDS, "--at=end").stdout == call("tree", WORDS, "--leaks").stdout
    shown = view(WORDS, "--range=1ms:", "--at=end")
    assert shown == view(WORDS, "--range=1ms:", "--leaks")
    assert shown["what"] == "leaks" and shown["bytes"] > 0


@pytest.mark.parametrize("named, from_ns, to_ns", [
    ("20ms:90ms", 20_000_000, 90_000_000), (":90ms", 0, 90_000_000), ("20ms:", 20_000_000, END_NS),
    (":", 0, END_NS), ("25%:end", END_NS // 4, END_NS), ("20ms:1h", 20_000_000, END_NS),
    ("20ms:peak", 20_000_000, 166_000_000),
])
def test_a_range_is_named_in_many_ways(view, named, from_ns, to_ns):
    shown = view(SCRIPT, "--range", named)
    assert (shown["what"], shown["from_ns"], shown["to_ns"]) == ("range", from_ns, to_ns)
    assert shown["instant_ns"] is None


def test_ranges_that_follow_each_other_add_up(view):
    cuts = [0, 9.000001, 20, 56, 56.5, 113, 166, 189]
    parts = [view(SCRIPT, f"--range={a}ms:{b}ms", what="range") for a, b in zip(cuts, cuts[1:])]
    whole = view(SCRIPT, "--range=:", what="range")
    for key in "allocations", "allocated_bytes", "frees", "leaked_bytes", "temporary_allocations":
        assert sum(part[key] for part in parts) == whole[key] > 0, key
    assert max(part["peak_bytes"] for part in parts) == whole["peak_bytes"]
    for before, after in zip(parts, parts[1:]):
        assert before["end_bytes"] == after["begin_bytes"]


def test_the_sums_of_a_range_are_those_of_its_views(view):
    named = "--range=20ms:113ms"
    sums = view(SCRIPT, named, what="range")
    assert sums["kept_bytes"] > sums["leaked_bytes"] > 0
    for options, key in [([], "allocated"), (["--allocated"], "allocated"), (["--leaks"], "leaked"),
                         (["--at=peak"], "peak"), (["--at=end"], "kept")]:
        for report in "stats", "table", "tree", "summary":
            shown = view(SCRIPT, named, *options, report=report)
            assert shown["bytes"] == sums[f"{key}_bytes"], (report, options)
        count = sums["allocations" if key == "allocated" else f"{key}_allocations"]
        assert shown["allocations"] == count
    assert view(SCRIPT, named, "--temporary-allocations")["allocations"] == \
        sums["temporary_allocations"] > 0
    assert view(SCRIPT, named, "--at=peak")["instant_ns"] == sums["peak_time_ns"]
    assert view(SCRIPT, what="range") is None


def test_a_mark_is_an_instant(call, view):
    marks = view(WORDS, what="marks")
    first = marks[0]
    assert sum(mark["name"] == first["name"] for mark in marks) > 1, "the first of several is meant"
    shown = view(WORDS, f"--at=mark:{first['name']}")
    assert shown["to_ns"] == first["time_ns"]
    shown = view(WORDS, f"--range=mark:{first['name']}:end")
    assert shown["from_ns"] == first["time_ns"] and shown["to_ns"] > first["time_ns"]
    ended = call("tree", "--at=mark:nothing", WORDS)
    assert ended.returncode == 2 and ended.stdout == b""
    assert ended.stderr == b"memtrack: --at: no mark is called 'nothing': see memtrack stats\n"


@pytest.mark.parametrize("option, said", [
    ("--at=1h", "--at=1h: the capture ends after 189 ms"),
    ("--range=1h:2h", "--range=1h: the capture ends after 189 ms"),
    ("--range=90ms:20ms", "--range=90ms:20ms: its end is before its beginning"),
    ("--range=end:peak", "its end is before its beginning"),
])
def test_what_is_not_in_the_capture_is_said(call, tmp_path, option, said):
    for report in "stats", "flamegraph":
        ended = call(report, option, SCRIPT, "-o", tmp_path / "out")
        assert ended.returncode == 2 and said in ended.stderr.decode()
        assert list(tmp_path.iterdir()) == []


def test_what_is_shown_is_said_in_words(call):
    for options, said in [
            (["--at=90ms"], "live at 90.0 ms:"),
            (["--at=end"], "live at the end:"),
            (["--range=20ms:90ms"], "allocated from 20.0 ms to 90.0 ms:"),
            (["--range=:90ms", "--leaks"], "allocated from the start to 90.0 ms and never released:"),
            (["--range=20ms:", "--at=end"], "allocated from 20.0 ms to the end and never released:"),
            (["--range=20ms:90ms", "--at=peak"],
             "live at the highest moment from 20.0 ms to 90.0 ms, at 90.0 ms:"),
            (["--range=20ms:90ms", "--temporary-allocations"],
             "temporary allocations released from 20.0 ms to 90.0 ms:")]:
        for report in "summary", "table", "tree", "stats":
            lines = call(report, *options, SCRIPT).stdout.decode().splitlines()
            assert lines[2].startswith("shown: " + said), (report, lines[2])


def test_of_a_sample_nobody_can_tell_what_was_temporary(call, view):
    ended = call("tree", "--range=:", "--temporary-allocations", SAMPLED)
    assert ended.returncode == 2 and b"is a sample" in ended.stderr
    assert view(SAMPLED, "--range=:50%", what="range")["temporary_allocations"] is None
    assert view(SAMPLED, "--range=:50%")["standard_error_bytes"] > 0


def page_meta(call, *options):
    page = call("flamegraph", "-o", "-", *options, SCRIPT).stdout.decode()
    meta = page.split('id="data-meta">')[1].split("</script>")[0]
    return json.loads(meta), page.split("<p>")[1].split("</p>")[0]


def test_the_page_opens_at_the_time_that_is_asked_for(call):
    meta, words = page_meta(call)
    assert (meta["view"], meta["from"], meta["to"]) == ("peak", 0, 189)
    meta, words = page_meta(call, "--at=90ms")
    assert (meta["view"], meta["from"], meta["to"]) == ("peak", 90, 90)
    assert " live at 90.0 ms" in words
    for options, mode, said in [([], "allocated", "allocated from 20.0 ms to 90.0 ms"),
                                (["--at=end"], "kept", "and live then"),
                                (["--leaks"], "leaks", "and never released"),
                                (["--at=peak"], "peak", "live at the highest moment")]:
        meta, words = page_meta(call, "--range=20ms:90ms", *options)
        assert (meta["view"], meta["from"], meta["to"]) == (mode, 20, 90)
        assert said in words


def test_a_capture_without_events_says_which_instants_it_knows(call, view, tmp_path):
    path = tmp_path / "app.bin"
    path.write_bytes(capture_stored.without_events(SCRIPT.read_bytes())[0])
    for options, said in [
            (["--at=90.5ms"], "live at 90.0 ms (known: one instant in 1.00 ms):"),
            (["--at=end"], "live at the end:"),
            (["--range=20ms:90ms", "--leaks"],
             "allocated from 19.0 ms to 90.0 ms and never released (known: one instant in 1.00 ms):")]:
        lines = call("tree", *options, path).stdout.decode().splitlines()
        assert lines[2].startswith("shown: " + said), lines[2]
    assert view(path, "--at=90.5ms")["resolution_ns"] == 1_000_000
    assert view(SCRIPT, "--at=90.5ms")["resolution_ns"] is None
    ended = call("stats", "--range=20ms:90ms", path)
    assert ended.returncode == 2 and ended.stdout == b""
    assert b"has no events: of a range of time it tells" in ended.stderr
    assert view(path, "--range=20ms:90ms", "--leaks", what="range") is None
