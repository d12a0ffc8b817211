/*
 * What a target and its collector share: the pool, its rings, slots and records. No code.
 *
 * A pool is one memory file (memfd, sealed against shrinking and growing). The collector makes it
 * and fills in the header; each target maps it whole and shared, and its threads write records into
 * rings that they own alone. In it stand, in this order: header, process table, ring directory,
 * rings; the header says where and how many. All integers are little-endian.
 *
 * Whoever reads the pool treats it as foreign: a program can write anything into its own memory.
 * Atomics: each field says who writes it; readers take what they see and check it.
 */
#ifndef MEMTRACK_PROTOCOL_H
#define MEMTRACK_PROTOCOL_H

#include <stdatomic.h>
#include <stdint.h>

#define PROTOCOL_MAGIC UINT64_C(0x314c4f4f504b544d) /* "MTKPOOL1" */

enum {
    PROTOCOL_MAJOR = 1, /* differs: the target stays inert */
    PROTOCOL_MINOR = 0, /* adds ops 24-31, blob kinds, trailing fields */
    POOL_HEADER_BYTES = 4096,
    POOL_PROCESS_COUNT = 1024,
    POOL_PROCESS_BYTES = 256,
    POOL_RING_COUNT = 4096,
    POOL_RING_ENTRY_BYTES = 128,
    POOL_RINGS_OF_SMALL_TARGET = 16, /* mapped by a target whose RLIMIT_AS is finite */
    RING_SLOT_COUNT = 16384,
    RING_BYTES = RING_SLOT_COUNT * 16,
    GROUP_MAX_SLOTS = 256, /* slots reserved together, and of one record */
    POOL_PATH_BYTES = 3072,
    TICK_PERIOD_US = 1000,
    POOL_REQUEST_COUNT = 4,
    REQUEST_NAME_BYTES = 108,
    TOKEN_BYTES = 16,
    UUID_BYTES = 16,
    SAMPLE_LEVEL_MOST = 15, /* of pool_header.sample_level */
    SAMPLE_LEVEL_SHIFT = 5,
};

/* Mean bytes between two picks at a level: 64 bytes at level 1, 1 MiB at the highest. */
#define SAMPLE_LEVEL_BYTES(level) (UINT64_C(1) << (SAMPLE_LEVEL_SHIFT + (level)))

/* pool_header.state */
enum pool_state {
    POOL_DORMANT = 0,
    POOL_RECORDING = 1,
    POOL_PAUSED = 2,
    POOL_ENDED = 3,
};

/* pool_header.options */
enum pool_option {
    POOL_OPTION_PYTHON = 1u << 0,            /* Python stacks */
    POOL_OPTION_NATIVE = 1u << 1,            /* native stacks */
    POOL_OPTION_PYTHON_ALLOCATORS = 1u << 2, /* raw, mem and object domains */
    POOL_OPTION_TYPES = 1u << 3,
    POOL_OPTION_FOLLOW = 1u << 4, /* children are tracked */
    POOL_OPTION_FREES_ONLY_SAMPLED = 1u << 5,
};

/* pool_request.state */
enum pool_request_state {
    REQUEST_FREE = 0,
    REQUEST_CLAIMED = 1,
    REQUEST_READY = 2, /* FREE again by the collector */
};

enum pool_request_command {
    REQUEST_START = 1, /* as CONTROL_START and CONTROL_STOP: of the session */
    REQUEST_STOP = 2,
    REQUEST_SNAPSHOT = 3, /* name: of the file, behind the capture's; none: a number */
};

/*
 * A program asks something of the collector. Claimed by compare-and-swap of state from FREE to
 * CLAIMED; the claimer fills it in, stores READY (release), adds 1 to pool_header.requests and rings.
 * One that stays CLAIMED for a second is FREE again: its thread has died.
 */
struct pool_request {
    _Atomic uint32_t state;  /* enum pool_request_state */
    _Atomic uint32_t served; /* collector: adds 1 for each that it has carried out; a futex */
    uint32_t command;        /* enum pool_request_command */
    uint32_t number; /* of pool_header.request_numbers: the lower one is carried out first */
    uint32_t name_bytes;
    char name[REQUEST_NAME_BYTES];
};

