/*
 * The collector: drains the rings of a session into its capture, until all its processes are gone.
 *
 * A process of its own (`memtrack collect`), started by `run`. It speaks with its starter over a
 * SOCK_SEQPACKET socketpair, one message a line of text:
 *   collector -> starter   ready                        the pool is there, targets may come
 *                          error TEXT                   it could not start; it ends
 *                          finished TEXT                the capture is complete; TEXT for people, may be empty
 *                          failed TEXT                  before that: something the user asked for could not be done
 *                          running COUNT                after `ended`: so many tracked processes live on
 *   starter -> collector   pid NUMBER                   the program's pid
 *                          ended [STATUS]               the program has ended, as waitpid() says (or was
 *                                                       never started: without)
 * The starter's end of file counts as `ended`.
 */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    COLLECT_MOST_RULES = 16,
    COLLECT_LABEL_BYTES = 200,
};

/* What is to be done when more memory is resident. */
enum collect_action {
    COLLECT_SNAPSHOT,
    COLLECT_STOP,
    COLLECT_SIGNAL,
    COLLECT_COMMAND,
};

struct collect_rule {
    uint64_t limit_bytes;
    enum collect_action action;
    int signal_number;               /* of COLLECT_SIGNAL */
    const char *command;             /* of COLLECT_COMMAND, for /bin/sh */
    char label[COLLECT_LABEL_BYTES]; /* of its mark: "exceeded 512 MiB: snapshot" */
};

struct collect_options {
    const char *output; /* the capture, as an absolute path */
    bool may_overwrite;
    uint64_t pool_options;     /* enum pool_option */
    bool has_no_symbols;       /* names of native frames are not looked for at the end */
    uint64_t min_size;         /* smaller blocks are not recorded */
    uint64_t model_events;     /* the model is kept of so many events and more; UINT64_MAX: never */
    uint64_t sample_bytes;     /* mean between two picks of a sample; 0: all are recorded */
    uint64_t max_file_bytes;   /* of the capture; 0: any */
    uint64_t max_overhead_ppm; /* of the programs' processor time; 0: any */
    const char *max_file, *max_overhead; /* as the user wrote them; NULL: not at all */
    uint8_t uuid[16], token[16];
    uint64_t last_ns;     /* the capture holds so much of the end at least; 0: all */
    bool is_aggregated;   /* what the events come to is kept, not the events */
    bool is_dormant;      /* nothing is recorded until somebody asks for it */
    uint64_t delay_ns;    /* recording begins so long after the start; 0: at once */
    uint64_t duration_ns; /* and ends so long after its first beginning; 0: with the programs */
    struct collect_rule rules[COLLECT_MOST_RULES];
    uint32_t rule_count;
    int command_fd;          /* where commands write to; -1: nowhere */
    int starter_fd;          /* the socketpair's end; -1: none */
    uint32_t argument_count; /* what the user asked to run: for the SESSION record */
    char *const *arguments;
    const char *directory;
};

/*
 * Collect until the session is over. Blocks terminal signals, makes its own process group.
 * Returns true when the capture is clean.
 * Context: tool.
 */
bool collect_run(const struct collect_options *options, struct error *err);

#endif
