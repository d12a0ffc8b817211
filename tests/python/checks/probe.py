"""What a check script sees of the walker: stacks of the calling thread, by way of the probe.

The probe is preloaded (../walker_probe.c). A check script compares, counts with passed() and
failed(), and ends with finish(), which prints one line of JSON for the test that started it.
"""

import ctypes
import json
import os
import struct
import sys
import threading

import line_tables

held = ctypes.PyDLL(os.environ["MEMTRACK_PROBE"])  # calls with the GIL held
released = ctypes.CDLL(os.environ["MEMTRACK_PROBE"])  # ... and released
for library in held, released:
    library.probe_walk.restype = ctypes.c_void_p
    library.probe_number.restype = ctypes.c_uint64
    library.probe_time_ns.restype = ctypes.c_double

NUMBERS = ("faults", "ready", "walks_failed", "names_lost", "refused", "walks", "pushes",
           "same_walks", "line_walks", "moved_walks")
ROOM = 1 << 18
FRAME_ENTRY = 1 << 61
TRUNCATED = 1


class Code:
    """An announced code object."""

    def __init__(self, blob):
        (self.id, self.first_line, self.kind, flags, file_bytes, name_bytes, table_bytes) = (
            struct.unpack_from("<IiBBxxIII", blob))
        texts = blob[24:]
        assert len(texts) == file_bytes + name_bytes + table_bytes
        self.file = texts[:file_bytes].decode("utf-8", "surrogatepass")
        self.name = texts[file_bytes:file_bytes + name_bytes].decode("utf-8", "surrogatepass")
        self.table = texts[file_bytes + name_bytes:]
        self.is_hidden = bool(flags & 1)

    def line(self, offset):
        return line_tables.DECODERS[self.kind](self.table, self.first_line, offset)


class Frame:
    """A frame as the walker gave it out."""

    __slots__ = ("code", "offset", "is_entry")

    def __init__(self, word):
        code_id = word >> 30 & 0x7FFFFFFF
        self.code = code_of(code_id) if code_id else None
        self.offset = word & 0x3FFFFFFF
        if self.offset & 0x20000000:
            self.offset -= 0x40000000
        self.is_entry = bool(word & FRAME_ENTRY)

    def place(self):
        return (self.code.file, self.code.line(self.offset), self.code.name.rsplit(".", 1)[-1])


_codes = {}
_buffers = threading.local()


def code_of(code_id):
    if code_id not in _codes:
        count = held.probe_blob(code_id, None, 0)
        assert count, "code %d was not announced" % code_id
        blob = ctypes.create_string_buffer(count)
        held.probe_blob(code_id, blob, count)
        _codes[code_id] = Code(blob.raw)
    return _codes[code_id]


def forget_codes():
    """In a forked child: its ids are its own."""
    _codes.clear()


def taken():
    """The stack of this thread at its last walk, outermost first, as words."""
    if not hasattr(_buffers, "words"):
        _buffers.words = (ctypes.c_uint64 * 4096)()
    count = held.probe_take(_buffers.words, len(_buffers.words))
    if count > len(_buffers.words):
        _buffers.words = (ctypes.c_uint64 * ROOM)()
        count = held.probe_take(_buffers.words, ROOM)
    return _buffers.words[:count]


def blocks():
    """Live blocks of malloc: (address, size, the stack's inner end as words, outermost first)."""
    address, size, depth = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_uint32()
    words = (ctypes.c_uint64 * 48)()
    at = 0
    while True:
        at = held.probe_block(at, ctypes.byref(address), ctypes.byref(size), ctypes.byref(depth),
                              words)
        if at == 0:
            return
        yield address.value, size.value, words[:depth.value]


def frames(words):
    """Shown frames of a stack, innermost first."""
    return [frame for frame in map(Frame, reversed(words))
            if frame.code is None or not frame.code.is_hidden]


def number(name):
    return held.probe_number(NUMBERS.index(name))


count_passed = 0
failures = []
_lock = threading.Lock()


def passed():
    global count_passed
    with _lock:
        count_passed += 1


def failed(label, text):
    with _lock:
        failures.append("%s: %s" % (label, text))


def check(label, condition, text=""):
    passed() if condition else failed(label, text)


def finish(**more):
    """Print the result. No check may be lost: the test knows how many there have to be."""
    more.update({name: number(name) for name in NUMBERS})
    more.update(version=sys.version.split()[0], passed=count_passed, failed=len(failures),
                failures=failures[:5])
    print(json.dumps(more), flush=True)
    os._exit(1 if failures or number("faults") else 0)
