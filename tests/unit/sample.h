/*
 * A capture and its profile made by hand, for tests of what stands on top of them.
 *
 * The program: train.py calls main (line 5), which loads (line 12) and fits (line 13); fit calls
 * itself; an import goes through importlib; a thread of the C library has no Python stack.
 */
#ifndef UNIT_SAMPLE_H
#define UNIT_SAMPLE_H

#include "memtrack/protocol.h"
#include "profile/profile.h"

/* Each further instruction is on the next line. */
static const uint8_t sample_lines[] = {2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1};

#define SAMPLE_TEXT(text_)       \
    {                            \
        text_, sizeof(text_) - 1 \
    }

#define SAMPLE_CODE(file_, name_, first_line_)                                              \
    {                                                                                       \
        .file = SAMPLE_TEXT(file_), .name = SAMPLE_TEXT(name_), .line_table = sample_lines, \
        .line_table_bytes = sizeof(sample_lines), .first_line = (first_line_),              \
        .line_table_kind = LINE_TABLE_LNOTAB                                                \
    }

static struct capture_code sample_codes[] = {
    {.file = SAMPLE_TEXT(""), .name = SAMPLE_TEXT("")},
    SAMPLE_CODE("/home/me/train.py", "<module>", 1),
    SAMPLE_CODE("/home/me/train.py", "main", 10),
    SAMPLE_CODE("/usr/lib/python3.13/site-packages/data/load.py", "load", 20),
    SAMPLE_CODE("/home/me/train.py", "Model.fit", 30),
    SAMPLE_CODE("<frozen importlib._bootstrap>", "_find_and_load", 1000),
    SAMPLE_CODE("/home/me/we\nird\xff.py", "na\"me\x1b[31m", 7),
};

static struct capture_node sample_nodes[] = {
    {.parent = 0},
    {.parent = 0, .code = 1, .offset = 8}, /* 1: train.py:5 <module> */
    {.parent = 1, .code = 2, .offset = 4}, /* 2: train.py:12 main */
    {.parent = 1, .code = 2, .offset = 6}, /* 3: train.py:13 main */
    {.parent = 2, .code = 3, .offset = 2}, /* 4: load.py:21 load */
    {.parent = 3, .code = 4, .offset = 2}, /* 5: train.py:31 fit */
    {.parent = 5, .code = 4, .offset = 2}, /* 6: fit in fit */
    {.parent = 6, .code = 4, .offset = 4}, /* 7: fit in fit in fit, another line */
    {.parent = 1, .code = 5, .offset = 0}, /* 8: import, hidden */
    {.parent = 8, .code = 6, .offset = 0}, /* 9: an odd module, imported */
    {.parent = 0, .code = 5, .offset = 0}, /* 10: nothing but import */
    {.parent = 4, .code = 0, .offset = SPECIAL_SIGNAL_HANDLER}, /* 11 */
};

static struct capture_stack sample_stacks[] = {
    {.python_node = 0},
    {.python_node = 4, .allocator = ALLOCATOR_MALLOC},  /* 1 */
    {.python_node = 4, .allocator = ALLOCATOR_CALLOC},  /* 2 */
    {.python_node = 5, .allocator = ALLOCATOR_MALLOC},  /* 3 */
    {.python_node = 7, .allocator = ALLOCATOR_MALLOC},  /* 4 */
    {.python_node = 8, .allocator = ALLOCATOR_MALLOC},  /* 5 */
    {.python_node = 9, .allocator = ALLOCATOR_MMAP},    /* 6 */
    {.python_node = 10, .allocator = ALLOCATOR_MALLOC}, /* 7 */
    {.python_node = 0, .allocator = ALLOCATOR_MALLOC},  /* 8 */
    {.python_node = 11, .allocator = ALLOCATOR_MALLOC}, /* 9 */
};

static const char *const sample_arguments[] = {"train.py", "--epochs", "3", NULL};
static const char *const sample_child_arguments[] = {"/bin/sh", "-c", "exit 3", NULL};

static struct capture_process sample_processes[] = {
    {.number = 1,
     .pid = 4242,
     .inner_pid = 4242,
     .end = 1,
     .is_tracked = true,
     .ended_ns = UINT64_C(38000000000),
     .arguments = sample_arguments,
     .argument_count = 3,
     .executable = "/usr/bin/python3.13",
     .python_version = "3.13.0 (main, Oct  7 2024) [GCC 12.2.0]",
     .counters = {[COUNTER_SLOW_NS] = 1500000, [COUNTER_MEMORY_BYTES] = 3 << 20}},
    {.number = 2,
     .pid = 4250,
     .parent_number = 1,
     .how = PROCESS_BY_EXEC,
     .end = 2,
     .end_code = 11,
     .is_tracked = true,
     .started_ns = UINT64_C(2000000000),
     .ended_ns = UINT64_C(3000000000),
     .arguments = sample_child_arguments,
     .argument_count = 3,
     .executable = "/bin/sh",
     .python_version = ""},
};

