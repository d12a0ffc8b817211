"""The reports of captures whose content is known: line for line, and whether they add up.

The captures are those of tests/golden, the texts lie in data/. After a change that is meant, run
with MEMTRACK_UPDATE=1, and read the difference before it is committed.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import unicodedata

import pytest

HERE = pathlib.Path(__file__).parent
CAPTURES = HERE.parent / "golden" / "data"
NAMES = sorted(path.stem for path in CAPTURES.glob("*.bin") if path.stem not in ("planes", "compact", "stored"))
REPORTS = ["stats", "summary", "table", "tree", "timeline", "dump", "info"]
VIEWS = {"peak": [], "leaks": ["--leaks"], "allocated": ["--allocated"],
         "temporary": ["--temporary-allocations"]}

# More lines than this of an event each are not read by anybody.
DUMP_ROWS = ["--rows", "40"]


class Reports:
    """Runs memtrack beside the captures: names in the output are short and everywhere the same."""

    def __init__(self, binary):
        self.binary = binary

    def text(self, *arguments):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        ended = subprocess.run([self.binary, *arguments], cwd=CAPTURES, env=environment,
                               stdin=subprocess.DEVNULL, capture_output=True, check=False)
        # 3: the capture is damaged; what could be read is there.
        assert ended.returncode in (0, 3), (arguments, ended)
        return ended.stdout.decode("utf-8")

    def json(self, *arguments):
        return json.loads(self.text(*arguments, "--json"))

    def lines(self, *arguments):
        return [json.loads(line) for line in self.text(*arguments, "--json").splitlines()]


@pytest.fixture
def reports(binary):
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20000)
    yield Reports(binary)
    sys.setrecursionlimit(limit)


def assert_golden(name, text):
    path = HERE / "data" / name
    if os.environ.get("MEMTRACK_UPDATE") == "1":
        path.write_text(text, encoding="utf-8", newline="")
    assert text == path.read_text(encoding="utf-8"), name


@pytest.mark.parametrize("kind", REPORTS)
@pytest.mark.parametrize("name", NAMES)
def test_texts_are_as_they_were(reports, name, kind):
    rows = DUMP_ROWS if kind == "dump" else []
    assert_golden(f"{name}.{kind}.txt", reports.text(kind, f"{name}.bin", "--width", "80", *rows))


@pytest.mark.parametrize("kind", REPORTS)
@pytest.mark.parametrize("name", NAMES)
def test_json_is_as_it_was(reports, name, kind):
    rows = DUMP_ROWS if kind == "dump" else []
    assert_golden(f"{name}.{kind}.json", reports.text(kind, f"{name}.bin", "--json", *rows))


@pytest.mark.parametrize("kind", ["stats", "summary", "table", "tree", "timeline", "dump"])
def test_reports_do_not_depend_on_how_events_are_packed(reports, kind):
    """But for the line about the capture's size."""
    fixed, *others = ([line for line in reports.text(kind, f"{name}.bin", "--rows", "0").splitlines()
                       if not line.startswith("capture ")]
                      for name in ("script", "planes", "compact"))
    assert len(fixed) > 5
    assert others == [fixed, fixed]


def test_inverted_tree_is_as_it_was(reports):
    assert_golden("script.inverted.txt",
                  reports.text("tree", "script.bin", "--inverted", "--width", "80"))


@pytest.mark.parametrize("name, view", [(name, view) for name in NAMES for view in VIEWS
                                        if name not in ("sampled", "degraded") or view != "temporary"])
def test_reports_add_up_in_every_view(reports, name, view):
    """The same bytes and allocations, whichever report counts them."""
    file, options = f"{name}.bin", VIEWS[view]
    summary = reports.json("summary", file, *options)
    whole = summary["view"]
    assert whole["what"] == view
    assert sum(row["own_bytes"] for row in summary["rows"]) == whole["bytes"]
    assert all(row["own_bytes"] <= row["total_bytes"] <= whole["bytes"] for row in summary["rows"])
    rows = reports.json("table", file, *options)["rows"]
    assert sum(row["bytes"] for row in rows) == whole["bytes"]
    assert sum(row["allocations"] for row in rows) == whole["allocations"]
    for inverted in [], ["--inverted"]:
        root = reports.json("tree", file, *options, *inverted)["root"]
        assert root["total_bytes"] == whole["bytes"]
        assert root["allocations"] == whole["allocations"]
        assert own_bytes(root) == whole["bytes"]


def own_bytes(node):
    below = sum(own_bytes(child) for child in node["children"])
    assert node["total_bytes"] == node["own_bytes"] + below
    return node["total_bytes"]


