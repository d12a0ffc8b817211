"""Programs that never ran: what their threads would have recorded, written as a capture.

A Trace is told in the order in which things happen. It begins segments where a tracked program
would have to (another thread goes on, the tick changes), so the order of the capture inside a
process is the order of the telling.
"""

import struct

import capture_format as fmt

MALLOC, CALLOC, REALLOC, FREE, MMAP, MREMAP, MUNMAP, BRK, MPROTECT = 1, 2, 3, 10, 16, 17, 18, 19, 20
START, FORK, EXEC, ATTACH = range(4)
END_CODE, END_SIGNAL, END_EXEC, END_UNKNOWN = 1, 2, 3, 4
WHY_PAGE, WHY_EPOCH, WHY_SECTION, WHY_MARK = 2, 3, 8, 9
TICK_NS = 1_000_000
MAPS = 4


def _location_varint(value):
    out = bytearray()
    while value >= 64:
        out.append(value & 63 | 64)
        value >>= 6
    out.append(value)
    return bytes(out)


def location_table(first_line, entries):
    """A line table of CPython 3.11: entries of (code units 1-8, line, columns or None)."""
    out = bytearray()
    before = first_line
    for units, line, columns in entries:
        delta = line - before
        signed = _location_varint(-delta << 1 | 1 if delta < 0 else delta << 1)
        if columns is None:
            out += bytes([0x80 | 13 << 3 | units - 1]) + signed
        else:
            out += bytes([0x80 | 14 << 3 | units - 1]) + signed + _location_varint(0)
            out += _location_varint(columns[0] + 1) + _location_varint(columns[1] + 1)
        before = line
    return bytes(out)


def pairs_table(entries):
    """A line table of CPython 3.10: entries of (bytes, line delta or None for no line)."""
    return b"".join(struct.pack("Bb", size, -128 if delta is None else delta)
                    for size, delta in entries)


class Trace:
    """A session: its processes, its clock, and the capture it makes."""

    def __init__(self, writer=None, section_records=64):
        self.writer = writer or fmt.CaptureWriter()
        self.section_records = section_records
        self.processes = []
        self.stream_count = 0
        self.tick = 1
        self.used_ticks = set()
        self.nodes = {}
        self.stacks = {}
        self.codes = {}

    def session(self, *arguments, **fields):
        self.writer.session(**{
            "version": "0.1.0", "host": "golden", "machine": "x86_64", "page_bytes": 4096,
            "tick_period_us": 1000, "realtime_ns": 1_700_000_000_000_000_000,
            "monotonic_ns": 5_000_000_000, "boottime_ns": 5_000_000_000, "options": 0b10001,
            "arguments": list(arguments), "directory": "/home/user", **fields})

    def now_ns(self):
        return self.tick * TICK_NS

    def wait(self, milliseconds):
        self.tick += milliseconds

    def process(self, pid, *, parent=None, how=START, **fields):
        process = Process(self, len(self.processes) + 1, pid, parent, how, fields)
        self.processes.append(process)
        return process

    def code(self, file, name, first_line, **options):
        key = file, name, first_line
        if key not in self.codes:
            table = options.pop("table", None)
            if table is None:
                table = location_table(first_line, [(1, first_line + i, (4, 20)) for i in range(64)])
            self.codes[key] = self.writer.code(file, name, first_line, table, **options)
        return self.codes[key]

    def node(self, *frames):
        """The node of a Python stack: frames of (code number, instruction offset), outermost
        first; its first frame enters the interpreter."""
        node = 0
        for depth, (code, offset) in enumerate(frames):
            key = node, code, offset
            if key not in self.nodes:
                self.nodes[key] = self.writer.node(node, code, offset, entry=depth == 0)
            node = self.nodes[key]
        return node

    def stack(self, node, allocator, map_class=0, native_node=0):
        key = node, native_node, allocator, map_class
        if key not in self.stacks:
            self.stacks[key] = self.writer.stack(*key)
        return self.stacks[key]

    def flush(self):
        """Write all that was told so far; every process is complete up to its last segment."""
        for process in self.processes:
            for thread in process.threads:
                thread.flush()
        if self.used_ticks:
            first = min(self.used_ticks)
            self.writer.ticks(first, [t * TICK_NS for t in range(first, max(self.used_ticks) + 1)])
            self.used_ticks = set()
        for process in self.processes:
            self.writer.bound(process.number, process.segment)
            process.current = None  # what comes now is beyond the bound

    def finish(self, most_entries=fmt.DIRECTORY_MAX_ENTRIES, **summary):
        self.flush()
        self.writer.summary(**{"cpu_ns": 1_000_000, "ended_ns": self.now_ns(), "reason": "",
                               **summary})
        return self.writer.finish(most_entries)


