"""The mmap family: ranges that grow, shrink, move and change what they are."""
import os

import pytest

import tracked

UNIT = 1 << 20


@pytest.fixture
def run_case(memtrack, programs):
    """Run one case of conformance_maps; return (words it said, its capture)."""
    def run(name, **options):
        ended = memtrack.run(programs("conformance_maps"), name, **options)
        ended.capture.assert_sound()
        return ended.words(), ended.capture

    return run


def assert_peak(capture, units):
    """The peak is so many units, beside blocks of the C library that are far smaller than one."""
    peak = capture.totals()["peak_bytes"]
    assert peak == tracked.replay(capture.events()).peak_bytes
    assert units * UNIT <= peak < units * UNIT + UNIT // 2


MAP_IN_PYTHON = """
    import mmap
    def take():
        return mmap.mmap(-1, 2048)  # line: mmap
    take().close()
    """


def test_20_mmap_by_python(memtrack, tmp_path, python):
    script = tracked.Script(tmp_path, MAP_IN_PYTHON)
    capture = memtrack.run(python.path, script).capture
    page = os.sysconf("SC_PAGE_SIZE")  # maps are counted in whole pages, as the kernel has them
    [event] = [event for event in capture.sized(page)
               if event["op"] == "map" and tracked.names(event) == ["take", "<module>"]]
    assert event["allocator"] == "mmap"
    released = [unmap for unmap in capture.events()
                if unmap["op"] == "unmap" and unmap["address"] == event["address"]
                and unmap["n"] > event["n"]]
    assert [unmap["bytes"] for unmap in released[:1]] == [page]


TWO_LOCATIONS = """
    import mmap
    page = 1 << 20
    def first():
        return mmap.mmap(-1, 2 * page)
    def second():
        return mmap.mmap(-1, page)
    def third():
        return mmap.mmap(-1, 10 * page)
    a = first(); b = second(); a.close(); c = third()
    """


def test_21_peak_holds_what_is_left_of_three_maps(run_case, memtrack, tmp_path, any_python):
    _, capture = run_case("first_released")
    assert_peak(capture, 11)
    script = tracked.Script(tmp_path, TWO_LOCATIONS)
    rows = memtrack.run(any_python.path, script).capture.rows()
    at_peak = {tracked.names(row)[0]: row["bytes"] for row in rows
               if row["stack"] and row["stack"][0]["file"] == str(script)}
    assert at_peak.get("second") == UNIT and at_peak.get("third") == 10 * UNIT
    assert "first" not in at_peak


@pytest.mark.parametrize("case, units", [
    pytest.param("ends_cut", 12, id="22_both_ends_cut"),
    pytest.param("hole", 17, id="23_a_hole"),
    pytest.param("two_holes", 13, id="24_two_holes"),
    pytest.param("neighbours", 10, id="25_one_munmap_of_two_neighbours"),
    pytest.param("four_by_two", 10, id="26_two_munmaps_of_four_neighbours"),
])
def test_22_to_26_partly_unmapped(run_case, case, units):
    _, capture = run_case(case)
    assert_peak(capture, units)


def test_27_map_fixed_over_a_map_counts_once(run_case):
    said, capture = run_case("fixed_over")
    assert_peak(capture, 8)
    maps = capture.sized(8 * UNIT)
    assert [event["address"] for event in maps] == said["range"] * 2


def test_28_mremap_grows_moves_and_shrinks(run_case):
    said, capture = run_case("remap")
    remaps = [event for event in capture.events() if event["op"] == "remap"]
    assert [(event["old_address"], event["old_bytes"], event["address"], event["bytes"])
            for event in remaps] == [
        (said["first"][0], 4 * UNIT, said["grown"][0], 16 * UNIT),
        (said["grown"][0], 16 * UNIT, said["moved"][0], 16 * UNIT),
        (said["moved"][0], 16 * UNIT, said["shrunk"][0], 3 * UNIT)]
    assert_peak(capture, 36)
    left = capture.totals()["leaked_bytes"]
    assert 7 * UNIT <= left < 7 * UNIT + UNIT // 2  # 3 of it, and 4 of the 20 it was put over


RESIZE_IN_PYTHON = """
    import mmap
    area = mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    def grow():
        area.resize(12 << 20)
    grow()
    """


def test_29_resize_of_a_python_map(memtrack, tmp_path, python):
    script = tracked.Script(tmp_path, RESIZE_IN_PYTHON)
    capture = memtrack.run(python.path, script).capture
    event = capture.one(12 * UNIT)
    assert event["op"] == "remap"
    assert tracked.names(event) == ["grow", "<module>"]
    assert capture.totals()["peak_bytes"] >= 12 * UNIT


def test_30_calls_that_fail_change_nothing(run_case):
    said, capture = run_case("failures")
    assert said["munmap"] == [-1, 1] and said["mmap"] == [1, 1] and said["mremap"] == [1]
    assert_peak(capture, 7)
    live = tracked.replay(capture.events()).ranges
    assert any(start == said["range"][0] and end - start == 7 * UNIT for start, end, _ in live)


def test_31_reserved_space_is_no_heap_until_it_is_usable(run_case):
    said, capture = run_case("reserved")
    totals = capture.totals()
    assert_peak(capture, 3)
    assert totals["reserved_peak_bytes"] >= 64 << 30
    event = capture.one(64 << 30)
    assert event["class"] == "reserved" and event["address"] == said["space"][0]
    protect = [event for event in capture.events() if event["op"] == "protect"]
    assert [(event["address"], event["bytes"], event["class"]) for event in protect] \
        == [(said["space"][0], 3 * UNIT, "anonymous")]


def test_32_files_are_a_class_of_their_own(run_case):
    _, capture = run_case("files")
    assert_peak(capture, 7)  # the shared anonymous one
    classes = {units: capture.one(units * UNIT)["class"] for units in (5, 6, 7)}
    assert len(set(classes.values())) == 3, classes
    assert "file" in classes[5] and "file" in classes[6] and "file" not in classes[7]
    assert capture.totals()["mapped_file_peak_bytes"] == 11 * UNIT


def test_33_the_break(run_case):
    said, capture = run_case("break")
    event = capture.one(2 * UNIT)
    assert event["allocator"] == "brk" and event["address"] == said["start"][0]
    assert capture.totals()["peak_bytes"] >= 2 * UNIT
    live = tracked.replay(capture.events())
    assert any(start == said["start"][0] and end - start == UNIT for start, end, _ in live.ranges)


def test_34_mmap64_is_mmap(run_case):
    _, capture = run_case("mmap64")
    assert capture.one(9 * UNIT)["allocator"] == "mmap"