@pytest.mark.parametrize("name", NAMES)
def test_stats_agree_with_the_views(reports, name):
    stats = reports.json("stats", f"{name}.bin")
    totals = stats["totals"]
    assert totals["peak_bytes"] == stats["view"]["bytes"]
    assert totals["peak_allocations"] == stats["view"]["allocations"]
    leaks = reports.json("summary", f"{name}.bin", "--leaks")["view"]
    assert (totals["leaked_bytes"], totals["leaked_allocations"]) \
        == (leaks["bytes"], leaks["allocations"])
    assert sum(size["allocations"] for size in stats["sizes"]) == totals["allocations"]
    assert sum(row["allocations"] for row in stats["allocators"]) == totals["allocations"]
    assert sum(row["allocations"] for row in stats["threads"]) == totals["allocations"]


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("kind", ["summary", "table", "tree"])
def test_lines_are_within_the_width(reports, kind, width):
    """Numbers are never cut, so only a table of mostly numbers may be wider than 40 columns."""
    lines = reports.text(kind, "script.bin", "--width", str(width)).splitlines()
    table = lines[lines.index("") + 1:]
    assert max(map(len, table)) <= max(width, 72)


def columns(line):
    """Return how many columns of a terminal a line takes."""
    return sum(0 if unicodedata.combining(character) else
               2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in line)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["summary", "table", "tree", "stats", "timeline"])
def test_no_line_is_wider_than_a_terminal(reports, kind, name):
    lines = reports.text(kind, f"{name}.bin", "--width", "80").splitlines()
    assert [line for line in lines if columns(line) > 80] == []


def test_ascii_is_ascii_and_no_line_has_a_control_character(reports):
    for kind in REPORTS:
        text = reports.text(kind, "strange.bin", "--ascii")
        assert text.isascii()
        assert not [character for character in text if character != "\n" and ord(character) < 32]


def test_color_is_the_only_difference_that_color_makes(reports):
    plain = reports.text("summary", "script.bin")
    colored = reports.text("summary", "script.bin", "--color", "always")
    assert "\033[" in colored and "\033" not in plain
    for code in "\033[0m", "\033[1m", "\033[2m", "\033[33m":
        colored = colored.replace(code, "")
    assert colored == plain


def test_page_and_stats_say_the_same_of_what_tracking_took(binary, tmp_path):
    """Of several processes, the page's and the report's figures are of the same kind."""
    trace = pytest.importorskip("capture_trace")
    made = trace.Trace()
    made.session("two")
    for number, (slow_ns, wait_ns, memory_bytes) in enumerate([(20, 3, 5000), (400, 1, 7000)]):
        made.process(100 + number, arguments=["two"], counter_0=slow_ns, counter_1=wait_ns,
                     counter_2=number + 1, counter_5=memory_bytes).end()
    (tmp_path / "two.bin").write_bytes(made.finish())
    page = tmp_path / "two.html"
    subprocess.run([binary, "flamegraph", "-o", page, tmp_path / "two.bin"], check=True,
                   capture_output=True)
    meta = json.loads(re.search(r'id="data-meta">(.*?)</script>', page.read_text(), re.S)[1])
    overhead = json.loads(subprocess.run([binary, "stats", "--json", tmp_path / "two.bin"],
                                         check=True, capture_output=True).stdout)["overhead"]
    assert overhead["target_rss_bytes"] == meta["overhead"]["targetBytes"] == 7000
    assert overhead["target_ns"] == meta["overhead"]["slowNs"] + meta["overhead"]["waitNs"] == 424
    assert overhead["wait_ns"] == 4 and overhead["waits"] == 3
    assert overhead["capture_bytes"] == meta["overhead"]["captureBytes"]
    text = subprocess.run([binary, "stats", tmp_path / "two.bin"], check=True, capture_output=True,
                          text=True).stdout
    assert "memtrack     424 ns in the program's slow paths (of it 4 ns in 3 waits for room)\n" in text


def test_dump_keeps_the_numbers_of_records_it_leaves_out(reports):
    every = reports.lines("dump", "script.bin")
    assert [event["n"] for event in every] == list(range(1, len(every) + 1))
    tid = every[-1]["tid"]
    some = reports.lines("dump", "script.bin", "--thread", str(tid))
    assert some == [event for event in every if event["tid"] == tid]


def test_dump_leaves_out_what_did_not_happen(reports):
    """A release whose call failed is in the capture with its UNDO, and in no dump."""
    events = reports.lines("dump", "ranges.bin")
    assert "undo" not in {event["op"] for event in events}
    remaps = [event for event in events if event["op"] == "remap"]
    assert [(event["old_bytes"], event["bytes"]) for event in remaps] == [(8192, 81920)]
