/*
 * Names of what a capture holds numbers for: allocators, classes, signals, threads, places.
 */
#ifndef REPORT_LABELS_H
#define REPORT_LABELS_H

#include "base/memory.h"
#include "capture/capture.h"
#include "symbol/frames.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Return the name of an allocator (docs/format.md section 4), or of a pool of the program's as the
 * program named it: the capture's; "unknown" where it has none. Context: tool.
 */
const char *label_allocator(const struct capture *capture, uint8_t allocator);

/* Return the name of a class of maps, "unknown" where it has none. Context: any thread. */
const char *label_map_class(uint8_t map_class);

/* Return the name of a signal as "SIGSEGV"; the pool's when it has none of its own. Context: tool. */
const char *label_signal(struct memory_pool *pool, int64_t number);

/* Return the name of the state: "clean", "running", "truncated". Context: any thread. */
const char *label_state(enum capture_state state);

/*
 * Return what to call a thread: its name, else "main", else "thread TID".
 * stream: index in capture.threads + 1. Context: tool.
 */
const char *label_thread(struct memory_pool *pool, const struct capture *capture, uint32_t stream);

/*
 * Return a command line: arguments with spaces between. The pool's.
 * The short one names the program without its folder. Context: tool.
 */
const char *label_command(struct memory_pool *pool, const char *const *arguments);
const char *label_short_command(struct memory_pool *pool, const char *const *arguments);

/*
 * Return the place of a frame for people: "email/feedparser.py:31". Files in the program's working
 * directory and in Python's library are named from there. Of a native function without a file it is
 * the module, "libfoo.so.1"; "" when there is neither.
 * line: instead of the frame's own. Context: tool.
 */
const char *label_place(struct memory_pool *pool, const struct capture *capture,
                        const struct frame *frame, uint32_t line);

/* Return the first process that ran Python, or NULL. Context: tool. */
const struct capture_process *label_python_process(const struct capture *capture);

/* Return whether Python's own allocators were recorded, of one process at least. Context: tool. */
bool label_has_python_allocators(const struct capture *capture);

/* Return the number of Python's version, "3.13.0", of what Py_GetVersion() says. Context: tool. */
const char *label_python_version(struct memory_pool *pool, const struct capture_process *process);

#endif
