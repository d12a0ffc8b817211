"""A random program of which most happens below its peak."""
import random

import capture_format as fmt
from captures import HEAP, MIB, storm_step
from capture_trace import FORK, MALLOC, MMAP, MREMAP, REALLOC, Trace


def calm(seed=1, turns=120, threads=3, forks=0):
    """Threads that work for a while each, blocks that mostly die young, and a heap that stays below
    a peak of its beginning, passes a lower one now and then, and at last that one."""
    chance = random.Random(seed)
    trace = Trace(fmt.CaptureWriter(coder=1 + seed % 3), chance.choice([16, 200, 3000]))
    trace.session("calm", str(seed))
    stacks = [trace.stack(trace.node((trace.code("c.py", f"f{i}", 1), 2 * i)), a)
              for i in range(6) for a in (MALLOC, REALLOC)]
    of = {MALLOC: stacks[::2], REALLOC: stacks[1::2]}
    crews = [[trace.process(1, arguments=["calm"])]]
    crews[0] += [crews[0][0].thread(10 + i, f"t{i}") for i in range(threads)]
    live = {0: set()}
    first = crews[0][1]
    first.free(first.alloc(HEAP - 64 * MIB, chance.choice([10_000, 300_000, 40 * MIB]),
                           stacks[0]))
    for turn in range(turns):
        which = chance.randrange(len(crews))
        calm_turn(chance, chance.choice(crews[which][1:]), of, live[which])
        if chance.random() < 0.2:
            trace.wait(chance.randrange(1, 30))
        if forks > 0 and turn % (turns // (forks + 1)) == turns // (forks + 1) - 1:
            trace.wait(chance.randrange(2))
            child = trace.process(100 + turn, parent=crews[which][0], how=FORK)
            crews.append([child, child.thread(1000 + turn)])
            live[len(crews) - 1] = set(live[which])
            trace.wait(chance.randrange(2))
        if len(crews) > 2 and chance.random() < 0.02:
            crews.pop()[0].end()
            trace.wait(2)
    return trace.finish()


def calm_turn(chance, thread, of, live):
    """What one thread does before another one does anything."""
    if chance.random() < 0.1:
        thread.say(chance.choice([fmt.PHASE, fmt.PHASE_END]), "turn", chance.randrange(1, 4))
    for _ in range(chance.choice([1, 5, 50, 200])):
        what = chance.random()
        size = chance.choice([0, 1, 24, 100, 100, 5000])
        if what < 0.45 or not live:
            block = HEAP + chance.randrange(400) * 4112
            if block not in live or chance.random() < 0.01:
                live.add(thread.alloc(block, size, chance.choice(of[MALLOC])))
        elif what < 0.9:
            block = chance.choice(sorted(live))
            live.discard(block)
            thread.free(block)
        elif what < 0.98:
            block = chance.choice(sorted(live))
            thread.free(block, REALLOC)
            if chance.random() < 0.2:
                thread.undo(block, 0, REALLOC, 0)
            else:
                live.discard(block)
                live.add(thread.alloc(block + chance.choice([0, 16]), size,
                                      chance.choice(of[REALLOC])))
                if chance.random() < 0.1:   # taken back late, after what came of it
                    thread.undo(block, 0, REALLOC, 0)
        elif what < 0.985:
            storm_step(chance, thread, of | {MMAP: of[MALLOC], MREMAP: of[MALLOC]}, set(), 400)
        else:
            thread.free(HEAP + chance.randrange(400) * 4112)
