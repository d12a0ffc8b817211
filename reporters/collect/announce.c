/*
 * Blobs to records. Drain thread.
 */
#include "collect/announce.h"

#include "collect/process.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "memtrack/varint.h"

#include <stdio.h>
#include <string.h>

enum {
    NAME_MAX_BYTES = 1024,
    VERSION_BYTES = 64,
};

/* What CPython calls it (_PyMem_GetCurrentAllocatorName()); NULL: not known. */
static const char *allocator_name(uint8_t flags)
{
    static const char *const names[PYTHON_ALLOCATOR_MASK + 1][2] = {
        [PYTHON_ALLOCATOR_MALLOC] = {"malloc", "malloc_debug"},
        [PYTHON_ALLOCATOR_PYMALLOC] = {"pymalloc", "pymalloc_debug"},
        [PYTHON_ALLOCATOR_MIMALLOC] = {"mimalloc", "mimalloc_debug"},
    };

    return names[flags >> PYTHON_ALLOCATOR_SHIFT & PYTHON_ALLOCATOR_MASK]
                [(flags & PYTHON_DEBUG_HOOKS) != 0];
}

/* "3.13.0rc2 (main, ...)" says more than the numbers, up to its first space. */
static bool take_python(struct ring_reader *reader, struct sink *sink)
{
    const struct blob *blob = &reader->blob;
    char version[VERSION_BYTES];
    const char *text, *allocator;
    size_t length = 0;

    if (blob->total_bytes < BLOB_PYTHON_HEADER_BYTES)
        return false;
    text = (const char *)blob->bytes + BLOB_PYTHON_HEADER_BYTES;
    while (length < blob->total_bytes - BLOB_PYTHON_HEADER_BYTES && text[length] > ' ' &&
           text[length] <= '~')
        length++;
    if (length == 0 || length >= sizeof(version))
        length = (size_t)snprintf(version, sizeof(version), "%u.%u.%u", blob->bytes[0],
                                  blob->bytes[1], blob->bytes[2]);
    else
        memcpy(version, text, length);
    records_begin(&sink->records, RECORD_PROCESS);
    records_field_number(&sink->records, PROCESS_NUMBER, reader->process->number);
    records_field_text(&sink->records, PROCESS_PYTHON_VERSION, version, length);
    if ((blob->bytes[3] & PYTHON_FREE_THREADED) != 0)
        records_field_number(&sink->records, PROCESS_FREE_THREADED, 1);
    if ((blob->bytes[3] & PYTHON_ALLOCATORS_TRACED) != 0)
        records_field_number(&sink->records, PROCESS_PYTHON_ALLOCATORS, 1);
    allocator = allocator_name(blob->bytes[3]);
    if (allocator != NULL)
        records_field_text(&sink->records, PROCESS_PYTHON_ALLOCATOR, allocator, strlen(allocator));
    records_end(&sink->records);
    return true;
}

static bool take_name(struct ring_reader *reader, struct sink *sink)
{
    const struct blob *blob = &reader->blob;
    const uint8_t *bytes = blob->bytes;
    size_t length;

    if (blob->total_bytes < BLOB_NAME_HEADER_BYTES)
        return false;
    length = blob->total_bytes - BLOB_NAME_HEADER_BYTES;
    if (length > NAME_MAX_BYTES)
        return false;
    if (bytes[4] == NAME_MARK || bytes[4] == NAME_POOL)
        return texts_add(&sink->texts, &reader->process->texts, (enum name_kind)bytes[4],
                         le_load_u32(bytes), (const char *)bytes + BLOB_NAME_HEADER_BYTES, length,
                         &sink->records);
    /* A thread says its own name; one said of another thread would need that one's stream. */
    if (bytes[4] != NAME_THREAD || le_load_u32(bytes) != reader->tid)
        return true;
    records_begin(&sink->records, RECORD_THREAD);
    records_field_number(&sink->records, THREAD_STREAM, reader->stream.number);
    records_field_number(&sink->records, THREAD_PROCESS, reader->process->number);
    records_field_text(&sink->records, THREAD_NAME, (const char *)bytes + BLOB_NAME_HEADER_BYTES,
                       length);
    records_end(&sink->records);
    return true;
}

bool announce_take(struct ring_reader *reader, struct sink *sink)
{
    const struct blob *blob = &reader->blob;
    bool is_right = true;

    if (blob->kind == BLOB_CODE)
        is_right = names_add_code(&sink->names, &reader->process->codes, blob->bytes,
                                  blob->total_bytes, &sink->records);
    else if (blob->kind == BLOB_MODULE)
        is_right = modules_add(&sink->modules, &reader->process->modules,
                               atomic_load_explicit(&reader->process->pid, memory_order_relaxed),
                               blob->bytes, blob->total_bytes, &sink->records);
    else if (blob->kind == BLOB_NAME)
        is_right = take_name(reader, sink);
    else if (blob->kind == BLOB_PYTHON)
        is_right = take_python(reader, sink);
    sink_limit_records(sink);
    return is_right;
}
