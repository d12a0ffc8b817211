/*
 * The one table of commands and options: parser, --help, man page and completion come from it.
 *
 * A new option is a row in options.c; a test says where else it must be told of.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum command_id {
    COMMAND_NONE = 0, /* memtrack itself */
    COMMAND_RUN,
    COMMAND_CTL,
    COMMAND_SUMMARY,
    COMMAND_TABLE,
    COMMAND_TREE,
    COMMAND_STATS,
    COMMAND_FLAMEGRAPH,
    COMMAND_TIMELINE,
    COMMAND_DUMP,
    COMMAND_INFO,
    COMMAND_RECOMPRESS,
    COMMAND_BUNDLE,
    COMMAND_HELP,
    COMMAND_COLLECT,
    COMMAND_CUT,
    COMMAND_COUNT,
};

enum option_id {
    OPTION_HELP = 0,
    OPTION_VERSION,
    OPTION_OUTPUT,    /* of a report */
    OPTION_CAPTURE,   /* of run: the same name, another file */
    OPTION_ARCHIVE,   /* of recompress */
    OPTION_KEEP_LAST, /* of recompress */
    OPTION_BUNDLE,    /* the output of bundle */
    OPTION_SNAPSHOT,  /* of ctl */
    OPTION_FORCE,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_MODULE,
    OPTION_CODE,
    OPTION_AGGREGATE,
    OPTION_LAST, /* of run */
    OPTION_SAMPLE_BYTES,
    OPTION_MIN_SIZE,
    OPTION_INDEX,
    OPTION_MAX_FILE,
    OPTION_MAX_OVERHEAD,
    OPTION_DORMANT,
    OPTION_DELAY,
    OPTION_DURATION,
    OPTION_ON_EXCEED,
    OPTION_NO_FOLLOW,
    OPTION_FOLLOW_FORK,
    OPTION_NATIVE,
    OPTION_NO_SYMBOLS,
    OPTION_PYTHON_ALLOCATORS,
    OPTION_PYMALLOC, /* the same */
    OPTION_LEAKS,
    OPTION_ALLOCATED,
    OPTION_TEMPORARY,
    OPTION_AT,
    OPTION_RANGE,
    OPTION_POOLS,
    OPTION_PROCESS,
    OPTION_THREAD,
    OPTION_SORT,
    OPTION_ROWS,
    OPTION_THRESHOLD,
    OPTION_INVERTED,
    OPTION_SHOW_RUNTIME,
    OPTION_NO_NATIVE,
    OPTION_SOURCE,
    OPTION_FULL,
    OPTION_MAX_SIZE,
    OPTION_VERIFY,
    OPTION_JSON,
    OPTION_WIDTH,
    OPTION_COLOR,
    OPTION_ASCII,
    OPTION_NO_PAGER,
    OPTION_FORMAT,
    OPTION_POOL_OPTIONS,
    OPTION_STARTER,
    OPTION_DIRECTORY,
    OPTION_COMMAND_OUTPUT,
    OPTION_COUNT,
};

struct option_row {
    char letter;          /* 0: none */
    const char *name;     /* without "--"; NULL: the letter alone */
    const char *argument; /* NULL: takes none; "[N]": may be left out; "a|b": one of these words */
    const char *help;     /* one sentence, small letters, no full stop */
    uint32_t commands;    /* 1u << command_id each */
};

enum {
    OPTIONS_MOST_EXCEED = 32,
};

/* What the user typed; all texts are argv's. */
struct option_values {
    const char *exceed[OPTIONS_MOST_EXCEED]; /* all that were given of OPTION_ON_EXCEED */
    unsigned exceed_count;
    bool is_set[OPTION_COUNT];
    const char *values[OPTION_COUNT]; /* the last one given; NULL: none */
    char **operands;                  /* NULL-terminated */
    int operand_count;
};

/* Carry out a command. Returns the exit status (enum exit_status, or the program's). */
typedef int command_function(enum command_id id, const struct option_values *values);

struct command_row {
    const char *name;
    const char *alias;    /* NULL: none */
    const char *operands; /* what stands behind the options */
    const char *help;     /* one sentence, small letters, no full stop */
    command_function *run;
    bool is_internal;          /* in no list */
    bool ends_options_at_word; /* the first operand ends the options: the rest is a program's */
};

extern const struct option_row option_rows[OPTION_COUNT];
extern const struct command_row command_rows[COMMAND_COUNT];

/* Find a command by its name or alias; COMMAND_NONE when there is none. Context: tool. */
enum command_id options_find_command(const char *name);

/*
 * Return the command or the option (without dashes) that the user may have meant, or NULL.
 * Context: tool.
 */
const char *options_nearest_command(const char *name);
const char *options_nearest_option(enum command_id command, const char *name);

/*
 * Parse what stands behind a command's name.
 * argv: argv[0] is the command's name; operands are moved to the end, texts stay where they are.
 * On failure err says what is wrong and what was perhaps meant.
 * Context: tool; not thread-safe (getopt).
 */
bool options_parse(enum command_id command, int argc, char **argv, struct option_values *ret_values,
                   struct error *err);

/*
 * Return a time given with an option, as options_number(): more than nothing. Context: tool.
 */
bool options_time(const struct option_values *values, enum option_id option, uint64_t *ret_ns,
                  struct error *err);

/*
 * Return a whole number given with an option.
 * least, most: what is allowed. *ret_number stays as it is when the option was not given.
 * Returns false with err when it is something else. Context: tool.
 */
bool options_number(const struct option_values *values, enum option_id option, uint64_t least,
                    uint64_t most, uint64_t *ret_number, struct error *err);

/*
 * Return a size given with an option, in bytes, as units_parse_size() reads it; else as
 * options_number().
 */
bool options_size(const struct option_values *values, enum option_id option, uint64_t least_bytes,
                  uint64_t most_bytes, uint64_t *ret_bytes, struct error *err);

/*
 * Read an option as a percentage (5%, 0.5), in parts per million. As options_size(). Context: tool.
 */
bool options_percent(const struct option_values *values, enum option_id option, uint64_t least_ppm,
                     uint64_t most_ppm, uint64_t *ret_ppm, struct error *err);

#endif
