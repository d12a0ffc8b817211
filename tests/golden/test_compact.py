"""Coder 3: what the programs write the page's reader reads, and the other way round."""

import os
import pathlib
import random
import struct
import subprocess

import pytest

pytest.importorskip("lz4.block")
pytest.importorskip("xxhash")

# pylint: disable=wrong-import-position
import capture_compact
import capture_format as fmt
import captures

FOLDER = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("MEMTRACK_BUILD", FOLDER.parents[1] / "build"))
CODE_EVENTS = BUILD.resolve() / "tests/golden/code_events"

pytestmark = pytest.mark.skipif(not CODE_EVENTS.exists(), reason=f"{CODE_EVENTS} is not built")


def code(how, sections):
    """The programs' answers to sections of (records, bytes)."""
    asked = b"".join(struct.pack("<II", count, len(data)) + data for count, data in sections)
    answer = fmt.Cursor(subprocess.run([CODE_EVENTS, how], input=asked, check=True,
                                       stdout=subprocess.PIPE).stdout)
    given = []
    while answer.left():
        count, size = struct.unpack("<II", answer.take(8))
        given.append((count, answer.take(size)))
    assert len(given) == len(sections)
    return given


def storm_records(seed):
    """The records of a random program, section by section."""
    data = captures.storm(seed, steps=1500, threads=2, places=60)
    return [part.payload for part in fmt.read_capture(data).events]


def chance_records(seed):
    """Records of every operation, known or not, with fields of every width."""
    chance = random.Random(seed)
    keys = [chance.getrandbits(chance.randrange(4, 60)) & ~15 for _ in range(40)]
    sizes = [chance.getrandbits(chance.randrange(1, 33)) for _ in range(9)]
    rows = []
    for _ in range(chance.randrange(1, 2500)):
        key = chance.choice(keys) if chance.random() < 0.9 else chance.getrandbits(60)
        w1 = chance.choice([10, 3, 34, 39, 255, 256, chance.getrandbits(64),
                            chance.choice(sizes) | chance.randrange(12) << 32])
        rows.append(struct.pack("<QQ", key | chance.choice([1, 1, 1, 2, 2, 2, *range(16)]) << 60,
                                w1))
    return [b"".join(rows)]


def sections_of(seed):
    return storm_records(seed) if seed % 2 else chance_records(seed)


@pytest.mark.parametrize("seed", range(40))
def test_what_the_programs_write_is_read_by_the_page(seed):
    sections = [(len(records) // 16, records) for records in sections_of(seed)]
    for (count, records), (coded, data) in zip(sections, code("encode", sections)):
        assert coded == count
        assert capture_compact.decode(data, count) == records


@pytest.mark.parametrize("seed", range(40))
def test_what_is_written_by_the_page_the_programs_read(seed):
    wanted = [(len(records) // 16, records) for records in sections_of(seed)]
    for chance in (None, random.Random(seed)):
        written = [(count, capture_compact.encode(records, chance)) for count, records in wanted]
        assert code("decode", written) == wanted


@pytest.mark.parametrize("seed", range(10))
def test_both_refuse_the_same_bytes(seed):
    """A bit wrong, or bytes missing: both make the same records of it, or both none."""
    chance = random.Random(seed)
    records = chance_records(seed)[0][:16 * 300]
    count = len(records) // 16
    whole = capture_compact.encode(records)
    damaged = []
    for _ in range(300):
        data = bytearray(whole)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        damaged.append((count, bytes(data)))
    damaged += [(count, whole[:size]) for size in range(0, len(whole), 7)]
    answers = set()
    for (_, data), (coded, said) in zip(damaged, code("decode", damaged)):
        try:
            assert (coded, said) == (count, capture_compact.decode(data, count))
        except ValueError:
            assert coded == 0, said
        answers.add(coded)
    assert answers == {0, count}


def test_a_likely_program_takes_few_bytes():
    coded = code("encode", [(len(part.payload) // 16, part.payload)
                            for part in fmt.read_capture(captures.compact()).events])
    assert sum(len(data) for _, data in coded) < 16 * sum(count for count, _ in coded) / 3
