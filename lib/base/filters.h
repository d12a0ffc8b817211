/*
 * How many system call filters are in force.
 */
#ifndef BASE_FILTERS_H
#define BASE_FILTERS_H

enum {
    FILTERS_UNKNOWN = -1,
};

/* Return the number at the beginning of a text; FILTERS_UNKNOWN: there is none. Context: any thread. */
int filters_parse(const char *text);

/*
 * Return how many filters are in force for this thread, or FILTERS_UNKNOWN. It opens and reads a file.
 * Context: any thread, while no filter is expected.
 */
int filters_count(void);

#endif
