/*
 * Modules by content. Drain thread.
 *
 * Contents are compared by 128 bits of hash and not kept, as code objects are (names.c).
 */
#include "collect/modules.h"

#include "base/memory.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "memtrack/varint.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define NS_OF_SECOND UINT64_C(1000000000)

struct module_content {
    uint64_t low, high;
};

/* What is told of a module, but for its number. */
struct module {
    uint8_t kind; /* enum module_kind */
    const uint8_t *build_id;
    size_t build_id_bytes;
    char path[PATH_MAX];
    uint64_t extent_bytes, file_bytes, changed_ns;
    uint32_t process_number; /* of MODULE_JIT, as the next */
    uint64_t started_ns;     /* since the session's start */
};

static bool content_equals(const void *items, uint32_t item, const void *key)
{
    const struct module_content *a = (const struct module_content *)items + item, *b = key;

    return a->low == b->low && a->high == b->high;
}

static struct module_content content_of(const struct module *module)
{
    const uint64_t numbers[] = {module->kind, module->extent_bytes, module->file_bytes,
                                module->changed_ns, module->process_number};
    XXH3_state_t state;
    XXH128_hash_t hash;

    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, numbers, sizeof(numbers));
    XXH3_128bits_update(&state, module->path, strlen(module->path) + 1);
    XXH3_128bits_update(&state, module->build_id, module->build_id_bytes);
    hash = XXH3_128bits_digest(&state);
    return (struct module_content){hash.low64, hash.high64};
}

static void write_module(const struct module *module, uint32_t number, struct records *records)
{
    records_begin(records, RECORD_MODULE);
    records_field_number(records, MODULE_NUMBER, number);
    records_field_number(records, MODULE_KIND, module->kind);
    records_field_text(records, MODULE_PATH, module->path, strlen(module->path));
    if (module->build_id_bytes > 0) {
        records_number(records, MODULE_BUILD_ID);
        records_number(records, module->build_id_bytes);
        records_bytes(records, module->build_id, module->build_id_bytes);
    }
    records_field_number(records, MODULE_EXTENT_BYTES, module->extent_bytes);
    if (module->file_bytes > 0) {
        records_field_number(records, MODULE_FILE_BYTES, module->file_bytes);
        records_field_number(records, MODULE_CHANGED_NS, module->changed_ns);
    }
    if (module->kind == MODULE_JIT)
        records_field_number(records, MODULE_PROCESS, module->process_number);
    records_end(records);
}

static uint32_t add_process(struct modules *modules, const struct module *module)
{
    modules->processes = memory_grow(modules->processes, &modules->process_capacity,
                                     modules->process_count + 1, sizeof(*modules->processes));
    modules->processes[modules->process_count] = (struct capture_process){
        .number = module->process_number, .started_ns = module->started_ns};
    return (uint32_t)modules->process_count++;
}

/* Keep what is told of it, for those who want its names in the end. */
static void keep(struct modules *modules, const struct module *module)
{
    modules->modules = memory_grow(modules->modules, &modules->module_capacity, modules->count + 1,
                                   sizeof(*modules->modules));
    modules->modules[modules->count] = (struct capture_module){
        .path = memory_pool_copy(&modules->pool, module->path, strlen(module->path)),
        .build_id = (const uint8_t *)memory_pool_copy(
            &modules->pool, (const char *)module->build_id, module->build_id_bytes),
        .build_id_bytes = (uint32_t)module->build_id_bytes,
        .process_index = module->kind == MODULE_JIT ? add_process(modules, module) : UINT32_MAX,
        .kind = module->kind,
        .extent_bytes = module->extent_bytes,
        .file_bytes = module->file_bytes,
        .changed_ns = module->changed_ns,
    };
}

/* Return the number of a module, announced in the capture when it is new; 0 when there are too many. */
static uint32_t intern(struct modules *modules, const struct module *module,
                       struct records *records)
{
    struct module_content content = content_of(module);
    uint32_t item =
        hash_index_find(&modules->index, content.low, content_equals, modules->contents, &content);

