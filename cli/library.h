/*
 * Where libmemtrack.so is: beside this program, else where it was installed to.
 */
#ifndef CLI_LIBRARY_H
#define CLI_LIBRARY_H

#include "base/error.h"

/*
 * Return the path of the library to preload, absolute and without links.
 * Returns memory to be given to free(), or NULL with err: not found, or its path has a character
 * that LD_PRELOAD cannot carry. Context: tool.
 */
char *library_find(struct error *err);

#endif