/*
 * Written by the collector before the first target sees it, but for the fields that say otherwise.
 * death: a robust, process-shared pthread mutex that the collector holds while it lives stands at
 * death_offset (room for POOL_DEATH_BYTES). Its futex word is at death_word_offset: the kernel sets
 * FUTEX_OWNER_DIED in it when the collector dies; that bit, or the value 0, says: nobody drains.
 */
struct pool_header {
    uint64_t magic;
    uint16_t major;
    uint16_t minor;
    uint32_t header_bytes;
    uint8_t uuid[UUID_BYTES];
    uint8_t token[TOKEN_BYTES];
    uint64_t pool_bytes;
    uint64_t process_offset;
    uint32_t process_count;
    uint32_t process_bytes;
    uint64_t directory_offset;
    uint64_t rings_offset;
    uint32_t ring_count;
    uint32_t ring_slot_count;
    uint64_t options; /* enum pool_option */
    uint64_t sample_bytes;
    uint64_t min_size;
    uint32_t tick_period_us;
    uint32_t death_offset;
    uint32_t death_word_offset;
    uint32_t collector_pid; /* as the collector sees itself */
    /* Changing; each on a line of its own where the hot path or a waiter looks. */
    _Atomic uint32_t state __attribute__((aligned(64))); /* enum pool_state; collector */
    _Atomic uint32_t tick;               /* collector; ms since the session began, roughly */
    _Atomic uint32_t heartbeat;          /* collector: adds 1 each round */
    _Atomic uint32_t rings_ready;        /* collector: rings with memory; also a futex */
    _Atomic uint32_t collector_sleeping; /* collector: 1: it wants to be rung; who rings: 0 */
    _Atomic uint32_t doorbell __attribute__((aligned(64))); /* targets add 1; a futex */
    _Atomic uint32_t next_process;                          /* targets add 1 for their number */
    _Atomic uint32_t ring_requests;   /* targets: threads add 1 when they find no ring free */
    _Atomic uint32_t requests;        /* targets add 1 when one of request is READY */
    _Atomic uint32_t request_numbers; /* targets add 1 for a request's number */
    /* Collector; 0: all is recorded as the fields above say. Else blocks are sampled: it only grows. */
    _Atomic uint32_t sample_level;
    uint8_t death[64] __attribute__((aligned(64)));
    char capture_path[POOL_PATH_BYTES]; /* NUL-terminated, absolute */
    struct pool_request request[POOL_REQUEST_COUNT];
};

/* pool_process.state */
enum pool_process_state {
    PROCESS_FREE = 0,
    PROCESS_CLAIMED = 1,
    PROCESS_LIVE = 2,
    PROCESS_DETACHED = 3,
    PROCESS_DEAD = 4, /* collector: drained, about to be free */
};

/* pool_process.how: what made the process take a slot */
enum pool_process_how {
    PROCESS_BY_START = 0, /* first program of the session */
    PROCESS_BY_FORK = 1,
    PROCESS_BY_EXEC = 2, /* an image that found the session in its environment */
    PROCESS_BY_ATTACH = 3,
};

/* pool_process.flags: what the process knows about itself */
enum pool_process_flag {
    /* Another object's malloc comes before ours in the search order: its blocks are not seen. */
    PROCESS_HAS_OTHER_MALLOC = 1u << 0,
    PROCESS_HAS_NO_UNWINDER = 1u << 1, /* native stacks were asked for; libc is too old for them */
};

/* pool_process.counters: running totals, written by the process alone */
enum pool_counter {
    COUNTER_SLOW_NS = 0,      /* time spent in slow paths, waits left out */
    COUNTER_WAIT_NS = 1,      /* time spent waiting for room in a ring */
    COUNTER_WAITS = 2,        /* waits */
    COUNTER_WALKS_FAILED = 3, /* Python stacks given up */
    COUNTER_NAMES_LOST = 4,   /* code objects that could not be announced */
    COUNTER_MEMORY_BYTES = 5, /* private memory of the tracker in the target */
    COUNTER_LOST = 6,     /* events that could not be recorded and could not be said in a ring */
    COUNTER_UNWINDER = 7, /* native unwinder fallbacks */
    COUNTER_PYTHON_REFUSED = 8, /* interpreters whose layout is not known */
    COUNTER_UNHEARD = 9,        /* requests that the collector has not taken in time */
    POOL_COUNTER_COUNT = 16,
};

