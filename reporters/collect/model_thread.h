/*
 * The model thread: keeps the model of the capture while the pack thread writes it, from the file, and
 * stores it there at the end (docs/architecture.md). Reports then need not read the events.
 *
 * Nobody waits for it: it runs where a processor has nothing else to do, and where it has not kept up
 * the capture has no model.
 */
#ifndef COLLECT_MODEL_THREAD_H
#define COLLECT_MODEL_THREAD_H

#include "capture/writer.h"
#include "collect/pack.h"

#include <stdbool.h>
#include <stdint.h>

struct model_thread;

/*
 * Start it. Where there is one processor only, or no thread to be had, all is left to the end.
 * pack, writer: must outlive the thread. file: the capture's name. from_events: a capture of fewer has
 * no model; UINT64_MAX: none has. Context: main thread.
 */
struct model_thread *model_thread_start(struct pack *pack, const struct capture_writer *writer,
                                        const char *file, uint64_t from_events);

/* End the thread, wherever it is; before pack_stop(). NULL is allowed. Context: main thread. */
void model_thread_stop(struct model_thread *model);

/*
 * Let the model come to the end of the events, which are all in the file; or give it up when that
 * would take too long. The thread must have ended.
 * event_count: of the session. recorded_ns: how long it has taken. Context: main thread.
 */
void model_thread_catch_up(struct model_thread *model, const struct capture_writer *writer,
                           uint64_t event_count, uint64_t recorded_ns);

/*
 * Return the processor time that the model has taken; 0 for NULL, and while the thread has ended without
 * being told to. Context: main thread.
 */
uint64_t model_thread_cpu_ns(const struct model_thread *model);

/*
 * Store the model, if there is one and it takes no more than so many bytes: the last thing before the
 * directory. A failed write is kept by the writer. Context: main thread.
 */
void model_thread_store(struct model_thread *model, struct capture_writer *writer,
                        uint64_t most_bytes);

/* Give it back; the thread must have ended. NULL is allowed. Context: main thread. */
void model_thread_free(struct model_thread *model);

#endif
