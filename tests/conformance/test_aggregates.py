"""What the reports make of the events: peaks, leaks, temporary allocations, threads."""
import re

import pytest

import tracked

UNIT = 1 << 20


@pytest.fixture
def run_case(memtrack, programs):
    """Run one case of conformance_aggregates; return its capture."""
    def run(name, **options):
        capture = memtrack.run(programs("conformance_aggregates"), name, **options).capture
        capture.assert_sound()
        return capture

    return run


def by_allocator(rows, at_least=1):
    """Add the rows up: {allocator: (bytes, allocations)}, without the small ones."""
    sums = {}
    for row in rows:
        count_bytes, allocations = sums.get(row["allocator"], (0, 0))
        sums[row["allocator"]] = (count_bytes + row["bytes"], allocations + row["allocations"])
    return {name: cost for name, cost in sums.items() if cost[0] >= at_least}


def test_77_peak_has_what_was_live_then_and_nothing_else(run_case):
    capture = run_case("peak")
    assert by_allocator(capture.rows(), UNIT) == {"malloc": (30 * UNIT, 1)}
    assert capture.totals()["peak_bytes"] == tracked.replay(capture.events()).peak_bytes


def test_77_spikes_that_grow_end_at_the_last(run_case):
    capture = run_case("spikes")
    assert by_allocator(capture.rows(), UNIT) == {"malloc": (10 * UNIT, 10),
                                                  "calloc": (10 * UNIT, 1)}


def test_77_peak_at_the_last_allocation(run_case):
    capture = run_case("last")
    assert by_allocator(capture.rows(), UNIT) == {"malloc": (3 * UNIT, 1), "calloc": (5 * UNIT, 1)}
    totals = capture.totals()
    assert totals["peak_bytes"] == totals["leaked_bytes"]


def test_77_first_of_two_equal_peaks(run_case):
    assert by_allocator(run_case("equal").rows(), UNIT) == {"malloc": (9 * UNIT, 1)}


def test_78_leaks(run_case):
    capture = run_case("leaks")
    assert by_allocator(capture.rows("--leaks"), 10_000)["calloc"] == (10 * 10007, 10)
    left = tracked.replay(capture.events())
    totals = capture.totals()
    assert totals["leaked_bytes"] == left.live_bytes
    assert totals["leaked_allocations"] == len(left.blocks) + len(left.ranges)


def test_78_leaks_of_one_function_are_one_row(memtrack, tmp_path, python):
    script = tracked.Script(tmp_path, """
        import ctypes
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        libc.malloc.argtypes = [ctypes.c_size_t]
        def leak():
            return libc.malloc(100_001)  # line: leak
        for _ in range(7):
            leak()
        """)
    capture = memtrack.run(python.path, script).capture
    rows = [row for row in capture.rows("--leaks") if row["bytes"] >= 700_000
            and tracked.names(row)[:1] == ["leak"]]
    assert [(row["bytes"], row["allocations"]) for row in rows] == [(700_007, 7)]


@pytest.mark.parametrize("threshold, expected", [
    (0, {"memalign"}), (1, {"memalign", "calloc"}), (2, {"memalign", "calloc", "valloc"}),
    (3, {"memalign", "calloc", "valloc", "aligned_alloc"})])
def test_79_temporary_allocations(run_case, threshold, expected):
    rows = run_case("temporary").rows(f"--temporary-allocations={threshold}")
    assert set(by_allocator(rows, 4000)) == expected


def test_79_other_threads_do_not_count(run_case):
    rows = run_case("temporary_threads").rows("--temporary-allocations=0")
    assert by_allocator(rows, 4000) == {"memalign": (4001, 1)}


@pytest.mark.parametrize("mode", ["realloc", "hand"])
def test_80_storm_of_many_threads_is_consistent(memtrack, programs, mode):
    """The reader's own count, and a second reckoning of every single event."""
    capture = memtrack.run(programs("stress_events"), mode, "4", "10000").capture
    totals = capture.assert_sound()
    assert totals["unknown_frees"] == 0
    result = tracked.replay(capture.events())
    assert (result.violations, result.unknown_frees) == (0, 0)
    assert totals["peak_bytes"] == result.peak_bytes
    assert totals["leaked_bytes"] == result.live_bytes


def test_81_resident_memory_is_sampled(run_case):
    capture = run_case("resident")
    peak = capture.totals()["peak_rss_bytes"]
    assert 64 * UNIT <= peak <= 96 * UNIT


def test_81_samples_rise_in_time(run_case):
    """As the second reader of the format has them: no report shows them one by one."""
    capture_format = pytest.importorskip("capture_format", exc_type=ImportError)
    capture = run_case("resident")
    samples = capture_format.read_capture(capture.path.read_bytes()).rss
    times = [time_ns for _, time_ns, *_ in samples]
    assert times == sorted(set(times))
    # 300 ms, one each 10 ms, where the machine gives the collector its turn.
    assert 3 <= len(times) <= 60
    assert max(size for _, _, size, _ in samples) == capture.totals()["peak_rss_bytes"]


def test_82_threads_have_the_names_they_gave_themselves(run_case):
    capture = run_case("thread_names")
    names = {thread["tid"]: thread["name"] for thread in capture.stats()["threads"]}
    assert names[capture.one(30001)["tid"]] == "by-prctl"
    assert names[capture.one(30003)["tid"]] == "by-pthread"
    assert names[capture.one(30005)["tid"]] == "named-late"
    assert capture.one(30005)["tid"] == capture.one(30007)["tid"]