static struct capture_thread sample_threads[] = {
    {.stream = 1, .process_index = 0, .tid = 4242, .is_main = true, .name = ""},
    {.stream = 2, .process_index = 0, .tid = 4243, .name = "loader_0"},
    {.stream = 3, .process_index = 1, .tid = 4250, .name = ""},
};

static const struct capture sample_capture = {
    .file = "out.bin",
    .file_bytes = 1000,
    .session = {.version = "0.1.0",
                .host = "box",
                .machine = "x86_64",
                .directory = "/home/me",
                .page_bytes = 4096,
                .tick_period_us = 1000,
                .options = POOL_OPTION_PYTHON | POOL_OPTION_FOLLOW,
                .realtime_ns = UINT64_C(1700000000000000000),
                .arguments = sample_arguments,
                .argument_count = 3},
    .processes = sample_processes,
    .process_count = 2,
    .threads = sample_threads,
    .thread_count = 3,
    .codes = sample_codes,
    .code_count = sizeof(sample_codes) / sizeof(sample_codes[0]),
    .nodes = sample_nodes,
    .node_count = sizeof(sample_nodes) / sizeof(sample_nodes[0]),
    .stacks = sample_stacks,
    .stack_count = sizeof(sample_stacks) / sizeof(sample_stacks[0]),
    .summary = {.is_present = true, .cpu_ns = 2000000, .events = 200, .reason = ""},
    .event_record_count = 220,
    .ended_ns = UINT64_C(38000000000),
};

/* The same numbers in the peak's view and all that was allocated; a little of it leaks. */
#define SAMPLE_ROW(stack_, stream_, bytes_, allocations_, leaked_bytes_, leaked_) \
    {                                                                             \
        .stack = (stack_), .stream = (stream_), .costs = {                        \
            [VIEW_PEAK] = {(bytes_), (allocations_)},                             \
            [VIEW_LEAKS] = {(leaked_bytes_), (leaked_)},                          \
            [VIEW_ALLOCATED] = {(bytes_), (allocations_)}                         \
        }                                                                         \
    }

static struct profile_row sample_rows[] = {
    SAMPLE_ROW(1, 1, 400 << 20, 40, 1000, 1), SAMPLE_ROW(1, 2, 100 << 20, 10, 0, 0),
    SAMPLE_ROW(2, 1, 50 << 20, 5, 0, 0),      SAMPLE_ROW(3, 1, 20 << 20, 2, 0, 0),
    SAMPLE_ROW(4, 1, 200 << 20, 100, 0, 0),   SAMPLE_ROW(5, 1, 3 << 20, 1, 0, 0),
    SAMPLE_ROW(6, 1, 1 << 20, 1, 0, 0),       SAMPLE_ROW(7, 1, 1 << 20, 1, 0, 0),
    SAMPLE_ROW(8, 3, 2 << 20, 2, 24, 1),      SAMPLE_ROW(9, 1, 100, 1, 0, 0),
};

static struct profile_owner sample_process_owners[] = {
    {.allocations = 161,
     .allocated_bytes = 812646500,
     .peak_bytes = 812646500,
     .peak_rss_bytes = 900 << 20},
    {.allocations = 2, .allocated_bytes = 2 << 20, .peak_bytes = 2 << 20},
};

static struct profile_owner sample_thread_owners[] = {
    {.allocations = 151, .allocated_bytes = 707788900, .peak_bytes = 707788900},
    {.allocations = 10, .allocated_bytes = 100 << 20, .peak_bytes = 100 << 20},
    {.allocations = 2, .allocated_bytes = 2 << 20, .peak_bytes = 2 << 20},
};

static struct profile_allocator sample_allocators[] = {
    {ALLOCATOR_MALLOC, 157, 761266276, 761266276},
    {ALLOCATOR_CALLOC, 5, 50 << 20, 50 << 20},
    {ALLOCATOR_MMAP, 1, 1 << 20, 1 << 20},
};

static const struct profile sample_profile = {
    .capture = &sample_capture,
    .rows = sample_rows,
    .row_count = sizeof(sample_rows) / sizeof(sample_rows[0]),
    .totals = {.allocations = 163,
               .frees = 161,
               .allocated_bytes = 814743652,
               .peak_bytes = 814743652,
               .peak_allocations = 163,
               .peak_time_ns = UINT64_C(19100000000),
               .leaked_bytes = 1024,
               .leaked_allocations = 2,
               .peak_rss_bytes = 900 << 20},
    .allocators = sample_allocators,
    .allocator_count = 3,
    .processes = sample_process_owners,
    .threads = sample_thread_owners,
    .size_allocations = {[7] = 1, [20] = 160, [21] = 2},
    .size_bytes = {[7] = 100, [20] = 812646400, [21] = 2097152},
    .lifetimes = {100, 50, 10, 1, 0, 2},
    .end_ns = UINT64_C(38000000000),
};

#endif
