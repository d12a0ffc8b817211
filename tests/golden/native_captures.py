"""Captures with native stacks. Their modules are nowhere, so their frames have no names but where they lie."""

import capture_format as fmt
from capture_native import EVAL, EXACT, FILE, GAVE_UP, JIT, TRUNCATED, VDSO
from capture_trace import CALLOC, MALLOC, MMAP, Trace

KIB, MIB = 1 << 10, 1 << 20
HEAP = 0x5555_5555_0000
NATIVE_STACKS = 0b10011  # an option
PYTHON, LIBC, LIBPYTHON, EXTENSION, KERNEL, MADE = range(1, 7)


class NativeTrace(Trace):
    """A trace whose stacks are of both kinds."""

    def __init__(self):
        super().__init__(fmt.CaptureWriter(minor=4))
        self.native_nodes = {}

    def native(self, *frames):
        """The node of a native stack: frames of (module, offset[, flags]), outermost first."""
        node = 0
        for frame in frames:
            if (node, frame) not in self.native_nodes:
                self.native_nodes[node, frame] = self.writer.native_node(node, *frame)
            node = self.native_nodes[node, frame]
        return node

    def python(self, *groups):
        """The node of a Python stack: groups of frames, outermost first; each enters the interpreter."""
        node = 0
        for group in groups:
            for depth, (code, offset) in enumerate(group):
                key = node, code, offset, depth == 0
                if key not in self.nodes:
                    self.nodes[key] = self.writer.node(node, code, offset, entry=depth == 0)
                node = self.nodes[key]
        return node


def modules(trace):
    def file(path, **fields):
        trace.writer.module(kind=FILE, path=path, extent_bytes=MIB, file_bytes=900 * KIB,
                            changed_ns=1_600_000_000_000_000_000, **fields)
    file("/nowhere/bin/python3.13", build_id=b"\x01" * 20)
    file("/nowhere/lib/libc.so.6", build_id=b"\x02" * 20)
    file("/nowhere/lib/libpython3.13.so.1.0", build_id=b"\x00\x03" * 10)
    file("/home/user/fast.cpython-313-x86_64-linux-gnu.so")
    trace.writer.module(kind=VDSO, extent_bytes=8 * KIB)
    trace.writer.module(kind=JIT, process=1)


# The outermost frames of the main thread and of others.
START = [(PYTHON, 0x10a5), (LIBC, 0x27249), (LIBC, 0x27304), (PYTHON, 0x1139)]
THREAD = [(LIBC, 0x1075dc), (LIBC, 0x89134)]
LOOP = (LIBPYTHON, 0x1b2c30, EVAL)
INTO = [(LIBPYTHON, 0x2f0010), (LIBPYTHON, 0x2e1120), LOOP]  # from main() to the evaluation loop
CALL = (LIBPYTHON, 0x17f3a4)  # from the loop to a function in C
LEAF = [(LIBPYTHON, 0x180000), (LIBPYTHON, 0x19eeee)]  # from the loop to malloc


