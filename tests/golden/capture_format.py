"""The capture file, read and written from docs/format.md alone.

This is the second implementation: it shares no code and no header with the programs, so that a
mistake in either shows. It is written to be read beside the specification, not to be fast. What is
in the file comes out as plain Python values; what it means is capture_model.py's business.
"""

import struct
from dataclasses import dataclass, field

import lz4.block
import xxhash

import capture_compact
from capture_basics import (ADDRESS_MASK, ALLOC, FAIL, FREE, MAP, NOTE, NOTE_CLOCK, NOTE_LIFE,
                            NOTE_LOST, NOTE_MARK, PROTECT, SYNC, U32, UNDO, UNMAP, WIDE, Cursor, fold, unfold,
                            varint)
from capture_estimate import LEVELS
from capture_native import (MODULE, NATIVE_NODES, SYMBOLS, encode_module, encode_native_node,
                            encode_symbols, read_native)

SUPERBLOCK_MAGIC = b"\x89MTK\r\n\x1a\n"
TRAILER_MAGIC = b"MTKEND\r\n"
SUPERBLOCK_BYTES = 64
HEADER_BYTES = 56
EVENT_BYTES = 16
MAX_RAW_BYTES = 1 << 24
DIRECTORY_MAX_ENTRIES = MAX_RAW_BYTES // 24

EVENTS, RECORDS, DIRECTORY, MODEL = 1, 2, 3, 4
FLAG_LZ4 = 1

SESSION, PROCESS, THREAD, CODE, NODES, STACKS, TICKS, RSS, BOUND, SUMMARY, NAME, STATE, SAID = range(1, 14)
LIMIT, USE, CGROUP, SAMPLING = range(14, 18)

MARK, PHASE, PHASE_END = 0, 3, 4
NAME_MARK, NAME_POOL = 2, 3
FIRST_POOL = 128
CAUSE_LAST = 8  # of a state: the capture was cut
POOLS = 6  # the domain

SESSION_FIELDS = {
    1: "version", 2: "host", 3: "machine", 4: "page_bytes", 5: "tick_period_us", 6: "realtime_ns",
    7: "monotonic_ns", 8: "boottime_ns", 9: "options", 10: "arguments", 11: "directory",
    12: "min_size", 13: "sample_bytes", 14: "max_file", 15: "max_overhead",
}
PROCESS_FIELDS = {
    1: "number", 2: "pid", 3: "inner_pid", 4: "parent", 5: "how", 6: "first_segment",
    7: "started_ns", 8: "ended_ns", 9: "end", 10: "end_code", 11: "arguments", 12: "executable",
    13: "python_version", 14: "free_threaded", 15: "tracked",
    16: "python_allocators", 17: "python_allocator",
    **{32 + i: f"counter_{i}" for i in range(16)},
}
THREAD_FIELDS = {
    1: "stream", 2: "process", 3: "tid", 4: "name", 5: "lost", 6: "repaired", 7: "main",
}
SUMMARY_FIELDS = {
    1: "cpu_ns", 2: "ended_ns", 3: "events", 4: "slots", 5: "lost", 6: "holes", 7: "faults",
    8: "raw_bytes", 9: "rss_bytes", 10: "reason", 11: "snapshot", 12: "failures",
    13: "model_cpu_ns",
}
TEXTS = {"version", "host", "machine", "directory", "executable", "python_version", "python_allocator", "name",
         "reason"}
LISTS = {"arguments", "failures"}  # of texts

class FormatError(Exception):
    """The first byte that is not right, and why."""

    def __init__(self, offset, what):
        super().__init__(f"{what} at offset {offset}")
        self.offset = offset
        self.what = what


def checksum(data):
    return xxhash.xxh3_64_intdigest(data)


def text_bytes(text):
    return text.encode("utf-8", "surrogatepass")


def bytes_text(data):
    return bytes(data).decode("utf-8", "surrogatepass")


def encode_fields(names, values):
    """The fields of a record; a list makes a field for each of its values, in order."""
    numbers = {name: number for number, name in names.items()}
    out = bytearray()
    for name, value in values.items():
        for item in value if isinstance(value, (list, tuple)) else [value]:
            body = text_bytes(item) if isinstance(item, str) else varint(int(item))
            out += varint(numbers[name]) + varint(len(body)) + body
    return bytes(out)


