"""What the programs show of a part of a capture's time is what the model in Python finds there,
whether it comes from the events or from what a capture has stored of them."""

import json
import os
import pathlib
import random
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
from capture_window import ALLOCATED, LEAKS, LIVE, PEAK, TEMPORARY, Window

FOLDER = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("MEMTRACK_BUILD", FOLDER.parents[1] / "build")).resolve()
PRINT_WINDOW = BUILD / "tests/golden/print_window"
DATA = FOLDER / "data"
KINDS = [ALLOCATED, TEMPORARY, PEAK, LIVE, LEAKS]

pytestmark = pytest.mark.skipif(not PRINT_WINDOW.exists(), reason=f"{PRINT_WINDOW} is not built")


def ask(path, questions, *, process=0, tid=0, threshold=1, pools=False):
    """questions: (kind, has_sums, from, mark, to, mark)."""
    words = "\n".join(" ".join(str(int(part)) for part in question) for question in questions)
    said = subprocess.run([PRINT_WINDOW, path, str(process), str(tid), str(threshold),
                           "pools" if pools else "heap"], input=words, check=True,
                          capture_output=True, text=True).stdout
    return [json.loads(line) for line in said.splitlines()]


def compare(path, ranges, **options):
    """ranges: (from, mark, to, mark); all kinds of each, with sums and without."""
    capture = fmt.read_capture(pathlib.Path(path).read_bytes())
    questions = [(kind, has_sums, *ends) for ends in ranges for kind in KINDS
                 for has_sums in (False, True)]
    answers = ask(path, questions, **options)
    assert len(answers) == len(questions)
    at = 0
    for start, start_mark, end, end_mark in ranges:
        window = Window(capture, start, end, start_mark, end_mark, **options)
        for kind in KINDS:
            for has_sums in (False, True):
                expected = window.answer(kind, has_sums)
                actual = answers[at]
                actual["rows"].sort()
                if kind == TEMPORARY:
                    del actual["error"]
                assert actual == expected, (questions[at], options)
                at += 1
    return answers


def random_ranges(seed, capture, count):
    """Instants where something happens, beside them, and anywhere; the start and the end too."""
    chance = random.Random(seed)
    end_ns = capture_model.Model(capture).end_ns
    near = [time + step for time in capture.ticks.values() for step in (-1, 0, 1)]
    near += [p.get("ended_ns", 0) + step for p in capture.processes.values() for step in (-1, 0, 1)]
    near = [time for time in near if 0 < time < end_ns] or [0]
    ranges = [(0, 0, end_ns, 0), (0, 0, 0, 0)]
    while len(ranges) < count:
        start, end = sorted(chance.choice([0, end_ns, chance.randint(0, end_ns), chance.choice(near),
                                           chance.choice(near)]) for _ in range(2))
        ranges.append((start, 0, end, 0))
    return ranges


@pytest.mark.parametrize("name", sorted(captures.CAPTURES))
def test_parts_of_released_captures_read_the_same(name):
    path = DATA / f"{name}.bin"
    compare(path, random_ranges(1, fmt.read_capture(path.read_bytes()), 12))


@pytest.mark.parametrize("seed", range(16))
def test_parts_of_random_programs_read_the_same(tmp_path, seed):
    path = tmp_path / "app.bin"
    path.write_bytes(captures.storm(seed, steps=400 + 30 * seed, threads=1 + seed % 5,
                                    forks=seed % 4))
    compare(path, random_ranges(seed, fmt.read_capture(path.read_bytes()), 10), threshold=seed % 3)


@pytest.mark.parametrize("seed", range(8))
def test_parts_of_programs_below_their_peak_read_the_same(tmp_path, seed):
    path = tmp_path / "app.bin"
    path.write_bytes(calm(seed, turns=60, threads=1 + seed % 3, forks=seed % 3))
    compare(path, random_ranges(seed, fmt.read_capture(path.read_bytes()), 8))


