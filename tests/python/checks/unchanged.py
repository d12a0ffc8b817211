"""A loop that allocates in one place: its stack is seen at once to be the one before.

The other way is as right, and costs several times as much: no other check would tell.
"""
import probe

ROUNDS = 1000


def loop(walk):
    for _ in range(ROUNDS):
        walk()


def deep(calls, walk):
    return deep(calls - 1, walk) if calls else loop(walk)


for depth in 0, 10:
    for _ in range(3):  # the instructions of the first rounds may change
        before = probe.number("same_walks")
        deep(depth, probe.held.probe_walk)
        same = probe.number("same_walks") - before
    probe.check("depth %d" % depth, same >= ROUNDS - 10, "%d of %d" % (same, ROUNDS))
probe.finish()
