"""Fixtures for the tests of the command line."""
import subprocess
import sys

import pytest

import interpreters
from served import Served


@pytest.fixture
def call(binary, tmp_path):
    """Call memtrack in a folder of the test's own; output is bytes."""
    def run(*arguments, **popen):
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("cwd", tmp_path)
        return subprocess.run([binary, *map(str, arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60, check=False, **popen)

    return run


@pytest.fixture
def python():
    """An interpreter by its path: what `python3` means differs between machines."""
    return sys.executable


@pytest.fixture(params=interpreters.found(), ids=lambda python: python.name)
def python_of_all(request):
    """Each interpreter of the machine that the tracker knows."""
    return request.param


@pytest.fixture
def serve(binary, tmp_path):
    started = []

    def start(interpreter, *options):
        started.append(Served(binary, tmp_path, interpreter, *options))
        return started[-1]

    yield start
    for served in started:
        if served.process.poll() is None:
            served.process.kill()
            served.process.communicate()


@pytest.fixture(name="any_path")
def any_path_(any_python):
    return any_python.path
