"""Captures of real programs: the reports' model and the one written from the format agree on all.

Peak, leaks, temporary allocations, every row, every sample of the timeline (81), every interval.
"""
import pytest

import tracked

pytest.importorskip("lz4.block")
pytest.importorskip("xxhash")

import test_model  # pylint: disable=wrong-import-position

PROGRAMS = [
    "conformance_aggregates peak", "conformance_aggregates leaks",
    "conformance_aggregates temporary", "conformance_aggregates temporary_threads",
    "conformance_aggregates thread_names", "conformance_aggregates nothing",
    "conformance_maps remap", "conformance_maps fixed_over", "conformance_maps reserved",
    "conformance_maps two_holes", "conformance_maps files", "conformance_maps break",
    "conformance_processes fork", "conformance_processes exec", "conformance_processes borrowed",
    "stress_events hand 4 3000", "stress_events realloc 4 3000",
    "stress_events random 2 3000", "stress_events churn 2 100", "stress_events forks 2 8",
]


@pytest.mark.parametrize("command", PROGRAMS)
def test_81_model_of_a_program(memtrack, programs, tmp_path, command):
    name, *arguments = command.split()
    capture = memtrack.run(programs(name), *arguments).capture
    model = test_model.compare(tmp_path, capture.path.read_bytes())
    assert model["totals"]["peak_bytes"] == capture.totals()["peak_bytes"]


def test_81_model_of_a_script(memtrack, tmp_path, any_python):
    script = tracked.Script(tmp_path, """
        import json, mmap, threading
        def grow(n):
            kept = [bytearray(1000 + i) for i in range(n)]
            return json.dumps([len(block) for block in kept])
        threads = [threading.Thread(target=grow, args=(n,)) for n in (100, 200, 300)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        mmap.mmap(-1, 1 << 20).close()
        """)
    capture = memtrack.run(any_python.path, script).capture
    test_model.compare(tmp_path, capture.path.read_bytes())
