"""The captures of the tests, and of everybody who works on a report: name -> bytes.

`python3 captures.py FOLDER` writes them all. What they hold does not change once released: the
readers of all later versions must go on reading them as tests/golden/data says.
"""

import os
import random
import sys

import capture_format as fmt
import capture_model
import capture_stored
import native_captures
from capture_trace import (BRK, CALLOC, END_EXEC, END_SIGNAL, EXEC, FORK, FREE, MALLOC, MAPS, MMAP,
                           MREMAP, REALLOC, Trace, location_table, pairs_table)

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
RESERVED, FILE_PRIVATE, FILE_SHARED, SHARED, STACK, ARENA = 1, 2, 3, 4, 5, 7
CGROUP_MAX, CGROUP_HIGH, CGROUP_V1, ADDRESS_SPACE, DATA, MACHINE, SWAP = range(1, 8)
USE_CGROUP, USE_ADDRESS_SPACE, USE_DATA, USE_SWAP = range(1, 5)
HEAP = 0x5555_5555_0000
RANGES = 0x7F00_0000_0000


def script_stack(trace):
    """Codes of a small program; returns stack(path of function names, allocator, class)."""
    file = "/home/user/app.py"
    codes = {
        "<module>": trace.code(file, "<module>", 1),
        "main": trace.code(file, "main", 40),
        "load": trace.code(file, "load", 10),
        "parse": trace.code(file, "Parser.parse", 20),
        "worker": trace.code(file, "worker", 60),
        "_find_and_load": trace.code("<frozen importlib._bootstrap>", "_find_and_load", 1165),
    }

    def stack(path, allocator=MALLOC, map_class=0, offset=8):
        frames = [(codes[name], offset + 2 * i) for i, name in enumerate(path.split())]
        return trace.stack(trace.node(*frames), allocator, map_class)
    return stack


def empty():
    """A program that allocates nothing."""
    trace = Trace()
    trace.session("true")
    trace.process(100, arguments=["true"], executable="/usr/bin/true").end()
    return trace.finish()


def script(coder=1):
    """One Python program: a peak in the middle, leaks, temporary blocks, ten threads of work."""
    trace = Trace(fmt.CaptureWriter(coder=coder), 400)
    trace.session("app.py", "--fast")
    stack = script_stack(trace)
    process = trace.process(4711, arguments=["python3", "app.py", "--fast"],
                            executable="/usr/bin/python3.11", python_version="3.11.7",
                            counter_0=2_000_000, counter_5=3 * MIB)
    main = process.thread(4711, "python3", main=1)
    chance = random.Random(4711)
    live = []
    for i in range(300):
        path = "<module> _find_and_load" if i % 3 else "<module> main load"
        live.append(main.alloc(HEAP + i * 64, 40 + i % 20, stack(path, offset=8 + i % 6)))
        trace.wait(i % 5 == 0)
    workers = [process.thread(4720 + i, f"worker-{i}") for i in range(10)]
    for i in range(1500):
        worker = workers[chance.randrange(10)]
        address = HEAP + MIB + i * 4 * KIB
        worker.alloc(address, 1000 + chance.randrange(3000), stack("worker parse", CALLOC))
        if chance.random() < 0.9:
            (worker if chance.random() < 0.5 else main).free(address)
        trace.wait(i % 20 == 0)
        if i % 100 == 0:
            trace.writer.rss(1, trace.now_ns(), 20 * MIB + i * 10 * KIB, 2 * MIB)
    big = main.map(RANGES, 8 * MIB, stack("<module> main load", MMAP))
    grown = main.alloc(HEAP - 16 * MIB, 256 * KIB, stack("<module> main parse", MALLOC))
    for step in range(1, 12):
        grown = main.realloc(grown, HEAP - (16 + step) * MIB, (256 + 64 * step) * KIB,
                             stack("<module> main parse", REALLOC))
        trace.wait(3)
    main.unmap(big, 8 * MIB)
    for address in live[::2]:
        main.free(address)
    trace.wait(20)
    main.fail(100 * GIB, stack("<module> main load"))
    trace.writer.rss(1, trace.now_ns(), 18 * MIB, 0)
    main.life(3, 0)
    process.end(counter_1=10_000)
    return trace.finish()


