"""Random programs: each stack compared frame by frame with the frame objects.

Code by content, instruction by f_lasti, so columns are right too. Generators are resumed from
elsewhere, greenlets switched at random, code is compiled and dies, exceptions cut stacks short, and
threads do the same beside. Arguments: seed, seconds' worth of rounds.
"""

import asyncio
import random
import sys
import threading

import probe

try:
    import greenlet
except ImportError:
    greenlet = None

local = threading.local()
TABLE = "co_linetable" if sys.version_info >= (3, 10) else "co_lnotab"


class Boom(Exception):
    pass


def same(frame, word):
    walked = probe.Frame(word)
    code = frame.f_code
    name = code.co_qualname if sys.version_info >= (3, 11) else code.co_name
    return (walked.offset == frame.f_lasti and walked.code.first_line == code.co_firstlineno and
            walked.code.file == code.co_filename and walked.code.name == name and
            walked.code.table == getattr(code, TABLE))


def check():
    (probe.held if local.random.random() < 0.5 else probe.released).probe_walk()
    words = [word for word in reversed(probe.taken())
             if not probe.code_of(word >> 30 & 0x7FFFFFFF).is_hidden]
    frame = sys._getframe()
    if words and probe.Frame(words[0]).code.file == __file__:
        words.pop(0)  # this function has gone on since
    frame = frame.f_back
    for word in words:
        if frame is None or not same(frame, word):
            break
        frame = frame.f_back
    else:
        if frame is None:
            probe.passed()
            return
    walked = [probe.Frame(word) for word in words]
    probe.failed("stack", "%d frames: %r" % (len(words), [(f.code.name, f.offset)
                                                          for f in walked[:6]]))


def operate(depth):
    if local.random.random() < 0.25:
        check()
    if depth <= 0 or local.budget <= 0:
        check()
        return 1
    local.budget -= 1
    return local.random.choice(OPERATIONS)(depth) or 1


def call(depth):
    return operate(depth - 1)


def call_twice(depth):
    return operate(depth - 1) and operate(depth - 2)


def catch(depth):
    try:
        operate(depth - 1)
        raise Boom
    except Boom:
        operate(depth - 2)
    finally:
        check()


def consume(depth):
    return sum(generate(depth - 1, 3))


def keep_generator(depth):
    local.pool.append(generate(depth - 1, 3))
    if len(local.pool) > 8:
        try:
            local.pool.pop(local.random.randrange(len(local.pool))).close()
        except ValueError:
            pass  # it is running
    return operate(depth - 2)


def resume_generator(depth):
    if local.pool:
        try:
            next(local.random.choice(local.pool))
        except (StopIteration, ValueError, Boom):
            pass
    return operate(depth - 2)


def by_map(depth):
    return max(map(lambda x: operate(depth - 1), [1, 2]))


def by_key(depth):
    return sorted([2, 1], key=lambda x: operate(depth - 1))[0]


def by_exec(depth):
    source = "\n" * local.random.randrange(9) + "def z():\n return operate(depth)\nz()"
    exec(source, {"operate": operate, "depth": depth - 1})


def by_comprehension(depth):
    return [operate(depth - 2) for _ in range(2)][0]


def by_context(depth):
    with Context():
        operate(depth - 1)


def by_object(depth):
    special = Special(depth - 2)
    special < special
    special.missing


def by_greenlet(depth):
    if greenlet is None or not local.uses_greenlets:
        return operate(depth - 1)
    new = greenlet.greenlet(lambda: in_greenlet(depth - 1))
    new.switch()
    local.greenlets.append(new)
    other = local.random.choice(local.greenlets)
    if not other.dead and other is not greenlet.getcurrent():
        try:
            other.switch()
        except Exception:
            pass
    if len(local.greenlets) > 5:
        local.greenlets.pop(0)


def by_unwinding(depth):
    try:
        unwind(depth - 1)
    except Boom:
        check()


def by_coroutine(depth):
    coroutine = awaiting(depth - 1)
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        pass


OPERATIONS = (call, call, call_twice, catch, consume, keep_generator, resume_generator, by_map,
              by_key, by_exec, by_comprehension, by_context, by_object, by_greenlet, by_unwinding,
              by_coroutine)


def in_greenlet(depth):
    check()
    operate(depth)
    greenlet.getcurrent().parent.switch()
    check()
    operate(depth - 1)


def unwind(depth):
    check()
    if depth <= 0:
        raise Boom
    unwind(depth - 1)


def generate(depth, count):
    for i in range(count):
        check()
        yield 1
        if i == 1:
            yield from generate_more(depth - 1)
        operate(depth - 2)


def generate_more(depth):
    check()
    yield 2
    check()


async def awaiting(depth):
    check()
    await Awaitable()
    check()
    if depth > 0:
        await awaiting(depth - 1)
    operate(depth - 2)


class Awaitable:
    def __await__(self):
        check()
        yield
        check()


class Context:
    def __enter__(self):
        check()

    def __exit__(self, *what):
        check()


class Special:
    def __init__(self, depth):
        self.depth = depth
        operate(depth - 1)

    def __lt__(self, other):
        check()
        return True

    def __getattr__(self, name):
        check()
        return operate(self.depth - 1)


def prepare(seed, uses_greenlets):
    local.random = random.Random(seed)
    local.pool = []
    local.greenlets = []
    local.uses_greenlets = uses_greenlets


def run(seed, rounds, uses_greenlets):
    prepare(seed, uses_greenlets)
    for _ in range(rounds):
        local.budget = 120
        operate(14)
    local.pool.clear()


async def worker(seed):
    prepare(seed, False)
    for _ in range(10):
        local.budget = 30
        operate(8)
        await asyncio.sleep(0)
        check()


async def workers():
    await asyncio.gather(*[worker(i) for i in range(6)])


def main():
    seed, rounds = int(sys.argv[1]), int(sys.argv[2])
    run(seed, rounds, True)
    threads = [threading.Thread(target=run, args=(seed + 1 + i, rounds, False)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(workers())
    probe.finish(greenlet=greenlet is not None)


main()