@pytest.mark.parametrize("seed", range(6))
def test_parts_of_samples_are_weighted_alike(tmp_path, seed):
    path = tmp_path / "app.bin"
    path.write_bytes(captures.storm(seed, steps=900, threads=1 + seed % 5, forks=seed % 3,
                                    sample_bytes=[25, 101, 6000][seed % 3]))
    compare(path, random_ranges(seed, fmt.read_capture(path.read_bytes()), 8))


@pytest.mark.parametrize("seed", range(6))
def test_parts_of_captures_with_levels_are_weighted_alike(tmp_path, seed):
    path = tmp_path / "app.bin"
    path.write_bytes(captures.storm(seed, steps=900, threads=1 + seed % 5, forks=seed % 3,
                                    max_file=1 << 22, levels=[(1, 5), (3,), (2, 9, 15)][seed % 3]))
    compare(path, random_ranges(seed, fmt.read_capture(path.read_bytes()), 8))


def marked(seed):
    """Two processes that mark, allocate, map and protect, much of it within one tick."""
    chance, trace = random.Random(seed), captures.Trace()
    trace.session("marked")
    threads = [trace.process(1).thread(1), trace.process(2).thread(2)]
    malloc, mmap, reserve = (trace.stack(0, captures.MALLOC), trace.stack(0, captures.MMAP),
                             trace.stack(0, captures.MMAP, captures.RESERVED))
    page, blocks = 4096, [[], []]
    for step in range(400):
        which = chance.randrange(2)
        thread, live, place = threads[which], blocks[which], chance.randrange(40) * 16 * page
        action = chance.choice("aaafmMup.s")
        if action == "a":
            live.append(thread.alloc(0x10000 + step * 64, chance.randint(1, 64), malloc))
        elif action == "f" and live:
            thread.free(live.pop(chance.randrange(len(live))))
        elif action == "m":
            thread.map(captures.RANGES + place, 16 * page, mmap)
        elif action == "M":
            thread.map(captures.RANGES + place, 16 * page, reserve)
        elif action == "u":
            thread.unmap(captures.RANGES + place + 4 * page, 8 * page)
        elif action == "p":
            thread.protect(captures.RANGES + place, 8 * page, chance.choice([0, captures.RESERVED]))
        elif action == "s":
            thread.say(fmt.MARK, "here")
        elif chance.random() < 0.2:
            trace.wait(1)
    return trace.finish()


@pytest.mark.parametrize("seed", range(8))
def test_a_mark_of_the_program_cuts_between_its_events(tmp_path, seed):
    data = marked(seed)
    model = capture_model.build(fmt.read_capture(data))
    marks = [mark[0] for mark in model["marks"]]
    assert len(marks) > 2 * len(set(marks)), "several in one tick"
    chance = random.Random(seed)
    ranges = []
    for _ in range(8):
        first, second = sorted(chance.sample(range(1, len(marks) + 1), k=2))
        end = chance.randint(marks[first - 1], model["end_ns"])
        ranges += [(marks[first - 1], first, marks[second - 1], second),
                   (0, 0, marks[first - 1], first), (marks[first - 1], first, end, 0)]
    path = tmp_path / "app.bin"
    path.write_bytes(data)
    compare(path, ranges)
    compare(path, [(0, 0, marks[0], 1)], process=1 if model["marks"][0][2] == 1 else 2)


def store(path, data, change):
    """Put a model into a capture, changed on the way."""
    capture = fmt.read_capture(data)
    model = json.loads(json.dumps(capture_model.build(capture)))
    change(model)
    path.write_bytes(capture_stored.with_model(data, [capture_stored.write_model(capture, model)]))


def test_what_the_stored_model_says_exactly_is_not_read_again(tmp_path):
    """A model that lies shows which of its numbers are used."""
    data = captures.CAPTURES["script"]()
    end_ns = capture_model.Model(fmt.read_capture(data)).end_ns
    path = tmp_path / "app.bin"

    def lie(model):
        for interval in model["intervals"]:
            interval[3] *= 1000
        for view in 1, 2:
            model["rows"][0]["costs"][view] = [4711, 1]

    store(path, data, lie)
    # What is highest in a range that has the peak is a sample.
    peak, = ask(path, [(PEAK, 0, 100_000_000, 0, 180_000_000, 0)])
    assert all(row[2] % 1000 == 0 for row in peak["rows"]) and len(peak["rows"]) > 5
    for kind in ALLOCATED, LEAKS, LIVE:
        whole, = ask(path, [(kind, 0, 0, 0, end_ns, 0)])
        assert [row[2] for row in whole["rows"] if row[3] == 1 and row[2] == 4711] == [4711]
    # No sample tells what was at any other instant, or came between two.
    questions = [(kind, 0, 0, 0, end_ns - 1, 0) for kind in (LIVE, ALLOCATED, TEMPORARY, LEAKS)]
    plain = tmp_path / "plain.bin"
    plain.write_bytes(data)
    assert ask(path, questions) == ask(plain, questions)