    if (item != HASH_INDEX_NONE)
        return item + 1;
    if (modules->count >= MODULES_MAX)
        return 0;
    if (modules->count == modules->capacity)
        modules->contents = memory_grow(modules->contents, &modules->capacity, modules->count + 1,
                                        sizeof(*modules->contents));
    keep(modules, module);
    item = (uint32_t)modules->count++;
    modules->contents[item] = content;
    hash_index_add(&modules->index, content.low, item);
    write_module(module, item + 1, records);
    return item + 1;
}

/* A path that the loader was given relative to where the process is, as far as that can be seen. */
static void make_absolute(struct module *module, uint32_t pid)
{
    char link[32], folder[PATH_MAX], path[PATH_MAX];
    ssize_t length;

    if (module->path[0] == '/' || module->path[0] == '\0' || pid == 0 ||
        module->kind != MODULE_FILE)
        return;
    snprintf(link, sizeof(link), "/proc/%u/cwd", pid);
    length = readlink(link, folder, sizeof(folder) - 1);
    if (length <= 0)
        return;
    folder[length] = '\0';
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, module->path) < sizeof(path))
        memcpy(module->path, path, strlen(path) + 1);
}

/* What the file is now, in the process's own tree of files where that can be seen. */
static void look_at_file(struct module *module, uint32_t pid)
{
    char path[PATH_MAX + 32];
    struct stat status;

    if (module->kind != MODULE_FILE || module->path[0] != '/')
        return;
    snprintf(path, sizeof(path), "/proc/%u/root%s", pid, module->path);
    if ((pid == 0 || stat(path, &status) != 0) && stat(module->path, &status) != 0)
        return;
    module->file_bytes = (uint64_t)status.st_size;
    module->changed_ns =
        (uint64_t)status.st_mtim.tv_sec * NS_OF_SECOND + (uint64_t)status.st_mtim.tv_nsec;
}

bool modules_add(struct modules *modules, struct code_map *map, uint32_t pid, const uint8_t *blob,
                 size_t blob_bytes, struct records *records)
{
    struct module module = {.kind = MODULE_FILE};
    size_t path_bytes;
    uint32_t id;

    if (blob_bytes < BLOB_MODULE_HEADER_BYTES)
        return false;
    id = le_load_u32(blob);
    module.extent_bytes = le_load_u64(blob + 12);
    if ((blob[20] & 1) != 0)
        module.kind = MODULE_VDSO;
    module.build_id = blob + BLOB_MODULE_HEADER_BYTES;
    module.build_id_bytes = blob[21];
    if (id == 0 || id > NATIVE_MODULE_MASK ||
        module.build_id_bytes > blob_bytes - BLOB_MODULE_HEADER_BYTES)
        return false;
    path_bytes = blob_bytes - BLOB_MODULE_HEADER_BYTES - module.build_id_bytes;
    if (path_bytes >= sizeof(module.path))
        return false;
    memcpy(module.path, module.build_id + module.build_id_bytes, path_bytes);
    make_absolute(&module, pid);
    look_at_file(&module, pid);
    code_map_set(map, id, intern(modules, &module, records));
    return true;
}

uint32_t modules_of_jit(struct modules *modules, uint32_t process_number, uint32_t inner_pid,
                        uint64_t started_ns, struct records *records)
{
    struct module module = {
        .kind = MODULE_JIT, .process_number = process_number, .started_ns = started_ns};

    /* Where perf and those who write for it have agreed that names are. */
    snprintf(module.path, sizeof(module.path), "/tmp/perf-%u.map", inner_pid);
    module.build_id = (const uint8_t *)module.path;
    return intern(modules, &module, records);
}

void modules_finish(struct modules *modules)
{
    free(modules->contents);
    free(modules->modules);
    free(modules->processes);
    memory_pool_finish(&modules->pool);
    hash_index_finish(&modules->index);
    *modules = (struct modules){0};
}