def decode_fields(names, data):
    cursor = Cursor(data)
    out = {}
    while cursor.left():
        number = cursor.varint()
        body = cursor.blob()
        name = names.get(number)
        if name is None:
            continue
        if name in LISTS:
            out.setdefault(name, []).append(bytes_text(body))
        elif name in TEXTS:
            out[name] = bytes_text(body)
        else:
            out[name] = Cursor(body).varint()
    return out


def section(kind, payload, *, records=0, pack=True, stream=0, process=0, segment=0, coder=0,
            flags=0):
    """A section as it stands in the file."""
    raw_bytes = len(payload)
    if pack:
        packed = lz4.block.compress(payload, store_size=False)
        if len(packed) < raw_bytes:
            payload, flags = packed, flags | FLAG_LZ4
    padded = payload + bytes(-len(payload) % 8)
    header = struct.pack("<3sBHBBQIIIIIB3sQ", b"MTS", 1, HEADER_BYTES, kind, flags, segment,
                         process, stream, records, raw_bytes, len(payload), coder, bytes(3),
                         checksum(padded))
    return header + struct.pack("<Q", checksum(header)) + padded


AGGREGATED = 1  # a feature


def superblock(uuid, realtime_ns, *, major=1, minor=1, features=0):
    head = struct.pack("<8sHHI16sQQQ", SUPERBLOCK_MAGIC, major, minor, SUPERBLOCK_BYTES, uuid,
                       features, realtime_ns, 0)
    return head + struct.pack("<Q", checksum(head))


def event(op, address=0, *, domain=0, w1=0):
    return struct.pack("<QQ", address & ADDRESS_MASK | domain << 57 | op << 60, w1)


def sized_event(op, address, size, *, domain=0, stack=0, allocator=0):
    """An event with bytes; preceded by WIDE when they need more than 32 bits."""
    high = stack << 32 if op in (ALLOC, MAP, FAIL) else allocator << 32
    wide = event(WIDE, w1=size >> 32) if size >> 32 else b""
    return wide + event(op, address, domain=domain, w1=size & U32 | high)


def split_planes(records):
    """Coder 2: the first bytes of all records, then the second ones, and so on."""
    return b"".join(records[at::EVENT_BYTES] for at in range(EVENT_BYTES))


def join_planes(planes):
    """The records of coder 2."""
    records, count = bytearray(len(planes)), len(planes) // EVENT_BYTES
    for at in range(EVENT_BYTES):
        records[at::EVENT_BYTES] = planes[at * count:(at + 1) * count]
    return bytes(records)


def encode_events(records, coder):
    """The payload of so many whole records."""
    if coder == 3:
        return capture_compact.encode(records)
    return split_planes(records) if coder == 2 else records


def decode_events(payload, coder, count, offset):
    """The records of a payload that stands at an offset in the file."""
    if coder not in (1, 2, 3):
        raise FormatError(offset, "events packed in an unknown way")
    if coder == 3:
        try:
            return capture_compact.decode(payload, count)
        except ValueError as error:
            raise FormatError(offset, f"events: {error}") from error
    if len(payload) != count * EVENT_BYTES:
        raise FormatError(offset, "events that do not fill their section")
    return join_planes(payload) if coder == 2 else payload


