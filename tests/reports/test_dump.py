"""What a dump makes of releases that are one half of something, in captures made for it."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "golden"))

pytest.importorskip("lz4.block", reason="needed to make captures")
pytest.importorskip("xxhash", reason="needed to make captures")

from capture_trace import MALLOC, REALLOC, Trace  # pylint: disable=wrong-import-position

BLOCK, OTHER = 0x5000, 0x900000


@pytest.fixture
def dump(binary, tmp_path):
    """Return dump(act): the events of a capture that act(first thread, second, stacks) wrote."""
    def run(act, depth=1):
        trace = Trace()
        trace.session("program")
        process = trace.process(10, arguments=["program"])
        code = trace.code("a.py", "f", 1)
        node = trace.node(*[(code, 8)] * depth)
        stacks = {allocator: trace.stack(node, allocator) for allocator in (MALLOC, REALLOC)}
        first, second = process.thread(10, "first", main=1), process.thread(11, "second")
        act(first, second, stacks)
        process.end()
        path = tmp_path / "made.bin"
        path.write_bytes(trace.finish())
        ended = subprocess.run([binary, "dump", path, "--json"], capture_output=True, check=True,
                               env={"PATH": os.environ["PATH"]}, text=True)
        return [json.loads(line) for line in ended.stdout.splitlines()]

    return run


def said(events):
    return [(event["op"], event["tid"], event["address"], event["bytes"], event["old_address"],
             event["old_bytes"]) for event in events]


def test_a_realloc_is_one_record(dump):
    def act(first, _, stacks):
        first.alloc(BLOCK, 100, stacks[MALLOC])
        first.free(BLOCK, REALLOC)
        first.alloc(BLOCK + 64, 200, stacks[REALLOC])
        first.free(BLOCK + 64)

    assert said(dump(act)) == [("alloc", 10, BLOCK, 100, None, None),
                               ("realloc", 10, BLOCK + 64, 200, BLOCK, 100),
                               ("free", 10, BLOCK + 64, 200, None, None)]


def test_a_realloc_with_another_thread_in_between_keeps_its_places(dump):
    """The other thread was given the old address: as one record, two blocks would be live there."""
    def act(first, second, stacks):
        first.alloc(BLOCK, 100, stacks[MALLOC])
        first.free(BLOCK, REALLOC)
        second.alloc(BLOCK, 50, stacks[MALLOC])
        first.alloc(OTHER, 200, stacks[REALLOC])

    assert said(dump(act)) == [("alloc", 10, BLOCK, 100, None, None),
                               ("free", 10, BLOCK, 100, None, None),
                               ("alloc", 11, BLOCK, 50, None, None),
                               ("alloc", 10, OTHER, 200, None, None)]


def test_a_realloc_that_failed_did_not_happen(dump):
    def act(first, second, stacks):
        first.alloc(BLOCK, 100, stacks[MALLOC])
        first.free(BLOCK, REALLOC)
        second.alloc(OTHER, 50, stacks[MALLOC])
        first.undo(BLOCK, 0, REALLOC, 0)
        first.fail(1 << 40, stacks[REALLOC])
        first.free(BLOCK)

    assert said(dump(act)) == [("alloc", 10, BLOCK, 100, None, None),
                               ("alloc", 11, OTHER, 50, None, None),
                               ("fail", 10, None, 1 << 40, None, None),
                               ("free", 10, BLOCK, 100, None, None)]


def test_a_release_taken_back_far_away_is_said(dump):
    """More events of another thread lie between than a dump looks ahead."""
    def act(first, second, stacks):
        first.alloc(BLOCK, 100, stacks[MALLOC])
        first.free(BLOCK, REALLOC)
        for i in range(5000):
            second.alloc(OTHER + 64 * i, 8, stacks[MALLOC])
        first.undo(BLOCK, 0, REALLOC, 0)

    events = dump(act)
    assert len(events) == 5003
    assert said(events[1:2] + events[-1:]) == [("free", 10, BLOCK, 100, None, None),
                                               ("undo", 10, BLOCK, None, None, None)]


def test_a_realloc_to_nothing_is_a_release(dump):
    def act(first, _, stacks):
        first.alloc(BLOCK, 100, stacks[MALLOC])
        first.free(BLOCK, REALLOC)

    assert said(dump(act)) == [("alloc", 10, BLOCK, 100, None, None),
                               ("free", 10, BLOCK, 100, None, None)]


def test_a_release_of_an_unknown_block_has_no_size(dump):
    def act(first, *_):
        first.free(BLOCK)

    assert said(dump(act)) == [("free", 10, BLOCK, None, None, None)]


def test_stacks_of_thousands_of_frames_are_whole(dump):
    def act(first, _, stacks):
        first.alloc(BLOCK, 100, stacks[MALLOC])

    assert len(dump(act, depth=3000)[0]["stack"]) == 3000
