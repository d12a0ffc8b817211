"""The ENTRY bit: set on the outermost frame of each evaluation activation, and on no other."""

import functools
import sys

import probe

SPECIALISES = getattr(sys, "_is_gil_enabled", bool)() or sys.version_info < (3, 13)
EACH_FRAME = sys.version_info < (3, 11)  # an activation for each frame


def check(label, *expected):
    """expected: names from here outwards, with a star where one begins an activation."""
    probe.held.probe_walk()
    frames = probe.frames(probe.taken())[1:1 + len(expected)]
    got = [frame.code.name.rsplit(".", 1)[-1] + "*" * frame.is_entry for frame in frames]
    if EACH_FRAME:
        expected = [name.rstrip("*") + "*" for name in expected]
    probe.check(label, got == list(expected), "%r for %r" % (got, expected))


def plain(label, *expected):
    return check(label, "plain", *expected)


def plain_again(label, *expected):
    return check(label, *expected)


def by_c(_):
    plain("called by C", "by_c*", "main")


def nested(_):
    list(map(by_c_again, [0]))


def by_c_again(_):
    plain("C twice", "by_c_again*", "nested*", "main")


def generator():
    plain("generator by C", "generator*", "main")
    yield 1


class Item:
    def __getitem__(self, key):
        # Called through a slot until the instruction is specialised, and inline from then on.
        probe.held.probe_walk()
        frame = probe.frames(probe.taken())[0]
        probe.check("item", frame.code.name.endswith("__getitem__"))
        return frame.is_entry


def main():
    plain("inline", "main")
    list(map(by_c, [0]))
    list(map(nested, [0]))
    next(generator())
    functools.partial(check, "C between", "main")()
    functools.partial(plain_again, "C below", "plain_again*", "main")()
    item = Item()
    seen = [item[0] for _ in range(200)]
    probe.check("item by slot", seen[0])
    probe.check("item inline", seen[-1] == (EACH_FRAME or not SPECIALISES), repr(seen))
    probe.held.probe_walk()
    stack = probe.frames(probe.taken())
    probe.check("outermost", stack[-1].is_entry)


main()
probe.finish()
