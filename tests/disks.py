"""Disks of a size."""
import contextlib
import pathlib
import subprocess
import tempfile

import pytest


@contextlib.contextmanager
def small_disk(count_bytes):
    """A tmpfs of so many bytes, where that is allowed."""
    with tempfile.TemporaryDirectory() as name:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={count_bytes}", "none", name],
                                 stderr=subprocess.PIPE, text=True, check=False)
        if mounted.returncode != 0:
            pytest.skip(f"no mounting here: {mounted.stderr}")
        try:
            yield pathlib.Path(name)
        finally:
            subprocess.run(["umount", "-l", name], check=True)