def test_a_highest_moment_that_no_sample_shows_is_looked_for_in_the_events(tmp_path):
    """The first bucket is cut behind its sample, and what is left of it is higher than the others."""
    trace = captures.Trace()
    trace.session("cut")
    thread = trace.process(1).thread(1)
    stack = trace.stack(0, captures.MALLOC)
    for tick in range(6000):  # buckets of 4 ms
        heap = {0: 1000, 1: 900, 2: 800}.get(tick % 4, 10) if tick < 4000 else 10
        thread.alloc(0x10000 + tick * 4096, heap, stack)
        trace.wait(1)
        thread.free(0x10000 + tick * 4096)
        if tick % 40 == 39:
            trace.flush()
    path = tmp_path / "app.bin"
    path.write_bytes(trace.finish())
    ticks = sorted(fmt.read_capture(path.read_bytes()).ticks.values())
    cut = ticks[3997]  # behind the last 1000
    compare(path, [(cut, 0, ticks[5000], 0), (ticks[3996] - 1, 0, ticks[5000], 0),
                   (ticks[4100], 0, ticks[5000], 0), (ticks[4100] + 1, 0, ticks[5000] + 1, 0)])


def sum_intervals(model, is_shown):
    rows = {}
    for row, first, last, size, blocks in model["intervals"]:
        if is_shown(first, last):
            sums = rows.setdefault((model["rows"][row]["stack"], model["rows"][row]["stream"]), [0, 0])
            sums[0] += size
            sums[1] += blocks
    return sorted([*row, *cost] for row, cost in rows.items() if any(cost))


@pytest.mark.parametrize("name", ["script", "words", "family"])
def test_without_events_instants_are_those_of_samples(tmp_path, name):
    data, model = capture_stored.without_events(captures.CAPTURES[name]())
    path = tmp_path / "app.bin"
    path.write_bytes(data)
    samples, end_ns = model["samples"], model["end_ns"]
    width, times = 1_000_000, [sample[0] for sample in samples]
    chance = random.Random(name)
    for _ in range(30):
        start, end = sorted(chance.sample(range(1, end_ns), 2))
        first, last = start // width, end // width
        before = times[first - 1] if first else 0
        at, peak, kept, leaks, *refused = ask(path, [
            (LIVE, 0, 0, 0, end, 0), (PEAK, 0, start, 0, end, 0), (LIVE, 0, start, 0, end, 0),
            (LEAKS, 0, start, 0, end, 0), (ALLOCATED, 0, start, 0, end, 0),
            (TEMPORARY, 0, start, 0, end, 0)])
        assert refused == [{"refused": True}] * 2
        assert sum(row[2] for row in at["rows"]) == samples[last][1]
        assert at["moved"] == [width, 0, times[last]] and at["instant_ns"] == times[last]
        highest = max(range(first, last + 1), key=lambda i: (samples[i][1], -i))
        if "moved" in peak:  # else it is exact, although the range cuts its buckets
            assert peak["moved"] == [width, first * width, min((last + 1) * width, end_ns)]
        assert peak["instant_ns"] == times[highest]
        assert sum(row[2] for row in peak["rows"]) == samples[highest][1]
        assert kept["moved"] == leaks["moved"] == [width, before, times[last]]
        assert sorted(kept["rows"]) == sum_intervals(model, lambda a, b: first <= a <= last < b)
        assert sorted(leaks["rows"]) == sum_intervals(
            model, lambda a, b: first <= a <= last and b > len(samples))
