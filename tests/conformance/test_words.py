"""What programs say of themselves through memtrack.h: marks, phases, pools; from C, C++ and Python."""
import subprocess

import pytest

ROUNDS, NAMES, POOLS = 300, 6000, 200
NAMED_POOLS = 128


@pytest.fixture
def run_case(memtrack, programs):
    def run(name):
        ended = memtrack.run(programs("conformance_words"), name)
        ended.capture.assert_sound()
        return ended.words(), ended.capture

    return run


def marks_of(capture):
    return capture.holding('"op":"mark",')


def test_marks_stand_among_the_events_and_phases_know_their_peaks(run_case):
    said, capture = run_case("marks")
    assert said["errno"] == [1]
    stats = capture.stats()
    assert [mark["name"] for mark in stats["marks"]] == ["begin", "begin"]
    phases = {phase["name"]: phase for phase in stats["phases"]}
    rest = phases["open"]["peak_bytes"]  # what libc had allocated by then
    assert [phase["name"] for phase in stats["phases"]] == ["outer", "inner", "inner", "open"]
    assert phases["outer"]["peak_bytes"] - rest == 3000000
    assert stats["phases"][1]["peak_bytes"] - rest == 700001
    assert stats["phases"][2]["peak_bytes"] - rest == 0
    assert [phase["ended"] for phase in stats["phases"]] == [True, True, True, False]
    wanted = [("mark", "begin"), ("phase", "outer"), ("alloc", 3000000), ("phase", "inner"),
              ("alloc", 700001), ("phase_end", None), ("alloc", 1000001), ("phase_end", None),
              ("mark", "begin"), ("phase", "inner"), ("phase_end", None), ("phase", "open")]
    seen = [(event["op"], event["bytes"] or event["name"]) for event in capture.events()
            if event["op"] in ("mark", "phase", "phase_end") or (event["bytes"] or 0) > 700000]
    assert [step for step in seen if step[0] != "free"] == wanted


def test_a_mark_parts_what_other_threads_do_before_and_after_it(run_case):
    _, capture = run_case("order")
    place = {event["bytes"]: event["n"] for event in capture.events() if event["op"] == "alloc"}
    marks = marks_of(capture)
    assert [mark["name"] for mark in marks] == [f"round {i}" for i in range(ROUNDS)]
    for i, mark in enumerate(marks):
        assert place[2000 + i] < mark["n"] < place[3000 + i]


def test_any_number_of_names_and_of_any_length(run_case):
    _, capture = run_case("names")
    names = [mark["name"] for mark in capture.stats()["marks"]]
    assert names[:-2] == 2 * [f"name {i}" for i in range(NAMES)]
    assert names[-2:] == [998 * "x", ""]


def test_pools_beyond_the_last_number_are_one(run_case):
    _, capture = run_case("pools")
    pools = {pool["pool"]: pool for pool in capture.stats()["pools"]}
    assert set(pools) == {f"pool {i}" for i in range(NAMED_POOLS)} | {"pool"}
    assert pools["pool"]["allocations"] == POOLS - NAMED_POOLS
    assert sum(pool["frees"] for pool in pools.values()) == POOLS // 2
    assert pools["pool 7"]["leaked_bytes"] == 48 and pools["pool 8"]["leaked_bytes"] == 0


def test_no_byte_is_counted_for_a_pool_and_for_the_heap(run_case):
    said, capture = run_case("arena")
    totals = capture.totals()
    assert totals["allocated_bytes"] < 150000  # the chunk, and little of libc's
    [pool] = capture.stats()["pools"]
    assert pool == {"pool": "arena", "allocations": 3, "frees": 1, "allocated_bytes": 90003,
                    "peak_bytes": 60002, "leaked_bytes": 50002, "leaked_allocations": 2}
    shown = capture.stats("--pools")
    assert shown["totals"]["allocated_bytes"] == 90003 and shown["totals"]["peak_bytes"] == 60002
    assert shown["view"]["filters"] == ["pools"] and shown["pools"] == []
    assert [row["allocator"] for row in shown["allocators"]] == ["arena"]
    event = capture.one(40001)
    assert (event["allocator"], event["address"]) == ("arena", said["chunk"][0])


def test_a_forked_child_announces_its_names_again(run_case):
    said, capture = run_case("forks")
    child = said["child"][0]
    stats = capture.stats()
    assert [(mark["name"], mark["pid"] == child) for mark in stats["marks"]] == [
        ("both", False), ("child", True), ("both", True), ("end", False)]
    assert {pool["pool"]: (pool["allocations"], pool["allocated_bytes"])
            for pool in stats["pools"]} == {"both": (2, 12), "child": (1, 6)}
    assert [(phase["name"], phase["ended"]) for phase in stats["phases"]] == [
        ("parent", False), ("child", True)]


def test_a_signal_handler_may_mark(run_case):
    said, capture = run_case("handler")
    assert len(marks_of(capture)) == said["ticks"][0]


@pytest.mark.parametrize("name", ["marks", "order", "arena", "forks"])
def test_without_memtrack_nothing_happens(programs, name):
    ended = subprocess.run([programs("conformance_words"), name], check=True, timeout=30,
                           capture_output=True, text=True)
    assert ended.stderr == ""
    assert name != "marks" or "errno 1" in ended.stdout


PYTHON = """
import ctypes, sys
for kind in ctypes.CDLL, ctypes.PyDLL:
    library = kind(None)
    library.memtrack_phase_begin.restype = ctypes.c_ulong
    def load():
        library.memtrack_mark(b"load " + kind.__name__.encode())
        block = bytearray(3000017)
        def inner():
            phase = library.memtrack_phase_begin(b"inner")
            again = bytearray(500009)
            library.memtrack_phase_end(ctypes.c_ulong(phase))
        inner()
        library.memtrack_pool_alloc(b"python", ctypes.c_void_p(id(block)), ctypes.c_size_t(77))
    load()
"""


def test_python_says_it_through_ctypes_with_its_stack(memtrack, python, tmp_path):
    script = tmp_path / "says.py"
    script.write_text(PYTHON)
    capture = memtrack.run(python.path, script).capture
    capture.assert_sound()
    loads = marks_of(capture)
    assert [mark["name"] for mark in loads] == ["load CDLL", "load PyDLL"]
    events = capture.events()
    phases = [event for event in events if event["op"] == "phase"]
    assert [function(event) for event in loads] == ["load", "load"]
    assert [function(event).rpartition(".")[2] for event in phases] == ["inner", "inner"]
    blocks = [event for event in capture.sized(77) if event["allocator"] == "python"]
    assert [function(event) for event in blocks] == ["load", "load"]
    for phase in capture.stats()["phases"]:
        assert phase["peak_bytes"] > 3500026
    assert capture.stats()["pools"][0]["allocations"] == 2


def function(event):
    assert event["stack"], event
    return event["stack"][0]["function"]


@pytest.mark.parametrize("name, pool, count, phases, mark", [
    ("example_arena", "words", 20000, ["index", "look up"], "indexed"),
    ("example_pool", "list nodes", 20000, ["fill", "drain"], "full")])
def test_the_examples_are_seen(memtrack, programs, name, pool, count, phases, mark):
    capture = memtrack.run(programs(name)).capture
    capture.assert_sound()
    stats = capture.stats()
    [row] = [row for row in stats["pools"] if row["pool"] == pool]
    assert row["allocations"] == row["frees"] == count
    assert [phase["name"] for phase in stats["phases"]] == phases
    assert [said["name"] for said in stats["marks"]] == [mark]
