"""The model that a capture has stored: reports from it are those from the events, byte for byte."""
import json
import pathlib
import resource
import signal
import subprocess
import sys
import textwrap
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "golden"))

pytest.importorskip("lz4.block")
pytest.importorskip("xxhash")

# pylint: disable=wrong-import-position
import capture_format as fmt
import capture_stored
from test_recompress import assert_same_reports

DONE = 0
ATTEMPTS = 5  # on a busy machine a capture may be without a model

PROGRAMS = {
    "blocks": """
        import random
        kept = [bytearray(random.randrange(600, 9000)) for _ in range(3000)]
        for _ in range(20000):
            kept[random.randrange(3000)] = bytearray(random.randrange(600, 9000))
        """,
    "threads": """
        import threading
        def work():
            kept = [None] * 300
            for i in range(15000): kept[i * 7919 % 300] = bytearray(600 + i % 3000)
        threads = [threading.Thread(target=work) for _ in range(5)]
        [thread.start() for thread in threads]; [thread.join() for thread in threads]
        """,
    "forks": """
        import os, time
        kept = [bytearray(1000 + i) for i in range(2000)]
        for i in range(6):
            if os.fork() == 0:
                if i == 2: time.sleep(0.3)  # it shows itself late
                for k in range(500): kept[k] = bytearray(2000 + k)
                if i % 2 and os.fork() == 0:
                    kept.clear()
                    os._exit(0)
                time.sleep(0.02 * i)
                os._exit(i)
            kept += [bytearray(900) for _ in range(300)]
        for _ in range(6): os.wait()
        kept.clear()
        """,
    "programs": """
        import subprocess, sys
        for i in range(3):
            subprocess.run([sys.executable, "-c", "x = [bytearray(5000) for _ in range(500)]"])
            subprocess.run(["/bin/sh", "-c", "ls / | wc -l"], stdout=subprocess.DEVNULL)
        """,
    "long": """
        import time
        kept = []
        end = time.monotonic() + 4.5
        while time.monotonic() < end:
            kept += [bytearray(700 + len(kept) % 900) for _ in range(30)]
            if len(kept) > 3000: del kept[::3]
            time.sleep(0.004)
        """,
}
OPTIONS = {"sample": ["--sample-bytes", "64K"], "late": ["--delay", "50ms"],
           "large": ["--min-size", "2000"], "objects": ["--trace-python-allocators"]}


def model_of(path):
    return capture_stored.model_bytes(fmt.read_capture(path.read_bytes()))


@pytest.fixture
def record(call, tmp_path):
    """Record a program until its capture has a model. Returns its path, and that of one without."""
    def run(*command, options=()):
        path, bare = tmp_path / "app.bin", tmp_path / "small.bin"
        for _ in range(ATTEMPTS):
            ended = call("run", "-q", "-f", "--index=always", *options, "-o", path, *command)
            assert ended.returncode == DONE, ended
            if model_of(path) is not None:
                break
        assert model_of(path), "no model was stored"
        bare.write_bytes(capture_stored.with_model(path.read_bytes(), []))
        return path, bare

    return run


@pytest.mark.parametrize("name", PROGRAMS)
def test_reports_are_the_same_with_a_model_and_without(call, record, python, name):
    assert_same_reports(call, *record(python, "-c", textwrap.dedent(PROGRAMS[name])))


@pytest.mark.parametrize("name", OPTIONS)
def test_they_are_with_every_way_of_recording(call, record, python, name):
    program = textwrap.dedent(PROGRAMS["blocks"])
    assert_same_reports(call, *record(python, "-c", program, options=OPTIONS[name]))


@pytest.mark.parametrize("name", ["marks", "pools", "forks"])
def test_they_are_of_what_programs_say(call, record, programs, name):
    assert_same_reports(call, *record(programs("conformance_words"), name))


