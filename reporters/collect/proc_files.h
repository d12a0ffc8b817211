/*
 * What the kernel says of a process in /proc. Nothing here trusts that the process is still there.
 */
#ifndef COLLECT_PROC_FILES_H
#define COLLECT_PROC_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Read a file of /proc/PID.
 * pid: 0 for one of /proc itself. ret_bytes: room for capacity_bytes; what does not fit is left out.
 * Returns the bytes read, -1 when it cannot be read. Context: any thread.
 */
ssize_t proc_read(uint32_t pid, const char *name, char *ret_bytes, size_t capacity_bytes);

/*
 * Read where a link of /proc/PID leads.
 * ret_text: room for capacity_bytes; NUL-terminated. Returns false when it cannot be read.
 * Context: any thread.
 */
bool proc_read_link(uint32_t pid, const char *name, char *ret_text, size_t capacity_bytes);

/* Return the parent's pid, 0 when not known. Context: any thread. */
uint32_t proc_parent(uint32_t pid);

/*
 * Return whether a thread is known to be gone.
 * pid: as we see it, 0 when not known. inner_pid, tid: as the process sees them.
 * Context: any thread.
 */
bool proc_thread_is_gone(uint32_t pid, uint32_t inner_pid, uint32_t tid);

/* Return the pid in its innermost namespace, 0 when not known. Context: any thread. */
uint32_t proc_inner_pid(uint32_t pid);

/*
 * How did a process end?
 * pidfd: opened while it lived. ret_status: as wait() gives it.
 * Returns false when that is not to be known. Context: any thread.
 */
bool proc_exit_status(uint32_t pid, int pidfd, int *ret_status);

enum proc_answer {
    PROC_NO = 0,
    PROC_YES = 1,
    PROC_NOT_KNOWN = 2, /* it is there, and we may not look */
};

/*
 * Does a process map a file?
 * inode: of a memfd, as fstat() gives it. Context: any thread.
 */
enum proc_answer proc_maps_inode(uint32_t pid, uint64_t inode);

/*
 * Find the process that maps a file and that sees itself as inner_pid (0: any that is_wanted says).
 * is_wanted: may be NULL. Returns its pid as we see it, 0 when there is none. Context: main thread.
 */
uint32_t proc_find(uint64_t inode, uint32_t inner_pid, bool (*is_wanted)(void *user, uint32_t pid),
                   void *user);

/*
 * Open what proc_memory() reads: opening takes longer than reading.
 * Returns a descriptor, which stays with this process though its pid be given to another one; -1
 * when the process is gone or no descriptor is free. Context: any thread.
 */
int proc_open_memory(uint32_t pid);

struct proc_memory {
    uint64_t address_bytes; /* all that is mapped */
    uint64_t resident_bytes;
    uint64_t data_bytes; /* as RLIMIT_DATA counts it, and the stack */
};

/*
 * Read how large a process is. fd: of proc_open_memory(), as often as you like.
 * Returns false when the process is gone. Context: any thread.
 */
bool proc_memory(int fd, uint64_t page_bytes, struct proc_memory *ret_memory);

struct proc_limit {
    bool is_set;
    uint64_t bytes;
};

/*
 * Read RLIMIT_AS and RLIMIT_DATA in force, the soft ones.
 * Returns false when they are not to be known. Context: any thread.
 */
bool proc_limits(uint32_t pid, struct proc_limit *ret_address, struct proc_limit *ret_data);

/* Read how much of a process is swapped out. Returns false when not known. Context: any thread. */
bool proc_swapped(uint32_t pid, uint64_t *ret_bytes);

/*
 * Read /proc/self/mountinfo. Returns a text, the caller's; empty when it cannot be read. Context: any
 * thread.
 */
char *proc_mountinfo(void);

/* Read how much memory and swap there is. Returns false when not known. Context: any thread. */
bool proc_machine(uint64_t *ret_memory_bytes, uint64_t *ret_swap_bytes);

/*
 * Read how much of the memory is in huge pages. Walks the page tables: takes long for large ones.
 * Returns false when it cannot be read. Context: any thread.
 */
bool proc_huge(uint32_t pid, uint64_t *ret_bytes);

#endif
