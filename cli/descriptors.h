/*
 * File descriptors of processes that live beside the program: they must hold nothing of it open.
 */
#ifndef CLI_DESCRIPTORS_H
#define CLI_DESCRIPTORS_H

#include <stddef.h>

/*
 * Close every descriptor from 3 on but those named. kept: rising. Context: tool.
 */
void descriptors_close_others(const int *kept, size_t count);

/*
 * Point a descriptor at /dev/null. When that is refused it is closed. Context: tool.
 */
void descriptors_point_at_null(int descriptor);

#endif
