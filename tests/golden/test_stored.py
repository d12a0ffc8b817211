"""The model that is made while a capture is written is that of the finished one, and what is stored of
it is read as it was made; one that is wrong does no harm."""

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
from capture_basics import Cursor, varint

FOLDER = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("MEMTRACK_BUILD", FOLDER.parents[1] / "build")).resolve()
PRINT_MODEL = BUILD / "tests/golden/print_model"
ONLINE_MODEL = BUILD / "tests/golden/online_model"

pytestmark = pytest.mark.skipif(not ONLINE_MODEL.exists(), reason=f"{ONLINE_MODEL} is not built")


def say(path, *arguments):
    result = subprocess.run([PRINT_MODEL, str(path), *map(str, arguments)], check=False,
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def follow(tmp_path, data, sections=1, events=1 << 20):
    """Read a capture along. Returns what came of it and the bytes of its model."""
    path, model = tmp_path / "along.bin", tmp_path / "model"
    path.write_bytes(data)
    model.write_bytes(b"")
    words = subprocess.run([ONLINE_MODEL, str(path), str(sections), str(events), str(model)],
                           check=True, capture_output=True, text=True).stdout.split()
    return words[0], int(words[1]), model.read_bytes()


def clean_storm(seed, **options):
    """A storm that has ended as it should, seen from time to time."""
    while True:
        data = captures.storm(seed, bound_steps=37, **options)
        if fmt.read_capture(data).clean:
            return data
        seed += 1000


@pytest.mark.parametrize("seed", range(24))
def test_a_model_made_on_the_way_is_that_of_the_end(tmp_path, seed):
    data = clean_storm(seed, steps=600 + 60 * seed, threads=1 + seed % 5, forks=seed % 4)
    for sections, events in [(1, 1 << 20), (3, 5), (40, 100)]:
        assert follow(tmp_path, data, sections, events)[0] == "same"


def follow_once(tmp_path, data, sections=1, events=1 << 20):
    """Read a capture along that can be read only once. Returns what came of it, and how often late."""
    path = tmp_path / "once.bin"
    path.write_bytes(data)
    words = subprocess.run([ONLINE_MODEL, str(path), str(sections), str(events),
                            str(tmp_path / "model"), "once"],
                           check=True, capture_output=True, text=True).stdout.split()
    return words[0], int(words[2])


@pytest.mark.parametrize("seed", range(12))
def test_it_is_where_nothing_can_be_read_again(tmp_path, seed):
    data = clean_storm(seed, steps=600 + 60 * seed, threads=1 + seed % 5, forks=0)
    for sections, events in [(1, 1 << 20), (3, 5), (40, 100)]:
        assert follow_once(tmp_path, data, sections, events) == ("same", 0)


@pytest.mark.parametrize("seed", range(24))
def test_there_what_comes_late_is_told_and_counted(tmp_path, seed):
    data = clean_storm(seed, steps=600 + 60 * seed, threads=1 + seed % 5, forks=1 + seed % 4)
    for sections, events in [(1, 1 << 20), (7, 50)]:
        result, late = follow_once(tmp_path, data, sections, events)
        assert result == "same" or (result == "differs" and late > 0)


@pytest.mark.parametrize("seed", range(6))
def test_a_sample_that_begins_on_the_way_is_that_of_the_end(tmp_path, seed):
    data = clean_storm(seed, steps=2000, threads=1 + seed % 5, forks=seed % 3, max_file=1 << 22,
                       levels=[(1, 5), (3,), (2, 9, 15)][seed % 3])
    for sections, events in [(1, 1 << 20), (3, 5), (40, 100)]:
        assert follow(tmp_path, data, sections, events)[0] == "same"


@pytest.mark.parametrize("seed", range(6))
def test_events_are_told_before_the_end(tmp_path, seed):
    data = clean_storm(seed, steps=4000, threads=3, forks=0)
    events = sum(1 for _ in capture_model.ordered_events(fmt.read_capture(data)))
    assert follow(tmp_path, data)[1] > events // 2


def long_trace(ticks):
    """Blocks that live from one tick to many seconds, in a capture of so many ticks."""
    trace = captures.Trace()
    trace.session("long")
    thread = trace.process(1).thread(1)
    stack = trace.stack(0, captures.MALLOC)
    for tick in range(ticks):
        thread.alloc(0x10000 + tick * 64, 40 + tick % 7, stack)
        for age in (1, 30, 500, 1001, 2500, 7000):
            if tick >= age and (tick - age) % 6 == (1, 30, 500, 1001, 2500, 7000).index(age):
                thread.free(0x10000 + (tick - age) * 64)
        trace.wait(1)
        if tick % 40 == 39:
            trace.flush()
    return trace.finish()


def test_ticks_of_long_ago_are_forgotten_and_nobody_can_tell(tmp_path):
    data = long_trace(14000)
    assert follow(tmp_path, data)[0] == "same"
    lifetimes = capture_model.build(fmt.read_capture(data))["lifetimes"]
    assert min(lifetimes[1:5]) > 1000


@pytest.mark.parametrize("name", sorted(set(captures.CAPTURES) - {"cut"}))
def test_what_is_stored_is_what_the_events_come_to(tmp_path, name):
    with open(FOLDER / "data" / (name + ".bin"), "rb") as file:
        data = file.read()
    state, _, model = follow(tmp_path, data)
    assert state == "same"
    capture = fmt.read_capture(data)
    expected = json.loads(json.dumps(capture_model.build(capture)))
    assert capture_stored.read_model(capture, model) == expected
    assert capture_stored.write_model(capture, expected) == model
    path = tmp_path / "app.bin"
    path.write_bytes(capture_stored.with_model(data, [model]))
    capture = fmt.read_capture(path.read_bytes())
    assert capture.damage is None and capture_stored.model_bytes(capture) == model
    actual = say(path)
    assert {key: actual[key] for key in expected} == expected and not actual["damage"]


def numbered(model, kind, values):
    """A model in which the first numbers of a part are others. None: there is no such part."""
    cursor, out = Cursor(model), b""
    while cursor.left():
        part, body = cursor.varint(), cursor.blob()
        if part == kind:
            if values is None:
                continue
            rest = Cursor(body)
            for _ in values:
                rest.varint()
            body = b"".join(map(varint, values)) + body[rest.at:]
        out += varint(part) + varint(len(body)) + body
    return out


@pytest.fixture(name="stored", scope="module")
def fixture_stored(tmp_path_factory):
    data = captures.words()
    return data, follow(tmp_path_factory.mktemp("stored"), data)[2]


def test_reports_read_what_is_stored(tmp_path, stored):
    data, model = stored
    path = tmp_path / "app.bin"
    path.write_bytes(capture_stored.with_model(data, [numbered(model, 1, [1, 4711])]))
    assert say(path)["totals"]["allocations"] == 4711
    assert say(path, 0, 0, 2)["totals"]["allocations"] != 4711  # another N: nothing is stored of it
    assert say(path, 1)["totals"]["allocations"] != 4711


def test_a_model_of_many_sections_is_put_together(tmp_path, stored):
    data, model = stored
    path = tmp_path / "app.bin"
    cuts = [0, 1, len(model) // 2, len(model)]
    model = numbered(model, 1, [1, 4711])
    parts = [model[a:b] for a, b in zip(cuts, cuts[1:-1] + [len(model)])]
    path.write_bytes(capture_stored.with_model(data, parts))
    assert say(path)["totals"]["allocations"] == 4711
    path.write_bytes(capture_stored.with_model(data, parts, lacks_first=True))
    actual = say(path)
    assert actual["damage"] and actual["totals"]["allocations"] != 4711


@pytest.mark.parametrize("kind, values", [
    (1, [2]), (2, [1, 9999]), (2, [1 << 40]), (3, [3]), (4, [77]), (5, [1, 256]), (6, [64]),
    (7, [0]), (7, [3000]), (8, [5, 1 << 30]), (9, [1 << 20]), (9, [2, 100, 5]), (10, [200]),
    (11, [5, 300]), (12, [3])])
def test_a_model_that_does_not_fit_is_damage_and_the_events_are_read(tmp_path, stored, kind, values):
    data, model = stored
    path = tmp_path / "app.bin"
    path.write_bytes(data)
    expected = say(path)
    path.write_bytes(capture_stored.with_model(data, [numbered(model, kind, values)]))
    actual = say(path)
    assert actual.pop("damage") and not expected.pop("damage")
    assert actual == expected


@pytest.mark.parametrize("kind", capture_stored.PARTS)
def test_a_model_that_lacks_a_part_is_of_a_later_version(tmp_path, stored, kind):
    data, model = stored
    path = tmp_path / "app.bin"
    path.write_bytes(capture_stored.with_model(data, [
        numbered(numbered(model, 1, [1, 4711]), kind, None)]))
    actual = say(path)
    assert not actual["damage"] and actual["totals"]["allocations"] != 4711


def test_unknown_parts_and_trailing_bytes_are_passed_over(tmp_path, stored):
    data, model = stored
    path = tmp_path / "app.bin"
    model = numbered(model, 1, [1, 4711])
    path.write_bytes(capture_stored.with_model(data, [model + varint(99) + varint(2) + b"ab"]))
    assert say(path)["totals"]["allocations"] == 4711


def test_a_model_cut_off_anywhere_does_no_harm(tmp_path, stored):
    data, model = stored
    path = tmp_path / "app.bin"
    path.write_bytes(data)
    expected = say(path)
    expected.pop("damage")
    for size in range(0, len(model), max(1, len(model) // 60)):
        path.write_bytes(capture_stored.with_model(data, [model[:size]]))
        actual = say(path)
        actual.pop("damage")
        assert actual == expected, size


def test_a_model_with_events_behind_it_is_passed_over(tmp_path, stored):
    data, model = stored
    path = tmp_path / "app.bin"
    model = numbered(model, 1, [1, 4711])
    path.write_bytes(capture_stored.with_model(data, [model], is_first=True))
    actual = say(path)
    assert not actual["damage"] and actual["totals"]["allocations"] != 4711


def test_a_capture_without_its_end_has_no_model(tmp_path, stored):
    data, model = stored
    path = tmp_path / "app.bin"
    path.write_bytes(capture_stored.with_model(data, [numbered(model, 1, [1, 4711])])[:-8])
    assert say(path)["totals"]["allocations"] != 4711