class CaptureWriter:
    """A capture in the making. Records are kept until events(), records() or finish() need them."""

    def __init__(self, uuid=bytes(range(16)), realtime_ns=1_700_000_000_000_000_000, coder=1, minor=1):
        self.coder = coder
        self.data = bytearray(superblock(uuid, realtime_ns, minor=minor))
        self.sections = []
        self.pending = []
        self.counts = dict.fromkeys((CODE, NODES, STACKS, MODULE, NATIVE_NODES), 0)
        self.names = {NAME_MARK: {}, NAME_POOL: {}}
        self.cgroups = 0
        self.last_tick = None

    def append(self, kind, payload, **options):
        self.sections.append((len(self.data), kind, options.get("stream", 0),
                              options.get("segment", 0)))
        self.data += section(kind, payload, **options)

    def record(self, kind, body):
        self.pending.append(varint(kind) + varint(len(body)) + body)

    def records(self, pack=True):
        """Write what is kept as a section."""
        if self.pending:
            self.append(RECORDS, b"".join(self.pending), records=len(self.pending), pack=pack)
            self.pending = []

    def session(self, **fields):
        self.record(SESSION, encode_fields(SESSION_FIELDS, fields))

    def process(self, number, **fields):
        self.record(PROCESS, encode_fields(PROCESS_FIELDS, {"number": number, **fields}))

    def thread(self, stream, **fields):
        self.record(THREAD, encode_fields(THREAD_FIELDS, {"stream": stream, **fields}))

    def summary(self, **fields):
        self.record(SUMMARY, encode_fields(SUMMARY_FIELDS, fields))

    def code(self, file, name, first_line, table=b"", *, kind=3, hidden=False):
        """Add a code object; returns its number."""
        self.counts[CODE] += 1
        body = varint(self.counts[CODE]) + varint(fold(first_line)) + bytes([kind, hidden])
        for part in (text_bytes(file), text_bytes(name), table):
            body += varint(len(part)) + part
        self.record(CODE, body)
        return self.counts[CODE]

    def node(self, parent, code, offset, *, entry=False):
        """Add a node of the tries; returns its id."""
        self.counts[NODES] += 1
        self.record(NODES, varint(self.counts[NODES]) + varint(1) + varint(parent)
                    + varint(code * 2 + entry) + varint(fold(offset)))
        return self.counts[NODES]

    def module(self, **fields):
        self.counts[MODULE] += 1
        self.record(MODULE, encode_module(self.counts[MODULE], **fields))
        return self.counts[MODULE]

    def native_node(self, parent, module, offset, flags=0):
        self.counts[NATIVE_NODES] += 1
        self.record(NATIVE_NODES, encode_native_node(self.counts[NATIVE_NODES], parent, module, offset, flags))
        return self.counts[NATIVE_NODES]

    def symbols(self, module, places):
        self.record(SYMBOLS, encode_symbols(module, places))

    def stack(self, python_node, native_node, allocator, map_class=0):
        """Add a stack; returns its id."""
        self.counts[STACKS] += 1
        self.record(STACKS, varint(self.counts[STACKS]) + varint(1) + varint(python_node)
                    + varint(native_node) + varint(allocator) + varint(map_class))
        return self.counts[STACKS]

    def name(self, kind, text):
        """The number of a mark's or a pool's name, written when it is new."""
        numbers = self.names[kind]
        if text not in numbers:
            numbers[text] = len(numbers) + (FIRST_POOL if kind == NAME_POOL else 1)
            body = text_bytes(text)
            self.record(NAME, varint(kind) + varint(numbers[text]) + varint(len(body)) + body)
        return numbers[text]

    def ticks(self, first_tick, times_ns):
        body = varint(first_tick) + varint(len(times_ns)) + varint(times_ns[0])
        for before, after in zip(times_ns, times_ns[1:]):
            body += varint(after - before)
        self.record(TICKS, body)

    def rss(self, process, time_ns, resident_bytes, huge_bytes=0):
        self.record(RSS, varint(process) + varint(time_ns) + varint(resident_bytes)
                    + varint(huge_bytes))

    def state(self, time_ns, state, cause):
        self.record(STATE, varint(time_ns) + varint(state) + varint(cause))

    def sampling(self, time_ns, level, cause):
        self.record(SAMPLING, varint(time_ns) + varint(level) + varint(cause))

    def said(self, time_ns, process, text):
        body = text_bytes(text)
        self.record(SAID, varint(time_ns) + varint(process) + varint(len(body)) + body)

    def limit(self, process, time_ns, kind, size=None, cgroup=0):
        """A limit is in force from now on; None: there is none any more. process 0: the machine's."""
        self.record(LIMIT, b"".join(map(varint, (process, time_ns, kind, size is not None, size or 0,
                                                 cgroup))))

    def use(self, kind, owner, time_ns, size):
        self.record(USE, b"".join(map(varint, (kind, owner, time_ns, size))))

    def cgroup(self, path):
        """Name a cgroup; returns its number."""
        self.cgroups += 1
        body = text_bytes(path)
        self.record(CGROUP, varint(self.cgroups) + varint(len(body)) + body)
        return self.cgroups

    def bound(self, process, segment):
        self.record(BOUND, varint(process) + varint(segment))

    def events(self, process, stream, segment, payload, pack=True):
        """Write a section of events, and before it the records that are kept."""
        self.records()
        self.append(EVENTS, encode_events(payload, self.coder),
                    records=len(payload) // EVENT_BYTES, stream=stream, process=process,
                    segment=segment, coder=self.coder, pack=pack)

    def finish(self, most_entries=DIRECTORY_MAX_ENTRIES):
        """Write directory and trailer: the capture is clean. Returns all of it.

        most_entries: as many does a section of the directory list.
        """
        self.records()
        entries = [struct.pack("<QB3sIQ", offset, kind, bytes(3), stream, segment)
                   for offset, kind, stream, segment in self.sections]
        offset = len(self.data)
        for first in range(0, len(entries), most_entries):
            part = entries[first:first + most_entries]
            self.data += section(DIRECTORY, b"".join(part), records=len(part))
        trailer = struct.pack("<QQ8s", offset, len(self.data) + 32, TRAILER_MAGIC)
        self.data += trailer + struct.pack("<Q", checksum(trailer))
        return bytes(self.data)

    def cut(self):
        """Leave the capture as the end of its collector would. Returns all of it."""
        self.records()
        return bytes(self.data)