NAMES = r"""
import ctypes, threading
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p  # without the GIL, the thread's first block often
class Crowded(threading.Thread):
    def __init__(self, **options):
        self.first, self.second = 1, 2
        super().__init__(**options)
        for i in range(40):
            setattr(self, f"attribute{i}", i)
class WithSlots(threading.Thread):
    __slots__ = ("other",)
class Text(str):
    pass
def allocate(make, size, name=None, change=lambda thread: None):
    thread = make(target=libc.malloc, args=(size,), **({"name": name} if name else {}))
    change(thread)
    thread.start()
    thread.join()
allocate(threading.Thread, 100_001, "before start")
allocate(threading.Thread, 100_003, change=lambda thread: setattr(thread, "name", "set later"))
allocate(Crowded, 100_005, "h\u00e4nger \u20ac \U0001F40D")
allocate(WithSlots, 100_007, "with slots", lambda thread: setattr(thread, "other", 3))
allocate(threading.Thread, 100_009, "n" * 100)
allocate(threading.Thread, 100_011, "its dict asked for", lambda thread: vars(thread).update(more=1))
allocate(threading.Thread, 100_013, Text("of a subclass"))
unlike = threading.Thread(target=libc.malloc, args=(100_015,))
unlike._name = Text("none of str")
unlike.start()
unlike.join()
"""
GIVEN = ["before start", "set later", "h\u00e4nger \u20ac \U0001F40D", "with slots", "n" * 63,
         "its dict asked for", "of a subclass", None]
FROM_3_14 = ["before start", "set later"]  # what the system takes: 15 bytes, in the file system's coding


def names_given(capture, count):
    names = {thread["tid"]: thread["name"] for thread in capture.stats()["threads"]}
    return [names[capture.one(100_001 + 2 * i)["tid"]] for i in range(count)]


def test_82_threads_of_python(memtrack, tmp_path, python):
    """Up to 3.13 their names are in Python's objects alone; from 3.14 on it tells them to the system."""
    capture = memtrack.run(python.path, tracked.Script(tmp_path, NAMES)).capture
    if python.version >= (3, 14):
        assert names_given(capture, len(FROM_3_14)) == FROM_3_14
    else:
        assert names_given(capture, len(GIVEN)) == GIVEN


def test_82_threads_that_others_rename_all_the_time(memtrack, tmp_path, python):
    """Without the GIL: what is read may be gone by then, and is one of the names or none."""
    script = tracked.Script(tmp_path, """
        import ctypes, threading
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        threads, is_over = [], False
        def rename():
            number = 0
            while not is_over:
                for thread in threads[-3:]:
                    number += 1
                    thread.name = f"name {number}" * (1 + number % 4)
                    setattr(thread, f"more{number % 50}", [number])
                    if number % 7 == 0: vars(thread).pop(f"more{number % 50}", None)
        renamer = threading.Thread(target=rename)
        renamer.start()
        for i in range(1500):
            threads.append(threading.Thread(target=libc.malloc, args=(5000,), name="first"))
            threads[-1].start()
            if i % 3 == 0: threads[-1].join()
        is_over = True
        renamer.join()
        for thread in threads: thread.join()
        """)
    stats = memtrack.run(python.path, script).capture.stats()
    names = [thread["name"] for thread in stats["threads"] if thread["name"]]
    assert stats["totals"]["lost_events"] == 0
    # From 3.14 on the system has them, cut off at 15 bytes.
    given = re.compile(r"first|rename|python.*|Thread-.*|(name \d+)*(n|na|nam|name|name )?")
    assert [name for name in names if not given.fullmatch(name)] == []
    if python.version < (3, 14):
        assert len(names) > 1000


REPORTS = ["stats", "summary", "table", "tree", "dump", "info"]


def test_83_program_without_allocations_has_valid_reports(run_case, tmp_path):
    capture = run_case("nothing")
    assert capture.totals()["lost_events"] == 0
    for report in REPORTS:
        for options in ([], ["--json"]):
            ended = capture.memtrack.report(report, capture.path, *options)
            assert ended.returncode == 0, (report, options, ended.stderr)
            if options and report != "dump":
                assert tracked.json.loads(ended.stdout)["schema"] == 1
    page = tmp_path / "page.html"
    ended = capture.memtrack.report("flamegraph", capture.path, "-o", page)
    assert ended.returncode == 0, ended.stderr
    assert page.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")


def test_84_page_escapes_what_the_program_named(memtrack, tmp_path, any_python):
    script = tracked.Script(tmp_path, """
        import sys
        def template():
            return bytearray(5_000_000)
        for name in ("</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "]]>-->"):
            fields = {"co_name": name, "co_filename": "/" + name + ".py"}
            if sys.version_info >= (3, 11):
                fields["co_qualname"] = name
            type(template)(template.__code__.replace(**fields), globals())()
        """)
    capture = memtrack.run(any_python.path, script).capture
    page = tmp_path / "page.html"
    ended = memtrack.report("flamegraph", "--allocated", capture.path, "-o", page)
    assert ended.returncode == 0, ended.stderr
    text = page.read_text(encoding="utf-8")
    assert "<script>alert(1)" not in text and "<img src=x" not in text
    assert len(re.findall("</script>", text)) == len(re.findall("<script[ >]", text))


def test_85_same_capture_gives_the_same_bytes(run_case, tmp_path):
    capture = run_case("leaks")
    for report in REPORTS:
        for options in ([], ["--json"]):
            first, second = (capture.memtrack.report(report, capture.path, *options)
                             for _ in range(2))
            assert first.stdout == second.stdout, report
    pages = [tmp_path / "first.html", tmp_path / "second.html"]
    for page in pages:
        assert capture.memtrack.report("flamegraph", capture.path, "-o", page).returncode == 0
    assert pages[0].read_bytes() == pages[1].read_bytes()
