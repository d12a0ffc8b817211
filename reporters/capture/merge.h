/*
 * The events of a capture in their true order: all processes, all threads, one after the other.
 *
 * Runs in the tools. Memory: one unpacked section a stream. The order is that of docs/format.md
 * section 3; what comes out has been checked against the capture's tables.
 */
#ifndef CAPTURE_MERGE_H
#define CAPTURE_MERGE_H

#include "capture/capture.h"

#include <stdbool.h>
#include <stdint.h>

struct event {
    uint8_t op;        /* enum event_op: ALLOC FREE MAP UNMAP PROTECT UNDO FAIL NOTE */
    uint8_t domain;    /* enum domain */
    uint8_t allocator; /* FREE, UNMAP, UNDO: the releasing entry; ALLOC, MAP, FAIL: 0, see stack */
    uint8_t map_class; /* PROTECT: the new class */
    uint8_t mark;  /* NOTE_MARK: enum mark_kind; address: number of the name, bytes: of the phase */
    uint16_t note; /* NOTE: enum note_kind */
    uint16_t life; /* NOTE_LIFE: enum life */
    uint32_t process_index;
    uint32_t stream; /* index in capture.threads = stream - 1 */
    uint32_t tick;   /* of the process, never falling */
    uint32_t stack;  /* ALLOC, MAP, FAIL, NOTE_MARK: index in capture.stacks */
    uint64_t segment;
    uint64_t address;
    uint64_t bytes; /* NOTE: w1 */
};

struct capture_merge;

/*
 * Return the index of the process whose blocks a forked child began with, or UINT32_MAX: not
 * forked, or from one that is not in the capture. All events of that process in segments below the
 * child's first one come before the child's.
 * Context: tool.
 */
uint32_t capture_fork_parent(const struct capture *capture, uint32_t process_index);

/*
 * Return whether a process was forked by one that is not in the capture's table. A child may be in the
 * file before its parent is. Context: tool.
 */
bool capture_lacks_parent(const struct capture *capture, uint32_t process_index);

/*
 * Begin at the first event.
 * Context: tool.
 */
struct capture_merge *capture_merge_open(const struct capture *capture);

/*
 * Begin at the first event of a capture that is read along (capture/follow.h): no events are there
 * before capture_merge_extend().
 * Context: tool.
 */
struct capture_merge *capture_merge_follow(const struct capture *capture);

/*
 * Go on with what the capture has got since, and take its sections out of its list.
 *
 * Between processes events are ordered by tick, and one that is silent may still have events of a low
 * one. So events up to limit_tick are given out, and it is looked whether one comes that should have
 * been before them: then the order is not that of the whole capture.
 * capture: the merge's. limit_tick: UINT32_MAX once capture_follow_end() has been called.
 * Returns false when the order is lost, or something is damaged: the merge is of no use then. Of a capture
 * that is read once the order is not lost: what comes too late is given out as if it were of now.
 * Context: tool.
 */
bool capture_merge_extend(struct capture_merge *merge, struct capture *capture,
                          uint32_t limit_tick);

/*
 * Get the next events, up to count of them.
 * ret_events: the caller's, room for count.
 * Returns how many; 0 at the end, or when the content of a section is wrong though its checksum is
 * right (a forged capture): then ret_damage is set, and what came before holds.
 * Context: tool.
 */
uint32_t capture_merge_next(struct capture_merge *merge, struct event *ret_events, uint32_t count,
                            struct capture_damage *ret_damage);

/* Give it back; NULL is allowed. Context: tool. */
void capture_merge_close(struct capture_merge *merge);

#endif
