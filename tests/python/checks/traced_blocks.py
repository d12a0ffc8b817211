"""Live blocks of malloc: the stack at each one's allocation, against what tracemalloc has of it.

Arguments: modules of the interpreter's own tests, run first (those that are not installed are left
out). Then blocks are kept from everywhere: generators, classes, callbacks, coroutines, threads.
Blocks are compared that both know: tracemalloc sees what goes through Python's allocators, the
probe what goes through malloc (PROBE_BLOCKS: of at least so many bytes).
"""
import asyncio
import ctypes
import functools
import gc
import importlib
import json
import os
import sys
import threading
import tracemalloc
import types
import unittest

import probe

FRAMES = 12
GC_HEAD_BYTES = 16

kept = []
ran = {"tests": 0, "modules": [], "begun": 0}


class Quiet(unittest.TestResult):
    """Whether they pass is not the question: they may want what is not on this machine."""


def run_tests(names):
    output = sys.stdout, sys.stderr
    for name in names:
        try:
            importlib.import_module(name)
        except Exception:
            continue
        result = Quiet()
        with open(os.devnull, "w") as null:
            sys.stdout = sys.stderr = null
            try:
                unittest.defaultTestLoader.loadTestsFromName(name).run(result)
            finally:
                sys.stdout, sys.stderr = output
        ran["tests"] += result.testsRun
        ran["modules"].append(name)


def generate(count):
    for i in range(count):
        yield bytearray(600 + i)


def recurse(depth):
    return recurse(depth - 1) if depth else bytearray(1000)


class Holder:
    def __init__(self, count):
        self.arrays = [bytearray(700) for _ in range(count)]
        self.table = {i: bytes(800) for i in range(count)}

    def __lt__(self, other):
        kept.append(bytearray(900))
        return True


async def awaiting():
    await asyncio.sleep(0)
    kept.append(bytearray(1200))
    await asyncio.sleep(0)
    kept.append(bytearray(1300))


async def gathered():
    await asyncio.gather(*[awaiting() for _ in range(100)])


def grow():
    grown = []
    for i in range(5000):
        grown.append(i)  # moved again and again: the last one counts
    return grown


def thread_body():
    kept.extend(recurse(i) for i in range(50))
    kept.append(json.dumps(list(range(500))))


def keep_blocks():
    kept.extend(generate(200))
    kept.extend(Holder(5) for _ in range(50))
    sorted(Holder(1) for _ in range(30))
    kept.extend(recurse(i) for i in range(100))
    kept.extend(map(lambda i: bytearray(1100 + i), range(100)))
    kept.append(functools.reduce(lambda a, b: a + [bytearray(1400)], range(50), []))
    asyncio.run(gathered())
    threads = [threading.Thread(target=thread_body) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept.append(grow())


def text_of(frames):
    return [frame if frame is None else "%s:%d" % frame for frame in frames]


def is_frame(address):
    """Up to 3.10 a large frame object comes from a free list, and tracemalloc marks it anew then."""
    object_type = ctypes.c_size_t.from_address(address + GC_HEAD_BYTES + 8).value
    return sys.version_info < (3, 11) and object_type == id(types.FrameType)


def is_beginning(frame):
    """In 3.11 garbage is collected while a call makes its generator, and what runs then stands on a frame
    that has begun nothing yet. We have it; the interpreter's tracebacks and tracemalloc leave it out.
    """
    return sys.version_info[:2] == (3, 11) and frame.code is not None and (
        frame.code.line(frame.offset) == frame.code.first_line)


def places(frames):
    return [None if frame.code is None else frame.place()[:2] for frame in frames]


def compare(size, words, known):
    frames = probe.frames(words)
    walked, expected = places(frames)[:FRAMES], list(known[:FRAMES])
    if walked != expected:
        begun = places(frame for frame in frames if not is_beginning(frame))[:FRAMES]
        ran["begun"] += begun == expected
        walked = begun if begun == expected else walked
    if walked == expected:
        probe.passed()
        return
    same = next((i for i, (one, other) in enumerate(zip(walked, expected)) if one != other), 0)
    probe.failed("block of %d" % size, "from frame %d on %s but %s" % (
        same, text_of(walked[same:same + 4]), text_of(expected[same:same + 4])))


traceback_of = ctypes.pythonapi._PyTraceMalloc_GetTraceback
traceback_of.restype = ctypes.py_object
traceback_of.argtypes = [ctypes.c_uint, ctypes.c_size_t]
tracemalloc.start(FRAMES)  # after the imports, at which it spends minutes
run_tests(sys.argv[1:])
keep_blocks()
gc.collect()
probe.held.probe_keep_blocks(False)
looking_from = sys._getframe().f_lineno


def is_of_looking(known):
    """What is allocated while we look is not kept, and may lie where a kept block was released."""
    return any(file == __file__ and line >= looking_from for file, line in known)


# Nothing to say of a block that tracemalloc does not know: the C library's, or another's.
known_blocks = [(size, words, traceback_of(0, address)) for address, size, words in probe.blocks()
                if traceback_of(0, address) is not None and not is_frame(address)]
known_blocks = [block for block in known_blocks if not is_of_looking(block[2])]
tracemalloc.stop()
for block in known_blocks:
    compare(*block)
probe.finish(**ran)