@dataclass
class Section:
    """A header and its payload, unpacked; of events, one record behind the other."""

    offset: int
    kind: int
    flags: int
    segment: int
    process: int
    stream: int
    records: int
    coder: int
    payload: bytes


@dataclass
class Capture:
    """All that a capture holds, in the file's own terms. Tables are indexed by id or number."""

    uuid: bytes = b""
    realtime_ns: int = 0
    clean: bool = False
    aggregated: bool = False
    damage: FormatError = None
    session: dict = field(default_factory=dict)
    processes: dict = field(default_factory=dict)
    threads: dict = field(default_factory=dict)
    codes: list = field(default_factory=lambda: [None])
    nodes: list = field(default_factory=lambda: [None])
    modules: list = field(default_factory=lambda: [None])
    native_nodes: list = field(default_factory=lambda: [None])
    symbols: dict = field(default_factory=dict)  # (module, address): [(function, file, line, column)]
    stacks: list = field(default_factory=lambda: [None])
    ticks: dict = field(default_factory=dict)
    rss: list = field(default_factory=list)
    limits: list = field(default_factory=list)  # (process, time, kind, is set, bytes, cgroup)
    uses: list = field(default_factory=list)  # (kind, owner, time, bytes)
    cgroups: list = field(default_factory=lambda: [None])  # paths
    states: list = field(default_factory=list)  # (time, state, cause)
    samplings: list = field(default_factory=list)  # (time, level, cause)
    said: list = field(default_factory=list)  # (time, process, text)
    mark_names: dict = field(default_factory=dict)
    pool_names: dict = field(default_factory=dict)
    bounds: dict = field(default_factory=dict)
    summary: dict = field(default_factory=dict)
    events: list = field(default_factory=list)  # the EVENTS sections
    model: list = field(default_factory=list)  # the MODEL sections


def read_superblock(data):
    """Returns (uuid, start, offset of the first section)."""
    if len(data) < SUPERBLOCK_BYTES:
        raise FormatError(len(data), "superblock cut off")
    magic, major, _, size, uuid, features, realtime_ns = struct.unpack_from("<8sHHI16sQQ", data)
    if magic != SUPERBLOCK_MAGIC:
        raise FormatError(0, "not a capture")
    if major != 1:
        raise FormatError(8, "another major version")
    if size % 8 or not SUPERBLOCK_BYTES <= size <= min(4096, len(data)):
        raise FormatError(12, "impossible superblock size")
    if checksum(data[:size - 8]) != struct.unpack_from("<Q", data, size - 8)[0]:
        raise FormatError(size - 8, "superblock checksum differs")
    if features & ~AGGREGATED:
        raise FormatError(32, "feature of a later version")
    return uuid, realtime_ns, size


