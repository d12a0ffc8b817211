"""Interpreters that come late, end, and are closed: a program that loads libpython itself."""
import json
import os
import subprocess

import pytest

LIBRARY = """
import sys, sysconfig
library = sysconfig.get_config_var("INSTSONAME") or ""
print(sysconfig.get_config_var("LIBDIR") + "/" + library if ".so" in library else "")
print(sys.base_prefix)
"""


def library_of(walked):
    answer = subprocess.run([walked.path, "-c", LIBRARY], stdout=subprocess.PIPE, check=True,
                            text=True).stdout.split("\n")
    if not answer[0] or not os.path.exists(answer[0]):
        pytest.skip(f"{walked.name}: linked without a library")
    return answer[0], answer[1]


@pytest.mark.parametrize("scope", ["local", "global"])
def test_an_interpreter_that_comes_late_and_goes_is_followed_and_survived(walked, programs, scope):
    library, home = library_of(walked)
    environment = dict(os.environ, LD_PRELOAD=walked.probe, PYTHONHOME=home, MALLOC_PERTURB_="0",
                       PROBE_EVERY="1")
    done = subprocess.run([programs("embedder"), library, scope], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["was_ready"] == 0 and result["ready"] == 1
    assert result["faults"] == 0 and result["walks"] > 1000 and result["pushes"] > 100


def test_a_program_without_python_is_left_alone(probe):
    done = subprocess.run(["/bin/sh", "-c", "echo fine"], stdout=subprocess.PIPE, check=True,
                          env=dict(os.environ, LD_PRELOAD=str(probe), PROBE_EVERY="1"), text=True)
    assert done.stdout == "fine\n"


DAEMONS = """
import threading, time
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


def test_daemon_threads_are_in_malloc_when_the_interpreter_ends(walked):
    for _ in range(3):
        done = walked.start("-c", DAEMONS, timeout=120, PROBE_EVERY="1")
        assert done.returncode == 0, done.stderr[-2000:]
