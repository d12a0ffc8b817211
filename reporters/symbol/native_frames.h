/*
 * Inside the folder: native nodes to frames, and which of them are no part of what the program's
 * author wrote.
 */
#ifndef SYMBOL_NATIVE_FRAMES_H
#define SYMBOL_NATIVE_FRAMES_H

#include "symbol/frame_table.h"

struct native_frames;

/* Begin; nothing is read yet. capture, table: must outlive it. Context: tool. */
struct native_frames *native_frames_create(const struct capture *capture,
                                           struct frame_table *table);

/* Give it back; NULL is allowed. The table's texts may be its: the table is not used any more. */
void native_frames_destroy(struct native_frames *natives);

/* As frames_prepare_native(). Context: tool. */
void native_frames_prepare(struct native_frames *natives, const uint32_t *native_nodes,
                           size_t count);

/* As frames_of_native(). parts_columns: frames_part_columns() was called. Context: tool. */
uint32_t native_frames_of_node(struct native_frames *natives, uint32_t native_node,
                               bool parts_columns, const uint32_t **ret_frames);

/* As frames_native_parent(). Context: tool. */
uint32_t native_frames_parent(const struct native_frames *natives, uint32_t native_node);

/* As frames_symbols(). Context: tool. */
struct native_symbols *native_frames_symbols(struct native_frames *natives);

/* Return whether a node lies in code of the interpreter. Context: tool. */
bool native_frames_is_interpreter(const struct native_frames *natives, uint32_t native_node);

#endif
