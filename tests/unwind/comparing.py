"""Runs programs with the library that compares unwinders, and reads what it counted."""
import os
import struct

import tracked

# As struct counts of c/compare.h has them.
NAMES = ("walks", "stacks", "frames", "mismatches", "libunwind", "cached", "stuck", "stuck_alike",
         "truncated", "unchecked", "by_steps", "by_glibc", "instructions", "instructions_libc",
         "instructions_loader", "guessed", "forgotten", "recalled")


class Compared:
    """What was counted in a program and its children, and how it ended."""

    def __init__(self, ended, path):
        self.ended = ended
        self.path = path
        self.counts = dict(zip(NAMES, struct.unpack(f"{len(NAMES)}Q", path.read_bytes())))

    def __getitem__(self, name):
        return self.counts[name]

    @property
    def text(self):
        """The stacks that differ, with the names of their functions."""
        path = self.path.with_name(self.path.name + ".txt")
        return path.read_text() if path.exists() else ""

    def assert_equal(self, least, **expected):
        """At least so many stacks were compared, and all agree.

        expected: what else is counted besides, by name: a number, or None where any will do.
        """
        said = f"{self.counts}\n{self.text}\n{self.ended.stderr[-2000:]}"
        assert self["stacks"] >= least, said
        for name in ("mismatches", "cached", "libunwind", "stuck", "stuck_alike", "truncated",
                     "guessed"):
            wanted = expected.get(name, 0)
            assert wanted is None or self[name] == wanted, f"{name}: {said}"
        assert self["unchecked"] <= self["stacks"] // 50, said
        return self


def compare(library, folder, argv, timeout=600, check=True, **settings):
    """Run a program. settings: UNWIND_..., in lower case without the prefix."""
    path = folder / "counts"
    env = {**os.environ, "LD_PRELOAD": str(library), "UNWIND_COUNTS": str(path),
           "PYTHONDONTWRITEBYTECODE": "1"}
    env.update({f"UNWIND_{name.upper()}": str(value) for name, value in settings.items()})
    ended = tracked.finish([str(word) for word in argv], cwd=folder, env=env, timeout=timeout)
    if check:
        assert ended.returncode == 0, ended.stderr[-3000:]
    return Compared(ended, path)
