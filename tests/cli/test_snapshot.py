"""memtrack ctl PID snapshot: a finished capture of all until now, while the recording goes on."""
import json
import os
import signal
import subprocess

import pytest

from disks import small_disk
from waiting import wait_until

NOT_WRITTEN = 4


def info(served, path):
    return json.loads(subprocess.run([served.binary, "info", "--verify", "--json", path], check=True,
                                     capture_output=True, text=True).stdout)


def dump(served, path):
    """The events, and how the report ended: 3 of a capture that is not whole."""
    return subprocess.run([served.binary, "dump", "--json", path], check=False, stdout=subprocess.PIPE,
                          text=True).stdout


def test_a_snapshot_has_all_that_was_before_it_and_nothing_later(serve, any_path):
    served = serve(any_path)
    for number in range(1, 4):
        served.tell(number * 1_000_000)
        path = f"{served.path}.snapshot-{number}"
        assert served.ctl("snapshot") == f"{path}\n"
        assert list(served.events(path)) == [i * 1_000_000 + 1 for i in range(1, number + 1)]
    served.tell(4_000_000)
    served.end()
    assert list(served.events()) == [1_000_001, 2_000_001, 3_000_001, 4_000_001]
    assert len(served.events(f"{served.path}.snapshot-2")) == 2


def test_a_snapshot_is_a_whole_capture_of_a_program_that_goes_on(serve, any_path):
    served = serve(any_path)
    served.tell(1_000_000)
    path = served.ctl("snapshot").strip()
    answer = info(served, path)
    assert answer["capture"]["state"] == "clean" and answer["snapshot"]
    assert answer["capture"]["warnings"] == [] and answer["verified_events"] > 100
    assert {"directory": 1}.items() <= {part["type"]: part["count"]
                                        for part in answer["sections"]}.items()
    stats = served.stats(path)
    assert [(process["pid"], process["exit"]) for process in stats["processes"]] == [
        (served.pid, None)]
    assert stats["overhead"]["target_rss_bytes"] > 0
    assert [frame["function"] for frame in served.events(path)[1_000_001]["stack"]] == [
        "serve", "main", "<module>"]
    assert not info(served, served.end().path)["snapshot"]


def test_a_snapshot_tells_what_the_running_capture_tells(serve, any_path):
    served = serve(any_path)
    served.tell(1_000_000)
    served.tell("drop")
    served.tell(2_000_000)
    path = served.ctl("snapshot").strip()
    before = served.path.read_bytes()
    wait_until(lambda: dump(served, served.path) == dump(served, path),  # once its bounds are written
               "the running capture's bounds")
    served.tell(3_000_000)
    assert served.end().path.read_bytes().startswith(before)
    assert os.path.getsize(path) < os.path.getsize(served.path)


