"""The programs and the model in Python make the same of every capture."""

import json
import os
import pathlib
import subprocess

import pytest

pytest.importorskip("lz4.block")
pytest.importorskip("xxhash")

# pylint: disable=wrong-import-position
import capture_format as fmt
import capture_model
import capture_stored
import captures
from capture_calm import calm

FOLDER = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("MEMTRACK_BUILD", FOLDER.parents[1] / "build"))
PRINT_MODEL = BUILD.resolve() / "tests/golden/print_model"
DATA = FOLDER / "data"

pytestmark = pytest.mark.skipif(not PRINT_MODEL.exists(), reason=f"{PRINT_MODEL} is not built")


def say(path, *arguments):
    result = subprocess.run([PRINT_MODEL, str(path), *map(str, arguments)], check=False,
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def is_of_an_earlier_version(capture):
    """Whether it has a model stored which does not say how many allocations there were."""
    model = capture_stored.model_bytes(capture)
    return model is not None and "counts" not in capture_stored.read_parts(model)


def compare(tmp_path, data, **options):
    """Both models of a capture; returns the one of the programs."""
    path = tmp_path / "app.bin"
    path.write_bytes(data)
    actual = say(path, options.get("process", 0), options.get("tid", 0),
                 options.get("threshold", 1), *["pools"] * options.get("pools", False))
    capture = fmt.read_capture(data)
    expected = json.loads(json.dumps(capture_model.build(capture, **options)))
    if is_of_an_earlier_version(capture) and not any(sample[5] for sample in actual["samples"]):
        for sample in expected["samples"]:
            sample[5] = 0
    for key, value in expected.items():
        assert actual[key] == value, key
    check_sums(actual)
    return actual


def check_sums(model):
    """What holds in every model, whoever made it."""
    totals, rows = model["totals"], model["rows"]
    for view, name in [(0, "peak"), (1, "leaked")]:
        assert sum(row["costs"][view][0] for row in rows) == totals[name + "_bytes"]
        assert sum(row["costs"][view][1] for row in rows) == totals[name + "_allocations"]
    assert sum(row["costs"][2][0] for row in rows) == totals["allocated_bytes"]
    assert sum(row["costs"][3][1] for row in rows) == totals["temporary_allocations"]
    shown = [[0, 0] for _ in range(len(model["samples"]) + 1)]
    for _, first, last, size, blocks in model["intervals"]:
        assert first < last and first < len(model["samples"])
        assert last <= len(model["samples"]) or last == capture_model.NEVER
        for bucket, sign in [(first, 1), (min(last, len(model["samples"])), -1)]:
            shown[bucket][0] += sign * size
            shown[bucket][1] += sign * blocks
    size = blocks = 0
    for (more_bytes, more_blocks), sample in zip(shown, model["samples"]):
        size, blocks = size + more_bytes, blocks + more_blocks
        assert [size, blocks] == sample[1:3]
    peak = model["peak_sample"]
    assert model["samples"][peak][1] == totals["peak_bytes"]
    at_peak = [[0, 0] for _ in rows]
    for row, first, last, size, blocks in model["intervals"]:
        if first <= peak < last:
            at_peak[row][0] += size
            at_peak[row][1] += blocks
    assert at_peak == [row["costs"][0] for row in rows]


@pytest.mark.parametrize("name", sorted(captures.CAPTURES))
def test_released_captures_read_the_same(tmp_path, name):
    with open(os.path.join(DATA, name + ".bin"), "rb") as file:
        compare(tmp_path, file.read())


@pytest.mark.parametrize("name", sorted(captures.CAPTURES))
def test_the_captures_are_what_their_makers_make(name):
    with open(os.path.join(DATA, name + ".bin"), "rb") as file:
        kept = fmt.read_capture(file.read())
    made = fmt.read_capture(captures.CAPTURES[name]())
    assert (kept.session, kept.processes, kept.threads, kept.codes, kept.nodes, kept.stacks) == (
        made.session, made.processes, made.threads, made.codes, made.nodes, made.stacks)
    assert (kept.mark_names, kept.pool_names) == (made.mark_names, made.pool_names)
    assert [part.payload for part in kept.events] == [part.payload for part in made.events]


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_are_understood_alike(tmp_path, seed):
    compare(tmp_path, captures.storm(seed, steps=400 + 30 * seed, threads=1 + seed % 5,
                                     forks=seed % 4), threshold=seed % 3)


@pytest.mark.parametrize("seed", range(20))
def test_what_happens_below_the_peak_is_summed_up_alike(tmp_path, seed):
    data = calm(seed, turns=80, threads=1 + seed % 3, forks=seed % 5)
    compare(tmp_path, data, tid=10)
    assert compare(tmp_path, data, threshold=seed % 3)["totals"]["frees"] > 1000


@pytest.mark.parametrize("seed", range(8))
def test_what_was_left_out_is_no_mistake(tmp_path, seed):
    model = compare(tmp_path, captures.storm(seed, steps=900, threads=1 + seed % 5, forks=seed % 3,
                                             min_size=16))
    assert model["totals"]["unknown_frees"] == 0


@pytest.mark.parametrize("seed", range(12))
def test_samples_are_weighted_alike(tmp_path, seed):
    model = compare(tmp_path, captures.storm(seed, steps=900, threads=1 + seed % 5, forks=seed % 3,
                                             sample_bytes=[25, 101, 6000, 1 << 20][seed % 4],
                                             min_size=seed % 2))
    assert model["totals"]["temporary_allocations"] == 0
    assert model["standard_errors"][2] > 0


@pytest.mark.parametrize("seed", range(12))
def test_blocks_are_weighted_by_their_levels(tmp_path, seed):
    model = compare(tmp_path, captures.storm(seed, steps=900, threads=1 + seed % 5, forks=seed % 3,
                                             levels=[(1, 3, 15), (5,), (2, 8)][seed % 3],
                                             max_file=1 << 20, min_size=seed % 2))
    assert model["totals"]["temporary_allocations"] == 0
    assert model["standard_errors"][2] > 0
    # A stack and a thread are one row, however its blocks were picked.
    assert len(model["rows"]) <= 6 * 6 * (1 + seed % 5 + 2 * (seed % 3))


@pytest.mark.parametrize("seed", range(8))
def test_what_forked_children_inherit_is_understood_alike(tmp_path, seed):
    model = compare(tmp_path, captures.storm(seed, steps=9000, threads=2, forks=5 + 3 * seed,
                                             places=20_000))
    assert sum(owner["allocations"] > 0 for owner in model["processes"]) > 3


def test_a_later_child_inherits_what_came_below_the_peak(tmp_path):
    trace = captures.Trace()
    trace.session("server")
    stack = captures.script_stack(trace)("<module> main")
    process = trace.process(1, arguments=["server"])
    main = process.thread(1)
    main.free(main.alloc(captures.HEAP - captures.MIB, captures.MIB, stack))
    for i in range(4000):
        main.alloc(captures.HEAP + 4096 * i, 24, stack)
    for pid in (2, 3):
        for i in range(0, 4000, 40):
            main.free(captures.HEAP + 4096 * i)
            main.alloc(captures.HEAP + 4096 * i + 64 * pid, 24, stack)
        trace.wait(1)
        child = trace.process(pid, parent=process, how=captures.FORK)
        only = child.thread(pid)
        for i in range(0, 4000, 40):
            only.free(captures.HEAP + 4096 * i + 64 * pid)
            main.free(captures.HEAP + 4096 * i + 64 * pid)
            main.alloc(captures.HEAP + 4096 * i, 24, stack)
        trace.wait(1)
    totals = compare(tmp_path, trace.finish())["totals"]
    assert totals["unknown_frees"] == totals["order_violations"] == 0


@pytest.mark.parametrize("write, what", [
    (lambda writer: writer.limit(2, 5, 1, 5), "limit of an unknown process"),
    (lambda writer: writer.limit(1, 5, 1, 5, 1), "limit of an unknown cgroup"),
    (lambda writer: writer.sampling(1, 16, 1), "sampling at an unknown level"),
    (lambda writer: [writer.sampling(2, 1, 1), writer.sampling(1, 2, 1)], "sampling before the one before it"),
    (lambda writer: writer.stack(0, 0, 1, fmt.LEVELS + 16), "stack of an unknown allocator or class"),
    (lambda writer: writer.use(1, 1, 5, 5), "memory of an unknown process or cgroup"),
    (lambda writer: writer.use(2, 2, 5, 5), "memory of an unknown process or cgroup"),
    (lambda writer: writer.record(fmt.CGROUP, bytes([2, 1, 97])), "cgroup out of order"),
    (lambda writer: writer.record(fmt.LIMIT, bytes(5)), "record cut off"),
    (lambda writer: writer.module(kind=3, process=2), "module of an unknown process"),
    (lambda writer: writer.module(path="a\0b"), "path with a NUL in it"),
    (lambda writer: writer.module(kind=256), "number that does not fit its field"),
    (lambda writer: [writer.record(fmt.MODULE, b"\1\1\2")], "module out of order"),
    (lambda writer: [writer.record(fmt.MODULE, b"\2\1\1")], "module without a number"),
    (lambda writer: [writer.record(fmt.MODULE, b"\1\1\1\3\5a")], "record cut off"),
    (lambda writer: writer.native_node(0, 1, 5), "native node of an unknown module"),
    (lambda writer: writer.native_node(1, 0, 5), "native node of an unknown parent"),
    (lambda writer: [writer.native_node(0, 0, 1), writer.record(fmt.NATIVE_NODES, b"\1\0")],
     "native node out of order"),
    (lambda writer: writer.record(fmt.NATIVE_NODES, b"\1\2\0\0\0"), "record cut off"),
    (lambda writer: [writer.native_node(0, 0, 1), writer.stack(1, 0, 1)], "stack of an unknown node"),
    (lambda writer: writer.symbols(1, {5: [("f", "", 0, 0)]}), "symbols of an unknown module"),
    (lambda writer: writer.symbols(0, {5: [("f", "", 0, 0)]}), "symbols of an unknown module"),
    (lambda writer: [writer.module(path="a"), writer.symbols(1, {5: []})], "impossible symbol"),
    (lambda writer: [writer.module(path="a"), writer.symbols(1, {5: [("f", "", 0, 0)] * 257})], "record cut off"),
    (lambda writer: [writer.module(path="a"), writer.record(fmt.SYMBOLS, b"\1\1\5\1\1")],
     "place of an unknown text"),
    (lambda writer: [writer.module(path="a"), writer.record(fmt.SYMBOLS, b"\1\1\5\1\0\1\0")],
     "place of an unknown text"),
    (lambda writer: [writer.module(path="a"), writer.record(fmt.SYMBOLS, b"\1\2\5\1\0\0\0\0\0")], "record cut off"),
    (lambda writer: [writer.code("", "", 1), writer.node(0, 1, 0), writer.stack(0, 1, 1)],
     "stack of an unknown node"),
])
def test_records_of_what_there_is_not_are_damage(tmp_path, write, what):
    writer = fmt.CaptureWriter()
    writer.process(1, pid=5)
    write(writer)
    path = tmp_path / "app.bin"
    path.write_bytes(writer.finish())
    assert say(path)["damage"]
    said = subprocess.run([BUILD / "cli/memtrack", "info", path], check=False, capture_output=True,
                          text=True)
    assert said.returncode == 3 and what in said.stderr + said.stdout


@pytest.mark.parametrize("seed", [3, 7])
def test_a_part_of_the_processes_or_threads_can_be_asked_for(tmp_path, seed):
    data = captures.storm(seed, steps=800, threads=3, forks=2)
    everything = compare(tmp_path, data)
    part = compare(tmp_path, data, process=2)
    assert 0 < part["totals"]["allocations"] < everything["totals"]["allocations"]
    part = compare(tmp_path, data, tid=11)
    assert 0 < part["totals"]["allocations"] < everything["totals"]["allocations"]


def test_truncated_captures_are_understood_alike(tmp_path):
    data = captures.storm(5, steps=600, threads=3, forks=1, bound_steps=40)
    counts = [compare(tmp_path, data[:size])["totals"]["allocations"]
              for size in range(2000, len(data), len(data) // 25)]
    assert counts == sorted(counts) and 0 < counts[1] < counts[10] < counts[-1]


def test_a_snapshot_is_read_up_to_its_bounds(tmp_path):
    totals = compare(tmp_path, captures.snapshot())["totals"]
    assert totals["allocations"] == 80 and totals["leaked_bytes"] == 40 * 150


@pytest.mark.parametrize("part", [{}, {"process": 2}, {"tid": 61}, {"pools": True}])
def test_what_programs_say_is_understood_alike(tmp_path, part):
    model = compare(tmp_path, captures.words(), **part)
    assert model["marks"] and model["phases"]
    assert bool(model["pools"]) == ("pools" not in part)


def test_what_failed_is_counted_where_and_when(tmp_path):
    trace = captures.Trace()
    trace.session("app.py")
    stack = captures.script_stack(trace)
    threads = [trace.process(70).thread(70 + i) for i in range(2)]
    for i in range(60):
        threads[i % 2].fail(1000 * i, stack("<module> main" if i % 3 else "worker"))
        trace.wait(100)                                 # 6 s: buckets of 4 ms
    model = compare(tmp_path, trace.finish())
    assert sum(sample[4] for sample in model["samples"]) == 60 == model["totals"]["failed_allocations"]
    assert max(sample[4] for sample in model["samples"]) == 1
    assert [failure[2] for failure in model["failures"]] == [10, 20, 20, 10]
    assert model["failures"][0][3] == 54000


def test_a_phase_has_the_highest_heap_that_it_saw(tmp_path):
    model = compare(tmp_path, captures.words())
    mib = captures.MIB
    peaks = {name: peak for _, _, name, peak, *_ in model["phases"]}
    assert peaks == {"load": 3 * mib, "load: parse": 3 * mib, "request": mib + 4000,
                     "never ends": 4 * mib, "child": 4 * mib}
    requests = [peak for _, _, name, peak, *_ in model["phases"] if name == "request"]
    assert requests == [3 * mib, mib + 1000, mib + 2000, mib + 3000, mib + 4000]


def test_blocks_of_pools_are_never_added_to_the_heap(tmp_path):
    heap = compare(tmp_path, captures.words())
    pools = compare(tmp_path, captures.words(), pools=True)
    assert heap["totals"]["allocated_bytes"] == 6 * captures.MIB + 10_000
    assert pools["totals"]["allocated_bytes"] == sum(pool[3] for pool in heap["pools"])
    assert pools["totals"]["peak_bytes"] > 5 * captures.GIB > heap["totals"]["peak_bytes"]


def test_growing_a_vector_is_temporary_with_one_allocation_in_between(tmp_path):
    data = captures.vector()
    assert compare(tmp_path, data, threshold=1)["totals"]["temporary_allocations"] == 10
    none = compare(tmp_path, data, threshold=0)
    assert none["totals"]["temporary_allocations"] == 1
    assert none["rows"][0]["costs"][3] == [2048, 1]


def test_a_realloc_is_never_counted_twice_nor_missed(tmp_path):
    trace = captures.Trace()
    trace.session("app")
    process = trace.process(1)
    one, two = process.thread(1), process.thread(2)
    stack = trace.stack(0, captures.MALLOC)
    big = one.alloc(0x1000, 1000, stack)
    one.free(big, captures.REALLOC)          # on its way
    two.free(two.alloc(0x9000, 50, stack))   # meanwhile: 1000 are still there
    one.alloc(0x5000, 1010, stack)
    model = compare(tmp_path, trace.finish())
    assert model["totals"]["peak_bytes"] == 1050
    assert model["totals"]["leaked_bytes"] == 1010


@pytest.mark.parametrize("pages, released, peak", [
    (2, [(0, 1)], 11), (4, [(0, 1), (3, 1)], 12), (8, [(4, 1)], 17), (5, [(1, 1), (3, 1)], 13)])
def test_what_is_unmapped_in_part_is_not_at_the_peak(tmp_path, pages, released, peak):
    trace = captures.Trace()
    trace.session("app")
    thread = trace.process(1).thread(1)
    stack = trace.stack(0, captures.MMAP)
    page = 4096
    thread.map(captures.RANGES, pages * page, stack)
    for first, count in released:
        thread.unmap(captures.RANGES + first * page, count * page)
    thread.map(captures.RANGES + 1000 * page, 10 * page, stack)
    assert compare(tmp_path, trace.finish())["totals"]["peak_bytes"] == peak * page


def test_a_map_over_another_is_counted_once(tmp_path):
    trace = captures.Trace()
    trace.session("app")
    thread = trace.process(1).thread(1)
    stack = trace.stack(0, captures.MMAP)
    thread.map(captures.RANGES, 10 * 4096, stack)
    thread.map(captures.RANGES + 4096, 4096, stack)
    assert compare(tmp_path, trace.finish())["totals"]["leaked_bytes"] == 10 * 4096