def test_a_program_that_was_killed_has_a_model(call, record, python):
    program = textwrap.dedent(PROGRAMS["blocks"]) + "import os; os.kill(os.getpid(), 9)"
    assert_same_reports(call, *record("/bin/sh", "-c", '"$0" -c "$1"; true', python, program))


def test_filters_read_the_events(call, record, python):
    path, bare = record(python, "-c", textwrap.dedent(PROGRAMS["programs"]))
    pid = sorted({process["pid"] for process in
                  fmt.read_capture(path.read_bytes()).processes.values()})[-1]
    for options in (["--process", str(pid)], ["--temporary-allocations=3"]):
        with_model, without = (call("table", "--json", *options, file) for file in (path, bare))
        assert with_model.returncode == without.returncode == DONE
        assert with_model.stdout.replace(b"app.bin", b"small.bin") == without.stdout


def test_a_capture_whose_collector_was_killed_has_none(binary, call, python, tmp_path):
    program = "import time; x = [bytearray(1000) for _ in range(5000)]; open('on', 'w'); time.sleep(60)"
    path = tmp_path / "app.bin"
    with subprocess.Popen([binary, "run", "-q", "--index=always", "-o", path, python,
                           "-c", program],
                          cwd=tmp_path) as process:
        while not (tmp_path / "on").exists():
            time.sleep(0.02)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        collector = next(int(pid) for pid in children.split() if "memtrack" in
                         pathlib.Path(f"/proc/{pid}/comm").read_text())
        time.sleep(0.3)
        subprocess.run(["kill", "-KILL", str(collector)], check=True)
        process.send_signal(signal.SIGTERM)
    assert not fmt.read_capture(path.read_bytes()).model
    assert b"bytearray" not in call("summary", path).stderr


@pytest.mark.parametrize("limit_bytes, has_model", [(96 << 20, False), (3 << 30, True)])
def test_where_memory_is_short_there_is_none(call, python, tmp_path, limit_bytes, has_model):
    program = textwrap.dedent("""
        import ctypes, time
        malloc = ctypes.CDLL(None).malloc
        for _ in range(200_000): malloc(40)
        time.sleep(0.5)
        """)
    path = tmp_path / "app.bin"
    for _ in range(ATTEMPTS if has_model else 1):
        ended = call("run", "-q", "-f", "--index=always", "-o", path, python, "-c", program,
                     preexec_fn=lambda:
                     resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes)))
        assert ended.returncode == DONE, ended
        if model_of(path):
            break
    assert (model_of(path) is not None) == has_model
    totals = json.loads(call("stats", "--json", path).stdout)["totals"]
    assert totals["leaked_allocations"] >= 200_000


@pytest.mark.parametrize("index, rounds, has_model", [
    ("auto", 2_100_000, True), ("auto", 100_000, False), ("never", 2_100_000, False),
    ("always", 100, True)])
def test_the_index_is_kept_of_many_events_or_as_was_asked(call, python, tmp_path, index, rounds,
                                                          has_model):
    path = tmp_path / "app.bin"
    for _ in range(ATTEMPTS if has_model else 1):
        ended = call("run", "-q", "-f", f"--index={index}", "-o", path, python, "-c",
                     f"for _ in range({rounds}): bytearray(1000)")
        assert ended.returncode == DONE, ended
        if model_of(path):
            break
    assert (model_of(path) is not None) == has_model
    overhead = json.loads(call("stats", "--json", path).stdout)["overhead"]
    assert (overhead["index_ns"] > 0) == has_model
    assert overhead["collector_ns"] > overhead["index_ns"]
    assert (b"for the index" in call("stats", path).stdout) == has_model


def test_recompressed_captures_keep_their_model(call, record, python, tmp_path):
    path, _ = record(python, "-c", textwrap.dedent(PROGRAMS["blocks"]))
    archive = tmp_path / "archive.bin"
    assert call("recompress", "-q", path, "-o", archive).returncode == DONE
    assert model_of(archive) == model_of(path)
