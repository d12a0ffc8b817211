"""Programs that die, and captures that end too early."""
import json
import shutil

import pytest

import tracked


@pytest.mark.parametrize("case, status, end", [
    pytest.param("exit", 5, {"code": 5}, id="50_exit"),
    pytest.param("quick_end", 6, {"code": 6}, id="50_quick_end"),
    pytest.param("kill", -9, {"signal": "SIGKILL"}, id="73_SIGKILL"),
    pytest.param("segv", -11, {"signal": "SIGSEGV"}, id="74_SIGSEGV"),
    pytest.param("abort", -6, {"signal": "SIGABRT"}, id="74_SIGABRT"),
])
def test_50_73_74_every_event_before_the_end_arrives(memtrack, programs, case, status, end):
    capture = memtrack.run(programs("conformance_processes"), case, expect=status).capture
    stats = capture.stats()
    assert stats["capture"]["state"] == "clean"
    assert stats["processes"][0]["exit"] == end
    taken = [event for event in capture.events()
             if event["op"] == "alloc" and 50061 <= event["bytes"] < 51061]
    assert [event["bytes"] for event in taken] == list(range(50061, 51061))
    live = set(tracked.replay(capture.events()).blocks.values())
    assert {count for count in live if 50061 <= count < 51061} == set(range(50062, 51061, 2))
    capture.assert_sound()


@pytest.fixture(scope="module")
def whole(binary, programs, tmp_path_factory):
    """A capture to be cut."""
    memtrack = tracked.Memtrack(binary, tmp_path_factory.mktemp("whole"))
    return memtrack.run(programs("conformance_processes"), "exit", expect=5).capture


def cuts(size, is_full):
    """All of the first and last bytes, and some of those between."""
    step = 1 if is_full else max(1, size // 150)
    return sorted({*range(0, min(size, 160)), *range(0, size, step), *range(size - 80, size)})


def what_happened(event):
    """Leave out what a later part of the file says better: times."""
    return {key: value for key, value in event.items() if key != "time_ns"}


def test_76_truncated_at_any_byte(memtrack, whole, tmp_path, is_full):
    content = whole.path.read_bytes()
    all_events = [what_happened(event) for event in whole.events()]
    target = tmp_path / "cut.bin"
    most = 0
    for length in cuts(len(content), is_full):
        target.write_bytes(content[:length])
        ended = memtrack.report("dump", target, "--json")
        assert ended.returncode in (0, 3), (length, ended)
        assert ended.returncode == 3 or length >= 64, length
        if ended.returncode == 3:
            assert ended.stderr.startswith("memtrack: ") and str(target) in ended.stderr
        events = [json.loads(line) for line in ended.stdout.splitlines()]
        assert len(events) >= most, f"cut at {length} shows less than a cut before it"
        most = len(events)
        assert [what_happened(event) for event in events] == all_events[:most], length
    assert most == len(all_events)


def test_76_damage_is_told_with_its_place(memtrack, whole, tmp_path):
    content = bytearray(whole.path.read_bytes())
    middle = len(content) // 2
    content[middle] ^= 0x40
    target = tmp_path / "damaged.bin"
    target.write_bytes(content)
    ended = memtrack.report("info", target)
    assert ended.returncode == 3
    assert "offset" in ended.stderr
    shutil.copy(whole.path, target)
    assert memtrack.report("info", target).returncode == 0
