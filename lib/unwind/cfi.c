/*
 * From .eh_frame_hdr to the entry of a function (FDE) and its common part (CIE), and the program in both
 * run up to the address. Runs in the program's threads, once for each return address.
 */
#include "unwind/cfi.h"

#include "unwind/cfi_bytes.h"

/* Encodings of pointers (Linux Standard Base, "DWARF Exception Header Encoding"). */
enum {
    ENCODING_OMIT = 0xff,
    ENCODING_FORMAT = 0x0f,
    ENCODING_BASE = 0x70,
    ENCODING_INDIRECT = 0x80,
    ENCODING_ABSOLUTE = 0x00,
    ENCODING_ULEB = 0x01,
    ENCODING_U16 = 0x02,
    ENCODING_U32 = 0x03,
    ENCODING_U64 = 0x04,
    ENCODING_SLEB = 0x09,
    ENCODING_S16 = 0x0a,
    ENCODING_S32 = 0x0b,
    ENCODING_S64 = 0x0c,
    BASE_PLACE = 0x10,
    BASE_DATA = 0x30,
    TABLE_ENCODING = BASE_DATA | ENCODING_S32, /* of the sorted table: what linkers write */
};

enum {
    LENGTH_IS_64_BIT = 0xffffffff - 1,
    STATES_MAX = 8, /* remembered ones, inside one another */
};

/* An entry, taken apart. */
struct entry {
    struct cfi_range range;
    struct cfi_bytes common, own; /* their programs */
    uint64_t code_factor;
    int64_t data_factor;
    uint64_t return_column;
};

struct machine {
    const struct entry *entry;
    struct cfi_row row, initial;
    struct cfi_row saved[STATES_MAX];
    unsigned saved_count;
    uintptr_t location, target;
    bool is_initial; /* it is the common program that runs */
};

static uintptr_t read_pointer(struct cfi_bytes *bytes, unsigned encoding, uintptr_t data_base)
{
    uintptr_t place = (uintptr_t)bytes->at, value;

    switch (encoding & ENCODING_FORMAT) {
    case ENCODING_ABSOLUTE:
    case ENCODING_U64:
    case ENCODING_S64:
        value = cfi_fixed(bytes, 8);
        break;
    case ENCODING_ULEB:
        value = cfi_uleb(bytes);
        break;
    case ENCODING_U16:
        value = cfi_fixed(bytes, 2);
        break;
    case ENCODING_U32:
        value = cfi_fixed(bytes, 4);
        break;
    case ENCODING_SLEB:
        value = (uintptr_t)cfi_sleb(bytes);
        break;
    case ENCODING_S16:
        value = (uintptr_t)cfi_signed(bytes, 2);
        break;
    case ENCODING_S32:
        value = (uintptr_t)cfi_signed(bytes, 4);
        break;
    default:
        bytes->is_bad = true;
        return 0;
    }
    if ((encoding & ENCODING_BASE) == BASE_PLACE)
        value += place;
    else if ((encoding & ENCODING_BASE) == BASE_DATA)
        value += data_base;
    else if ((encoding & ENCODING_BASE) != 0 || (encoding & ENCODING_INDIRECT) != 0)
        bytes->is_bad = true;
    return value;
}

/* What may be read from an address on; nothing, where it lies in no segment of the object. */
static struct cfi_bytes bytes_from(const struct cfi_tables *tables, const uint8_t *at)
{
    for (unsigned i = 0; i < tables->count; i++)
        if (at >= tables->parts[i].start && at < tables->parts[i].end)
            return (struct cfi_bytes){at, tables->parts[i].end, false};
    return (struct cfi_bytes){at, at, true};
}

/* The length of an entry, and what it says. Returns false at a terminator and where it is not one. */
static bool read_entry(const struct cfi_tables *tables, const uint8_t *at,
                       struct cfi_bytes *ret_body)
{
    struct cfi_bytes bytes = bytes_from(tables, at);
    uint64_t length_bytes = cfi_fixed(&bytes, 4);

    if (length_bytes > LENGTH_IS_64_BIT)
        length_bytes = cfi_fixed(&bytes, 8);
    if (length_bytes == 0)
        return false;
    *ret_body = cfi_part(&bytes, length_bytes);
    return !bytes.is_bad;
}

/*
 * What the letters of an augmentation add. "zPLR": P a function for exceptions, L a table for them, R how
 * addresses are written, S a signal frame, B a key of aarch64.
 * Returns false at an unknown letter.
 */
