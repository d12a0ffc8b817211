"""memtrack run --aggregate: what the events come to, in a file that does not grow with them and can
be read whenever anybody is killed."""
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import killing
from disks import small_disk
from waiting import wait_until

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "golden"))

pytest.importorskip("lz4.block")
pytest.importorskip("xxhash")

# pylint: disable=wrong-import-position
import capture_format as fmt
import capture_stored
from test_recompress import without_the_file
from test_stored_model import ATTEMPTS, PROGRAMS, model_of

DONE, USAGE, UNREADABLE, NOT_WRITTEN = 0, 2, 3, 4
REPORTS = [["summary"], ["summary", "--leaks"], ["table", "--allocated"], ["tree"], ["stats"],
           ["tree", "--inverted"], ["table", "--temporary-allocations"], ["flamegraph", "-o", "-"],
           ["summary", "--json"], ["table", "--json"], ["tree", "--json"], ["stats", "--json"]]
OF_THE_FILE = "captureBytes|capture_bytes|bytes_per_event|mode|aggregated"


def say(call, *arguments):
    ended = call(*arguments)
    assert ended.returncode == DONE, ended
    return ended.stdout.decode()


def stats_of(call, path):
    """What stats says, also of a capture that was cut off."""
    ended = call("stats", "--json", path)
    assert ended.returncode in (DONE, UNREADABLE), ended
    return json.loads(ended.stdout)


def faults(stats):
    """What was lost, or does not fit."""
    return {name: stats["totals"][name] for name in ("lost_events", "order_violations",
                                                     "unknown_frees") if stats["totals"][name]}


@pytest.fixture
def record(call, tmp_path):
    """Record a program with --aggregate. Returns its capture."""
    def run(*command, options=(), expect=DONE, name="app.bin"):
        path = tmp_path / name
        ended = call("run", "-q", "-f", "--aggregate", *options, "-o", path, *command)
        assert (ended.returncode, ended.stderr) == (expect, b""), ended
        return path

    return run


@pytest.fixture
def both(call, record, tmp_path):
    """Record a program in both ways. Returns the two captures, of the events first."""
    def run(*command, options=()):
        exact = tmp_path / "exact.bin"
        ended = call("run", "-q", "-f", *options, "-o", exact, *command)
        assert ended.returncode == DONE, ended
        return exact, record(*command, options=options)

    return run


@pytest.mark.parametrize("name", ["blocks", "threads", "forks", "programs"])
def test_reports_are_byte_for_byte_those_of_the_events(call, python, tmp_path, name):
    exact, path = tmp_path / "exact.bin", tmp_path / "app.bin"
    for _ in range(ATTEMPTS):
        say(call, "run", "-q", "-f", "--index=always", "-o", exact, python, "-c",
            textwrap.dedent(PROGRAMS[name]))
        if model_of(exact) is not None:
            break
    path.write_bytes(capture_stored.aggregated(exact.read_bytes()))
    for arguments in REPORTS:
        texts = [without_the_file(say(call, *arguments, file).replace("exact.bin", "app.bin"),
                                  OF_THE_FILE) for file in (exact, path)]
        assert texts[0] == texts[1], arguments
        assert len(texts[0]) > 20


def without_times(report):
    """What a program does in the same way each time, of a report in JSON."""
    if isinstance(report, list):
        return [without_times(item) for item in report]
    if not isinstance(report, dict):
        return report
    return {key: without_times(value) for key, value in report.items()
            if not re.search("_ns$|pid|tid|rss|overhead|capture|lifetime|limit|started|command|resident",
                             key)}


