/*
 * Looking a name up in an instance. Runs in the program's threads, inside their malloc.
 *
 * What holds: an address is loaded from only when it is that of the frame, its object or the object's
 * type; all others are peeked at, so whatever they are, nothing happens. A name is given out only when
 * the key beside it reads "_name" and the value is a str.
 */
#include "python/thread_name.h"

#include "base/peek.h"
#include "base/syscalls.h"
#include "python/code_blob.h"
#include "python/load.h"

#include <memtrack/protocol.h>
#include <string.h>

enum {
    TRIES = 4, /* where the name changes as it is read */
    FIRST_MINOR = 8,
    LAST_MINOR = 13,
    OBJECT_TYPE = 8, /* of usual builds */
    FREE_OBJECT_TYPE =
        24, /* of free-threaded ones, which have so much more in front of each object */
    /* PyTypeObject, PyDictObject */
    TYPE_BASIC_SIZE = 32,
    TYPE_FLAGS = 168,
    TYPE_DICT_OFFSET = 288,
    DICT_KEYS = 32,
    DICT_VALUES = 40,
    FLAG_INLINE_VALUES = 1 << 2, /* 3.13 */
    FLAG_MANAGED_DICT = 1 << 4,  /* from 3.11 */
    MANAGED_DICT_BYTES = 24,     /* so much before the object is the dict's place, */
    FREE_MANAGED_BYTES = 8,      /* ... free-threaded, and */
    MANAGED_VALUES_BYTES = 32,   /* ... in 3.11 that of values without a dict */
    VALUES_ARE_TAGGED = 1,       /* 3.12: in the dict's place are values, and 1 is to be added */
    /* PyDictKeysObject up to 3.10, and from 3.11 on */
    OLD_KEYS_SIZE = 8,
    OLD_KEYS_COUNT = 32,
    OLD_KEYS_INDICES = 40,
    KEYS_LOG_INDEX_BYTES = 9,
    KEYS_KIND = 10,
    KEYS_COUNT = 24,
    KEYS_INDICES = 32,
    KEYS_GENERAL =
        0, /* their entries have a hash before key and value; those of others have none */
    KEYS_HEADER_BYTES = 40,
    MOST_ENTRIES = 64,
    MOST_INDEX_BITS = 16,
    NAME_BYTES = 63,
    TEXT_BYTES = 72 + 4 * NAME_BYTES, /* a str object, with its characters */
};

#define WORD          sizeof(uintptr_t)
#define LENGTH(text_) (sizeof(text_) - 1)

static const char bootstrap[] = "_bootstrap", file_end[] = "threading.py", attribute[] = "_name";

/* Where instances have what: [minor - FIRST_MINOR]. */
static const struct {
    uint16_t frame_locals;
    uint16_t cached_keys; /* PyHeapTypeObject */
    uint8_t values;       /* before the first of them, in PyDictValues */
} places[] = {{360, 872, 0}, {360, 864, 0}, {352, 872, 0},
              {72, 872, 0},  {72, 880, 0},  {72, 880, 8}};

/* An interpreter. */
struct build {
    unsigned version;     /* its minor - FIRST_MINOR */
    size_t more_bytes;    /* in front of objects than usual */
    size_t managed_bytes; /* between the dict's place and the object */
};

/* Keys and where their values are. */
struct instance_dict {
    uintptr_t keys;
    uintptr_t values; /* 0: beside the keys */
};

/* Does a str that is alive end in an ASCII text? */
static bool ends_in(const struct object_layout *layout, uintptr_t text, const char *end,
                    size_t end_length)
{
    size_t length = text != 0 ? load_word(text, layout->text_length) : 0;
    uint32_t ascii = layout->text_compact_bit | layout->text_ascii_bit;

    if (length < end_length || (load_u32(text, layout->text_state) & ascii) != ascii)
        return false;
    for (size_t i = 0; i < end_length; i++)
        if (load_u8(text, layout->text_ascii_data + length - end_length + i) != (uint8_t)end[i])
            return false;
    return true;
}

static bool is_bootstrap(const struct python_layout *layout, uintptr_t code)
{
    uintptr_t name = load_word(code, layout->code.name);

    return name != 0 && load_word(name, layout->object.text_length) == LENGTH(bootstrap) &&
           ends_in(&layout->object, name, bootstrap, LENGTH(bootstrap)) &&
           ends_in(&layout->object, load_word(code, layout->code.file_name), file_end,
                   LENGTH(file_end));
}

