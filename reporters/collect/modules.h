/*
 * Modules: what native frames lie in, from the ids of a process to the numbers of the capture.
 *
 * Drain thread. Equal modules of all processes (path, build-id, the file as it was) have one number, so
 * equal workers share their stacks.
 */
#ifndef COLLECT_MODULES_H
#define COLLECT_MODULES_H

#include "base/hash_index.h"
#include "base/memory.h"
#include "capture/capture.h"
#include "collect/names.h"
#include "collect/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MODULES_MAX = (1 << 15) - 1, /* trie.h: bits of a native frame */
};

/* The modules of the capture. All zero bytes: none yet. */
struct modules {
    struct module_content *contents;   /* number - 1 */
    struct capture_module *modules;    /* likewise; process_index is an index in processes */
    struct capture_process *processes; /* of code made at run time: since when they are, no more */
    size_t count, capacity, module_capacity, process_count, process_capacity;
    struct hash_index index;
    struct memory_pool pool; /* their texts */
};

/*
 * Take an announcement (BLOB_MODULE) of a process.
 * map: of the process. pid: of the process, as the collector sees it; 0: not known. records: gets a MODULE
 * record when it is new.
 * Returns false, with nothing changed, when the blob is damaged. Context: drain thread.
 */
bool modules_add(struct modules *modules, struct code_map *map, uint32_t pid, const uint8_t *blob,
                 size_t blob_bytes, struct records *records);

/*
 * Return the module that stands for code which a process makes as it runs, announced now when it is new;
 * 0 when there are too many.
 * process_number: of the capture. inner_pid: as the process sees itself. started_ns: since the session's
 * start. Context: drain thread.
 */
uint32_t modules_of_jit(struct modules *modules, uint32_t process_number, uint32_t inner_pid,
                        uint64_t started_ns, struct records *records);

/* Give the memory back. Context: drain thread. */
void modules_finish(struct modules *modules);

#endif