@pytest.mark.parametrize("case", ["peak", "spikes", "last", "equal", "leaks"])
@pytest.mark.parametrize("options", [(), ("--min-size", "2000")], ids=["all", "large"])
def test_what_was_recorded_is_what_the_events_come_to(call, both, programs, case, options):
    exact, path = both(programs("conformance_aggregates"), case, options=options)
    for arguments in REPORTS:
        if "--json" not in arguments:
            continue
        reports = [without_times(json.loads(say(call, *arguments, file))) for file in (exact, path)]
        assert reports[0] == reports[1], arguments
    assert faults(stats_of(call, path)) == {}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_event_of_every_process_is_told(call, record, python, name):
    path = record(python, "-c", textwrap.dedent(PROGRAMS[name]))
    stats = stats_of(call, path)
    assert faults(stats) == {}
    assert stats["capture"]["state"] == "clean" and stats["capture"]["mode"] == "aggregate"
    assert all(process["exit"] is not None for process in stats["processes"])
    events = json.loads(say(call, "info", "--json", path))["counts"]["events"]
    totals = stats["totals"]
    # Releases of what a child has inherited count for nobody.
    share = 0.4 if name == "forks" else 0.9
    assert events >= totals["allocations"] + totals["frees"] > events * share


def test_what_programs_say_is_in_it(call, both, programs):
    for case in "marks", "pools", "forks":
        exact, path = both(programs("conformance_words"), case)
        words = [{key: without_times(stats_of(call, file)[key])
                  for key in ("marks", "phases", "pools")} for file in (exact, path)]
        assert words[0] == words[1], case


@pytest.mark.parametrize("options", [("-m", "timeit", "-n", "1", "x = bytearray(5_000_001)"),
                                     ("-c", "x = bytearray(5_000_001)")], ids=["module", "code"])
def test_python_code_and_modules(call, tmp_path, options):
    path = tmp_path / "app.bin"
    ended = call("run", "-q", "--aggregate", "-o", path, *options)
    assert ended.returncode == DONE, ended
    assert stats_of(call, path)["totals"]["peak_bytes"] > 5_000_000


@pytest.mark.parametrize("options", [("--sample-bytes", "64K"), ("--trace-python-allocators",)],
                         ids=["sample", "objects"])
def test_with_other_ways_of_recording(call, both, python, options):
    exact, path = both(python, "-c", "kept = [bytearray(100_000 + i) for i in range(300)]",
                       options=options)
    peaks = [stats_of(call, file)["totals"]["peak_bytes"] for file in (exact, path)]
    assert peaks[1] > 30_000_000 and abs(peaks[0] - peaks[1]) < 0.2 * peaks[0]
    session = [json.loads(say(call, "stats", "--json", file))["capture"] for file in (exact, path)]
    assert session[0]["sample_bytes"] == session[1]["sample_bytes"]
    assert session[0]["python_allocators"] == session[1]["python_allocators"]


def test_its_size_does_not_grow_with_the_events(record, programs, tmp_path):
    sizes = []
    for rounds in 200_000, 2_000_000:  # 8 million events, and more than half of all samples that may be
        path = record(programs("stress_counted"), tmp_path / "counters", 2, rounds)
        sizes.append(path.stat().st_size)
    assert sizes[1] < 4 * sizes[0] < 50_000, sizes


def test_it_has_no_events_and_says_so_in_one_line(call, record, programs, tmp_path):
    path = record(programs("conformance_aggregates"), "leaks")
    stats = stats_of(call, path)
    for arguments in [["dump"], ["dump", "--json"], ["table", "--pools"],
                      ["summary", "--process", stats["processes"][0]["pid"]],
                      ["stats", "--thread", stats["threads"][0]["tid"]],
                      ["tree", "--temporary-allocations=5"]]:
        ended = call(*arguments, path)
        assert ended.returncode == USAGE and ended.stdout == b"", ended
        assert ended.stderr.decode() == (f"memtrack: {path}: is aggregated and has no events, which "
                                         "this would read: record without --aggregate\n")
    ended = call("recompress", path, "-o", tmp_path / "small.bin")
    assert ended.returncode == UNREADABLE and b"is aggregated" in ended.stderr
    assert ended.stderr.count(b"\n") == 1 and not (tmp_path / "small.bin").exists()
    assert "\naggregated" in say(call, "info", path) and ", aggregated" in say(call, "stats", path)
    assert json.loads(say(call, "info", "--json", path))["capture"]["mode"] == "aggregate"