/*
 * One tracked process. Claimed by compare-and-swap of state from FREE to CLAIMED; the claimer fills
 * it in and stores LIVE (release). The collector gives it back: DEAD, then FREE.
 * epoch: the one shared word that the hot path reads; never 0. The collector adds 1 at each tick in
 * which the process recorded, and at each change of state or options; the fork-prepare hook adds 1.
 */
struct pool_process {
    _Atomic uint32_t state;
    uint32_t pid;            /* as the process sees it */
    uint32_t outer_pid;      /* as the collector sees it; collector, or 0 while not known */
    _Atomic uint32_t number; /* 1, 2, ...: unique in the session; 0 in a free slot */
    uint32_t parent_number;  /* 0: none is tracked */
    uint8_t how;             /* enum pool_process_how */
    uint8_t flags;           /* enum pool_process_flag */
    uint16_t reserved;
    _Atomic uint32_t epoch;
    uint32_t reserved2;
    uint64_t first_segment; /* the child's own records have segments >= this one */
    uint64_t started_ns;    /* CLOCK_MONOTONIC */
    _Atomic uint64_t counters[POOL_COUNTER_COUNT];
    uint8_t reserved3[80];
};

/* ring_entry.state */
enum ring_state {
    RING_FREE = 0,
    RING_OWNED = 1,
    RING_CLAIMING = 3,
};

/*
 * One ring's directory entry. A thread takes the lowest FREE one below rings_ready by
 * compare-and-swap. Slot number n lies at n % RING_SLOT_COUNT; numbers count from the ring's
 * creation and are never reset, so a later owner goes on where the one before ended.
 */
struct ring_entry {
    /* Line A: written by the thread. */
    _Atomic uint64_t cursor;   /* slots reserved */
    _Atomic uint32_t state;    /* enum ring_state; FREE again by the collector */
    uint32_t process;          /* number */
    uint32_t tid;              /* as the process sees it */
    uint32_t birth;            /* number of the BIRTH record that announced the thread, or 0 */
    uint64_t start;            /* cursor at the claim */
    _Atomic uint64_t lost;     /* events of this owner that were not recorded */
    _Atomic uint64_t repaired; /* slots of holes filled with NOP */
    uint8_t reserved_a[16];
    /* Line B: written by the collector, but for waiting. */
    _Atomic uint64_t consumed __attribute__((aligned(64))); /* slots released, same count */
    _Atomic uint32_t wake;    /* a futex: adds 1 when consumed has moved and waiting is set */
    _Atomic uint32_t waiting; /* the thread: 1 while it waits */
    _Atomic uint64_t seen;    /* slots read; released once they are in the file */
    uint8_t reserved_b[40];
};

/*
 * A slot. w1 is stored first, w0 last (release). It is committed when bit 63 of w0 equals the lap
 * that the reader expects: 1 in even laps, 0 in odd ones (lap = number / RING_SLOT_COUNT).
 */
struct slot {
    _Atomic uint64_t w0;
    _Atomic uint64_t w1;
};

#define SLOT_LAP          (UINT64_C(1) << 63)
#define SLOT_HEAD         (UINT64_C(1) << 62) /* first slot of a record; 0: continuation */
#define SLOT_OP_SHIFT     57
#define SLOT_OP_MASK      UINT64_C(31)
#define SLOT_DETACHED     (UINT64_C(1) << 56) /* from a handler nested in a hook: no chain */
#define SLOT_DOMAIN_SHIFT 53
#define SLOT_DOMAIN_MASK  UINT64_C(7)
#define SLOT_PAYLOAD_MASK ((UINT64_C(1) << 53) - 1) /* mostly address >> 3 */
#define SLOT_DATA_MASK    ((UINT64_C(1) << 62) - 1) /* of w0 in a continuation, and of frames */

/*
 * Ops. A record is one head and the continuations its op implies; continuations are stored first,
 * the head's w0 last. Slots: 1 where nothing is said.
 */