def is_aggregated(data):
    """Whether a capture whose superblock is right has a model in place of its events."""
    return bool(struct.unpack_from("<Q", data, 32)[0] & AGGREGATED)


def read_section(data, offset):
    """Returns (section, offset of the next). The payload is checked and unpacked."""
    if len(data) - offset < HEADER_BYTES:
        raise FormatError(offset, "section header cut off")
    (magic, major, header_bytes, kind, flags, segment, process, stream, records, raw_bytes,
     payload_bytes, coder, _, payload_sum) = struct.unpack_from("<3sBHBBQIIIIIB3sQ", data, offset)
    if magic != b"MTS":
        raise FormatError(offset, "no section")
    if major != 1:
        raise FormatError(offset, "section of another major version")
    if header_bytes % 8 or not HEADER_BYTES <= header_bytes <= 4096:
        raise FormatError(offset, "impossible section header size")
    header = data[offset:offset + header_bytes]
    if len(header) < header_bytes:
        raise FormatError(offset, "section header cut off")
    if checksum(header[:-8]) != struct.unpack("<Q", header[-8:])[0]:
        raise FormatError(offset, "section header checksum differs")
    if flags & 0b1110 or raw_bytes > MAX_RAW_BYTES:
        raise FormatError(offset, "section of an unknown kind")
    start = offset + header_bytes
    end = start + payload_bytes + -payload_bytes % 8
    if end > len(data):
        raise FormatError(offset, "section cut off")
    if checksum(data[start:end]) != payload_sum:
        raise FormatError(start, "section checksum differs")
    payload = bytes(data[start:start + payload_bytes])
    if flags & FLAG_LZ4:
        try:
            payload = lz4.block.decompress(payload, uncompressed_size=raw_bytes)
        except lz4.block.LZ4BlockError as error:
            raise FormatError(start, f"payload does not unpack ({error})") from error
    if len(payload) != raw_bytes:
        raise FormatError(start, "section with two sizes")
    if kind == EVENTS:
        payload = decode_events(payload, coder, records, start)
    return Section(offset, kind, flags, segment, process, stream, records, coder, payload), end


def read_code(capture, cursor):
    if cursor.varint() != len(capture.codes):
        raise ValueError("code number out of order")
    first_line = unfold(cursor.varint())
    kind, flags = cursor.byte(), cursor.byte()
    file, name, table = cursor.blob(), cursor.blob(), cursor.blob()
    capture.codes.append({"file": bytes_text(file), "name": bytes_text(name), "kind": kind,
                          "hidden": bool(flags & 1), "first_line": first_line,
                          "table": bytes(table)})


def read_nodes(capture, cursor):
    if cursor.varint() != len(capture.nodes):
        raise ValueError("node id out of order")
    for _ in range(cursor.varint()):
        parent, code, offset = cursor.varint(), cursor.varint(), unfold(cursor.varint())
        if parent >= len(capture.nodes) or code >> 1 >= len(capture.codes):
            raise ValueError("node of an unknown parent or code")
        capture.nodes.append((parent, code >> 1, offset, bool(code & 1)))


def read_stacks(capture, cursor):
    if cursor.varint() != len(capture.stacks):
        raise ValueError("stack id out of order")
    for _ in range(cursor.varint()):
        stack = tuple(cursor.varint() for _ in range(4))
        if stack[0] >= len(capture.nodes) or stack[1] >= len(capture.native_nodes):
            raise ValueError("stack of an unknown node")
        if stack[2] > 255 or stack[3] > LEVELS + 15:
            raise ValueError("stack of an unknown allocator or class")
        capture.stacks.append(stack)


def read_ticks(capture, cursor):
    tick, count, time_ns = cursor.varint(), cursor.varint(), 0
    for i in range(count):
        time_ns += cursor.varint()
        capture.ticks[tick + i] = time_ns


def read_name(capture, cursor):
    kind, number, text = cursor.varint(), cursor.varint(), bytes_text(cursor.blob())
    if kind == NAME_MARK:
        if number != len(capture.mark_names) + 1:
            raise ValueError("name out of order")
        capture.mark_names[number] = text
    elif kind == NAME_POOL:
        capture.pool_names[number] = text


