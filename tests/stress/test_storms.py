"""Storms: however threads, handlers and children interleave, the capture has every event once.

Quick sizes by default. The long run, 10^9 events of 2 to 64 threads that hand blocks over, takes
about ten minutes and a gigabyte where captures lie:

    MEMTRACK_BUILD=build pytest tests/stress/test_storms.py -k hand_blocks_over --full
"""
import os

import pytest

import tracked

HAND_OVER_CASES = 32
QUICK_EVENTS, FULL_EVENTS = 1_000_000, 1_000_000_000 // HAND_OVER_CASES


@pytest.fixture
def storm(memtrack, programs):
    """Run a storm; check that nothing is lost, invented or out of order; return its totals."""
    def run(name, *arguments, **options):
        program = programs(name)
        ended = memtrack.run(program, *map(str, arguments), timeout=3600, **options)
        totals = ended.capture.assert_sound()
        assert totals["unknown_frees"] == 0, totals
        ended.capture.path.unlink()
        return totals, ended.words()

    return run


def counted_apart(memtrack, programs, *arguments, **options):
    """Return what a storm allocates and releases besides what it counts: measured without rounds."""
    ended = memtrack.run(programs("stress_events"), *map(str, arguments), **options)
    totals, said = ended.capture.totals(), ended.words()
    return (totals["allocations"] - said["allocations"][0], totals["frees"] - said["releases"][0])


@pytest.mark.parametrize("tcache", [7, 0], ids=["with tcache", "without tcache"])
@pytest.mark.parametrize("boxes", [4, 1024], ids=["4 boxes", "1024 boxes"])
@pytest.mark.parametrize("threads", [2, 4, 16, 64])
@pytest.mark.parametrize("mode", ["hand", "realloc"])
def test_threads_hand_blocks_over(storm, memtrack, programs, is_full, mode, threads, boxes,
                                  tcache, capsys):
    rounds = (FULL_EVENTS if is_full else QUICK_EVENTS) // threads // 2
    env = {**os.environ, "GLIBC_TUNABLES": f"glibc.malloc.tcache_count={tcache}"}
    apart = counted_apart(memtrack, programs, mode, threads, 0, boxes, env=env)
    totals, said = storm("stress_events", mode, threads, rounds, boxes, env=env)
    assert totals["allocations"] == said["allocations"][0] + apart[0]
    assert totals["frees"] == said["releases"][0] + apart[1]
    if is_full:
        with capsys.disabled():
            print(f" {(totals['allocations'] + totals['frees']) / 1e6:.1f} M events", end="")


@pytest.mark.parametrize("mode, threads", [("pairs", 1), ("pairs", 4), ("random", 2)])
def test_threads_for_themselves(storm, memtrack, programs, is_full, mode, threads):
    rounds = (FULL_EVENTS if is_full else QUICK_EVENTS) // threads // 2
    apart = counted_apart(memtrack, programs, mode, threads, 0)
    totals, said = storm("stress_events", mode, threads, rounds)
    assert totals["allocations"] == said["allocations"][0] + apart[0]
    assert totals["frees"] == said["releases"][0] + apart[1]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("jump", [0, 3, 50])
def test_handlers_that_allocate_and_jump_out(storm, programs, is_full, threads, jump):
    env = {**os.environ, "LD_PRELOAD": str(programs("stress_allocator.so"))}
    rounds = 20_000_000 if is_full else 300_000
    _, said = storm("stress_signals", threads, rounds, jump, env=env)
    assert said["handled"][0] > 0
    assert (said["jumped"][0] > 0) == (jump > 0)


# Of blocks that are not in a sample nothing is said: a FREE without its ALLOC would be unknown.
@pytest.mark.parametrize("mean", [64, 5000])
@pytest.mark.parametrize("mode, threads", [("hand", 2), ("hand", 16), ("realloc", 4), ("pairs", 4),
                                           ("random", 2)])
def test_a_sample_has_no_release_without_its_allocation(storm, mode, threads, mean):
    totals, said = storm("stress_events", mode, threads, QUICK_EVENTS // threads // 2,
                         options=["--sample-bytes", str(mean)])
    assert 0.8 < totals["allocations"] / said["allocations"][0] < 1.2


@pytest.mark.parametrize("options", [("--sample-bytes", "200"), ("--min-size", "100")],
                         ids=["sampled", "above a size"])
@pytest.mark.parametrize("jump", [0, 3, 50])
def test_handlers_that_jump_out_of_what_is_left_out(storm, programs, jump, options):
    env = {**os.environ, "LD_PRELOAD": str(programs("stress_allocator.so"))}
    _, said = storm("stress_signals", 2, 300_000, jump, env=env, options=options)
    assert said["handled"][0] > 0


def test_children_of_children(storm, is_full):
    totals, said = storm("stress_events", "forks", 4, 2000 if is_full else 100)
    assert totals["allocations"] >= said["allocations"][0]


def test_children_of_children_in_a_sample(storm):
    storm("stress_events", "forks", 4, 100, options=["--sample-bytes", "200"])


@pytest.mark.parametrize("boxes", [1, 4, 64])
def test_a_second_thread_begins_while_the_first_is_at_work(storm, is_full, boxes):
    """As long as a thread is alone it does not look whose a page is; not an event longer."""
    env = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
    rounds = 3000 if is_full else 60
    totals, _ = storm("stress_events", "second", 1, rounds, boxes, env=env)
    assert totals["allocations"] >= rounds * 3 * 3000


def test_threads_that_come_and_go(storm, memtrack, programs, is_full):
    rounds = 200_000 if is_full else 8000
    totals, said = storm("stress_events", "churn", 2, rounds)
    assert totals["allocations"] >= said["allocations"][0]
    # Beside the program's own: what the C library keeps for each thread, and it keeps few.
    assert totals["allocations"] - said["allocations"][0] <= 3 * 2 * rounds


CROWD_ROUNDS = 20
NO_MORE_THREADS = 97


def test_crowd_of_threads_that_live_at_once(storm):
    """Each has a ring, and none waits long for it."""
    totals, said = storm("stress_crowd", 1000)
    assert said["threads"] == [1000]
    assert totals["allocations"] >= 1000 * (CROWD_ROUNDS + 1)


def test_crowd_larger_than_can_be_recorded(memtrack, programs):
    """Those that there is no ring for go on without; what they did is counted."""
    ended = memtrack.run(programs("stress_crowd"), 4200, check=False)
    if ended.returncode == NO_MORE_THREADS:
        pytest.skip("this machine has no room for so many threads")
    assert (ended.returncode, ended.stdout) == (0, "threads 4200\n")
    totals = ended.capture.totals()
    assert totals["order_violations"] == 0 and totals["lost_events"] > 0
    made = totals["allocations"] + totals["frees"] + totals["lost_events"]
    assert made >= 4200 * 2 * (CROWD_ROUNDS + 1)
