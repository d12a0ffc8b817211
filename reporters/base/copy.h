/*
 * Bytes of one file copied into another, by the kernel where it can.
 */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Copy so many bytes; where the file system can, they are shared. The files' positions stay.
 * from_fd: may go on being written behind them. to_fd: no pipe.
 * Returns false with errno. Context: tool, any thread.
 */
bool copy_bytes(int from_fd, uint64_t from, int to_fd, uint64_t to, uint64_t size_bytes);

#endif