/* A dict object may be another's by now: its keys and values are looked at, and may be wrong. */
static bool read_dict(const struct build *build, uintptr_t dict, struct instance_dict *ret_dict)
{
    uintptr_t words[2];

    if (!peek_bytes(dict + DICT_KEYS + build->more_bytes, words, sizeof(words)))
        return false;
    ret_dict->keys = words[0];
    ret_dict->values = words[1] != 0 ? words[1] + places[build->version].values : 0;
    return true;
}

/* From 3.11 on an instance may have its values without a dict. */
static bool find_managed(const struct build *build, uintptr_t object, uintptr_t type,
                         uintptr_t flags, struct instance_dict *ret_dict)
{
    unsigned minor = build->version + FIRST_MINOR;
    uintptr_t place = load_word(object - build->managed_bytes, 0), values;

    if (minor == 12 && (place & VALUES_ARE_TAGGED) != 0)
        values = place + 1;
    else if (place != 0)
        return read_dict(build, place, ret_dict);
    else if (minor == 11)
        values = load_word(object - MANAGED_VALUES_BYTES, 0);
    else if (minor == 13 && (flags & FLAG_INLINE_VALUES) != 0)
        values = object + load_word(type, TYPE_BASIC_SIZE + build->more_bytes);
    else
        return false;
    if (values == 0)
        return false;
    ret_dict->keys = load_word(type, places[build->version].cached_keys + build->more_bytes);
    ret_dict->values = values + places[build->version].values;
    return true;
}

static bool find_dict(const struct build *build, uintptr_t object, struct instance_dict *ret_dict)
{
    uintptr_t type = load_word(object, OBJECT_TYPE + build->more_bytes);
    uintptr_t flags = load_word(type, TYPE_FLAGS + build->more_bytes), dict;
    intptr_t offset;

    if (build->version + FIRST_MINOR >= 11 && (flags & FLAG_MANAGED_DICT) != 0)
        return find_managed(build, object, type, flags, ret_dict);
    offset = (intptr_t)load_word(type, TYPE_DICT_OFFSET + build->more_bytes);
    if (offset < OBJECT_TYPE || offset > UINT16_MAX)
        return false;
    dict = load_word(object, (size_t)offset);
    return dict != 0 && read_dict(build, dict, ret_dict);
}

/* Where entries begin, behind the indices; their size is that of an entry. */
struct entries {
    uintptr_t address;
    size_t count, bytes;
};

static bool find_entries(unsigned version, uintptr_t keys, struct entries *ret_entries)
{
    uint8_t header[KEYS_HEADER_BYTES];
    uintptr_t size, count, indices_bytes;

    if (!peek_bytes(keys, header, sizeof(header)))
        return false;
    if (version + FIRST_MINOR < 11) {
        memcpy(&size, header + OLD_KEYS_SIZE, sizeof(size));
        memcpy(&count, header + OLD_KEYS_COUNT, sizeof(count));
        indices_bytes = size <= UINT8_MAX ? size : 2 * size;
        if (size > UINT16_MAX)
            return false;
        *ret_entries = (struct entries){keys + OLD_KEYS_INDICES + indices_bytes, count, 3 * WORD};
    } else {
        memcpy(&count, header + KEYS_COUNT, sizeof(count));
        if (header[KEYS_LOG_INDEX_BYTES] > MOST_INDEX_BITS)
            return false;
        indices_bytes = (uintptr_t)1 << header[KEYS_LOG_INDEX_BYTES];
        *ret_entries = (struct entries){keys + KEYS_INDICES + indices_bytes, count,
                                        (header[KEYS_KIND] == KEYS_GENERAL ? 3 : 2) * WORD};
    }
    if (ret_entries->count > MOST_ENTRIES)
        ret_entries->count = MOST_ENTRIES;
    return true;
}

/* Does a str that may be gone read "_name"? */
static bool is_attribute(const struct object_layout *layout, uintptr_t text)
{
    uint8_t head[TEXT_BYTES];
    uintptr_t length;

    if (text == 0 || !peek_bytes(text, head, layout->text_ascii_data + LENGTH(attribute)))
        return false;
    memcpy(&length, head + layout->text_length, sizeof(length));
    return length == LENGTH(attribute) &&
           memcmp(head + layout->text_ascii_data, attribute, LENGTH(attribute)) == 0;
}

/* Returns 0 when there is none. */
static uintptr_t find_value(unsigned version, const struct object_layout *layout,
                            const struct instance_dict *dict)
{
    struct entries entries;

    if (!find_entries(version, dict->keys, &entries))
        return 0;
    for (size_t i = 0; i < entries.count; i++) {
        uintptr_t place = entries.address + i * entries.bytes + entries.bytes - 2 * WORD;
        uintptr_t pair[2];

        if (!peek_bytes(place, pair, sizeof(pair)))
            return 0;
        if (!is_attribute(layout, pair[0]))
            continue;
        if (dict->values != 0 && !peek_word(dict->values + i * WORD, &pair[1]))
            return 0;
        return pair[1];
    }
    return 0;
}