def planes():
    """The same program with its events in coder 2."""
    return script(coder=2)


def compact():
    """The same program with its events in coder 3."""
    return script(coder=3)


def ranges():
    """The mmap family: partial unmaps, MAP_FIXED, mremap, PROTECT, failures, classes."""
    trace = Trace()
    trace.session("maps")
    stack = script_stack(trace)
    process = trace.process(50, arguments=["maps"], executable="/usr/bin/maps")
    thread = process.thread(50, "maps", main=1)
    page = 4 * KIB
    kind = {c: stack("<module> main", MMAP, c) for c in range(8)}
    thread.map(RANGES, 8 * page, kind[0])
    thread.unmap(RANGES + 3 * page, page)                      # a hole in the middle
    thread.map(RANGES + 100 * page, 10 * page, kind[0])
    thread.map(RANGES + 102 * page, 2 * page, kind[FILE_PRIVATE])  # MAP_FIXED over a part
    trace.wait(2)
    thread.map(RANGES + 200 * page, 4 * page, kind[SHARED])
    thread.map(RANGES + 204 * page, 4 * page, kind[STACK])
    thread.unmap(RANGES + 200 * page, 8 * page)                # two maps, one munmap
    thread.map(RANGES + 300 * page, 64 * page, kind[RESERVED])
    thread.protect(RANGES + 300 * page, 16 * page, 0)          # made usable
    thread.protect(RANGES + 308 * page, 4 * page, RESERVED)    # and a part not
    trace.wait(2)
    thread.unmap(RANGES + 1, page)                             # refused by the kernel
    thread.undo(RANGES + 1, page)
    thread.unmap(RANGES + 100 * page, 2 * page, MREMAP)        # moved and grown
    thread.map(RANGES + 400 * page, 20 * page, stack("<module> main", MREMAP))
    thread.unmap(RANGES + 400 * page, 20 * page, MREMAP)       # and once more, but it failed
    thread.undo(RANGES + 400 * page, 20 * page, MREMAP)
    thread.map(RANGES + 500 * page, 32 * page, kind[FILE_SHARED])
    thread.map(RANGES + 600 * page, 256 * KIB, kind[ARENA])
    thread.map(HEAP, 33 * page, stack("<module>", BRK))
    thread.unmap(HEAP + 30 * page, 3 * page, BRK)
    thread.map(2 * RANGES // 3, 5 * GIB, kind[0])              # needs WIDE
    thread.unmap(2 * RANGES // 3 + GIB, 4 * GIB)
    trace.wait(3)
    process.end()
    return trace.finish()


def family():
    """A parent, a fork child that frees what it inherited, one that execs, a signal's victim."""
    trace = Trace()
    trace.session("make", "-j2")
    stack = script_stack(trace)
    parent = trace.process(200, arguments=["make", "-j2"], executable="/usr/bin/make")
    shell = parent.thread(200, "make", main=1)
    blocks = [shell.alloc(HEAP + i * 48, 32, stack("<module> main")) for i in range(20)]
    shell.map(RANGES, MIB, stack("<module>", MMAP))
    trace.wait(2)
    shell.life(4)
    child = trace.process(201, parent=parent, how=FORK, arguments=["make", "-j2"],
                          executable="/usr/bin/make")
    shell.free(blocks[0])                       # after the fork: the child still has it
    trace.wait(1)
    kid = child.thread(201, "make", main=1)
    kid.free(blocks[0])
    kid.realloc(blocks[1], HEAP + 8 * KIB, 4000, stack("<module> main parse", REALLOC))
    kid.unmap(RANGES, MIB // 2)
    kid.free(HEAP + 500 * KIB)                  # nobody's
    trace.wait(2)
    kid.life(1)
    child.end(END_EXEC, 3)
    image = trace.process(201, parent=child, how=EXEC, arguments=["cc", "a b.c", "-o", "ö"],
                          executable="/usr/bin/cc")
    trace.wait(1)
    compiler = image.thread(201, "cc", main=1)
    for i in range(50):
        compiler.alloc(HEAP + i * 4096, 4096, stack("<module> load", CALLOC))
    trace.writer.rss(1, trace.now_ns(), 3 * MIB)
    trace.writer.rss(3, trace.now_ns(), 9 * MIB)
    trace.wait(5)
    image.end(END_SIGNAL, 11)
    trace.wait(4)
    shell.free(blocks[5])
    trace.process(250, parent=parent, how=EXEC, tracked=0, arguments=["/bin/static"])
    parent.end()
    return trace.finish()


def strange():
    """What is rare: wide sizes, LOST, handler stacks, odd names, columns, order violations."""
    trace = Trace(section_records=8)
    trace.session("odd; name|<x>", "\udcff", "a" * 3000)
    process = trace.process(7, arguments=[], executable="", python_version="3.10.13")
    thread = process.thread(7, "w|x;<y>&\"'", main=1, lost=3, repaired=2)
    other = process.thread(8, "naïve \U0001F40D", lost=0)
    odd = trace.code("/tmp/</script>;|\n.py", "<lambda>", 3, kind=2,
                     table=pairs_table([(4, 0), (6, 1), (4, None), (8, -2)]))
    long = trace.code("/home/\udce9t\udce9.py", "f" * 10_000, 1, kind=1, table=bytes([6, 1, 8, 0x82]))
    columns = trace.code("/home/user/wide.py", "Outer.<locals>.inner", 100,
                         table=location_table(100, [(2, 101, (4, 30)), (3, 103, None),
                                                    (8, 99, (0, 200))]))
    hidden = trace.code("<shim>", "<interpreter trampoline>", 1, hidden=True)
    deep = trace.node((hidden, 0), (odd, 4), (columns, 4), (long, 6), (odd, 10))
    handler = trace.stack(trace.node((0, 3)), MALLOC)
    cut = trace.stack(trace.node((0, 1), (columns, 12)), MALLOC)
    plain = trace.stack(deep, MALLOC)
    nothing = trace.stack(0, MALLOC)
    thread.alloc(HEAP, 6 * GIB + 5, plain)
    thread.alloc(HEAP + 1, 0, handler)
    thread.alloc((1 << 57) - 1, 1, cut)
    thread.lost(3)
    trace.wait(1)
    other.alloc(HEAP, 10, nothing)              # of a live block: an order violation
    other.free(HEAP)
    other.free(HEAP)                            # unknown
    thread.free(HEAP + 1, REALLOC)              # realloc to 0 bytes
    other.alloc(HEAP + 64, 100, trace.stack(deep, 32 + 4 * 2), domain=3)
    other.free(HEAP + 64, 32 + 4 * 2 + 2, domain=3)
    other.alloc(HEAP + 128, 120, trace.stack(deep, 32 + 4 * 2 + 2), domain=3)
    other.alloc(HEAP + 128, 7, trace.stack(deep, 32), domain=1)   # same address, another space
    other.free(HEAP + 128, REALLOC)             # of another space: the lower domain's block
    other.undo(HEAP + 128, 0, REALLOC, domain=0)
    trace.wait(5000)
    other.free((1 << 57) - 1)
    other.fail(1 << 40, plain)
    other.record(fmt.event(fmt.NOTE, 999, w1=5))
    other.record(fmt.event(fmt.NOTE, fmt.NOTE_CLOCK, w1=trace.now_ns()))
    process.end(END_SIGNAL, 9)
    return trace.finish(reason="disk full", lost=3,
                        failures=["/x: cannot be written", "exit code 1: notify \x1b"])


def vector():
    """std::vector<int> filled to 512 elements: what counts as temporary."""
    trace = Trace()
    trace.session("vector")
    process = trace.process(9, arguments=["vector"])
    thread = process.thread(9, "vector", main=1)
    stack = trace.stack(0, MALLOC)
    size, address = 4, thread.alloc(HEAP, 4, stack)
    while size < 2048:
        size *= 2
        larger = thread.alloc(HEAP + 16 * size, size, stack)
        thread.free(address)
        address = larger
    thread.free(address)
    process.end()
    return trace.finish()


def beyond_its_bounds():
    """A writer of a capture with events beyond the last bound."""
    trace = Trace()
    trace.session("app.py")
    stack = script_stack(trace)
    process = trace.process(31, arguments=["python3", "app.py"], python_version="3.12.1")
    one, two = process.thread(31, "one", main=1), process.thread(32, "two")
    for i in range(40):
        one.alloc(HEAP + i * 128, 100, stack("<module> main"))
        two.alloc(HEAP + MIB + i * 128, 50, stack("worker"))
        trace.wait(i % 4 == 0)
    trace.flush()
    for i in range(10):
        one.alloc(HEAP + 2 * MIB + i * 128, 1000, stack("<module> main"))
    one.flush()
    return trace.writer


def cut():
    """The collector died: no trailer, and events beyond the last bound."""
    return beyond_its_bounds().cut()


def snapshot():
    """A copy of a capture that goes on, with an end: not all that is in it is of it."""
    writer = beyond_its_bounds()
    writer.summary(ended_ns=41_000_000, snapshot=1)
    return writer.finish()


def partial():
    """Blocks below 100 bytes were left out; of some the releases are there."""
    trace = Trace()
    trace.session("app.py", min_size=100)
    stack = script_stack(trace)
    process = trace.process(41, arguments=["python3", "app.py"], python_version="3.12.1")
    one = process.thread(41, "one", main=1)
    kept = [one.alloc(HEAP + i * 512, 100 + i, stack("<module> main")) for i in range(20)]
    trace.wait(3)
    one.free(HEAP + MIB)                                   # of a small one
    one.free(kept[0], REALLOC)                             # to a small one
    one.alloc(HEAP + 2 * MIB, 300, stack("<module> main", REALLOC))  # of a small one
    one.free(HEAP + MIB + 64, REALLOC)
    one.undo(HEAP + MIB + 64, 0, REALLOC)
    one.free(kept[1], REALLOC)
    one.undo(kept[1], 0, REALLOC)
    one.free(kept[2])
    process.end()
    return trace.finish()


def sampled():
    """One block in 4 KiB: what is there stands for more, but for large blocks and maps."""
    trace = Trace()
    trace.session("app.py", sample_bytes=4096, options=0b110001)
    stack = script_stack(trace)
    process = trace.process(43, arguments=["python3", "app.py"], python_version="3.12.1")
    one, two = process.thread(43, "one", main=1), process.thread(44, "two")
    kept = [one.alloc(HEAP + i * 8192, 64 << i % 7, stack("<module> main")) for i in range(60)]
    trace.wait(3)
    for address in kept[::3]:
        two.free(address)
    two.alloc(HEAP + MIB, 100_000, stack("worker"))
    one.free(kept[1], REALLOC)                               # to one that is not in the sample
    one.alloc(HEAP + 2 * MIB, 300, stack("<module> main", REALLOC))  # of one that is not
    one.map(RANGES, 8192, stack("<module> main", MMAP))
    trace.wait(5)
    process.end()
    return trace.finish()


def degraded():
    """All blocks, then one in 256 bytes, then one in 4 KiB: each block says with which chance."""
    trace = Trace()
    trace.session("app.py", max_file=4 << 20, max_overhead=50_000)
    stack = script_stack(trace)
    process = trace.process(43, arguments=["python3", "app.py"], python_version="3.12.1")
    one, two = process.thread(43, "one", main=1), process.thread(44, "two")
    places = iter(range(HEAP, HEAP + MIB, 8192))
    kept = [one.alloc(next(places), 64 << i % 7, stack("<module> main")) for i in range(20)]
    one.alloc(HEAP + 2 * MIB, 300, stack("<module> main", REALLOC))
    one.free(HEAP + 2 * MIB, REALLOC)                        # to one that is not recorded
    trace.wait(3)
    trace.writer.sampling(trace.now_ns(), 3, 1)
    kept += [one.alloc(next(places), 16 << i % 4, stack("<module> main", map_class=fmt.LEVELS + 3))
             for i in range(20)]
    trace.wait(3)
    trace.writer.sampling(trace.now_ns(), 7, 2)
    kept += [two.alloc(next(places), 64 << i % 6, stack("worker", map_class=fmt.LEVELS + 7)) for i in range(20)]
    kept += [one.alloc(next(places), 16 << i % 4, stack("<module> main", map_class=fmt.LEVELS + 3 + i % 2 * 4))
             for i in range(20)]
    for address in kept[::3]:
        two.free(address)
    one.free(HEAP + 3 * MIB)                                 # passed over, and forgotten
    two.alloc(HEAP + MIB, 100_000, stack("worker"))
    one.map(RANGES, 8192, stack("<module> main", MMAP))
    trace.wait(5)
    process.end()
    return trace.finish()


def storm(seed=1, steps=2000, threads=4, forks=2, bound_steps=0, places=300, levels=(), **session):
    """Random threads, blocks, ranges, forks: whatever may happen, happens. Also for fuzzing.
    bound_steps: so often all is written with its bounds, as a collector does; 0: at the end.
    places: addresses that blocks may have. levels: that some of them are picked at. session: what else
    the session says."""
    chance = random.Random(seed)
    trace = Trace(fmt.CaptureWriter(coder=1 + seed % 3), chance.choice([2, 16, 200]))
    trace.session("storm", str(seed), **session)
    stacks = [trace.stack(trace.node((trace.code("s.py", f"f{i}", 1), 2 * i)), a, c)
              for i in range(6) for a, c in [(MALLOC, 0), (REALLOC, 0), (MMAP, 0), (MMAP, 1),
                                             (MMAP, 2), (MREMAP, 0)]
              + [(a, fmt.LEVELS + level) for a in (MALLOC, REALLOC) for level in levels]]
    of = {a: [s for s, key in zip(stacks, trace.stacks) if key[2] == a]
          for a in (MALLOC, REALLOC, MMAP, MREMAP)}
    processes = [trace.process(1, arguments=["storm"])]
    crews = {processes[0]: [processes[0].thread(10 + i, f"t{i}") for i in range(threads)]}
    live = {processes[0]: set()}
    fork_at = {steps * (i + 1) // (forks + 2) for i in range(forks)}
    sampling_at = {steps * (i + 1) // (len(levels) + 1): level for i, level in enumerate(levels)}
    for step in range(steps):
        if step in sampling_at:
            trace.writer.sampling(trace.now_ns(), sampling_at[step], 1 + step % 2)
        process = chance.choice(processes)
        thread = chance.choice(crews[process])
        storm_step(chance, thread, of, live[process], places)
        if bound_steps and step % bound_steps == bound_steps - 1:
            trace.flush()
        if step in fork_at:
            trace.wait(1)
            child = trace.process(100 + step, parent=process, how=FORK)
            processes.append(child)
            crews[child] = [child.thread(1000 + step + i) for i in range(2)]
            live[child] = set(live[process])
            trace.wait(1)
        if chance.random() < 0.03:
            trace.wait(chance.randrange(1, 30))
        if chance.random() < 0.02:
            trace.writer.rss(process.number, trace.now_ns(), chance.randrange(1, 9) * MIB)
        if len(processes) > 1 and chance.random() < 0.001:
            ended = processes.pop()
            ended.end()
            trace.wait(2)
    if chance.random() < 0.7:
        return trace.finish()
    trace.flush()
    return trace.writer.cut()


def storm_step(chance, thread, of, live, places):
    """One thing that one thread does."""
    what = chance.random()
    block = HEAP + chance.randrange(places) * 16
    size = chance.choice([0, 1, 24, 100, 5000, 5 * GIB])
    page = RANGES + chance.randrange(60) * 4096
    length = chance.randrange(1, 20) * 4096
    domain = chance.choice([0, 0, 0, 1, 3])
    if what < 0.35:
        if (domain, block) not in live or chance.random() < 0.05:
            live.add((domain, thread.alloc(block, size, chance.choice(of[MALLOC]), domain)))
    elif what < 0.6:
        if live and chance.random() < 0.97:
            domain, block = chance.choice(sorted(live))
            live.discard((domain, block))
        thread.free(block, FREE, domain)
    elif what < 0.75:
        if live:
            domain, block = chance.choice(sorted(live))
        allocator = REALLOC if domain == 0 else 32 + 4 * (domain - 1) + 2
        thread.free(block, allocator, domain)
        ending = chance.random()
        if ending < 0.2:
            thread.undo(block, 0, allocator, domain)
        elif ending < 0.9:
            live.discard((domain, block))
            block += chance.choice([0, 16, 32])
            live.add((domain, thread.alloc(block, size, chance.choice(of[REALLOC]), domain)))
        else:
            live.discard((domain, block))
    elif what < 0.85:
        thread.map(page, length, chance.choice(of[MMAP]))
    elif what < 0.95:
        allocator = chance.choice([18, 18, MREMAP, MMAP])
        thread.unmap(page, length, allocator)
        if chance.random() < 0.3:
            thread.undo(page, length, allocator, MAPS)
        elif allocator == MREMAP:
            thread.map(page + 4096, length, chance.choice(of[MREMAP]))
    elif what < 0.98:
        thread.protect(page, length, chance.choice([0, 1, 2]))
    else:
        chance.choice([lambda: thread.fail(size, of[MALLOC][0]), lambda: thread.lost(2)])()


def words():
    """What programs say themselves: marks, phases inside and across each other, pools."""
    trace = Trace()
    trace.session("server.py")
    stack = script_stack(trace)
    process = trace.process(60, arguments=["python3", "server.py"], python_version="3.12.1")
    main, other = process.thread(60, "python3", main=1), process.thread(61, "worker")
    where = stack("<module> main")
    main.say(fmt.MARK, "ready", stack=where)
    main.say(fmt.PHASE, "load", 1, stack=where)
    base = main.map(RANGES, MIB, stack("<module> main load", MMAP))
    for i in range(16):
        main.pool_alloc("nodes", base + i * 256, 200 + i, trace.node())
    trace.wait(3)
    main.say(fmt.PHASE, "load: parse", 2, stack=where)
    big = main.alloc(HEAP, 2 * MIB, stack("<module> main parse"))
    other.say(fmt.PHASE, "request", 3)
    main.free(big)
    main.say(fmt.PHASE_END, number=2)
    trace.wait(2)
    for i in range(0, 16, 3):
        other.pool_free("nodes", base + i * 256)
    other.pool_free("nodes", base + 13 * 4096)          # nobody's
    other.pool_alloc("odd\tname; \U0001F40D", base + 500_000, 5 * GIB)
    main.say(fmt.PHASE_END, number=1)
    other.say(fmt.PHASE_END, number=3)
    other.say(fmt.PHASE_END, number=77)                 # begun before recording was
    for i in range(4):
        main.say(fmt.PHASE, "request", 4 + i, stack=where)
        main.free(main.alloc(HEAP + 64, 1000 * (1 + i), stack("<module> main")))
        trace.wait(1)
        main.say(fmt.PHASE_END, number=4 + i, stack=where)
    main.say(99, "of a later version", 5)
    main.say(fmt.PHASE, "never ends", 9)
    trace.wait(1)
    main.life(4)
    child = trace.process(62, parent=process, how=FORK, arguments=["python3", "server.py"])
    kid = child.thread(62, "python3", main=1)
    kid.say(fmt.MARK, "ready")                          # the same name, another process
    kid.say(fmt.PHASE, "child", 9)
    kid.pool_free("nodes", base + 256)                  # its parent's
    kid.pool_alloc("nodes", base + 512, 64)
    kid.alloc(HEAP + MIB, 3 * MIB, stack("worker"))
    trace.wait(2)
    child.end(END_SIGNAL, 15)
    main.say(fmt.MARK, "", stack=where)                 # a name that is empty
    trace.wait(1)
    process.end()
    return trace.finish()


def silence():
    """Recording that began late, was paused, and ended before the program did."""
    trace = Trace()
    trace.session("server")
    stack = script_stack(trace)
    trace.writer.state(0, 0, 1)
    process = trace.process(80, arguments=["server"])
    trace.wait(4)
    trace.writer.state(trace.now_ns(), 1, 4)
    main = process.thread(80, "server", main=1)
    main.free(HEAP + 64)                                # of before the beginning
    for i in range(6):
        main.alloc(HEAP + 4096 * i, 1000 + i, stack("<module> main"))
    trace.wait(2)
    trace.writer.state(trace.now_ns(), 2, 4)
    trace.writer.said(trace.now_ns(), 1, "paused")
    trace.writer.said(trace.now_ns() + 5, 0, "of nobody")
    trace.wait(3)
    trace.writer.state(trace.now_ns(), 1, 4)
    main.say(fmt.MARK, "again")
    trace.writer.said(trace.now_ns(), 1, "and goes on")
    main.alloc(HEAP, 500, stack("<module> main load"))  # that was live is gone
    main.free(HEAP + 9 * 4096)
    main.alloc(HEAP, 501, stack("<module> main load"))  # but not so soon: a violation
    trace.wait(2)
    trace.writer.state(trace.now_ns(), 3, 3)
    return trace.finish()


def limits():
    """Limits that come, change and go, what counts against them, and allocations that fail."""
    trace = Trace()
    trace.session("job.py")
    stack = script_stack(trace)
    writer = trace.writer
    process = trace.process(80, arguments=["python3", "job.py"], python_version="3.12.1")
    main, other = process.thread(80, "python3", main=1), process.thread(81, "worker")
    app, job, old = map(writer.cgroup, ("/app", "/app/job", "/"))
    writer.limit(0, 10, MACHINE, 16 * GIB)
    writer.limit(0, 10, SWAP, 2 * GIB)
    writer.limit(1, 20, CGROUP_MAX, 512 * MIB, app)
    writer.limit(1, 20, CGROUP_HIGH, 400 * MIB, job)
    writer.limit(1, 20, 77, 5)                          # of a later version
    writer.use(77, 1, 20, 5)
    writer.use(USE_CGROUP, app, 30, 100 * MIB)
    main.alloc(HEAP, 40 * MIB, stack("<module> main load"))
    writer.rss(1, trace.now_ns(), 60 * MIB)
    trace.wait(3)
    writer.limit(1, trace.now_ns(), ADDRESS_SPACE, GIB)
    writer.use(USE_ADDRESS_SPACE, 1, trace.now_ns(), 300 * MIB)
    writer.use(USE_CGROUP, app, trace.now_ns(), 331 * MIB)
    main.fail(2 * GIB, stack("<module> main load"))
    for i in range(3):
        main.fail((3 + i) * GIB, stack("<module> main parse", CALLOC))
        trace.wait(1)
    other.fail(2**64 - 1, stack("worker", MMAP, 0))
    writer.use(USE_ADDRESS_SPACE, 1, trace.now_ns(), 900 * MIB)
    writer.use(USE_CGROUP, app, trace.now_ns(), 200 * MIB)
    trace.wait(2)
    writer.use(USE_ADDRESS_SPACE, 1, trace.now_ns(), 200 * MIB)
    writer.limit(1, trace.now_ns(), ADDRESS_SPACE, 500 * MIB)      # 300 MiB left: no nearer
    main.alloc(HEAP + GIB, 10 * MIB, stack("<module> main load"))
    main.life(4)
    child = trace.process(82, parent=process, how=FORK, arguments=["python3", "job.py"])
    kid = child.thread(82, "python3", main=1)
    writer.limit(2, trace.now_ns(), CGROUP_V1, 64 * MIB, old)
    writer.limit(2, trace.now_ns(), DATA, 800 * MIB)
    writer.use(USE_DATA, 2, trace.now_ns(), 30 * MIB)
    writer.use(USE_SWAP, 2, trace.now_ns(), 5 * MIB)
    writer.rss(2, trace.now_ns(), 70 * MIB)                        # above its limit
    kid.fail(70 * MIB, stack("worker"))
    trace.wait(1)
    writer.limit(1, trace.now_ns(), ADDRESS_SPACE)
    writer.limit(1, trace.now_ns(), CGROUP_HIGH)
    writer.rss(1, trace.now_ns(), 500 * MIB)                       # high is no more
    writer.limit(1, trace.now_ns(), ADDRESS_SPACE, 100 * MIB)      # how much is used is not known
    child.end()
    trace.wait(2)
    process.end()
    return trace.finish()


def stored():
    """Marks, phases, pools, and the model of it all: in two sections."""
    data = words()
    capture = fmt.read_capture(data)
    model = capture_stored.write_model(capture, capture_model.build(capture), has_counts=False)
    return capture_stored.with_model(data, [model[:1000], model[1000:]])


CAPTURES = {make.__name__: make for make in
            (empty, script, planes, compact, ranges, family, strange, vector, cut, partial, words,
             silence, sampled, degraded, limits, stored, native_captures.native, native_captures.compiled,
             native_captures.bundled)}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "data")
    os.makedirs(folder, exist_ok=True)
    for name, make in CAPTURES.items():
        with open(os.path.join(folder, name + ".bin"), "wb") as file:
            file.write(make())


if __name__ == "__main__":
    main()
