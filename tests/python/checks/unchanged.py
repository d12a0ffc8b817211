"""A loop that allocates in one place: its stack is seen at once to be the one before. In two places:
it is seen at once that nothing else has changed.

The other ways are as right, and cost several times as much: no other check would tell.
"""
import platform

import probe

ROUNDS = 1000
# On other machines a call has to tell the thread's state from 3.12 on.
WAYS = ("same_walks", "line_walks") if platform.machine() == "x86_64" else ("same_walks",)


def loop(walk):
    for _ in range(ROUNDS):
        walk()


def deep(calls, walk):
    return deep(calls - 1, walk) if calls else loop(walk)


for depth in 0, 10:
    for _ in range(3):  # the instructions of the first rounds may change
        before = [probe.number(way) for way in WAYS]
        deep(depth, probe.held.probe_walk)
        seen = [probe.number(way) - number for way, number in zip(WAYS, before)]
    probe.check("depth %d" % depth, min(seen) >= ROUNDS - 10, "%s of %d" % (seen, ROUNDS))
if "line_walks" in WAYS:
    def turns(walk):
        for _ in range(ROUNDS):
            walk()
            walk()

    for _ in range(3):
        before = probe.number("moved_walks")
        turns(probe.held.probe_walk)
        seen = probe.number("moved_walks") - before
    probe.check("two places", seen >= 2 * ROUNDS - 20, "%d of %d" % (seen, 2 * ROUNDS))
probe.finish()
