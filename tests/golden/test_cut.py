"""The last part of a capture, as a capture of its own: from where it begins on it is what the whole is,
to the programs and to the reader in Python."""

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
import captures
from capture_calm import calm
from capture_window import ALLOCATED, LIVE, PEAK, Window
from test_model import compare

FOLDER = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("MEMTRACK_BUILD", FOLDER.parents[1] / "build")).resolve()
MEMTRACK = BUILD / "cli/memtrack"

pytestmark = pytest.mark.skipif(not MEMTRACK.exists(), reason=f"{MEMTRACK} is not built")


def cut(path, last_ns):
    out = path.with_suffix(".cut")
    ended = subprocess.run([MEMTRACK, "recompress", "-q", "-f", "-o", out, f"--last={last_ns}ns", path],
                           check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return out.read_bytes()


def ended_ns(data, tmp_path):
    path = tmp_path / "whole.bin"
    path.write_bytes(data)
    said = subprocess.run([MEMTRACK, "info", "--json", path], check=True, capture_output=True)
    return json.loads(said.stdout)["capture"]["duration_ns"]


def total(rows):
    return [sum(row[2] for row in rows), sum(row[3] for row in rows)]


def check_part(tmp_path, whole, part_data, at, seed, has_forks):
    """What is left from an instant on is what the whole has from there on."""
    part, chance = fmt.read_capture(part_data), random.Random(seed)
    end_ns = capture_model.Model(whole).end_ns
    assert part.clean and part.damage is None
    assert part.states[0] == (0, 0, fmt.CAUSE_LAST) and part.states[1][0] == at
    model = compare(tmp_path, part_data)
    assert model["totals"]["unknown_frees"] == 0
    if has_forks:  # what children have inherited is not told: they seem to release what nobody has
        return
    now = Window(whole, 0, at).answer(LIVE, False)["rows"]
    for until in sorted({at, *(chance.randint(at, end_ns) for _ in range(3)), end_ns}):
        expected = Window(whole, 0, until).answer(LIVE, False)["rows"]
        assert Window(part, 0, until).answer(LIVE, False)["rows"] == expected, (at, until)
        if until == at:
            continue
        was, made = Window(whole, at, until), Window(part, at, until)
        assert made.answer(PEAK, False)["rows"] == was.answer(PEAK, False)["rows"]
        assert total(made.answer(ALLOCATED, False)["rows"]) == total(
            was.answer(ALLOCATED, False)["rows"])
    # A map whose class was changed is told as it was mapped, and changed.
    made = {tuple(row[:2]): row[2:] for row in Window(part, 0, at).answer(ALLOCATED, False)["rows"]}
    assert all(made[stack, stream][1] >= blocks for stack, stream, _, blocks in now)
    is_block = lambda stack: whole.stacks[stack][2] not in range(16, 21)
    assert {key: cost for key, cost in made.items() if is_block(key[0])} == {
        (stack, stream): cost for stack, stream, *cost in now if is_block(stack)}


def check_cut(tmp_path, data, seed, rounds=2, has_forks=False):
    path = tmp_path / "to_be_cut.bin"
    path.write_bytes(data)
    whole, chance = fmt.read_capture(data), random.Random(seed)
    duration, end_ns = ended_ns(data, tmp_path), capture_model.Model(whole).end_ns
    for round_number in range(rounds):
        at = chance.randrange(1, end_ns)
        check_part(tmp_path, whole, cut(path, duration - at), at, seed + round_number, has_forks)


def sections_of(data):
    """Where the sections of a capture are, without directory: [(offset, kind, stream, segment)]."""
    offset, found = fmt.SUPERBLOCK_BYTES, []
    while offset < len(data) and data[offset:offset + 3] == b"MTS":
        section, following = fmt.read_section(data, offset)
        if section.kind == fmt.DIRECTORY:
            break
        found.append((offset, section.kind, section.stream, section.segment))
        offset = following
    return found, offset


def cut_along(path, data, written_bytes, at):
    """Cut a capture of which so much has been written; the rest comes meanwhile. Returns when, and what
    it would be when it has ended."""
    path.write_bytes(data)
    out = path.with_suffix(".cut")
    out.unlink(missing_ok=True)
    script = f'exec 3<{path} 4<>{out} 5>&1 && exec "$@"'
    ended = subprocess.run(["sh", "-c", script, "sh", MEMTRACK, "cut", str(written_bytes), str(at),
                            str(path), "10"], check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended
    word, cut_ns, from_bytes, to_bytes = ended.stdout.split()
    part = out.read_bytes()
    assert (word, int(from_bytes), int(to_bytes)) == ("done", len(data), len(part))
    assert part.endswith(data[written_bytes:])  # as it stands
    writer = fmt.CaptureWriter()
    writer.data = bytearray(part)
    writer.sections, end = sections_of(part)
    assert end == len(part)
    return int(cut_ns), writer.finish()


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_are_cut_anywhere(tmp_path, seed):
    check_cut(tmp_path, clean(captures.storm, seed, steps=500 + 60 * seed, threads=1 + seed % 5,
                              forks=0), seed)


@pytest.mark.parametrize("seed", range(4))
def test_families_are_cut_anywhere(tmp_path, seed):
    check_cut(tmp_path, clean(captures.storm, seed, steps=900, threads=2, forks=3), seed,
              has_forks=True)


@pytest.mark.parametrize("seed", range(4))
def test_programs_below_their_peak_are_cut_anywhere(tmp_path, seed):
    check_cut(tmp_path, clean(calm, seed, turns=60, threads=1 + seed % 3, forks=0), seed)


LATE_NS = 200_000_000  # of what is as young as that there may be news


@pytest.mark.parametrize("seed", range(6))
def test_captures_that_are_being_written_are_cut_anywhere(tmp_path, seed):
    data = clean(captures.storm, seed, steps=1800, threads=1 + seed % 4, forks=0,
                 bound_steps=(7, 60, 300)[seed % 3])
    whole, chance = fmt.read_capture(data), random.Random(seed)
    sections, end = sections_of(data)
    cuts = 0
    while cuts < 2:
        written_bytes = chance.choice(sections[len(sections) // 2:])[0]
        known = fmt.read_capture(data[:written_bytes]).ticks
        latest_ns = max(known.values()) - LATE_NS
        if latest_ns <= 1:
            continue
        wanted = chance.choice([chance.randrange(1, latest_ns), latest_ns + 1, 10**15])
        at, part = cut_along(tmp_path / "running.bin", data[:end], written_bytes, wanted)
        assert at == min(wanted, latest_ns)
        check_part(tmp_path, whole, part, at, seed, False)
        cuts += 1


def test_what_is_cut_is_cut_again(tmp_path):
    data = clean(captures.storm, 3, steps=2500, threads=3, forks=0, bound_steps=40)
    whole, end_ns = fmt.read_capture(data), 0
    for _ in range(3):
        sections, end = sections_of(data)
        at, data = cut_along(tmp_path / "again.bin", data[:end], sections[-1][0],
                             end_ns + 150_000_000)
        assert at > end_ns
        end_ns = at
        check_part(tmp_path, whole, data, at, 3, False)


def clean(make, seed, **options):
    while True:
        data = make(seed, **options)
        if fmt.read_capture(data).clean:
            return data
        seed += 1000


# "cut" is not clean, "empty" has no time, and of samples no part can be taken.
@pytest.mark.parametrize("name", sorted(set(captures.CAPTURES) - {"cut", "empty", "sampled", "degraded"}))
def test_released_captures_are_cut_anywhere(tmp_path, name):
    with open(FOLDER / "data" / (name + ".bin"), "rb") as file:
        check_cut(tmp_path, file.read(), 1)