/* Copy a str that may be gone, and say what it reads. Returns its bytes; 0: it is none that is known. */
static uint32_t read_text(const struct object_layout *layout, uintptr_t text, uintptr_t str_type,
                          uint8_t *ret_bytes)
{
    _Alignas(uintptr_t) uint8_t copy[TEXT_BYTES];
    uintptr_t length, type;
    uint32_t state;
    size_t size_bytes;

    if (!peek_bytes(text, copy, layout->text_ascii_data))
        return 0;
    memcpy(&type, copy + layout->type, sizeof(type));
    memcpy(&length, copy + layout->text_length, sizeof(length));
    memcpy(&state, copy + layout->text_state, sizeof(state));
    if (type != str_type || (state & layout->text_compact_bit) == 0 || length == 0)
        return 0;
    if (length > NAME_BYTES)
        length = NAME_BYTES;
    memcpy(copy + layout->text_length, &length, sizeof(length));
    size_bytes = (state & layout->text_ascii_bit) != 0
                     ? layout->text_ascii_data + length
                     : layout->text_compact_data + length * (state >> layout->text_kind_shift & 7);
    if (size_bytes > sizeof(copy) ||
        !peek_bytes(text + layout->text_ascii_data, copy + layout->text_ascii_data,
                    size_bytes - layout->text_ascii_data))
        return 0;
    return code_blob_text(layout, (uintptr_t)copy, ret_bytes, NAME_BYTES);
}

static void put_header(uint8_t *bytes, uint32_t thread)
{
    memset(bytes, 0, BLOB_NAME_HEADER_BYTES);
    memcpy(bytes, &thread, sizeof(thread)); /* blobs are little-endian, as we are */
    bytes[sizeof(thread)] = NAME_THREAD;
}

/* Read the name of a thread's object, which others may change meanwhile. Returns its bytes; 0: not known. */
static uint32_t read_name(const struct build *build, const struct object_layout *layout,
                          uintptr_t object, uintptr_t str_type, uint8_t *ret_bytes)
{
    struct instance_dict dict, after;
    uint32_t count_bytes;
    uintptr_t value;

    if (!find_dict(build, object, &dict))
        return 0;
    value = find_value(build->version, layout, &dict);
    if (value == 0)
        return 0;
    count_bytes = read_text(layout, value, str_type, ret_bytes);
    /* What was found still is where it was: so it was alive while it was read. */
    if (count_bytes == 0 || !find_dict(build, object, &after) || after.keys != dict.keys ||
        after.values != dict.values || find_value(build->version, layout, &after) != value)
        return 0;
    return count_bytes;
}

static __attribute__((noinline)) void announce(const struct python_layout *layout, uintptr_t frame,
                                               uintptr_t str_type,
                                               const struct announcer *announcer)
{
    const struct build build = {
        .version = layout->minor - (unsigned)FIRST_MINOR,
        .more_bytes = layout->object.type - (size_t)OBJECT_TYPE,
        .managed_bytes = layout->is_free_threaded ? FREE_MANAGED_BYTES : MANAGED_DICT_BYTES,
    };
    uintptr_t object = load_word(frame, places[build.version].frame_locals);
    uint8_t bytes[BLOB_NAME_HEADER_BYTES + NAME_BYTES];
    uint32_t count_bytes = 0;

    for (unsigned i = 0; object != 0 && count_bytes == 0 && i < TRIES; i++)
        count_bytes =
            read_name(&build, &layout->object, object, str_type, bytes + BLOB_NAME_HEADER_BYTES);
    if (count_bytes == 0)
        return;
    put_header(bytes, sys_thread_id());
    (void)announcer->write(announcer->owner, BLOB_NAME, bytes,
                           BLOB_NAME_HEADER_BYTES + count_bytes);
}

void thread_name_announce(const struct python_layout *layout, uintptr_t frame, uintptr_t code,
                          const struct announcer *announcer)
{
    if (layout->minor < FIRST_MINOR || layout->minor > LAST_MINOR ||
        layout->object.type != (layout->is_free_threaded ? FREE_OBJECT_TYPE : OBJECT_TYPE) ||
        sys_makes_no_calls() || !is_bootstrap(layout, code))
        return;
    announce(layout, frame, load_word(load_word(code, layout->code.name), layout->object.type),
             announcer);
}