static bool read_augmentation(struct cfi_bytes *bytes, const char *letters, struct entry *entry,
                              unsigned *ret_encoding)
{
    struct cfi_bytes data = cfi_part(bytes, cfi_uleb(bytes));

    for (const char *letter = letters + 1; *letter != '\0'; letter++) {
        if (*letter == 'R') {
            *ret_encoding = (unsigned)cfi_fixed(&data, 1);
        } else if (*letter == 'L') {
            cfi_fixed(&data, 1);
        } else if (*letter == 'P') {
            unsigned encoding = (unsigned)cfi_fixed(&data, 1);

            read_pointer(&data, encoding & ENCODING_FORMAT, 0);
        } else if (*letter == 'S') {
            entry->range.is_signal_frame = true;
        } else if (*letter != 'B') {
            return false;
        }
    }
    return !data.is_bad;
}

/* ret_encoding, ret_has_data: of the entries that share it. */
static bool read_common(const struct cfi_tables *tables, const uint8_t *at, struct entry *entry,
                        unsigned *ret_encoding, bool *ret_has_data)
{
    struct cfi_bytes bytes;
    const char *letters;
    uint64_t version;

    if (!read_entry(tables, at, &bytes) || cfi_fixed(&bytes, 4) != 0)
        return false;
    version = cfi_fixed(&bytes, 1);
    letters = (const char *)bytes.at;
    while (cfi_fixed(&bytes, 1) != 0)
        ;
    if (version == 4)
        cfi_fixed(&bytes, 2); /* sizes of addresses and segment selectors */
    entry->code_factor = cfi_uleb(&bytes);
    entry->data_factor = cfi_sleb(&bytes);
    entry->return_column = version == 1 ? cfi_fixed(&bytes, 1) : cfi_uleb(&bytes);
    if (bytes.is_bad)
        return false;
    *ret_encoding = ENCODING_ABSOLUTE;
    *ret_has_data = letters[0] == 'z';
    if (*ret_has_data && !read_augmentation(&bytes, letters, entry, ret_encoding))
        return false;
    if (!*ret_has_data && letters[0] != '\0')
        return false;
    entry->common = bytes;
    return !bytes.is_bad;
}

static bool read_function(const struct cfi_tables *tables, const uint8_t *at,
                          struct entry *ret_entry)
{
    struct cfi_bytes bytes;
    const uint8_t *place;
    unsigned encoding;
    uint64_t distance;
    bool has_data;

    *ret_entry = (struct entry){.own = {0}};
    if (!read_entry(tables, at, &bytes))
        return false;
    place = bytes.at;
    distance = cfi_fixed(&bytes, 4);
    if (distance == 0 || !read_common(tables, place - distance, ret_entry, &encoding, &has_data))
        return false;
    ret_entry->range.start = read_pointer(&bytes, encoding, 0);
    ret_entry->range.end =
        ret_entry->range.start + read_pointer(&bytes, encoding & ENCODING_FORMAT, 0);
    if (has_data)
        cfi_part(&bytes, cfi_uleb(&bytes));
    ret_entry->own = bytes;
    return !bytes.is_bad;
}

/* Search the sorted table. Returns NULL when it has no entry that begins at or before the address. */
static const uint8_t *search(const struct cfi_tables *tables, uintptr_t address)
{
    const uint8_t *header = tables->header;
    struct cfi_bytes bytes = bytes_from(tables, header);
    int64_t wanted = (int64_t)(address - (uintptr_t)header);
    uint64_t fields = cfi_fixed(&bytes, 4); /* version, how pointer, count and table are written */
    size_t low = 0, high;
    int32_t row[2];

    if ((fields & 0xff) != 1 || fields >> 24 != TABLE_ENCODING)
        return NULL;
    read_pointer(&bytes, (unsigned)(fields >> 8 & 0xff), (uintptr_t)header);
    high = read_pointer(&bytes, (unsigned)(fields >> 16 & 0xff), (uintptr_t)header);
    if (high > (size_t)(bytes.end - bytes.at) / sizeof(row))
        return NULL;
    if (bytes.is_bad || high == 0 || wanted > INT32_MAX || wanted < INT32_MIN)
        return NULL;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        memcpy(row, bytes.at + middle * sizeof(row), sizeof(row));
        if (row[0] <= wanted)
            low = middle;
        else
            high = middle;
    }
    memcpy(row, bytes.at + low * sizeof(row), sizeof(row));
    return row[0] <= wanted ? header + row[1] : NULL;
}

