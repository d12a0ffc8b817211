"""A program that goes up and down a deep stack, and looks whether a walk is right."""

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


def wander_to_the_end(wanderer):
    while wanderer.steps > 0:
        try:
            wanderer.wander(0)
        except Unwind:
            pass


def run_deep(function):
    """Run it on a thread with room for the deepest of stacks."""
    sys.setrecursionlimit(400000)
    threading.stack_size(512 << 20)
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()
