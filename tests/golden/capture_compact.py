"""Coder 3 of docs/format.md, written from that page alone: records to operations and back."""

import struct

import capture_basics as fmt

MAX_RECORDS = 1 << 16
TABLE = 1024
ADDRESS_BITS = 57
KEY_MASK = (1 << 60) - 1
USUAL = {1: 35, 2: 39, 3: 43}
REALLOC = {1: 34, 2: 38, 3: 42}
RECORD = 0
PLACES = (fmt.MAP, fmt.UNMAP, fmt.PROTECT, fmt.UNDO, fmt.FAIL)


def slot(number):
    """h(x) of the page."""
    return (number * 0x9E3779B1 & fmt.U32) >> 22


class State:
    """What begins as 0 in each section."""

    def __init__(self):
        self.keys = []
        self.domain = 0
        self.told = [0] * 8
        self.next = [0] * 8
        self.sites = [(0, 0)] * TABLE
        self.sizes = [0] * TABLE
        self.last = (0, 0)  # stack and bytes of the last ALLOC
        self.place = self.segment = self.tick = 0

    def site_slot(self):
        stack, size = self.last
        return slot(31 * stack + size & fmt.U32)

    def note_site(self, stack, size):
        self.sites[self.site_slot()] = self.last = (stack, size)

    def note_next(self, key, size):
        domain, address = key >> ADDRESS_BITS, key & fmt.ADDRESS_MASK
        room = size + 8 if domain == 0 else size
        room = max(-(-room // 16) * 16, 32 if domain == 0 else 16)
        self.next[domain] = address + room & fmt.ADDRESS_MASK

    def note_told(self, domain, address):
        self.domain = domain
        self.told[domain] = address
        return address | domain << ADDRESS_BITS

    def next_key(self):
        return self.next[self.domain] | self.domain << ADDRESS_BITS


def usual(key, table, otherwise):
    return table.get(key >> ADDRESS_BITS, otherwise)


class Decoder(State):
    """Operations to records."""

    def __init__(self, payload):
        super().__init__()
        self.cursor = fmt.Cursor(payload)

    def ago(self, distance):
        if not 0 < distance <= len(self.keys):
            raise ValueError("distance beyond the section")
        return self.keys[-distance]

    def u16(self):
        return int.from_bytes(self.cursor.take(2), "little")

    def u32(self):
        value = self.cursor.varint()
        if value > fmt.U32:
            raise ValueError("number of more than 32 bits")
        return value

    def take_told(self):
        value = self.cursor.varint()
        if value & 1:
            domain, step = value >> 1 & 7, fmt.unfold(value >> 4)
        else:
            domain, step = self.domain, 16 * fmt.unfold(value >> 1)
        return self.note_told(domain, self.told[domain] + step & fmt.ADDRESS_MASK)

    def alloc(self, header):
        where, what = header >> 3 & 15, header >> 1 & 3
        if where < 12:
            key = self.ago(where + 1)
        elif where == 12:
            key = self.ago(13 + self.cursor.byte())
        elif where == 13:
            key = self.ago(269 + self.u16())
        elif where == 14:
            key = self.note_told(self.domain, self.next[self.domain])
        else:
            key = self.take_told()
        stack, size = self.sites[self.site_slot()]
        if what >= 2:
            stack = self.last[0] + fmt.unfold(self.cursor.varint()) & fmt.U32
            size = self.sizes[slot(stack)]
        if what & 1:
            size = self.u32()
        if what == 3:
            self.sizes[slot(stack)] = size
        self.note_site(stack, size)
        if where >= 14:
            self.note_next(key, size)
        return key | fmt.ALLOC << 60, size | stack << 32

    def free(self, header):
        code = header >> 1
        if code < 96:
            key = self.ago(code + 1)
        elif code < 100:
            key = self.ago(97 + 256 * (code - 96) + self.cursor.byte())
        elif code == 100:
            key = self.ago(1121 + self.u16())
        elif code in (101, 102):
            key = self.take_told()
        elif code == 103:
            key = self.ago(self.u16())
        elif code == 104:
            allocator, distance = self.cursor.byte(), self.cursor.varint()
            key = self.ago(distance) if distance else self.take_told()
            return key | fmt.FREE << 60, allocator
        else:
            key = self.ago(code - 104)
        is_usual = code <= 101
        allocator = usual(key, USUAL, 10) if is_usual else usual(key, REALLOC, 3)
        return key | fmt.FREE << 60, allocator

    def extension(self, header):
        number, content = header >> 1 & 63, fmt.Cursor(self.cursor.blob())
        if number == RECORD:
            return struct.unpack("<QQ", content.take(16))
        if number in PLACES:
            domain, step = content.byte(), fmt.unfold(content.varint())
            low, high = content.varint(), content.varint()
            if domain > 7 or max(low, high) > fmt.U32:
                raise ValueError("field of more bits than it has")
            self.place = self.place + step & fmt.ADDRESS_MASK
            return self.place | domain << ADDRESS_BITS | number << 60, low | high << 32
        if number == fmt.SYNC:
            self.segment = self.segment + fmt.unfold(content.varint()) & fmt.ADDRESS_MASK
            self.tick = self.tick + fmt.unfold(content.varint()) & fmt.U32
            high = content.varint()
            if high > fmt.U32:
                raise ValueError("field of more bits than it has")
            return self.segment | fmt.SYNC << 60, self.tick | high << 32
        if number == fmt.NOTE:
            address, w1 = content.varint(), content.varint()
            if address > fmt.ADDRESS_MASK:
                raise ValueError("field of more bits than it has")
            return address | fmt.NOTE << 60, w1
        if number == fmt.WIDE:
            low = content.varint()
            if low > fmt.U32:
                raise ValueError("field of more bits than it has")
            return fmt.WIDE << 60, low
        return fmt.NOTE << 60, 0

    def record(self):
        header = self.cursor.byte()
        if header & 1:
            w0, w1 = self.free(header)
        elif header & 0x80:
            w0, w1 = self.extension(header)
        else:
            w0, w1 = self.alloc(header)
        self.keys.append(w0 & KEY_MASK)
        return struct.pack("<QQ", w0, w1)


def decode(payload, count):
    """The records of a payload. Raises ValueError."""
    if not 0 < count <= MAX_RECORDS:
        raise ValueError("impossible number of records")
    decoder = Decoder(payload)
    records = b"".join(decoder.record() for _ in range(count))
    if decoder.cursor.left():
        raise ValueError("bytes behind the last record")
    return records


class Encoder(State):
    """Records to operations. chance: a random.Random that now and then says it another way."""

    def __init__(self, chance=None):
        super().__init__()
        self.chance = chance
        self.met = {}

    def is_otherwise(self):
        return self.chance is not None and self.chance.random() < 0.2

    def distance(self, key):
        """How long ago the key was met, or None; of several, any."""
        if key not in self.met or self.is_otherwise():
            return None
        places = self.met[key]
        place = self.chance.choice(places) if self.chance else places[-1]
        return len(self.keys) - place

    def note(self, w0):
        key = w0 & KEY_MASK
        self.met.setdefault(key, []).append(len(self.keys))
        self.keys.append(key)

    def put_told(self, key):
        domain, address = key >> ADDRESS_BITS, key & fmt.ADDRESS_MASK
        step = address - self.told[domain]
        if domain == self.domain and step % 16 == 0 and not self.is_otherwise():
            value = fmt.fold(step // 16) << 1
        else:
            value = fmt.fold(step) << 4 | domain << 1 | 1
        self.note_told(domain, address)
        return fmt.varint(value)

    def alloc(self, key, w1):
        size, stack = w1 & fmt.U32, w1 >> 32
        distance, operands = self.distance(key), b""
        if distance is not None and distance <= 12:
            where = distance - 1
        elif distance is not None and distance < 269:
            where, operands = 12, bytes([distance - 13])
        elif distance is not None:
            where, operands = 13, (distance - 269).to_bytes(2, "little")
        elif key == self.next_key():
            where = 14
            self.note_told(key >> ADDRESS_BITS, key & fmt.ADDRESS_MASK)
        else:
            where, operands = 15, self.put_told(key)
        site = self.sites[self.site_slot()]
        if site[0] == stack and not self.is_otherwise():
            what = 1 if site[1] != size or self.is_otherwise() else 0
        else:
            operands += fmt.varint(fmt.fold(stack - self.last[0]))
            what = 2 if self.sizes[slot(stack)] == size else 3
        if what & 1:
            operands += fmt.varint(size)
        if what == 3:
            self.sizes[slot(stack)] = size
        self.note_site(stack, size)
        if where >= 14:
            self.note_next(key, size)
        return bytes([where << 3 | what << 1]) + operands

    def free(self, key, allocator):
        distance, operands = self.distance(key), b""
        is_realloc = allocator == usual(key, REALLOC, 3)
        if (not is_realloc and allocator != usual(key, USUAL, 10)) or self.is_otherwise():
            operands = bytes([allocator]) + fmt.varint(distance or 0)
            operands += b"" if distance else self.put_told(key)
            code = 104
        elif distance is None:
            code, operands = 102 if is_realloc else 101, self.put_told(key)
        elif is_realloc and distance <= 23:
            code = 104 + distance
        elif is_realloc:
            code, operands = 103, distance.to_bytes(2, "little")
        elif distance <= 96:
            code = distance - 1
        elif distance < 1121:
            code, operands = 96 + (distance - 97) // 256, bytes([(distance - 97) % 256])
        else:
            code, operands = 100, (distance - 1121).to_bytes(2, "little")
        return bytes([code << 1 | 1]) + operands

    def content(self, w0, w1):
        """The number and content of an extension."""
        number, domain, address = w0 >> 60, w0 >> ADDRESS_BITS & 7, w0 & fmt.ADDRESS_MASK
        low, high = fmt.varint(w1 & fmt.U32), fmt.varint(w1 >> 32)
        if self.is_otherwise():
            return RECORD, struct.pack("<QQ", w0, w1)
        if number in PLACES:
            step, self.place = address - self.place, address
            return number, bytes([domain]) + fmt.varint(fmt.fold(step)) + low + high
        if number == fmt.SYNC and domain == 0:
            step, self.segment = address - self.segment, address
            wait, self.tick = (w1 & fmt.U32) - self.tick, w1 & fmt.U32
            return number, fmt.varint(fmt.fold(step)) + fmt.varint(fmt.fold(wait)) + high
        if number == fmt.NOTE and domain == 0:
            return number, fmt.varint(address) + fmt.varint(w1)
        if number == fmt.WIDE and address == domain == w1 >> 32 == 0:
            return number, low
        return RECORD, struct.pack("<QQ", w0, w1)

    def operation(self, w0, w1):
        if w0 >> 60 == fmt.ALLOC:
            made = self.alloc(w0 & KEY_MASK, w1)
        elif w0 >> 60 == fmt.FREE and w1 < 256:
            made = self.free(w0 & KEY_MASK, w1)
        else:
            number, content = self.content(w0, w1)
            if self.is_otherwise():
                content += b"later"
            made = bytes([0x80 | number << 1]) + fmt.varint(len(content)) + content
        self.note(w0)
        return made


def encode(records, chance=None):
    """The operations of a section's records."""
    encoder = Encoder(chance)
    return b"".join(encoder.operation(*pair) for pair in struct.iter_unpack("<QQ", records))