/* The rule of a register; NULL of those that are not followed. */
static struct cfi_rule *rule_of(struct cfi_row *row, const struct entry *entry, uint64_t number)
{
    if (number == CFI_FRAME_POINTER)
        return &row->frame_pointer;
    if (number == CFI_STACK_POINTER)
        return &row->stack_pointer;
    return number == entry->return_column ? &row->return_address : NULL;
}

static void set_rule(struct machine *machine, uint64_t number, enum cfi_rule_kind kind,
                     int64_t offset)
{
    struct cfi_rule *rule = rule_of(&machine->row, machine->entry, number);

    if (rule != NULL)
        *rule = (struct cfi_rule){.kind = kind, .offset = offset};
}

static void restore_rule(struct machine *machine, uint64_t number)
{
    struct cfi_rule *rule = rule_of(&machine->row, machine->entry, number);

    if (rule != NULL)
        *rule = *rule_of(&machine->initial, machine->entry, number);
}

static int64_t factored(const struct machine *machine, uint64_t offset)
{
    return (int64_t)(offset * (uint64_t)machine->entry->data_factor);
}

static void define_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
    machine->row.cfa_register = number <= INT32_MAX ? (int32_t)number : CFI_CFA_NONE;
    machine->row.cfa_offset = offset;
}

/* The next instructions are of a place so much further. Returns whether that is behind the target. */
static bool advance(struct machine *machine, uint64_t distance)
{
    machine->location += distance * machine->entry->code_factor;
    return !machine->is_initial && machine->location > machine->target;
}

static void read_expression(struct cfi_bytes *bytes, struct cfi_expression *ret_expression)
{
    struct cfi_bytes part = cfi_part(bytes, cfi_uleb(bytes));

    *ret_expression = (struct cfi_expression){part.at, (size_t)(part.end - part.at)};
}

static void set_expression(struct machine *machine, struct cfi_bytes *bytes,
                           enum cfi_rule_kind kind)
{
    struct cfi_rule *rule = rule_of(&machine->row, machine->entry, cfi_uleb(bytes));
    struct cfi_rule unwanted;

    if (rule == NULL)
        rule = &unwanted;
    rule->kind = kind;
    read_expression(bytes, &rule->expression);
}

/* DWARF 5, section 7.24, and what GNU's tools add. */
enum {
    CFA_ADVANCE = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_NOP = 0x00,
    CFA_ADVANCE1 = 0x02,
    CFA_ADVANCE2 = 0x03,
    CFA_ADVANCE4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_NEGATE_RA_STATE = 0x2d, /* aarch64 */
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET = 0x2f,
};

/* Instructions that say where the CFA is. Returns false when it is none of them. */
static bool run_cfa(struct machine *machine, struct cfi_bytes *bytes, unsigned op)
{
    uint64_t number;

    switch (op) {
    case CFA_DEF_CFA:
        number = cfi_uleb(bytes);
        define_cfa(machine, number, (int64_t)cfi_uleb(bytes));
        return true;
    case CFA_DEF_CFA_SF:
        number = cfi_uleb(bytes);
        define_cfa(machine, number, factored(machine, (uint64_t)cfi_sleb(bytes)));
        return true;
    case CFA_DEF_CFA_REGISTER:
        define_cfa(machine, cfi_uleb(bytes), machine->row.cfa_offset);
        return true;
    case CFA_DEF_CFA_OFFSET:
        machine->row.cfa_offset = (int64_t)cfi_uleb(bytes);
        return true;
    case CFA_DEF_CFA_OFFSET_SF:
        machine->row.cfa_offset = factored(machine, (uint64_t)cfi_sleb(bytes));
        return true;
    case CFA_DEF_CFA_EXPRESSION:
        machine->row.cfa_register = CFI_CFA_EXPRESSION;
        read_expression(bytes, &machine->row.cfa_expression);
        return true;
    default:
        return false;
    }
}

