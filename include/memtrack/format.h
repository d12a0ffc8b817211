/*
 * The capture file: the numbers of docs/format.md, which is the specification. No code.
 */
#ifndef MEMTRACK_FORMAT_H
#define MEMTRACK_FORMAT_H

#include <stdint.h>

enum {
    FORMAT_MAJOR = 1,
    FORMAT_MINOR = 4,
};

/* Features, bits in the superblock: a reader that does not know one must refuse the capture. */
#define FEATURE_AGGREGATED UINT64_C(1) /* there is a model, and no events */
#define FEATURES_KNOWN     FEATURE_AGGREGATED

#define SUPERBLOCK_MAGIC "\x89MTK\r\n\x1a\n"
#define TRAILER_MAGIC    "MTKEND\r\n"

enum {
    SUPERBLOCK_BYTES = 64, /* as written by this version */
    SUPERBLOCK_MAX_BYTES = 4096,
    SECTION_ALIGN_BYTES = 8,
    SECTION_HEADER_BYTES = 56,       /* as written by this version */
    SECTION_HEADER_MAX_BYTES = 4096, /* of any version */
    SECTION_MAX_RAW_BYTES =
        1 << 24, /* of a payload, so that a reader knows what to make room for */
    DIRECTORY_ENTRY_BYTES = 24,
    TRAILER_BYTES = 32,
};

/* Readers skip the types they do not know. */
enum section_type {
    SECTION_EVENTS = 1,
    SECTION_RECORDS = 2,
    SECTION_DIRECTORY = 3,
    SECTION_MODEL = 4,
};

/* A reader that does not know a flag below MAY_IGNORE must not use the payload. */
enum section_flag {
    SECTION_LZ4 = 1u << 0,
    SECTION_MAY_IGNORE = 1u << 4,
};

enum section_coder {
    CODER_NONE = 0,
    CODER_FIXED = 1,   /* 16 bytes a record: docs/format.md section 3 */
    CODER_PLANES = 2,  /* the same, byte by byte */
    CODER_COMPACT = 3, /* distances, and what was foretold */
};

/* Kinds in a RECORDS section. */
enum record_kind {
    RECORD_SESSION = 1,
    RECORD_PROCESS = 2,
    RECORD_THREAD = 3,
    RECORD_CODE = 4,
    RECORD_NODES = 5,
    RECORD_STACKS = 6,
    RECORD_TICKS = 7,
    RECORD_RSS = 8,
    RECORD_BOUND = 9,
    RECORD_SUMMARY = 10,
    RECORD_NAME = 11,
    RECORD_STATE = 12,
    RECORD_MARK = 13,
    RECORD_LIMIT = 14,
    RECORD_USE = 15,
    RECORD_CGROUP = 16,
    RECORD_SAMPLING = 17,
    RECORD_MODULE = 18,
    RECORD_NATIVE_NODES = 19,
    RECORD_SYMBOLS = 20,
};

/* What code a native frame lies in. */
enum module_kind {
    MODULE_FILE = 1, /* an executable or a shared library */
    MODULE_VDSO = 2, /* the kernel's, in no file */
    MODULE_JIT = 3,  /* code that a process has made: offsets are addresses */
};

enum module_field {
    MODULE_NUMBER = 1,
    MODULE_KIND = 2,
    MODULE_PATH = 3,
    MODULE_BUILD_ID = 4,
    MODULE_EXTENT_BYTES = 5, /* from the load bias to the end of its last segment */
    MODULE_FILE_BYTES = 6,   /* when it was met; left out: not known */
    MODULE_CHANGED_NS = 7,   /* likewise, CLOCK_REALTIME */
    MODULE_PROCESS = 8,      /* of MODULE_JIT */
};

enum {
    NATIVE_NODE_EXACT = 1u << 0, /* in a row of NATIVE_NODES */
    NATIVE_NODE_EVAL = 1u << 1,
    NATIVE_NODE_SHIFT = 2,
};

/* What there is a limit of. */
enum limit_kind {
    LIMIT_CGROUP_MAX = 1,    /* memory.max */
    LIMIT_CGROUP_HIGH = 2,   /* memory.high */
    LIMIT_CGROUP_V1 = 3,     /* memory.limit_in_bytes */
    LIMIT_ADDRESS_SPACE = 4, /* RLIMIT_AS */
    LIMIT_DATA = 5,          /* RLIMIT_DATA */
    LIMIT_MACHINE = 6,       /* its memory */
    LIMIT_SWAP = 7,
    LIMIT_KIND_COUNT = 8,
};

/* What counts against a limit. */
enum use_kind {
    USE_CGROUP = 1,        /* of it and those below it, without page cache */
    USE_ADDRESS_SPACE = 2, /* of a process */
    USE_DATA = 3,          /* of a process, with its stack */
    USE_SWAP = 4,          /* of a process */
    USE_KIND_COUNT = 5,
};