class Process:
    """A process; its segments are numbered as they begin."""

    def __init__(self, trace, number, pid, parent, how, fields):
        self.trace = trace
        self.number = number
        self.threads = []
        self.current = None
        self.segment = parent.begin_fork() if how == FORK else 0
        self.fields = {
            "pid": pid, "inner_pid": pid, "parent": parent.number if parent else 0, "how": how,
            "first_segment": self.segment + 1 if how == FORK else 0,
            "started_ns": trace.now_ns(), "tracked": 1, **fields}
        trace.writer.process(number, **self.fields)

    def begin_fork(self):
        """What the fork-prepare hook does: later events of the parent are in later segments."""
        self.current = None
        return self.segment

    def thread(self, tid, name="", **fields):
        self.trace.stream_count += 1
        thread = Thread(self, self.trace.stream_count)
        self.threads.append(thread)
        self.trace.writer.thread(thread.stream, process=self.number, tid=tid, name=name, **fields)
        return thread

    def end(self, end=END_CODE, code=0, **fields):
        for thread in self.threads:
            thread.flush()
        self.trace.writer.process(self.number, ended_ns=self.trace.now_ns(), end=end,
                                  end_code=code, **fields)


class Thread:
    """A stream. Each method records one thing that happened."""

    def __init__(self, process, stream):
        self.process = process
        self.stream = stream
        self.segment = 0
        self.tick = 0
        self.section_segment = 0
        self.buffer = bytearray()

    def sync(self, why):
        """Begin a segment."""
        process = self.process
        process.segment += 1
        process.current = self
        self.segment = process.segment
        self.tick = process.trace.tick
        process.trace.used_ticks.add(self.tick)
        self._write(fmt.event(fmt.SYNC, self.segment, w1=self.tick | why << 32))

    def _write(self, data):
        if not self.buffer:
            self.section_segment = self.segment
            if fmt.SYNC != struct.unpack_from("<Q", data)[0] >> 60:
                self.buffer += fmt.event(fmt.SYNC, self.segment, w1=self.tick | WHY_SECTION << 32)
        self.buffer += data
        if len(self.buffer) >= 16 * self.process.trace.section_records:
            self.flush()

    def record(self, data):
        """Write an event, in a segment of its own where the order needs one."""
        if self.process.current is not self:
            self.sync(WHY_PAGE)
        elif self.tick != self.process.trace.tick:
            self.sync(WHY_EPOCH)
        self._write(data)

    def flush(self):
        if self.buffer:
            self.process.trace.writer.events(self.process.number, self.stream,
                                             self.section_segment, bytes(self.buffer))
            self.buffer = bytearray()

    def alloc(self, address, size, stack, domain=0):
        self.record(fmt.sized_event(fmt.ALLOC, address, size, domain=domain, stack=stack))
        return address

    def free(self, address, allocator=FREE, domain=0):
        self.record(fmt.event(fmt.FREE, address, domain=domain, w1=allocator))

    def realloc(self, old, new, size, stack):
        self.free(old, REALLOC)
        return self.alloc(new, size, stack)

    def map(self, address, size, stack):
        self.record(fmt.sized_event(fmt.MAP, address, size, domain=MAPS, stack=stack))
        return address

    def unmap(self, address, size, allocator=MUNMAP):
        self.record(fmt.sized_event(fmt.UNMAP, address, size, domain=MAPS, allocator=allocator))

    def protect(self, address, size, map_class):
        self.record(fmt.sized_event(fmt.PROTECT, address, size, domain=MAPS, allocator=map_class))

    def undo(self, address, size=0, allocator=MUNMAP, domain=MAPS):
        self.record(fmt.sized_event(fmt.UNDO, address, size, domain=domain, allocator=allocator))

    def fail(self, size, stack):
        self.record(fmt.sized_event(fmt.FAIL, 0, size, stack=stack))

    def lost(self, count):
        self.record(fmt.event(fmt.NOTE, fmt.NOTE_LOST, w1=count))

    def life(self, life, code=0):
        self.record(fmt.event(fmt.NOTE, fmt.NOTE_LIFE | life << 16, w1=code))

    def say(self, kind, name="", number=0, stack=0):
        """A mark, or the beginning or end of a phase."""
        named = self.process.trace.writer.name(fmt.NAME_MARK, name) if name else 0
        self.sync(WHY_MARK)
        self._write(fmt.event(fmt.NOTE, fmt.NOTE_MARK | kind << 16 | named << 24,
                              w1=number | stack << 32))

    def pool_alloc(self, pool, address, size, node=0):
        trace = self.process.trace
        allocator = trace.writer.name(fmt.NAME_POOL, pool)
        return self.alloc(address, size, trace.stack(node, allocator), fmt.POOLS)

    def pool_free(self, pool, address):
        self.free(address, self.process.trace.writer.name(fmt.NAME_POOL, pool), fmt.POOLS)