def test_the_other_reader_reads_the_same(call, record, python):
    path = record(python, "-c", textwrap.dedent(PROGRAMS["forks"]))
    capture = fmt.read_capture(path.read_bytes())
    assert capture.clean and capture.aggregated and capture.events == [] and not capture.damage
    model = capture_stored.read_model(capture, capture_stored.model_bytes(capture))
    totals = stats_of(call, path)["totals"]
    for name in "allocations", "frees", "peak_bytes", "leaked_bytes", "order_violations":
        assert model["totals"][name] == totals[name], name


def running(binary, path, programs, tmp_path, pause_us=0):
    """A program that allocates without end, in two threads."""
    return killing.running([binary, "run", "-q", "-f", "--aggregate", "-o", path,
                            programs("stress_counted")], tmp_path / "counters", pause_us)


def assert_consistent(call, path, counters):
    """A capture that was cut off somewhere: all that it says had happened. Returns its allocations."""
    stats = stats_of(call, path)
    counted = counters.now()  # behind it: the program goes on
    assert stats["capture"]["state"] in ("truncated", "running") and faults(stats) == {}
    seen = killing.recorded(stats)
    for tid, rounds in counted.items():
        allocations, count_bytes = seen.get(tid, (0, 0))
        assert allocations <= rounds + 1 and count_bytes == killing.bytes_of(allocations)
    return sum(seen.get(tid, (0, 0))[0] for tid in counted)


def test_the_collector_is_killed_at_any_instant(binary, call, programs, tmp_path, is_full):
    allocations, path = [], tmp_path / "killed.bin"
    for i in range(100 if is_full else 12):
        with running(binary, path, programs, tmp_path, (0, 50)[i % 2]) as (_, counters):
            time.sleep(0.037 * i % 0.9)
            os.kill(killing.collector_of_name(path), signal.SIGKILL)
            allocations.append(assert_consistent(call, path, counters))
        assert [file.name for file in tmp_path.iterdir() if file.name.startswith("killed.bin")] == [
            "killed.bin"]
    assert sum(count > 0 for count in allocations) > len(allocations) // 4


def test_all_is_there_when_the_program_is_killed(binary, call, programs, tmp_path):
    path = tmp_path / "killed.bin"
    for _ in range(4):
        with running(binary, path, programs, tmp_path) as (process, counters):
            time.sleep(0.2)
            os.kill(killing.child_named(process.pid, "stress_counted"), signal.SIGKILL)
            process.communicate(timeout=60)
            stats = stats_of(call, path)
        assert stats["capture"]["state"] == "clean" and faults(stats) == {}
        killing.assert_same(counters.now(), killing.recorded(stats))


def test_it_can_be_read_while_it_goes_on(binary, call, programs, tmp_path):
    path, seen = tmp_path / "app.bin", []
    with running(binary, path, programs, tmp_path, pause_us=50) as (_, counters):
        for _ in range(3):
            last = seen[-1] if seen else 0
            wait_until(lambda last=last: assert_consistent(call, path, counters) > last,
                       "what has happened since")
            seen.append(assert_consistent(call, path, counters))
    assert seen == sorted(set(seen))


def test_a_snapshot_is_aggregated_too(serve, any_path):
    served = serve(any_path, "--aggregate")
    for number in range(1, 4):
        served.tell(number * 1_000_000)
        path = served.ctl("snapshot").strip()
        stats = served.stats(path)
        assert stats["capture"]["state"] == "clean" and stats["capture"]["warnings"] == []
        assert stats["capture"]["mode"] == "aggregate"
        assert stats["totals"]["peak_bytes"] > number * (number + 1) // 2 * 1_000_000
    served.ctl("snapshot", "-o", "other.bin")
    assert served.stats(served.path.parent / "other.bin")["totals"]["peak_bytes"] > 6_000_000
    assert "is the capture" in subprocess.run(
        [served.binary, "ctl", str(served.pid), "snapshot", "-f", "-o", served.path],
        capture_output=True, text=True, check=False).stderr
    served.end()
    assert served.stats()["totals"]["leaked_bytes"] < 5_000_000  # the interpreter has ended