enum slot_op {
    OP_NOP = 0,
    OP_ALLOC = 1,
    OP_FREE = 2, /* bytes 0, allocator = the releasing entry; recorded before the real call */
    OP_MAP = 3,
    OP_UNMAP = 4,
    OP_PROTECT = 5, /* mprotect changed the class of a range */
    OP_UNDO = 6,    /* the latest release of this address by this thread did not happen */
    OP_FAIL = 7,    /* an allocation failed: bytes asked, allocator */
    OP_SYNC = 11,   /* payload = segment; w1 bits 0-31 tick, 32-39 enum sync_why */
    OP_CLOCK = 12,  /* w1 = CLOCK_MONOTONIC ns; at the claim and once a lap */
    OP_PY = 13,     /* stack delta: payload bits 0-23 pop, 24-47 push; w1 = first frame;
                       each continuation two more (w0, w1), outermost first */
    OP_NATIVE = 14, /* the same for native frames */
    OP_BLOB = 15,   /* arg bit 53 first, 54 last; payload bits 0-7 enum blob_kind, 8-23 blob number,
                       24-35 bytes here; w1 = total bytes (first) or offset; continuations carry
                       15 bytes each: w1, then bits 0-55 of w0 */
    OP_LOST = 16,   /* w1 = events not recorded just before */
    OP_BIRTH = 17,  /* w1 = number given to a thread about to be created */
    OP_MARK = 18, /* arg bits 53-55 enum mark_kind; payload = id of the name, 0 where there is none;
                     w1 = number of the phase. Stands at the beginning of a segment */
    /*
     * ALLOC whose innermost frame has moved on in its code: w1 bits 0-23 bytes, 24-47 the frame's
     * offset from now on, 48-55 allocator.
     */
    OP_ALLOC_MOVED = 21,
    /* As ALLOC_MOVED, and the native chain is memo w1 bits 56-58 again; offset MOVED_NOT: no move. */
    OP_ALLOC_AGAIN = 22,
    OP_LIFE = 23, /* payload enum life; w1 = code */
};

/* OP_ALLOC_MOVED, OP_ALLOC_AGAIN */
#define MOVED_OFFSET_SHIFT 24
#define MOVED_MASK         UINT64_C(0xffffff) /* of both */
#define MOVED_NOT          MOVED_MASK

/*
 * OP_NATIVE, bits 48-52: what both sides keep of stacks that may come again. A memo is a chain's inner end, from
 * memo_base() of its depth on. It is gone when a later delta or memo has left less than that base of the chain.
 */
#define NATIVE_MEMO_SHIFT 48
#define NATIVE_MEMO_MASK  UINT64_C(7)         /* number of a memo */
#define NATIVE_MEMO_MAKE  (UINT64_C(1) << 51) /* the chain, behind this record, is that memo */
#define NATIVE_MEMO_RECALL \
    (UINT64_C(1) << 52) /* instead of pop and push: the chain is that memo again */

enum {
    MEMO_COUNT = 8,
    MEMO_FRAMES = 12, /* of one, at most */
    MEMO_BASE_STEP = 8,
};

/* OP_PY, OP_NATIVE: this pop count empties the chain. */
#define DELTA_POP_ALL    UINT32_C(0xffffff)
#define DELTA_COUNT_MASK UINT64_C(0xffffff)
#define DELTA_PUSH_SHIFT 24

enum {
    DELTA_MAX_FRAMES = 500, /* of one record; more take several, the later ones with pop 0 */
    BLOB_BYTES_PER_SLOT = 15,
    BLOB_CHUNK_MAX_BYTES = (GROUP_MAX_SLOTS - 1) * 15, /* 3825 */
    BLOB_MAX_BYTES = 1 << 20,
};
#define BLOB_FIRST (UINT64_C(1) << 53)
#define BLOB_LAST  (UINT64_C(1) << 54)

/* OP_SYNC: why the segment was begun. */
enum sync_why {
    SYNC_CLAIM = 1,
    SYNC_PAGE = 2,
    SYNC_EPOCH = 3,
    SYNC_BIG = 4,
    SYNC_NET = 5,
    SYNC_MAP = 6,
    SYNC_FORK = 7,
    SYNC_SECTION = 8, /* only in the capture: repeats what is in force at a section's start */
    SYNC_MARK = 9,
};

/* OP_MARK */
enum mark_kind {
    MARK_INSTANT = 0,
    MARK_PHASE_BEGIN = 3, /* w1 = its number, in the process from 1 */
    MARK_PHASE_END = 4,   /* likewise; no name */
};

