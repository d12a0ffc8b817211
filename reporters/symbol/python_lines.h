/*
 * Line tables of CPython: which line and columns an instruction of a code object stands for.
 */
#ifndef SYMBOL_PYTHON_LINES_H
#define SYMBOL_PYTHON_LINES_H

#include "capture/capture.h"

#include <stdint.h>

/* Lines and columns count from 1; 0 says there is none. Columns count bytes of UTF-8. */
struct python_position {
    uint32_t line;
    uint32_t column;
    uint32_t end_line;
    uint32_t end_column; /* the first one behind */
};

/*
 * Find the position of an instruction.
 * code: its line table may be damaged in any way; no byte beyond it is read.
 * offset: of the instruction in bytes. Negative (the frame has not begun) and instructions without
 * a line of their own (prologues) are on the first line of the function.
 * Returns all 0 when the table is damaged before the instruction, or ends before it.
 * Context: tool.
 */
struct python_position python_lines_find(const struct capture_code *code, int32_t offset);

#endif