def test_a_snapshot_of_a_program_that_never_rests(binary, call, programs, tmp_path):
    path = tmp_path / "app.bin"
    with running(binary, path, programs, tmp_path) as (process, counters):
        program = killing.child_named(process.pid, "stress_counted")
        for i in range(5):
            before = counters.now()
            other = tmp_path / f"snapshot{i}.bin"
            say(call, "ctl", program, "snapshot", "-o", other)
            stats = stats_of(call, other)
            assert stats["capture"]["state"] == "clean"
            if "lost_events" in faults(stats):
                continue  # of a collector that had no processor for a second
            assert faults(stats) == {}
            for tid, (allocations, count_bytes) in killing.recorded(stats).items():
                if tid in before:
                    assert allocations >= before[tid] and count_bytes == killing.bytes_of(allocations)


def test_a_recording_that_is_stopped_and_begun_again(serve, any_path):
    served = serve(any_path, "--aggregate", "--dormant")
    served.tell(7_000_000)
    served.ctl("start")
    served.tell(1_000_000)
    served.ctl("stop")
    served.tell(9_000_000)
    served.ctl("start")
    served.tell(2_000_000)
    stats = served.end().stats()
    assert 3_000_000 < stats["totals"]["peak_bytes"] < 6_000_000
    assert stats["totals"]["unknown_frees"] == 0
    assert any("recording was paused 1 time" in text for text in stats["capture"]["warnings"])


def test_a_child_that_shows_itself_late_has_no_unknown_releases(call, record, python):
    path = record(python, "-c", textwrap.dedent("""
        import os, time
        kept = [bytearray(1000 + i) for i in range(3000)]
        other = os.fork()
        if other == 0:
            time.sleep(0.7)     # it has recorded nothing yet
            kept.clear()
            os._exit(0)
        end = time.monotonic() + 1
        while time.monotonic() < end: kept[int(time.monotonic() * 1e6) % 3000] = bytearray(2000)
        os.wait()
        """))
    stats = stats_of(call, path)
    assert faults(stats) == {} and len(stats["processes"]) == 2