/* OP_LIFE */
enum life {
    LIFE_EXEC = 1,        /* exec begins; arg bit 53: its environment lacks the preload */
    LIFE_EXEC_FAILED = 2, /* it did not happen */
    LIFE_EXIT = 3,        /* w1 = exit code */
    LIFE_FORK = 4,        /* a fork is ahead (prepare hook, after a SYNC) */
};

/* w1 of ALLOC, FREE, MAP, UNMAP, PROTECT, UNDO, FAIL. */
#define BLOCK_BYTES_MASK      ((UINT64_C(1) << 48) - 1)
#define BLOCK_ALLOCATOR_SHIFT 48
#define BLOCK_LOW_SHIFT       56 /* address & 7 */
#define BLOCK_CLASS_SHIFT \
    59 /* enum map_class; ALLOC: level that it was picked at, 0: for certain */

/* Address spaces; a block is keyed by domain and address. */
enum domain {
    DOMAIN_HEAP = 0,
    DOMAIN_PYTHON_RAW = 1,
    DOMAIN_PYTHON_MEM = 2,
    DOMAIN_PYTHON_OBJECT = 3,
    DOMAIN_MAP = 4,
    DOMAIN_DEVICE = 5,
    DOMAIN_POOL = 6,
};

enum map_class {
    CLASS_ANONYMOUS = 0,
    CLASS_RESERVED = 1, /* PROT_NONE: address space without memory */
    CLASS_FILE_PRIVATE = 2,
    CLASS_FILE_SHARED = 3,
    CLASS_SHARED = 4, /* shared anonymous memory */
    CLASS_STACK = 5,
    CLASS_DRIVER = 6,
    CLASS_ARENA = 7, /* mapped by an allocator for itself: its blocks are counted instead */
    CLASS_COUNT = 8,
};

/* The entry that the program called. Names for users: docs/format.md. */
enum allocator {
    ALLOCATOR_NONE = 0,
    ALLOCATOR_MALLOC = 1,
    ALLOCATOR_CALLOC = 2,
    ALLOCATOR_REALLOC = 3,
    ALLOCATOR_REALLOCARRAY = 4,
    ALLOCATOR_MEMALIGN = 5,
    ALLOCATOR_POSIX_MEMALIGN = 6,
    ALLOCATOR_ALIGNED_ALLOC = 7,
    ALLOCATOR_VALLOC = 8,
    ALLOCATOR_PVALLOC = 9,
    ALLOCATOR_FREE = 10,
    ALLOCATOR_FREE_SIZED = 11,
    ALLOCATOR_FREE_ALIGNED_SIZED = 12,
    ALLOCATOR_MMAP = 16,
    ALLOCATOR_MREMAP = 17,
    ALLOCATOR_MUNMAP = 18,
    ALLOCATOR_BRK = 19, /* brk and sbrk */
    ALLOCATOR_MPROTECT = 20,
    ALLOCATOR_PYMALLOC =
        32, /* + 4 * (domain - DOMAIN_PYTHON_RAW) + malloc 0 calloc 1 realloc 2 free 3 */
    ALLOCATOR_PYMALLOC_ARENA = 44, /* mapped by the interpreter for pymalloc */
    ALLOCATOR_POOL = 127,          /* a pool of the program's own, whose name is not known */
    ALLOCATOR_POOL_FIRST = 128,    /* to 255: pools with names: NAME_POOL says which */
    ALLOCATOR_COUNT = 256,
};

/*
 * Frames, 62 bits. Python: bits 0-29 instruction offset in bytes, signed; 30-60 code id; 61 ENTRY:
 * outermost frame of its evaluation activation. Code id 0: a special frame, the offset is enum
 * frame_special.
 */
#define FRAME_OFFSET_BITS 30
#define FRAME_CODE_SHIFT  30
#define FRAME_CODE_MASK   UINT64_C(0x7fffffff)
#define FRAME_ENTRY       (UINT64_C(1) << 61)

/*
 * Native: bits 0-39 offset from the module's load bias, 40-58 module id, 59 EXACT: the instruction
 * itself, else the one behind a call; 60 EVAL: it runs a group of Python frames; 61 ABSOLUTE: bits 0-58
 * are the address, which lies in no module. Module id 0: a special frame.
 */
