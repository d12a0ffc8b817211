"""Stacks deeper than most: exact at 2000, healed beyond the limit of verification, cut at the end."""

import random
import sys
import threading

import probe

IS_INLINE = sys.version_info >= (3, 11)  # calls between Python functions take no C stack


def first_difference(words, frame):
    """The index of the first of the words, innermost first, that is not the frame's; and the frame."""
    for i, word in enumerate(words):
        walked = probe.Frame(word)
        if frame is None or walked.code is None:
            return i, frame
        if walked.code.name.rsplit(".", 1)[-1] != frame.f_code.co_name:
            return i, frame
        if walked.offset != frame.f_lasti:
            return i, frame
        frame = frame.f_back
    return len(words), frame


def walk_and_compare():
    """True when the walk is right, frame by frame."""
    probe.held.probe_walk()
    words = probe.taken()[-2::-1]  # this function has gone on since
    equal, rest = first_difference(words, sys._getframe().f_back)
    return equal == len(words) and rest is None


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


class Unwind(Exception):
    """Ends so many calls."""


class Wanderer:
    """Goes up and down a deep stack, by every way to call and to come back."""

    def __init__(self, seed, steps):
        self.random = random.Random(seed)
        self.steps = steps
        self.wrong = 0
        self.aim = 300
        self.deepest = 0

    def look(self):
        if not walk_and_compare():
            self.wrong += 1

    def wander(self, depth):
        self.deepest = max(self.deepest, depth)
        while self.steps > 0:
            self.steps -= 1
            if self.steps % 1000 == 0:
                self.aim = self.random.randrange(20, DEEPEST)
            if self.steps % 32 == 0:
                self.look()
            leaning = (self.aim - depth) / 100
            way = self.random.random()
            if way > 0.5 + max(-0.45, min(0.45, leaning)):
                if way > 0.98 and depth > 40:
                    raise Unwind(self.random.randrange(1, 40))
                return depth
            try:
                self.go_on(depth, self.random.randrange(8))
            except Unwind as unwind:
                if unwind.args[0] > 1:
                    raise Unwind(unwind.args[0] - 1) from None
        return depth

    def go_on(self, depth, way):
        if way == 0:
            list(map(self.wander, (depth + 3, depth + 3)))
        elif way == 1:
            sum(self.each(depth + 3))
        elif way == 2:
            self.go_on(depth + 1, 7)
            self.go_on(depth + 1, 7)
        elif way == 3:
            self.look()
        else:
            self.wander(depth + 2)

    def each(self, depth):
        yield self.wander(depth)
        yield self.wander(depth)


DEEPEST = 900 if IS_INLINE else 400


def wandered():
    for seed in range(2):
        wanderer = Wanderer(seed, 16000)
        while wanderer.steps > 0:
            try:
                wanderer.wander(0)
            except Unwind:
                pass
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


sys.setrecursionlimit(400000)
threading.stack_size(512 << 20)
thread = threading.Thread(target=main)
thread.start()
thread.join()