enum session_field {
    SESSION_VERSION = 1,
    SESSION_HOST = 2,
    SESSION_MACHINE = 3,
    SESSION_PAGE_BYTES = 4,
    SESSION_TICK_PERIOD_US = 5,
    SESSION_REALTIME_NS = 6,
    SESSION_MONOTONIC_NS = 7,
    SESSION_BOOTTIME_NS = 8,
    SESSION_OPTIONS = 9,
    SESSION_ARGUMENT = 10,
    SESSION_DIRECTORY = 11,
    SESSION_MIN_SIZE = 12,     /* left out: 0 */
    SESSION_SAMPLE_BYTES = 13, /* likewise */
    SESSION_MAX_FILE = 14,     /* likewise */
    SESSION_MAX_OVERHEAD = 15, /* parts per million; likewise */
};

enum process_field {
    PROCESS_NUMBER = 1,
    PROCESS_PID = 2,
    PROCESS_INNER_PID = 3,
    PROCESS_PARENT = 4,
    PROCESS_HOW = 5,
    PROCESS_FIRST_SEGMENT = 6,
    PROCESS_STARTED_NS = 7,
    PROCESS_ENDED_NS = 8,
    PROCESS_END = 9, /* enum process_end */
    PROCESS_END_CODE = 10,
    PROCESS_ARGUMENT = 11,
    PROCESS_EXECUTABLE = 12,
    PROCESS_PYTHON_VERSION = 13,
    PROCESS_FREE_THREADED = 14,
    PROCESS_TRACKED = 15,
    PROCESS_PYTHON_ALLOCATORS = 16,
    PROCESS_PYTHON_ALLOCATOR = 17,
    PROCESS_COUNTER = 32, /* + enum pool_counter */
};

/* Why the state is another now. */
enum state_cause {
    CAUSE_START = 1,    /* it is the first */
    CAUSE_DELAY = 2,    /* --delay is over */
    CAUSE_DURATION = 3, /* --duration is over */
    CAUSE_CONTROL = 4,  /* memtrack ctl */
    CAUSE_PROGRAM = 5,  /* memtrack.h */
    CAUSE_EXCEED = 6,   /* --on-exceed */
    CAUSE_MAX_FILE = 7, /* the capture is as large as it may become */
    CAUSE_LAST = 8,     /* --last: what was live is told as allocated then */
};

/* Why blocks are sampled from an instant on, or with a larger mean. */
enum sampling_cause {
    SAMPLING_MAX_FILE = 1,
    SAMPLING_MAX_OVERHEAD = 2,
};

enum {
    STACK_LEVEL_BASE = 8, /* in a stack's class: a class below, else the level and this */
};

enum process_end {
    END_CODE = 1,
    END_SIGNAL = 2,
    END_EXEC = 3,
    END_UNKNOWN = 4,
};

enum thread_field {
    THREAD_STREAM = 1,
    THREAD_PROCESS = 2,
    THREAD_TID = 3,
    THREAD_NAME = 4,
    THREAD_LOST = 5,
    THREAD_REPAIRED = 6,
    THREAD_MAIN = 7,
};

enum summary_field {
    SUMMARY_CPU_NS = 1,
    SUMMARY_ENDED_NS = 2,
    SUMMARY_EVENTS = 3,
    SUMMARY_SLOTS = 4,
    SUMMARY_LOST = 5,
    SUMMARY_HOLES = 6,
    SUMMARY_FAULTS = 7,
    SUMMARY_RAW_BYTES = 8,
    SUMMARY_RSS_BYTES = 9,
    SUMMARY_REASON = 10,
    SUMMARY_IS_SNAPSHOT = 11, /* left out: 0 */
    SUMMARY_FAILURE = 12,
    SUMMARY_MODEL_CPU_NS = 13, /* of SUMMARY_CPU_NS */
};

/* Records of EVENTS, as coders 1 and 2 have them. */
enum event_op {
    EVENT_ALLOC = 1,
    EVENT_FREE = 2,
    EVENT_MAP = 3,
    EVENT_UNMAP = 4,
    EVENT_PROTECT = 5,
    EVENT_UNDO = 6,
    EVENT_FAIL = 7,
    EVENT_SYNC = 8,
    EVENT_NOTE = 9,
    EVENT_WIDE = 15,
};

enum note_kind {
    NOTE_LOST = 1,
    NOTE_LIFE = 2,
    NOTE_CLOCK = 3,
    NOTE_MARK = 4,
};

enum {
    EVENT_BYTES = 16,
    EVENT_DOMAIN_SHIFT = 57,
    EVENT_OP_SHIFT = 60,
    EVENT_STACK_SHIFT = 32,     /* in w1 */
    EVENT_ALLOCATOR_SHIFT = 32, /* in w1 of UNMAP, UNDO; PROTECT: the class */
    NOTE_LIFE_SHIFT = 16,       /* in w0 */
    NOTE_MARK_KIND_SHIFT = 16,  /* in w0; 8 bits */
    NOTE_MARK_NAME_SHIFT = 24,  /* in w0; 32 bits */
};
#define EVENT_ADDRESS_MASK ((UINT64_C(1) << 57) - 1)
#define EVENT_DOMAIN_MASK  UINT64_C(7)

#endif