#define NATIVE_OFFSET_BITS  40
#define NATIVE_MODULE_SHIFT 40
#define NATIVE_MODULE_MASK  UINT64_C(0x7ffff)
#define NATIVE_EXACT        (UINT64_C(1) << 59)
#define NATIVE_EVAL         (UINT64_C(1) << 60)
#define NATIVE_ABSOLUTE     (UINT64_C(1) << 61)

enum frame_special {
    SPECIAL_UNKNOWN = 0,
    SPECIAL_TRUNCATED = 1, /* deeper than the tracker keeps: outer frames are missing */
    SPECIAL_FINALIZING = 2,
    SPECIAL_SIGNAL_HANDLER = 3, /* only in the capture: stands for DETACHED */
    SPECIAL_UNWINDER = 4,       /* native: the unwinder could not go on */
    SPECIAL_NO_FRAME = 5,       /* an activation that runs no frame (any more); with ENTRY */
};

/*
 * Blobs: what is announced once, before it is used. Little-endian, no padding but what is said.
 * CODE: u32 id, i32 first line, u8 enum line_table, u8 enum code_flag, u16 0, u32 file name bytes,
 *   u32 qualified name bytes, u32 line table bytes, then the three; names are UTF-8 (surrogates as
 *   WTF-8).
 * MODULE: u32 id, u64 load bias, u64 extent (from there to its end), u8 1 for the vDSO, u8 build-id bytes,
 *   then the build-id and the path.
 * NAME: u32 id, u8 enum name_kind, u8 0 x 3, then the text.
 * PYTHON: u8 major, u8 minor, u8 micro, u8 enum python_flag; then the text of Py_GetVersion().
 */
enum blob_kind {
    BLOB_CODE = 1,
    BLOB_MODULE = 2,
    BLOB_NAME = 3,
    BLOB_DEVICE = 4,
    BLOB_PYTHON = 5,
};

enum {
    BLOB_CODE_HEADER_BYTES = 24,
    BLOB_MODULE_HEADER_BYTES = 22,
    BLOB_NAME_HEADER_BYTES = 8,
    BLOB_PYTHON_HEADER_BYTES = 4,
};

enum python_flag {
    PYTHON_FREE_THREADED = 1u << 0,
    PYTHON_ALLOCATORS_TRACED = 1u << 1, /* its raw, mem and object domains are recorded */
    PYTHON_DEBUG_HOOKS = 1u << 2,       /* on top of its allocator */
    PYTHON_ALLOCATOR_SHIFT = 3,         /* 2 bits: enum python_allocator_kind */
    PYTHON_ALLOCATOR_MASK = 3,
};

/* Which allocator small objects come from. */
enum python_allocator_kind {
    PYTHON_ALLOCATOR_UNKNOWN = 0,
    PYTHON_ALLOCATOR_MALLOC = 1,
    PYTHON_ALLOCATOR_PYMALLOC = 2,
    PYTHON_ALLOCATOR_MIMALLOC = 3,
};

enum line_table {
    LINE_TABLE_LNOTAB = 1,   /* CPython up to 3.9: co_lnotab */
    LINE_TABLE_PAIRS = 2,    /* 3.10: co_linetable, pairs of start offset and line delta */
    LINE_TABLE_LOCATION = 3, /* 3.11 and later: location table with columns */
};

enum code_flag {
    CODE_HIDDEN = 1u << 0, /* an interpreter shim, not shown */
};

enum name_kind {
    NAME_THREAD = 1, /* id = tid */
    NAME_MARK = 2,   /* id = of OP_MARK */
    NAME_POOL = 3,   /* id = allocator of blocks in DOMAIN_POOL, ALLOCATOR_POOL_FIRST and up */
};

/*
 * The handshake: a SOCK_SEQPACKET connection to the abstract socket "@memtrack-" + uuid as 32
 * lower-case hexadecimal digits. The target sends a hello; the answer carries the pool's descriptor
 * (SCM_RIGHTS) when status is HANDSHAKE_WELCOME.
 */
#define HANDSHAKE_MAGIC         UINT32_C(0x484b544d) /* "MTKH" */
#define HANDSHAKE_SOCKET_PREFIX "memtrack-"