def native():
    """A Python program with an extension that calls it back, threads of its own, and what is rare."""
    trace = NativeTrace()
    trace.session("app.py", options=NATIVE_STACKS)
    process = trace.process(900, arguments=["python3", "app.py"], executable="/nowhere/bin/python3.13",
                            python_version="3.13.0", counter_7=12)
    modules(trace)
    main = process.thread(900, "python3", main=1)
    file = "/home/user/app.py"
    run, load, key, items = [trace.code(file, name, line) for name, line in
                             [("<module>", 1), ("load", 10), ("key", 20), ("items", 30)]]
    shim = trace.code("<shim>", "<interpreter trampoline>", 1, hidden=True)
    top, inner = [(run, 8), (load, 10)], [(key, 12)]
    loop, extension = START + INTO, [CALL, (EXTENSION, 0x1a20)]
    again = [(EXTENSION, 0x1b00), (LIBPYTHON, 0x150000), LOOP]
    stacks = [
        (trace.python(top), loop + LEAF, 1000),                             # a line of Python allocates
        (trace.python(top), loop + extension, 20_000),                      # the extension does
        (trace.python(top, inner), loop + extension + again + LEAF, 3000),  # a function that it calls back
        (trace.python(top, inner), loop + extension + again + extension, 4000),
        (trace.python(top, [(items, 14)]), loop + [(LIBPYTHON, 0x16000)] + [LOOP] + LEAF, 500),  # a generator
        (trace.python([(run, 8)], inner, [(load, 12)]), [(0, TRUNCATED), LOOP] + extension, 600),
        (trace.python(top), [(0, GAVE_UP), (EXTENSION, 0x1c00)], 700),      # all of Python is outside
        (trace.python(inner), loop + extension + again + LEAF, 800),        # a loop whose group is not known
        (trace.node((0, 3)), loop + LEAF + [(EXTENSION, 0x2000, EXACT)], 900),  # a signal handler
        (trace.python(top), 0, 1100),
        (trace.python([(shim, 0)]), loop + LEAF, 1150),
        (0, START + [(LIBPYTHON, 0x2f0000)] + LEAF, 1200),                  # before any Python runs
        (0, THREAD + [(EXTENSION, 0x3000), (EXTENSION, 0x3100)], 50_000),
        (0, START[:1] + [(LIBC, 0x27500)], 1300),
        (0, loop + [(MADE, 0x7f00_0000_1000), (KERNEL, 0xa00, EXACT)], 1400),
        (0, 0, 1500),
    ]
    for i, (python, frames, size) in enumerate(stacks):
        node = trace.native(*frames) if frames else 0
        stack = trace.stack(python, [MALLOC, CALLOC, MMAP][i % 3 if i % 3 < 2 else 0], 0, node)
        main.alloc(HEAP + i * MIB, size, stack)
        trace.wait(i % 4 == 0)
    worker = process.thread(905)
    worker.map(HEAP << 4, 2 * MIB, trace.stack(0, MMAP, 0, trace.native(*THREAD, (EXTENSION, 0x3000))))
    main.free(HEAP)
    main.fail(1 << 40, trace.stack(trace.python(top), MALLOC, 0, trace.native(*loop, *extension)))
    trace.wait(3)
    process.end()
    return trace.finish()


NAMES = [
    (1, {0x107f: [("_start", "", 0, 0)], 0x11ff: [("main", "/home/user/solve.cc", 80, 5)],
         0x1fff: [("step(int)", "/home/user/solve.cc", 1, 1)], 0x200f: [("wrong", "wrong.cc", 1, 1)]}),
    (1, {0x1fff: [("Grid::at(int)", "/home/user/grid.h", 12, 20), ("step(int)", "/home/user/solve.cc", 41, 0)],
         0x200f: [("Grid::at(int)", "/home/user/grid.h", 12, 20), ("step(int)", "/home/user/solve.cc", 42, 0)],
         0x2fff: [("[unknown]", "/home/user/fast.s", 7, 0)]}),
    (3, {0xaffff: [("operator new(unsigned long)", "", 0, 0)]}),
]


def bundled():
    """The same with names of its own; of some addresses better ones later, of some none."""
    return compiled(NAMES)


def compiled(names=()):
    """A program in C++, without Python."""
    trace = NativeTrace()
    trace.session("./solve", options=NATIVE_STACKS)
    process = trace.process(910, arguments=["./solve"], executable="/nowhere/solve")
    for path in "/nowhere/solve", "/nowhere/lib/libc.so.6", "/nowhere/lib/libstdc++.so.6":
        trace.writer.module(kind=FILE, path=path, extent_bytes=MIB)
    start = [(1, 0x1080), (2, 0x27249), (2, 0x27304), (1, 0x1200)]
    thread = process.thread(910, "solve", main=1)
    for i in range(12):
        frames = start + [(1, 0x2000 + 16 * (i % 3))] * (1 + i % 4) + [(3, 0xb0000)]
        thread.alloc(HEAP + i * KIB, 100 + i, trace.stack(0, MALLOC, 0, trace.native(*frames)))
    thread.free(HEAP)
    other = process.thread(911)
    frames = [(2, 0x1075dc), (2, 0x89134), (3, 0xd4000), (1, 0x3000)]
    other.alloc(HEAP + MIB, 5000, trace.stack(0, CALLOC, 0, trace.native(*frames)))
    for module, places in names:
        trace.writer.symbols(module, places)
    trace.wait(1)
    process.end()
    return trace.finish()