def test_no_memory_is_taken_that_programs_may_need(call, python, tmp_path):
    path, limit = tmp_path / "app.bin", 128 << 20
    ended = call("run", "-q", "--aggregate", "-o", path, python, "-c",
                 "import time; kept = [str(i) for i in range(500_000)]; time.sleep(2.5); exit(7)",
                 env={**os.environ, "PYTHONMALLOC": "malloc"},
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
    assert ended.returncode == 7 and b"there was no memory left" in ended.stderr, ended
    stats = stats_of(call, path)
    assert stats["capture"]["state"] == "clean" and stats["totals"]["leaked_allocations"] > 300_000
    assert any("ended early: there was no memory left" in text
               for text in stats["capture"]["warnings"])


def test_a_budget_is_kept_too(call, record, programs, tmp_path):
    rounds = 12_000_000
    path = record(programs("stress_counted"), tmp_path / "counters", 1, rounds,
                  options=["--max-overhead=1%"])
    stats = stats_of(call, path)
    assert stats["capture"]["mode"] == "aggregate" and faults(stats) == {}
    assert stats["capture"]["samplings"] != []
    allocated = killing.bytes_of(rounds)
    assert abs(stats["totals"]["allocated_bytes"] - allocated) < 0.2 * allocated


def test_a_full_disk_keeps_what_was_stored_and_the_program(binary, call, programs, tmp_path):
    with small_disk(64 << 10) as folder:
        path = folder / "app.bin"
        with running(binary, path, programs, tmp_path, pause_us=50) as (process, _):
            wait_until(lambda: stats_of(call, path)["totals"]["allocations"] > 0, "a first model")
            (folder / "other").write_bytes(bytes(os.statvfs(folder).f_bavail * 4096))
            before = path.read_bytes()
            time.sleep(1.2)
            assert path.read_bytes() == before
            os.kill(killing.child_named(process.pid, "stress_counted"), signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
        assert process.returncode == -signal.SIGTERM
        assert b"No space left" in errors and errors.count(b"\n") == 1
        assert stats_of(call, path)["capture"]["state"] == "truncated"


def test_space_that_comes_back_is_used(binary, call, programs, tmp_path):
    with small_disk(64 << 10) as folder:
        path = folder / "app.bin"
        with running(binary, path, programs, tmp_path, pause_us=50) as (process, _):
            wait_until(lambda: stats_of(call, path)["totals"]["allocations"] > 0, "a first model")
            (folder / "other").write_bytes(bytes(os.statvfs(folder).f_bavail * 4096))
            time.sleep(0.3)
            (folder / "other").unlink()
            os.kill(killing.child_named(process.pid, "stress_counted"), signal.SIGTERM)
            process.communicate(timeout=60)
        assert stats_of(call, path)["capture"]["state"] == "clean"


def test_a_name_that_others_have_taken_is_left_alone(binary, call, programs, tmp_path):
    path = tmp_path / "app.bin"
    with running(binary, path, programs, tmp_path, pause_us=50) as (process, _):
        path.rename(tmp_path / "renamed.bin")
        path.write_text("mine")
        os.kill(killing.child_named(process.pid, "stress_counted"), signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert path.read_text() == "mine" and b"was replaced while it was written" in errors
    assert stats_of(call, tmp_path / "renamed.bin")["capture"]["state"] == "truncated"


def test_a_name_that_is_gone_is_made_again(binary, call, programs, tmp_path):
    path = tmp_path / "app.bin"
    with running(binary, path, programs, tmp_path, pause_us=50) as (process, _):
        path.unlink()
        wait_until(path.exists, "the next model")
        os.kill(killing.child_named(process.pid, "stress_counted"), signal.SIGTERM)
        process.communicate(timeout=60)
    assert stats_of(call, path)["capture"]["state"] == "clean"


def test_it_keeps_its_rights_and_what_links_lead_to(call, python, tmp_path):
    path, link = tmp_path / "real.bin", tmp_path / "link.bin"
    path.write_bytes(b"old")
    link.symlink_to(path)
    os.umask(0o077)
    try:
        ended = call("run", "-q", "-f", "--aggregate", "-o", link, python, "-c", "pass")
    finally:
        os.umask(0o022)
    assert ended.returncode == DONE, ended
    assert link.is_symlink() and stats_of(call, path)["capture"]["state"] == "clean"
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_there_already_is_refused(call, python, tmp_path):
    path = tmp_path / "app.bin"
    path.write_text("mine")
    ended = call("run", "--aggregate", "-o", path, python, "-c", "pass")
    assert ended.returncode == USAGE or ended.returncode == NOT_WRITTEN, ended
    assert b"use -f" in ended.stderr and path.read_text() == "mine"


def test_it_is_refused_with_what_says_something_else(call, python):
    ended = call("run", "--aggregate", "--index=never", python, "-c", "pass")
    assert (ended.returncode, ended.stderr) == (
        USAGE, b"memtrack: --aggregate and --index: use one of them\n")


def test_instants_are_those_of_samples(call, record, programs):
    path = record(programs("conformance_aggregates"), "peak")
    peak = json.loads(say(call, "table", "--json", "--at=peak", path))
    assert peak["view"]["bytes"] == json.loads(say(call, "table", "--json", path))["view"]["bytes"]
    assert json.loads(say(call, "table", "--json", "--at=50%", path))["view"]["bytes"] >= 0


def test_damage_is_said_and_nothing_made_up(call, record, programs):
    path = record(programs("conformance_aggregates"), "leaks")
    data = path.read_bytes()
    parts, offset = [], fmt.read_superblock(data)[2]
    while offset < len(data) - 32:
        part, following = fmt.read_section(data[:-32], offset)
        parts.append((part.kind, offset))
        offset = following
    model = next(place for kind, place in parts if kind == fmt.MODEL)
    path.write_bytes(data[:model + 60] + bytes([data[model + 60] ^ 1]) + data[model + 61:])
    ended = call("stats", path)
    assert ended.returncode == UNREADABLE and b"at offset" in ended.stderr
    path.write_bytes(data[:model])
    ended = call("summary", path)
    assert ended.returncode == UNREADABLE and b"at offset" in ended.stderr
    assert re.search(rb"aggregated\s+capture\s+without\s+its\s+model", ended.stdout)