struct handshake_hello {
    uint32_t magic;
    uint16_t major;
    uint16_t minor;
    uint8_t token[TOKEN_BYTES];
    uint32_t pid; /* as the sender sees itself */
    uint32_t how; /* enum pool_process_how */
};

enum handshake_status {
    HANDSHAKE_WELCOME = 0,
    HANDSHAKE_REFUSED = 1,      /* token differs */
    HANDSHAKE_INCOMPATIBLE = 2, /* major differs */
    HANDSHAKE_ENDED = 3,        /* the session is over */
    HANDSHAKE_FULL = 4,         /* no process slot */
};

struct handshake_answer {
    uint32_t magic;
    uint16_t major;
    uint16_t minor;
    uint32_t status;       /* enum handshake_status */
    uint32_t process_slot; /* index in the process table: CLAIMED, outer_pid filled in */
    uint64_t pool_bytes;
};

/*
 * Control, over the same socket: one request a connection, and one answer, or UNDER_WAY before it. Whoever is the collector's
 * user, or root, may ask (SO_PEERCRED); the session is the one that the process is in, all of it.
 */
#define CONTROL_MAGIC UINT32_C(0x434b544d) /* "MTKC" */

enum {
    CONTROL_NAME_BYTES = 1000, /* of a mark */
    CONTROL_TEXT_BYTES = POOL_PATH_BYTES + 512,
};

enum control_command {
    CONTROL_STATUS = 1,
    CONTROL_START = 2,
    CONTROL_STOP = 3,     /* until the next start */
    CONTROL_MARK = 4,     /* name */
    CONTROL_SNAPSHOT = 5, /* name: absolute path of the file; none: the collector names it */
};

enum control_flag {
    CONTROL_MAY_OVERWRITE = 1u << 0, /* of CONTROL_SNAPSHOT */
};

struct control_request {
    uint32_t magic;
    uint16_t major;
    uint16_t minor;
    uint32_t command; /* enum control_command */
    uint32_t pid;     /* a process of the session, as the collector sees it */
    uint32_t flags;   /* enum control_flag */
    uint32_t name_bytes;
    char name[POOL_PATH_BYTES];
};

enum control_status {
    CONTROL_DONE = 0,
    CONTROL_NOT_TRACKED = 1,  /* the process is not in this session */
    CONTROL_REFUSED = 2,      /* another user */
    CONTROL_INCOMPATIBLE = 3, /* major differs, or the command is not known */
    CONTROL_UNDER_WAY = 4,    /* it takes a while: another answer follows */
    CONTROL_FAILED = 5,       /* text says why */
};

struct control_answer {
    uint32_t magic;
    uint16_t major;
    uint16_t minor;
    uint32_t status;        /* enum control_status; what follows is for CONTROL_DONE */
    uint32_t state;         /* enum pool_state, after the request */
    uint64_t since_ns;      /* the session's start */
    uint32_t processes;     /* of the session, alive */
    uint32_t collector_pid; /* as it sees itself */
    char text
        [CONTROL_TEXT_BYTES]; /* NUL-terminated: the capture's path, a snapshot's; why it failed */
};

/*
 * MEMTRACK_SESSION=<uuid, 32 hex digits>:<token, 32 hex digits>:<capture path>
 * A program that may have set a system call filter puts a mark in front for those it executes:
 * ?<how many there were before, decimal; nothing: not known>:
 * When there is another one, they must not ask for the session.
 */
#define SESSION_VARIABLE    "MEMTRACK_SESSION"
#define SESSION_FILTER_MARK '?'

_Static_assert(sizeof(struct pool_header) <= POOL_HEADER_BYTES, "pool header");
_Static_assert(sizeof(struct pool_process) == POOL_PROCESS_BYTES, "process slot");
_Static_assert(sizeof(struct ring_entry) == POOL_RING_ENTRY_BYTES, "ring entry");
_Static_assert(sizeof(struct slot) == 16, "slot");
_Static_assert(sizeof(struct pool_request) == 128, "request of a program");
_Static_assert(sizeof(struct handshake_hello) == 32, "hello");
_Static_assert(sizeof(struct control_request) == 24 + POOL_PATH_BYTES, "request");
_Static_assert(sizeof(struct control_answer) == 32 + CONTROL_TEXT_BYTES, "answer");

#endif