/* Instructions that say where a register is. Returns false when it is none of them. */
static bool run_rule(struct machine *machine, struct cfi_bytes *bytes, unsigned op)
{
    uint64_t number;

    switch (op) {
    case CFA_EXPRESSION:
        set_expression(machine, bytes, CFI_AT_EXPRESSION);
        return true;
    case CFA_VAL_EXPRESSION:
        set_expression(machine, bytes, CFI_NOT_UNDERSTOOD);
        return true;
    case CFA_REGISTER:
        number = cfi_uleb(bytes);
        set_rule(machine, number, CFI_NOT_UNDERSTOOD, (int64_t)cfi_uleb(bytes));
        return true;
    case CFA_OFFSET_EXTENDED:
        number = cfi_uleb(bytes);
        set_rule(machine, number, CFI_AT_OFFSET, factored(machine, cfi_uleb(bytes)));
        return true;
    case CFA_OFFSET_EXTENDED_SF:
        number = cfi_uleb(bytes);
        set_rule(machine, number, CFI_AT_OFFSET, factored(machine, (uint64_t)cfi_sleb(bytes)));
        return true;
    case CFA_GNU_NEGATIVE_OFFSET:
        number = cfi_uleb(bytes);
        set_rule(machine, number, CFI_AT_OFFSET, -factored(machine, cfi_uleb(bytes)));
        return true;
    case CFA_VAL_OFFSET:
        number = cfi_uleb(bytes);
        set_rule(machine, number, CFI_IS_OFFSET, factored(machine, cfi_uleb(bytes)));
        return true;
    case CFA_VAL_OFFSET_SF:
        number = cfi_uleb(bytes);
        set_rule(machine, number, CFI_IS_OFFSET, factored(machine, (uint64_t)cfi_sleb(bytes)));
        return true;
    case CFA_UNDEFINED:
        set_rule(machine, cfi_uleb(bytes), CFI_UNDEFINED, 0);
        return true;
    case CFA_SAME_VALUE:
        set_rule(machine, cfi_uleb(bytes), CFI_SAME, 0);
        return true;
    case CFA_RESTORE_EXTENDED:
        restore_rule(machine, cfi_uleb(bytes));
        return true;
    default:
        return false;
    }
}

/* All others. Returns false when it is not understood. */
static bool run_other(struct machine *machine, struct cfi_bytes *bytes, unsigned op)
{
    switch (op) {
    case CFA_NOP:
    case CFA_NEGATE_RA_STATE:
        return true;
    case CFA_GNU_ARGS_SIZE:
        cfi_uleb(bytes);
        return true;
    case CFA_REMEMBER:
        if (machine->saved_count == STATES_MAX)
            return false;
        machine->saved[machine->saved_count++] = machine->row;
        return true;
    case CFA_RESTORE_STATE:
        if (machine->saved_count == 0)
            return false;
        machine->row = machine->saved[--machine->saved_count];
        return true;
    default:
        return false;
    }
}

/* How far an instruction advances, if it does. */
static bool read_advance(struct cfi_bytes *bytes, unsigned op, uint64_t *ret_distance)
{
    if ((op & CFA_RESTORE) == CFA_ADVANCE)
        *ret_distance = op & 0x3f;
    else if (op >= CFA_ADVANCE1 && op <= CFA_ADVANCE4)
        *ret_distance = cfi_fixed(bytes, (size_t)1 << (op - CFA_ADVANCE1));
    else
        return false;
    return true;
}

/* Run a program up to the target. Returns false when it is not understood. */
static bool run(struct machine *machine, struct cfi_bytes bytes)
{
    while (bytes.at < bytes.end) {
        unsigned op = (unsigned)cfi_fixed(&bytes, 1);
        uint64_t distance;
        bool is_known = true;

        if (read_advance(&bytes, op, &distance)) {
            if (advance(machine, distance))
                break;
        } else if ((op & CFA_RESTORE) == CFA_OFFSET) {
            set_rule(machine, op & 0x3f, CFI_AT_OFFSET, factored(machine, cfi_uleb(&bytes)));
        } else if ((op & CFA_RESTORE) == CFA_RESTORE) {
            restore_rule(machine, op & 0x3f);
        } else {
            is_known = run_cfa(machine, &bytes, op) || run_rule(machine, &bytes, op) ||
                       run_other(machine, &bytes, op);
        }
        if (!is_known || bytes.is_bad)
            return false;
    }
    return true;
}

enum cfi_result cfi_find(const struct cfi_tables *tables, uintptr_t address,
                         struct cfi_row *ret_row, struct cfi_range *ret_range)
{
    const uint8_t *at = search(tables, address);
    struct machine machine;
    struct entry entry;

    if (at == NULL || !read_function(tables, at, &entry) || address < entry.range.start ||
        address >= entry.range.end)
        return CFI_NO_TABLE;
    *ret_range = entry.range;
    machine.entry = &entry;
    machine.row = (struct cfi_row){.cfa_register = CFI_CFA_NONE};
    machine.initial = machine.row;
    machine.saved_count = 0;
    machine.location = entry.range.start;
    machine.target = address;
    machine.is_initial = true;
    if (!run(&machine, entry.common))
        return CFI_UNKNOWN;
    machine.initial = machine.row;
    machine.is_initial = false;
    if (!run(&machine, entry.own))
        return CFI_UNKNOWN;
    *ret_row = machine.row;
    return CFI_FOUND;
}
