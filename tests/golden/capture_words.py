"""What programs say themselves: marks, phases and how high the heap was in each, pools."""

from collections import Counter, defaultdict

import capture_format as fmt


class Words:
    """A part of the model, which knows the time (now) and the heap."""

    now = heap = 0
    capture = None

    def __init__(self, process):
        self.of_process = process
        self.marks, self.phases, self.open_phases = [], [], {}
        self.pool_blocks, self.pools = {}, defaultdict(Counter)

    def take_mark(self, event):
        name = self.capture.mark_names.get(event.address, "")
        said = [self.now, name, event.process, event.stream]
        if event.life == fmt.MARK:
            self.marks.append(said)
        elif event.life == fmt.PHASE:
            phase = [*said, None, self.heap, False]
            self.phases.append(phase)
            before = self.open_phases.get((event.process, event.bytes))
            if before:
                before[4] = self.now
            self.open_phases[event.process, event.bytes] = phase
        elif event.life == fmt.PHASE_END:
            phase = self.open_phases.pop((event.process, event.bytes), None)
            if phase:
                phase[4], phase[6] = self.now, True

    def take_pool(self, event):
        key = event.process, event.address
        size, pool = self.pool_blocks.pop(key, (0, None))
        if pool is not None:
            self.pools[pool]["live"] -= size
            self.pools[pool]["frees"] += event.op == fmt.FREE
        if event.op == fmt.ALLOC:
            pool = self.capture.stacks[event.stack][2]
            self.pool_blocks[key] = event.bytes, pool
            sums = self.pools[pool]
            sums["allocations"] += 1
            sums["bytes"] += event.bytes
            sums["live"] += event.bytes
            sums["peak"] = max(sums["peak"], sums["live"])

    def end_words(self, number=None, time_ns=None):
        """A process ends, or all do."""
        for key in [k for k in self.open_phases if number in (None, k[0])]:
            self.open_phases.pop(key)[4] = time_ns
        for key in [k for k in self.pool_blocks if number in (None, k[0])]:
            size, pool = self.pool_blocks.pop(key)
            self.pools[pool]["live"] -= size
            self.pools[pool]["leaked"] += size
            self.pools[pool]["leaks"] += 1

    def words(self):
        """As the programs say it."""
        outside = [[at, text, number, 0] for at, number, text in self.capture.said
                   if self.of_process in (0, number)]
        self.marks = sorted(self.marks + outside, key=lambda mark: mark[0])
        counts = "allocations", "frees", "bytes", "peak", "leaked", "leaks"
        return {
            "marks": self.marks,
            "phases": [[f, t, name, peak, number, stream, ended]
                       for f, name, number, stream, t, peak, ended in self.phases],
            "pools": [[a, *(self.pools[a][k] for k in counts)]
                      for a in sorted(self.pools) if self.pools[a]["allocations"]],
        }
