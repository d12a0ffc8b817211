"""Fixtures for the tests of the command line."""
import subprocess
import sys

import pytest

import interpreters


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
