/*
 * What a program asks of the collector: to record, to pause, to make a snapshot.
 */
#ifndef RECORD_REQUEST_H
#define RECORD_REQUEST_H

#include "memtrack/protocol.h"

/*
 * Ask for something.
 * name: of a snapshot, NUL-terminated, copied; of a longer one the first REQUEST_NAME_BYTES count. NULL:
 * none.
 * START and STOP wait until it is so: a fraction of a millisecond, at most 100 ms; behind a system call
 * filter they do not. A request that cannot be made in that time is counted. Nothing is asked in a
 * process whose events are not recorded.
 * Context: any thread.
 */
void request_make(enum pool_request_command command, const char *name);

#endif
