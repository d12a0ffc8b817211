"""The allocator's entries: what was asked for is what the capture says."""
import os

import pytest

import tracked


@pytest.fixture
def run_case(memtrack, programs):
    """Run one case of conformance_allocators; return (words it said, its capture)."""
    def run(name, **options):
        ended = memtrack.run(programs("conformance_allocators"), name, **options)
        ended.capture.assert_sound()
        return ended.words(), ended.capture

    return run


def freed(capture, address):
    """Return the events that gave the block at address back, by free or by realloc."""
    return [event for event in capture.events()
            if (event["op"] == "free" and event["address"] == address)
            or (event["op"] == "realloc" and event["old_address"] == address)]


def assert_pair(capture, said, name, count_bytes, allocator):
    """One allocation of this size by this entry at this address, then its release."""
    event = capture.one(count_bytes)
    assert event["allocator"] == allocator
    assert event["address"] == said[name][0]
    later = [release for release in freed(capture, event["address"]) if release["n"] > event["n"]]
    assert later and later[0]["op"] == "free"
    assert later[0]["allocator"] == "free"
    return event


def test_01_malloc_and_free(run_case):
    said, capture = run_case("malloc")
    assert_pair(capture, said, "block", 984, "malloc")


def test_02_calloc_counts_all_elements(run_case):
    said, capture = run_case("calloc")
    assert_pair(capture, said, "block", 77 * 991, "calloc")


def test_03_calloc_that_overflows_allocates_nothing(run_case):
    said, capture = run_case("calloc_overflow")
    assert said["result"] == [1, 1]
    given = [event for event in capture.events()
             if event["allocator"] == "calloc" and event["op"] != "fail"]
    assert all(event["bytes"] < 1 << 40 for event in given)
    assert not capture.sized((2**63 - 1) * 991 % 2**64)


def test_04_realloc_of_nothing_is_an_allocation(run_case):
    said, capture = run_case("realloc_null")
    event = capture.one(70001)
    assert (event["op"], event["allocator"]) == ("alloc", "realloc")
    assert event["address"] == said["block"][0]


def test_05_realloc_releases_the_old_block(run_case):
    said, capture = run_case("realloc_grow")
    event = capture.one(170003)
    assert event["op"] == "realloc"
    assert event["address"] == said["block"][0]
    assert event["old_address"] == said["old"][0]
    assert said["old"][0] not in tracked.replay(capture.events()).blocks


def test_06_realloc_that_fails_leaves_the_block(run_case):
    said, capture = run_case("realloc_fail")
    assert said["result"] == [1, 1]
    assert tracked.replay(capture.events()).blocks[said["block"][0]] == 7001
    assert capture.totals()["leaked_bytes"] >= 7001


def test_07_realloc_to_nothing_is_a_release(run_case):
    said, capture = run_case("realloc_zero")
    assert said["result"] == [1]
    assert len(freed(capture, said["block"][0])) == 1
    assert said["block"][0] not in tracked.replay(capture.events()).blocks
    assert capture.totals()["leaked_bytes"] < 1000001


def test_08_reallocarray(run_case):
    said, capture = run_case("reallocarray")
    assert_pair(capture, said, "block", 1_003_000, "reallocarray")


def test_09_aligned_entries_have_names_of_their_own(run_case):
    said, capture = run_case("aligned")
    assert_pair(capture, said, "posix_memalign", 10001, "posix_memalign")
    assert_pair(capture, said, "aligned_alloc", 10240 + 256, "aligned_alloc")
    assert_pair(capture, said, "memalign", 10003, "memalign")
    assert_pair(capture, said, "valloc", 10005, "valloc")
    said, capture = run_case("pvalloc")
    assert_pair(capture, said, "pvalloc", 10007, "pvalloc")


def test_10_posix_memalign_that_fails_allocates_nothing(run_case):
    said, capture = run_case("posix_memalign_error")
    assert said["result"] == [1, 1]
    assert not capture.sized(10001)


def test_11_nothing_asked_and_nothing_released(run_case):
    said, capture = run_case("nothing")
    event = capture.one(0)
    assert event["address"] == said["block"][0]
    assert [release["op"] for release in freed(capture, event["address"])] == ["free"]
    assert not [event for event in capture.events() if event["address"] == 0
                and event["op"] == "free"]


