"""Programs run alone and tracked, side by side."""
import os
import re
import shutil

import pytest

import tracked

TIMES = re.compile(r"\b\d+(\.\d+)? ?(s|ms|seconds)\b")


@pytest.fixture
def have():
    """Return the path of a program, or skip the test."""
    def find(name):
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"{name} is not installed")
        return path

    return find


@pytest.fixture
def same_as_plain(memtrack, tmp_path):
    """Run a program alone and tracked, each in a folder of its own made alike.

    Returns (capture, folder of the plain run, folder of the tracked run). prepare(folder) makes
    what the program works on.
    """
    def run(*argv, prepare=lambda folder: None, env=None, expect=0):
        folders = [tmp_path / name / "work" for name in ("alone", "watched")]
        for folder in folders:
            folder.mkdir(parents=True)
            prepare(folder)
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
        plain = tracked.finish([str(word) for word in argv], cwd=folders[0], env=env, timeout=600)
        ended = memtrack.run(*argv, cwd=folders[1], env=env, timeout=1200, check=False)

        def relevant(text):
            text = TIMES.sub("TIME", text)
            for folder in folders:
                text = text.replace(str(folder), "FOLDER")
            return text

        assert plain.returncode == expect, plain.stderr
        assert ended.returncode == expect, ended.stderr
        assert relevant(ended.stdout) == relevant(plain.stdout)
        assert relevant(ended.stderr) == relevant(plain.stderr)
        assert_capture(ended.capture)
        return ended.capture, *folders

    return run


def assert_capture(capture):
    """Nothing lost, nothing out of order, and every release is of a block that is known."""
    stats = capture.stats()
    assert stats["capture"]["state"] == "clean"
    totals = capture.assert_sound()
    assert totals["allocations"] > 0
    assert totals["unknown_frees"] == 0, totals
    assert totals["peak_bytes"] <= totals["allocated_bytes"]
    assert all(process["command"] for process in stats["processes"]), stats["processes"]