def read_limits(capture, kind, cursor):
    """LIMIT, USE and CGROUP."""
    if kind == LIMIT:
        limit = tuple(cursor.varint() for _ in range(6))
        if (limit[0] and limit[0] not in capture.processes) or limit[5] >= len(capture.cgroups):
            raise ValueError("limit of an unknown process or cgroup")
        capture.limits.append(limit)
    elif kind == USE:
        use = tuple(cursor.varint() for _ in range(4))
        if use[0] == 1 and not 0 < use[1] < len(capture.cgroups):
            raise ValueError("memory of an unknown cgroup")
        capture.uses.append(use)
    elif cursor.varint() != len(capture.cgroups):
        raise ValueError("cgroup out of order")
    else:
        capture.cgroups.append(bytes_text(cursor.blob()))


def read_record(capture, kind, body):
    cursor = Cursor(body)
    if kind == SESSION:
        capture.session.update(decode_fields(SESSION_FIELDS, body))
    elif kind == PROCESS:
        fields = decode_fields(PROCESS_FIELDS, body)
        capture.processes.setdefault(fields["number"], {}).update(fields)
    elif kind == THREAD:
        fields = decode_fields(THREAD_FIELDS, body)
        capture.threads.setdefault(fields["stream"], {}).update(fields)
    elif kind == SUMMARY:
        capture.summary.update(decode_fields(SUMMARY_FIELDS, body))
    elif kind == CODE:
        read_code(capture, cursor)
    elif kind == NODES:
        read_nodes(capture, cursor)
    elif kind == STACKS:
        read_stacks(capture, cursor)
    elif kind == TICKS:
        read_ticks(capture, cursor)
    elif kind == RSS:
        capture.rss.append(tuple(cursor.varint() for _ in range(4)))
    elif kind == BOUND:
        process = cursor.varint()
        capture.bounds[process] = cursor.varint()
    elif kind == STATE:
        capture.states.append(tuple(cursor.varint() for _ in range(3)))
    elif kind == SAMPLING:
        capture.samplings.append(tuple(cursor.varint() for _ in range(3)))
    elif kind == SAID:
        capture.said.append((cursor.varint(), cursor.varint(), bytes_text(cursor.blob())))
    elif kind == NAME:
        read_name(capture, cursor)
    elif kind in (MODULE, NATIVE_NODES, SYMBOLS):
        read_native(capture, kind, cursor)
    elif kind in (LIMIT, USE, CGROUP):
        read_limits(capture, kind, cursor)


def read_records(capture, payload):
    cursor = Cursor(payload)
    while cursor.left():
        kind = cursor.varint()
        read_record(capture, kind, cursor.blob())


def has_trailer(data):
    if len(data) < 32 or data[-16:-8] != TRAILER_MAGIC:
        return False
    _, file_bytes, _, trailer_sum = struct.unpack("<QQ8sQ", data[-32:])
    return file_bytes == len(data) and checksum(data[-32:-8]) == trailer_sum


def read_capture(data):
    """Read all that is right. Raises FormatError only when not even the superblock is."""
    capture = Capture()
    capture.uuid, capture.realtime_ns, offset = read_superblock(data)
    capture.clean = has_trailer(data)
    capture.aggregated = is_aggregated(data)
    end = len(data) - 32 if capture.clean else len(data)
    try:
        while offset < end:
            part, following = read_section(data[:end], offset)
            try:
                if part.kind == RECORDS:
                    read_records(capture, part.payload)
            except (ValueError, KeyError, UnicodeDecodeError) as error:
                raise FormatError(offset, f"record: {error}") from error
            if part.kind == EVENTS and capture.aggregated:
                raise FormatError(offset, "events in an aggregated capture")
            if part.kind == EVENTS:
                capture.events.append(part)
            if part.kind in (EVENTS, RECORDS):
                capture.model = []  # it is of what stands before it
            if part.kind == MODEL:
                capture.model.append(part)
            offset = following
    except FormatError as error:
        capture.damage = error
    return capture
