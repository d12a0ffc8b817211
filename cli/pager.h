/*
 * A pager as git's: $MEMTRACK_PAGER, else $PAGER, else less; started only when the text turns out to
 * be longer than the screen.
 */
#ifndef CLI_PAGER_H
#define CLI_PAGER_H

#include <stdio.h>

struct pager;

/*
 * Open a stream that shows its text on the terminal at standard output.
 * Returns NULL when there is no pager to use: none is installed, or the user wants none ("" or
 * "cat"). *ret_file is the pager's. Context: tool; one at a time.
 */
struct pager *pager_open(FILE **ret_file);

/*
 * Close the stream, wait until the user has left the pager, give it back. Context: tool.
 */
void pager_close(struct pager *pager);

#endif