def test_12_sized_frees_are_frees(run_case, programs):
    library = str(programs("conformance_sized_frees.so"))
    _, capture = run_case("sized_frees", env={**os.environ, "LD_PRELOAD": library})
    for count_bytes, entry in ((20011, "free_sized"), (20032, "free_aligned_sized")):
        event = capture.one(count_bytes)
        later = [release for release in freed(capture, event["address"])
                 if release["n"] > event["n"]]
        assert later[0]["allocator"] == entry


def test_13_operators_of_cxx(memtrack, programs):
    capture = memtrack.run(programs("conformance_operators"), "each").capture
    capture.assert_sound()
    live = tracked.replay(capture.events()).blocks
    for count_bytes in (40001, 40003, 40064, 40007):
        event = capture.one(count_bytes)
        assert event["address"] not in live


@pytest.mark.parametrize("threshold, expected", [(1, (10, 4 + 8 + 16 + 32 + 64 + 128 + 256 + 512
                                                      + 1024 + 2048)), (0, (1, 2048))])
def test_13_temporary_allocations_of_a_vector(memtrack, programs, threshold, expected):
    """512 ints, doubling: each buffer dies one allocation after it was made, the last at once."""
    capture = memtrack.run(programs("conformance_operators"), "vector").capture
    rows = capture.rows(f"--temporary-allocations={threshold}")
    assert (sum(row["allocations"] for row in rows), sum(row["bytes"] for row in rows)) == expected


def test_14_blocks_that_libc_makes_for_the_caller(run_case):
    said, capture = run_case("inside_libc")
    assert len(capture.sized(3001)) == 1  # strdup
    live = tracked.replay(capture.events()).blocks
    assert live[said["made"][0]] >= 6001  # asprintf
    assert live[said["line"][0]] == said["capacity"][0]  # getline


CALL_BY_POINTER = """
    import ctypes
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    def inner():
        return libc.malloc(7654321)  # line: malloc
    def outer():
        return inner()  # line: inner
    outer()  # line: outer
    """


def test_15_malloc_by_ctypes_has_its_python_stack(memtrack, tmp_path, python):
    script = tracked.Script(tmp_path, CALL_BY_POINTER)
    capture = memtrack.run(python.path, script).capture
    event = capture.one(7654321)
    assert event["allocator"] == "malloc"
    assert tracked.names(event) == ["inner", "outer", "<module>"]
    assert tracked.lines(event) == [script.line(name) for name in ("malloc", "inner", "outer")]


def test_16_constructor_of_a_loaded_library(memtrack, programs):
    library = programs("conformance_constructor.so")
    capture = memtrack.run(programs("conformance_loader"), "constructor", library).capture
    assert capture.one(60013)["op"] == "alloc"


LOAD_WITHOUT_LOCK = """
    import ctypes, sys
    foreign = ctypes.CDLL(sys.argv[1])
    foreign.foreign_open.argtypes = [ctypes.c_char_p]
    foreign.foreign_open.restype = ctypes.c_void_p
    def load():
        return foreign.foreign_open(sys.argv[2].encode())  # line: open
    assert load()  # line: load
    """


def test_17_library_loaded_without_the_interpreters_lock(memtrack, programs, tmp_path, python):
    script = tracked.Script(tmp_path, LOAD_WITHOUT_LOCK)
    capture = memtrack.run(python.path, script, programs("conformance_foreign.so"),
                           programs("conformance_constructor.so")).capture
    event = capture.one(60013)
    assert tracked.names(event) == ["load", "<module>"]
    assert tracked.lines(event) == [script.line("open"), script.line("load")]


def test_18_library_that_only_its_loaders_path_leads_to(memtrack, programs):
    arguments = [programs("conformance_loader"), "rpath", programs("conformance_rpath_caller.so")]
    plain = tracked.finish([str(argument) for argument in arguments])
    assert plain.stdout == "loaded 1\n"
    ended = memtrack.run(*arguments)
    assert ended.stdout == plain.stdout
    assert ended.capture.one(60013)["op"] == "alloc"
