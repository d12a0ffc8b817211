"""Native stacks: modules, native nodes, and how a native and a Python stack become one."""

from capture_basics import Cursor, varint

MODULE, NATIVE_NODES, SYMBOLS = 18, 19, 20
FILE, VDSO, JIT = 1, 2, 3
EXACT, EVAL = 1, 2
UNKNOWN, TRUNCATED, FINALIZING, HANDLER, GAVE_UP, NO_FRAME = range(6)  # special frames

MODULE_FIELDS = {1: "number", 2: "kind", 3: "path", 4: "build_id", 5: "extent_bytes",
                 6: "file_bytes", 7: "changed_ns", 8: "process"}


def encode_module(number, **fields):
    """The body of a MODULE record."""
    numbers = {name: field for field, name in MODULE_FIELDS.items()}
    out = b""
    for name, value in {"number": number, **fields}.items():
        if isinstance(value, str):
            value = value.encode("utf-8", "surrogatepass")
        body = value if isinstance(value, bytes) else varint(value)
        out += varint(numbers[name]) + varint(len(body)) + body
    return out


def encode_native_node(number, parent, module, offset, flags):
    """The body of a NATIVE_NODES record of one node."""
    return b"".join(map(varint, (number, 1, parent, module * 4 + flags, offset)))


def encode_symbols(module, places):
    """The body of a SYMBOLS record: {address: [(function, file, line, column), ...], ...}."""
    out, texts, before = varint(module) + varint(len(places)), {}, 0

    def text(value):
        known = value in texts
        number, data = texts.setdefault(value, len(texts)), value.encode("utf-8", "surrogatepass")
        return varint(number) if known else varint(number) + varint(len(data)) + data

    for address, of in sorted(places.items()):
        out += varint(address - before) + varint(len(of))
        before = address
        for function, file, line, column in of:
            out += text(function) + text(file) + varint(line) + varint(column)
    return out


def read_symbols(capture, cursor):
    module, texts, address = cursor.varint(), [], 0
    if not 0 < module < len(capture.modules):
        raise ValueError("symbols of an unknown module")

    def text():
        number = cursor.varint()
        if number == len(texts):
            texts.append(bytes(cursor.blob()).decode("utf-8", "surrogatepass"))
        return texts[number]

    for _ in range(cursor.varint()):
        address += cursor.varint()
        count = cursor.varint()
        if not 0 < count <= 256:
            raise ValueError("impossible symbol")
        capture.symbols[module, address] = [(text(), text(), cursor.varint(), cursor.varint())
                                            for _ in range(count)]


def read_module(capture, cursor):
    module = {"path": "", "build_id": b""}
    while cursor.left():
        name, body = MODULE_FIELDS.get(cursor.varint()), cursor.blob()
        if name == "path":
            module[name] = bytes(body).decode("utf-8", "surrogatepass")
        elif name == "build_id":
            module[name] = bytes(body)
        elif name:
            module[name] = Cursor(body).varint()
    if module["number"] != len(capture.modules):
        raise ValueError("module out of order")
    if module.get("process", 1) not in capture.processes:
        raise ValueError("module of an unknown process")
    capture.modules.append(module)


def read_native_nodes(capture, cursor):
    """Entries are (parent, module, offset, flags)."""
    if cursor.varint() != len(capture.native_nodes):
        raise ValueError("native node out of order")
    for _ in range(cursor.varint()):
        parent, module, offset = cursor.varint(), cursor.varint(), cursor.varint()
        if parent >= len(capture.native_nodes) or module >> 2 >= len(capture.modules):
            raise ValueError("native node of an unknown parent or module")
        capture.native_nodes.append((parent, module >> 2, offset, module & 3))


def read_native(capture, kind, cursor):
    if kind == MODULE:
        read_module(capture, cursor)
    elif kind == SYMBOLS:
        read_symbols(capture, cursor)
    else:
        read_native_nodes(capture, cursor)


def chain(nodes, node):
    """The nodes of a stack, innermost first."""
    out = []
    while node:
        out.append(node)
        node = nodes[node][0]
    return out


def groups_of(capture, python_node):
    """Groups of Python nodes, the innermost first; a group ends, outwards, with an entry."""
    groups, group = [], []
    for node in chain(capture.nodes, python_node):
        group.append(("python", node))
        if capture.nodes[node][3]:
            groups.append(group)
            group = []
    return groups + [group] if group else groups


def join(capture, python_node, native_node):
    """Both stacks as one: ("python", node) and ("native", node), innermost first."""
    out = []
    groups = groups_of(capture, python_node)
    for node in chain(capture.native_nodes, native_node):
        if capture.native_nodes[node][3] & EVAL and groups:
            out += groups.pop(0)
        out.append(("native", node))
    return out + [frame for group in groups for frame in group]
