"""Interpreters that the checks run in, and what runs in them.

One parameter for each name that script/interpreters knows; what is missing is a skipped test that
says why, not one test fewer. `script/interpreters -g` fetches it. With --full the random programs
run as long as for a release (50 000 checks an interpreter and more instead of some thousand).
"""
import json
import os
import pathlib
import subprocess

import pytest

import interpreters

HERE = pathlib.Path(__file__).resolve().parent
CHECKS = HERE / "checks"
CACHE = os.environ.get("MEMTRACK_INTERPRETERS") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "memtrack/interpreters")


class Walked:
    """An interpreter in which every walk is looked at: the probe is preloaded (walker_probe.c)."""

    def __init__(self, name, path, probe):
        self.name = name
        self.path = path
        self.probe = str(probe)
        self.is_free_threaded = name.endswith("t")
        self.is_debug = name.endswith("-dbg")
        self.version = None if name == "system" else tuple(
            int(part) for part in name.rstrip("t").split("-")[0].split("."))

    def environment(self, **more):
        packages = os.path.join(CACHE, "packages", self.name)
        return dict(os.environ, MEMTRACK_PROBE=self.probe, LD_PRELOAD=self.probe,
                    PYTHONDONTWRITEBYTECODE="1", PYTHONIOENCODING="utf-8",
                    MALLOC_PERTURB_="0",  # meson sets it, and the interpreters crawl
                    PYTHONPATH=os.pathsep.join([str(CHECKS), packages]), **more)

    def start(self, *arguments, timeout=300, **more):
        """Run it to its end."""
        return subprocess.run([self.path, *map(str, arguments)], env=self.environment(**more),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace",
                              timeout=timeout, check=False)

    def check(self, script, *arguments, **more):
        """Run a check script and return its result; its failures fail the test."""
        done = self.start(CHECKS / script, *arguments, **more)
        assert done.returncode >= 0, f"signal {-done.returncode}: {done.stderr[-2000:]}"
        lines = done.stdout.splitlines()
        assert lines, f"no result: {done.stderr[-2000:]}"
        result = json.loads(lines[-1])
        assert result["failures"] == []
        assert result["failed"] == 0 and result["faults"] == 0, result
        assert done.returncode == 0, done.stderr[-2000:]
        assert result["ready"] == 1
        return result


def pytest_generate_tests(metafunc):
    if "walked" in metafunc.fixturenames:
        metafunc.parametrize("walked", list(interpreters.of_script()), indirect=True,
                             scope="session")


@pytest.fixture(scope="session")
def probe(programs):
    """The library that walks."""
    return programs("libwalker-probe.so")


@pytest.fixture(scope="session")
def walked(request, probe):
    path, missing = interpreters.of_script()[request.param]
    if path is None:
        pytest.skip(f"{request.param}: {missing}")
    return Walked(request.param, path, probe)
