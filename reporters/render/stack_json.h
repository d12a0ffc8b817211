/*
 * Stacks in JSON. What is said of a frame is put together once, however many stacks it is in: deep
 * recursion makes the same frames come back in every row.
 */
#ifndef RENDER_STACK_JSON_H
#define RENDER_STACK_JSON_H

#include "print/json_write.h"
#include "report/paths.h"

#include <stdint.h>

struct stack_json;

/* Begin. paths: must outlive it; it may grow meanwhile. Context: tool. */
struct stack_json *stack_json_create(const struct paths *paths);

/* Give it back; NULL is allowed. Context: tool. */
void stack_json_destroy(struct stack_json *stacks);

/*
 * Write the stack of a path as an array of frames, innermost first; empty for path 0 and when there
 * was no Python stack. Context: tool.
 */
void stack_json_write(struct stack_json *stacks, struct json_writer *json, const char *key,
                      uint32_t path);

#endif
