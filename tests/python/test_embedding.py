"""Interpreters that come late, end, and are closed: a program that loads libpython itself."""

import json
import os
import pathlib
import subprocess

import pytest

from test_walker import PROBE, path_of

EMBEDDER = os.environ["MEMTRACK_EMBEDDER"]
LIBRARY = """
import sys, sysconfig
library = sysconfig.get_config_var("INSTSONAME") or ""
print(sysconfig.get_config_var("LIBDIR") + "/" + library if ".so" in library else "")
print(sys.base_prefix)
"""


def library_of(interpreter):
    answer = subprocess.run([path_of(interpreter), "-c", LIBRARY], stdout=subprocess.PIPE,
                            check=True, text=True).stdout.split("\n")
    if not answer[0] or not os.path.exists(answer[0]):
        pytest.skip("%s: linked without a library" % interpreter[0])
    return answer[0], answer[1]


@pytest.mark.parametrize("scope", ["local", "global"])
def test_an_interpreter_that_comes_late_and_goes_is_followed_and_survived(interpreter, scope):
    library, home = library_of(interpreter)
    environment = dict(os.environ, LD_PRELOAD=PROBE, PYTHONHOME=home, MALLOC_PERTURB_="0",
                       PROBE_EVERY="1")
    done = subprocess.run([EMBEDDER, library, scope], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["was_ready"] == 0 and result["ready"] == 1
    assert result["faults"] == 0 and result["walks"] > 1000 and result["pushes"] > 100


def test_a_program_without_python_is_left_alone():
    done = subprocess.run(["/bin/sh", "-c", "echo fine"], stdout=subprocess.PIPE, check=True,
                          env=dict(os.environ, LD_PRELOAD=PROBE, PROBE_EVERY="1"), text=True)
    assert done.stdout == "fine\n"


DAEMONS = """
import threading, time, sys, os
sys.path.insert(0, {checks!r})
import probe
def body(n):
    if n:
        return body(n - 1)
    while True:
        probe.released.probe_time_ns(20000)
for i in range(6):
    threading.Thread(target=body, args=(30,), daemon=True).start()
time.sleep(0.1)
"""


def test_daemon_threads_are_in_malloc_when_the_interpreter_ends(interpreter):
    checks = pathlib.Path(__file__).resolve().parent / "checks"
    for _ in range(3):
        done = subprocess.run([path_of(interpreter), "-c", DAEMONS.format(checks=str(checks))],
                              env=dict(os.environ, LD_PRELOAD=PROBE, MEMTRACK_PROBE=PROBE,
                                       PROBE_EVERY="1", PYTHONDONTWRITEBYTECODE="1",
                                       MALLOC_PERTURB_="0"),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        assert done.returncode == 0, done.stderr[-2000:]
