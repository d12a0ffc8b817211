/*
 * memtrack for programs: marks, phases and pools of your own in a capture; recording switched on and off,
 * and snapshots. C99 and C++11.
 *
 * Nothing is to be linked. A program under `memtrack run` finds these functions in the library that
 * is preloaded; in any other the names stand for nothing, and a call is a test of an address. What a
 * function returns then is said with it. All of them may be called from any thread, at any time, and
 * leave errno alone. Names are UTF-8 and copied; of longer ones the first 1000 bytes count.
 *
 * Each function is also a macro of the same name, which makes the test. Without it (MEMTRACK_NO_MACROS
 * is defined before this file is included) compare a function with NULL before it is called.
 */
#ifndef MEMTRACK_MEMTRACK_H
#define MEMTRACK_MEMTRACK_H

#include <stddef.h>

#if defined(__GNUC__)

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Weak: the linker puts up with their absence. By the table of addresses alone: else a program that is
 * linked to fixed addresses has it for good that they are absent. A compiler that cannot be told so
 * (clang) has to be asked for position-independent code, which is its default.
 */
#if defined(__has_attribute)
#if __has_attribute(__noplt__)
#define MEMTRACK_WEAK __attribute__((__weak__, __noplt__))
#endif
#endif
#ifndef MEMTRACK_WEAK
#define MEMTRACK_WEAK __attribute__((__weak__))
#endif

/*
 * Mark an instant: `memtrack stats` lists it, the page shows it on the time axis, `memtrack dump` with
 * its stack and in its true place among the events of all threads.
 * name: what happens, "cache filled".
 * Context: any thread.
 */
extern void memtrack_mark(const char *name) MEMTRACK_WEAK;

/*
 * Begin a phase: a stretch of time with a name, whose own highest heap the reports tell. Phases may
 * lie inside each other, overlap, repeat, and end in another thread than they began in.
 * Returns the number to end it with, 0 when nothing is recorded.
 *
 *     unsigned long phase = memtrack_phase_begin("parse");
 *     parse(file);
 *     memtrack_phase_end(phase);
 *
 * Context: any thread.
 */
extern unsigned long memtrack_phase_begin(const char *name) MEMTRACK_WEAK;

/*
 * End a phase. phase: of memtrack_phase_begin() in this process; 0: nothing happens.
 * Context: any thread.
 */
extern void memtrack_phase_end(unsigned long phase) MEMTRACK_WEAK;

/*
 * An allocator of your own has given out a block: reports show it with the stack that asked for it.
 * The memory that the pool itself got, by malloc or mmap, is in the heap already, so its blocks are
 * not added to that: `memtrack stats` has a line for each pool, and --pools shows the blocks of pools
 * in place of the heap.
 * pool: the allocator's name, "strings". address: not NULL. Tell of one level of pools only: a block
 * at the address of another pool's block takes its place.
 * Context: any thread.
 */
extern void memtrack_pool_alloc(const char *pool, const void *address,
                                size_t size_bytes) MEMTRACK_WEAK;

/*
 * It is about to take the block back. To be called before anybody else can be given the address.
 * pool, address: as they were given. NULL: nothing happens.
 * Context: any thread.
 */
extern void memtrack_pool_free(const char *pool, const void *address) MEMTRACK_WEAK;

/*
 * Begin to record, or go on, as `memtrack ctl PID start` does: in all processes that are recorded with
 * this one, though it waits for the options --dormant or --delay. What this thread allocates after the
 * call is in the capture, what others do from a fraction of a millisecond on. While events are recorded
 * it does nothing.
 * It takes about as long as a thread needs to wake up, at most 100 ms; so does memtrack_stop().
 * Context: any thread.
 */
extern void memtrack_start(void) MEMTRACK_WEAK;

/*
 * Pause the recording until the next start, as `memtrack ctl PID stop` does: in all processes that are
 * recorded with this one. What this thread allocates after the call is not in the capture.
 * Context: any thread.
 */
extern void memtrack_stop(void) MEMTRACK_WEAK;

/*
 * Make a snapshot, as `memtrack ctl PID snapshot` does: a finished capture of all that was recorded until
 * now, beside the one that goes on. All that this thread has recorded before is in it, and perhaps a
 * little of what comes after. It does not wait for the file.
 * name: what stands behind the capture's name and ".snapshot-" in that of the file, "warm"; slashes
 * become dashes, the first 100 bytes count. When there is a file of this name, -2, -3 and so on comes behind
 * it. NULL or "": a number. When the file cannot be written, `memtrack run` says so at its end.
 * Context: any thread.
 */
extern void memtrack_snapshot(const char *name) MEMTRACK_WEAK;

#ifdef __cplusplus
}
#endif

#ifndef MEMTRACK_NO_MACROS
#define memtrack_mark(name)        (memtrack_mark ? memtrack_mark(name) : (void)0)
#define memtrack_phase_begin(name) (memtrack_phase_begin ? memtrack_phase_begin(name) : 0UL)
#define memtrack_phase_end(phase)  (memtrack_phase_end ? memtrack_phase_end(phase) : (void)0)
#define memtrack_pool_alloc(pool, address, size_bytes) \
    (memtrack_pool_alloc ? memtrack_pool_alloc(pool, address, size_bytes) : (void)0)
#define memtrack_pool_free(pool, address) \
    (memtrack_pool_free ? memtrack_pool_free(pool, address) : (void)0)
#define memtrack_start()        (memtrack_start ? memtrack_start() : (void)0)
#define memtrack_stop()         (memtrack_stop ? memtrack_stop() : (void)0)
#define memtrack_snapshot(name) (memtrack_snapshot ? memtrack_snapshot(name) : (void)0)
#endif

#else /* a compiler without weak names */

#define memtrack_mark(name)        ((void)(name))
#define memtrack_phase_begin(name) ((void)(name), 0UL)
#define memtrack_phase_end(phase)  ((void)(phase))
#define memtrack_pool_alloc(pool, address, size_bytes) \
    ((void)(pool), (void)(address), (void)(size_bytes))
#define memtrack_pool_free(pool, address) ((void)(pool), (void)(address))
#define memtrack_start()                  ((void)0)
#define memtrack_stop()                   ((void)0)
#define memtrack_snapshot(name)           ((void)(name))

#endif

#if defined(__cplusplus) && !defined(MEMTRACK_NO_MACROS)
namespace memtrack
{

/* A phase that ends with its block: memtrack::phase parsing("parse"); */
class phase
{
  public:
    explicit phase(const char *name) : number(memtrack_phase_begin(name))
    {
    }

    ~phase()
    {
        memtrack_phase_end(number);
    }

    phase(const phase &) = delete;
    phase &operator=(const phase &) = delete;

  private:
    unsigned long number;
};

} // namespace memtrack
#endif

#endif
