"""Stacks deeper than most: exact at 2000, healed beyond the limit of verification, cut at the end."""

import sys

import probe
from wanderer import (DEEPEST, IS_INLINE, Wanderer, first_difference, run_deep,
                      walk_and_compare, wander_to_the_end)


def recurse(depth, function):
    if depth:
        return recurse(depth - 1, function)
    return function()


def generate(depth, function):
    if depth:
        yield from generate(depth - 1, function)
    else:
        while True:
            yield function()


def exact():
    # Two calls from two lines: every frame above looks as it did at the first.
    for depth in 100, 1000, 2000:
        probe.check("recursion of %d" % depth, recurse(depth, walk_and_compare))
        probe.check("recursion of %d, again" % depth, recurse(depth, walk_and_compare))
        probe.check("above", walk_and_compare())
    generator = generate(1500, walk_and_compare)
    probe.check("chain of generators", next(generator))
    probe.check("chain of generators, resumed elsewhere", next(generator))
    probe.check("chain of generators, resumed deeper",
                recurse(10, lambda: recurse(10, lambda: next(generator))))
    generator.close()
    probe.check("after closing", walk_and_compare())


def wandered():
    for seed in range(2):
        wanderer = Wanderer(seed, 16000)
        wander_to_the_end(wanderer)
        probe.check("wandering, seed %d" % seed, wanderer.wrong == 0, wanderer.wrong)
        probe.check("it was deep", wanderer.deepest > DEEPEST // 2, wanderer.deepest)


def several():
    return [walk_and_compare() for _ in range(6)]


def healed():
    """Beyond the limit a stack may be stale at a frame far below, for a few walks."""
    recurse(12000, several)
    seen = recurse(12000, several)
    probe.check("healed", seen[-1] and seen[-2], repr(seen))
    probe.check("above", walk_and_compare())


def inner_end():
    probe.held.probe_walk()
    words = probe.taken()[-2::-1]
    equal, rest = first_difference(words, sys._getframe().f_back)
    return words[-1], len(words), equal, rest is not None


def cut():
    """A chain too deep to be kept: its inner end stands on a mark, and above all is as before."""
    mark, depth, equal, has_more = recurse(300000, inner_end)
    probe.check("mark", mark == probe.TRUNCATED, "%#x" % mark)
    probe.check("inner end", equal == depth - 1 and depth > 100000 and has_more, (equal, depth))
    probe.check("above", walk_and_compare())
    probe.check("not deep", recurse(500, walk_and_compare))


def main():
    exact()
    wandered()
    if IS_INLINE:
        healed()
        cut()
    probe.finish()


run_deep(main)