def test_snapshots_of_threads_at_work_lack_no_half(binary, programs, tmp_path):
    path = tmp_path / "out.bin"
    running = subprocess.Popen([binary, "run", "-q", "-o", path, programs("cli_exchanges")],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pid = running.stdout.readline().split()[1]
    made = [subprocess.run([binary, "ctl", pid, "snapshot"], check=True, capture_output=True,
                           text=True, timeout=60).stdout.strip() for _ in range(10)]
    running.communicate(timeout=60)
    assert running.returncode == 0
    allocations = []
    for one in made:
        stats = json.loads(subprocess.run([binary, "stats", "--json", one], check=True,
                                          capture_output=True, text=True).stdout)
        totals = stats["totals"]
        assert stats["capture"]["state"] == "clean" and stats["capture"]["warnings"] == []
        assert totals["unknown_frees"] == totals["order_violations"] == totals["lost_events"] == 0
        # 64 places, the threads' hands, and what is not theirs.
        assert totals["leaked_allocations"] < 100
        allocations.append(totals["allocations"])
    assert allocations == sorted(allocations) and allocations[-1] > 1000


def test_children_are_in_a_snapshot(binary, tmp_path, any_path):
    path = tmp_path / "out.bin"
    running = subprocess.Popen([binary, "run", "-q", "-o", path, any_path, "-c", """
import os, sys
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        block = bytearray(3000000 + number)
        os.write(1, b"%d\\n" % os.getpid())
        sys.stdin.readline()
        os._exit(0)
    children.append(child)
os.waitpid(children[0], 0)
os.waitpid(children[1], 0)
os.waitpid(children[2], 0)
"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    children = sorted(int(running.stdout.readline()) for _ in range(3))
    made = subprocess.run([binary, "ctl", str(children[1]), "snapshot", "-o", tmp_path / "made"],
                          check=True, capture_output=True, text=True, timeout=60).stdout.strip()
    assert made == str(tmp_path / "made")
    running.communicate("\n\n\n", timeout=60)
    lines = subprocess.run([binary, "dump", "--json", made], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    blocks = [event for event in map(json.loads, lines) if event["bytes"] in range(3000001, 3000004)]
    assert sorted(event["pid"] for event in blocks) == children


@pytest.mark.parametrize("options, told", [(["--dormant"], None), ([], "stop")])
def test_a_session_that_records_nothing_has_snapshots(serve, any_path, options, told):
    served = serve(any_path, *options)
    served.tell(1_000_000)
    if told is not None:
        served.ctl(told)
    served.tell(2_000_000)
    path = served.ctl("snapshot").strip()
    assert list(served.events(path)) == ([] if told is None else [1_000_001])
    [warning] = served.stats(path)["capture"]["warnings"]
    assert warning.startswith("recording was never begun" if told is None
                              else "recording was paused 1 time, for ")
    served.end()


def test_many_at_once_have_names_of_their_own(serve, any_path):
    served = serve(any_path)
    served.tell(1_000_000)
    (served.path.parent / "out.bin.snapshot-3").write_text("somebody else's")
    command = [served.binary, "ctl", str(served.pid), "snapshot"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for _ in range(20)]
    said = [one.communicate(timeout=60) for one in running]
    assert {(one.returncode, errors) for one, (_, errors) in zip(running, said)} == {(0, "")}
    assert sorted(int(output.rpartition("-")[2]) for output, _ in said) == [1, 2, *range(4, 22)]
    for output, _ in said:
        assert list(served.events(output.strip())) == [1_000_001]
    served.end()
    assert (served.path.parent / "out.bin.snapshot-3").read_text() == "somebody else's"
    assert len(list(served.path.parent.glob("out.bin*"))) == 22  # nothing half made is left


def test_nobody_has_to_wait_for_his_snapshot(serve, any_path):
    served = serve(any_path)
    served.tell(1_000_000)
    leaving = [subprocess.Popen([served.binary, "ctl", str(served.pid), "snapshot"])
               for _ in range(8)]
    for one in leaving:
        one.send_signal(signal.SIGKILL)
        one.wait()
    assert served.ctl("status").startswith("recording")
    assert list(served.events(served.ctl("snapshot", "-o", "mine").strip())) == [1_000_001]
    served.end()


def test_a_file_is_replaced_only_when_that_is_said(serve, any_path, tmp_path):
    served = serve(any_path)
    other = tmp_path / "other.bin"
    other.write_text("old")
    (tmp_path / "link").symlink_to(other)
    served.tell(1_000_000)
    served.ctl("snapshot", "-o", "other.bin", expect=NOT_WRITTEN)
    served.ctl("snapshot", "-o", "link", expect=NOT_WRITTEN)
    assert other.read_text() == "old"
    assert served.ctl("snapshot", "-f", "-o", "link") == f"{other}\n"
    assert (tmp_path / "link").is_symlink() and list(served.events(other)) == [1_000_001]
    served.end()


def test_the_capture_itself_is_not_replaced(serve, any_path, tmp_path):
    served = serve(any_path)
    (tmp_path / "link").symlink_to(served.path)
    for name in "out.bin", "link", tmp_path / "." / "out.bin":
        served.ctl("snapshot", "-f", "-o", name, expect=NOT_WRITTEN)
    served.tell(1_000_000)
    assert list(served.end().events()) == [1_000_001]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out.bin", "program.py"]


@pytest.mark.parametrize("name", ["missing/x", ".", "/dev/null", "/proc/x"])
def test_what_cannot_be_written_is_said_in_one_line(serve, any_path, name):
    served = serve(any_path)
    served.ctl("snapshot", "-o", name, expect=NOT_WRITTEN)
    served.ctl("snapshot", "-f", "-o", name, expect=NOT_WRITTEN)
    served.ctl("snapshot")  # others can be
    served.end()


def test_a_disk_that_is_full_is_said_and_left_as_it_was(serve, any_path):
    served = serve(any_path)
    served.tell(1_000_000)
    with small_disk(1 << 12) as folder:
        ended = subprocess.run([served.binary, "ctl", str(served.pid), "snapshot", "-o", folder / "x"],
                               capture_output=True, text=True, check=False, timeout=60)
        assert (ended.returncode, ended.stdout) == (NOT_WRITTEN, "")
        assert ended.stderr == (f"memtrack: {folder}/x: cannot be written: "
                                "No space left on device\n")
        assert not list(folder.iterdir())
    assert list(served.events(served.ctl("snapshot").strip())) == [1_000_001]
    assert list(served.end().events()) == [1_000_001]


def test_a_snapshot_can_be_on_another_disk(serve, any_path):
    served = serve(any_path)
    served.tell(1_000_000)
    with small_disk(1 << 24) as folder:
        path = served.ctl("snapshot", "-o", folder / "x").strip()
        assert list(served.events(path)) == [1_000_001]
    served.end()


def test_a_snapshot_that_is_asked_for_at_the_end_is_made_or_refused(binary, tmp_path, programs):
    """Whoever is told that there is one has it, whatever else ends meanwhile."""
    results = []
    for number in range(12):
        path = tmp_path / f"{number}.bin"
        running = subprocess.Popen([binary, "run", "-q", "-o", path, programs("cli_exchanges")],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        pid = running.stdout.readline().split()[1]
        asking = subprocess.Popen([binary, "ctl", pid, "snapshot"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        running.communicate(timeout=60)
        made, errors = asking.communicate(timeout=60)
        results.append(asking.returncode)
        assert (asking.returncode, errors.count("\n")) in [(0, 0), (3, 1)], errors
        assert len(list(tmp_path.glob(f"{number}.bin*"))) == 1 + (asking.returncode == 0)
        if asking.returncode == 0:
            subprocess.run([binary, "info", "--verify", made.strip()], check=True,
                           stdout=subprocess.DEVNULL)
        path.unlink()
    assert 0 in results


def test_a_snapshot_can_be_written_again_smaller(serve, any_path, tmp_path):
    served = serve(any_path)
    served.tell(1_000_000)
    path = served.ctl("snapshot").strip()
    subprocess.run([served.binary, "recompress", "-q", path, "-o", tmp_path / "small"], check=True)
    assert dump(served, tmp_path / "small") == dump(served, path)
    assert info(served, tmp_path / "small")["snapshot"]
    served.end()
