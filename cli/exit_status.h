/*
 * How the program ends: its exit codes, each with one meaning. `run` ends as the program it started.
 */
#ifndef CLI_EXIT_STATUS_H
#define CLI_EXIT_STATUS_H

enum exit_status {
    EXIT_DONE = 0,
    EXIT_LIMIT = 1,  /* a limit the user set was exceeded */
    EXIT_USAGE = 2,  /* the command line is wrong */
    EXIT_INPUT = 3,  /* a capture is unreadable or damaged; what could be read was shown. ctl: the
                        process is not tracked, or not ours */
    EXIT_OUTPUT = 4, /* an output could not be written */
    EXIT_NOT_EXECUTABLE = 126, /* run: the program is there but cannot be started, or not tracked */
    EXIT_NOT_FOUND = 127,      /* run: there is no such program */
};

#endif
