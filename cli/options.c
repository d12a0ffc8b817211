/*
 * The table itself, and the parser that reads it. Everything is known at build time: start-up does
 * no work for commands that are not called.
 */
#include "options.h"

#include "commands.h"
#include "print/units.h"
#include "words.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define IN(command) (1u << COMMAND_##command)

/* Reports that show rows of the model, those that print text, and those that read a capture. */
#define ROWS    (IN(SUMMARY) | IN(TABLE) | IN(TREE) | IN(STATS))
#define MODELS  (ROWS | IN(FLAMEGRAPH))
#define PRINTS  (ROWS | IN(TIMELINE) | IN(DUMP) | IN(INFO))
#define REPORTS (PRINTS | IN(FLAMEGRAPH))
#define ALL     ((1u << COMMAND_COUNT) - 1)

const struct command_row command_rows[COMMAND_COUNT] = {
    [COMMAND_NONE] = {"memtrack", NULL, "COMMAND", "record and show the memory of programs", NULL,
                      true, true},
    [COMMAND_RUN] = {"run", NULL, "[-m MODULE | -c CODE | PROGRAM] [ARGUMENTS]",
                     "start a program and record its memory", command_run, false, true},
    [COMMAND_CTL] = {"ctl", NULL, "PID start|stop|mark NAME|snapshot|status",
                     "steer the recording that a process is in", command_ctl, false, false},
    [COMMAND_SUMMARY] = {"summary", NULL, "FILE", "one row per function: total, own, count",
                         command_report, false, false},
    [COMMAND_TABLE] = {"table", NULL, "FILE", "one row per allocating location", command_report,
                       false, false},
    [COMMAND_TREE] = {"tree", NULL, "FILE", "the calls that allocate, from the top down",
                      command_report, false, false},
    [COMMAND_STATS] = {"stats", NULL, "FILE", "totals, peak, sizes, allocators, processes, threads",
                       command_report, false, false},
    [COMMAND_FLAMEGRAPH] = {"flamegraph", "report", "FILE", "the page to look at in a browser",
                            command_report, false, false},
    [COMMAND_TIMELINE] = {"timeline", NULL, "FILE", "the heap over time, and how fast it grows",
                          command_report, false, false},
    [COMMAND_DUMP] = {"dump", "parse", "FILE", "one line per record", command_report, false, false},
    [COMMAND_INFO] = {"info", NULL, "FILE", "what a capture holds and whether it is whole",
                      command_report, false, false},
    [COMMAND_RECOMPRESS] = {"recompress", NULL, "FILE", "write a finished capture again, smaller",
                            command_recompress, false, false},
    [COMMAND_BUNDLE] = {"bundle", NULL, "FILE",
                        "store the names of native frames in a capture, to be taken elsewhere",
                        command_bundle, false, false},
    [COMMAND_HELP] = {"help", NULL, "[COMMAND]", "show the manual, or help for a command",
                      command_help, false, false},
    [COMMAND_COLLECT] = {"collect", NULL, "[ARGUMENTS]", "the collector of a session (internal)",
                         command_collect, true, true},
    [COMMAND_CUT] = {"cut", NULL, "BYTES TIME NAME NICE", "cuts a capture that goes on (internal)",
                     command_cut, true, true},
};

const struct option_row option_rows[OPTION_COUNT] = {
    [OPTION_HELP] = {'h', "help", NULL, "show this help", ALL},
    [OPTION_VERSION] = {'V', "version", NULL, "show the version", IN(NONE)},
    [OPTION_OUTPUT] = {'o', "output", "FILE", "write to FILE; - is standard output", REPORTS},
    [OPTION_CAPTURE] = {'o', "output", "FILE",
                        "write the capture to FILE; in its name %p is the process id, %h the host, "
                        "%r the rank in a parallel job, %t the time, %% a percent sign",
                        IN(RUN) | IN(COLLECT)},
    [OPTION_ARCHIVE] = {'o', "output", "FILE",
                        "write the smaller capture to FILE; - is standard output", IN(RECOMPRESS)},
    [OPTION_KEEP_LAST] = {'\0', "last", "TIME",
                          "keep the last TIME (30s, 5m) alone: what is live where it begins is "
                          "told as allocated there",
                          IN(RECOMPRESS)},
    [OPTION_BUNDLE] = {'o', "output", "FILE",
                       "write to FILE, and leave the capture as it is; - is standard output",
                       IN(BUNDLE)},
    [OPTION_SNAPSHOT] = {'o', "output", "FILE",
                         "write the snapshot to FILE, not beside the capture", IN(CTL)},
    [OPTION_FORCE] = {'f', "force", NULL, "replace FILE when it exists",
                      IN(RUN) | IN(CTL) | REPORTS | IN(RECOMPRESS) | IN(BUNDLE) | IN(COLLECT)},
    [OPTION_QUIET] = {'q', "quiet", NULL, "no messages but errors",
                      IN(RUN) | REPORTS | IN(RECOMPRESS) | IN(BUNDLE)},
    [OPTION_VERBOSE] = {'v', "verbose", NULL, "say what is started, and with what", IN(RUN)},
    [OPTION_MODULE] = {'m', NULL, "MODULE", "run a Python module, as python3 -m does", IN(RUN)},
    [OPTION_CODE] = {'c', NULL, "CODE", "run Python code, as python3 -c does", IN(RUN)},
    [OPTION_AGGREGATE] = {'\0', "aggregate", NULL,
                          "keep what the events come to, not the events: the capture does not grow "
                          "with them; reports of one process, --pools and dump need the events",
                          IN(RUN) | IN(COLLECT)},
    [OPTION_LAST] = {'\0', "last", "TIME",
                     "keep at least the last TIME (30s, 5m) before the end or a crash, and at most "
                     "about twice that: the capture does not grow with the run",
                     IN(RUN) | IN(COLLECT)},
    [OPTION_SAMPLE_BYTES] =
        {'\0', "sample-bytes", "SIZE",
         "record a sample: one block in SIZE allocated bytes (512K), larger ones "
         "all; reports show estimates",
         IN(RUN) | IN(COLLECT)},
    [OPTION_MIN_SIZE] = {'\0', "min-size", "SIZE",
                         "leave out blocks smaller than SIZE (512, 4K, 1 MiB); maps are recorded",
                         IN(RUN) | IN(COLLECT)},
    [OPTION_INDEX] = {'\0', "index", "auto|always|never",
                      "keep in the capture what its events come to, so that reports need not read "
                      "them (auto: of 4 million events and more)",
                      IN(RUN) | IN(COLLECT)},
    [OPTION_MAX_FILE] = {'\0', "max-file", "SIZE",
                         "keep the capture smaller than SIZE (64M, 2 GiB): once half of it is "
                         "used, small blocks are "
                         "sampled, more and more coarsely; reports say so",
                         IN(RUN) | IN(COLLECT)},
    [OPTION_MAX_OVERHEAD] =
        {'\0', "max-overhead", "PERCENT",
         "record all while it takes at most PERCENT (5%) of the programs' processor time, then "
         "sample small blocks, more and more coarsely; reports say so",
         IN(RUN) | IN(COLLECT)},
    [OPTION_DORMANT] = {'\0', "dormant", NULL,
                        "record nothing until memtrack ctl PID start says so",
                        IN(RUN) | IN(COLLECT)},
    [OPTION_DELAY] = {'\0', "delay", "TIME", "begin to record after TIME (500ms, 10 s, 5m, 2h)",
                      IN(RUN) | IN(COLLECT)},
    [OPTION_DURATION] = {'\0', "duration", "TIME",
                         "end the recording TIME after it began; the program goes on",
                         IN(RUN) | IN(COLLECT)},
    [OPTION_ON_EXCEED] =
        {'\0', "on-exceed", "SIZE=ACTION",
         "act once when the resident memory of all processes together goes above SIZE: snapshot, "
         "stop, signal:SIG to the program, or exec:COMMAND; may be given several times",
         IN(RUN) | IN(COLLECT)},
    [OPTION_NO_FOLLOW] = {'\0', "no-follow", NULL,
                          "record the program alone, not the processes it starts", IN(RUN)},
    [OPTION_FOLLOW_FORK] = {'\0', "follow-fork", NULL,
                            "record the processes it starts too, as is the default", IN(RUN)},
    [OPTION_NATIVE] =
        {'\0', "native", NULL,
         "record the native stack too: functions of C, C++, Rust and others, joined with "
         "Python's",
         IN(RUN)},
    [OPTION_NO_SYMBOLS] =
        {'\0', "no-symbols", NULL,
         "with --native: do not look for the names of functions when the program has "
         "ended, reports will",
         IN(RUN) | IN(COLLECT)},
    [OPTION_PYTHON_ALLOCATORS] =
        {'\0', "trace-python-allocators", NULL,
         "record each block that Python's own allocators give out (objects "
         "too), not only the arenas they cut them from",
         IN(RUN)},
    [OPTION_PYMALLOC] = {'\0', "pymalloc", NULL, "the same as --trace-python-allocators", IN(RUN)},
    [OPTION_LEAKS] = {'\0', "leaks", NULL, "show what was alive at the end, not at the peak",
                      MODELS},
    [OPTION_ALLOCATED] = {'\0', "allocated", NULL, "show all that was ever allocated", MODELS},
    [OPTION_TEMPORARY] = {'\0', "temporary-allocations", "[N]",
                          "show what was released after at most N (1) further allocations of its "
                          "thread",
                          MODELS},
    [OPTION_AT] = {'\0', "at", "TIME",
                   "show what was live at TIME: 1.5s, 200ms, 1m30s, 40%, peak, end or mark:NAME",
                   MODELS},
    [OPTION_RANGE] =
        {'\0', "range", "A:B",
         "show what was allocated from A to B, each as for --at, or left out; with --leaks "
         "what of it was never released, with --at end what of it was live at B, with --at "
         "peak what was live at the highest moment in it",
         MODELS},
    [OPTION_POOLS] = {'\0', "pools", NULL,
                      "show the blocks of the program's own pools in place of the heap",
                      MODELS | IN(TIMELINE)},
    [OPTION_PROCESS] = {'\0', "process", "PID", "only the process PID (its last program)",
                        MODELS | IN(TIMELINE) | IN(DUMP)},
    [OPTION_THREAD] = {'\0', "thread", "TID", "only the thread TID",
                       MODELS | IN(TIMELINE) | IN(DUMP)},
    [OPTION_SORT] = {'\0', "sort", "total|own|count|name", "order of the rows",
                     IN(SUMMARY) | IN(TABLE) | IN(TREE)},
    [OPTION_ROWS] = {'n', "rows", "N", "show N rows; 0 is all", ROWS | IN(TIMELINE) | IN(DUMP)},
    [OPTION_THRESHOLD] = {'\0', "threshold", "PERCENT", "fold what is smaller (1%)", IN(TREE)},
    [OPTION_INVERTED] = {'\0', "inverted", NULL, "from the allocating function to its callers",
                         IN(TREE) | IN(FLAMEGRAPH)},
    [OPTION_SHOW_RUNTIME] =
        {'\0', "show-runtime", NULL,
         "show the interpreter's own and import frames, what is before main() and "
         "what hands out memory",
         MODELS | IN(DUMP)},
    [OPTION_NO_NATIVE] = {'\0', "no-native", NULL, "leave out native frames: Python's alone",
                          MODELS | IN(DUMP)},
    [OPTION_SOURCE] = {'\0', "source", "none|lines|context",
                       "source text in the page: none, the lines that allocate, or those around "
                       "them too (context)",
                       IN(FLAMEGRAPH)},
    [OPTION_FULL] = {'\0', "full", NULL, "fold nothing in the page, however large it becomes",
                     IN(FLAMEGRAPH)},
    [OPTION_MAX_SIZE] = {'\0', "max-size", "SIZE",
                         "the page takes at most SIZE (2M): small stacks are folded and nearby "
                         "blocks joined until it does; the page says what that changes",
                         IN(FLAMEGRAPH)},
    [OPTION_VERIFY] = {'\0', "verify", NULL, "read every event too, not the checksums alone",
                       IN(INFO)},
    [OPTION_JSON] = {'\0', "json", NULL, "write JSON with exact numbers", PRINTS},
    [OPTION_WIDTH] = {'\0', "width", "COLUMNS", "width of the text (the terminal's, or 100)",
                      PRINTS},
    [OPTION_COLOR] = {'\0', "color", "auto|always|never", "colours in the text (auto)", PRINTS},
    [OPTION_ASCII] = {'\0', "ascii", NULL, "no characters beyond ASCII", PRINTS},
    [OPTION_NO_PAGER] = {'\0', "no-pager", NULL, "print longer texts without a pager", PRINTS},
    [OPTION_FORMAT] = {'\0', "format", "text|man|bash", "form of the option list (internal)",
                       IN(HELP)},
    [OPTION_POOL_OPTIONS] = {'\0', "pool-options", "N", "what is recorded, bits of pool_option",
                             IN(COLLECT)},
    [OPTION_STARTER] = {'\0', "starter", "FD", "the socket to the process that started it",
                        IN(COLLECT)},
    [OPTION_COMMAND_OUTPUT] = {'\0', "command-output", "FD",
                               "where the commands of --on-exceed write to", IN(COLLECT)},
    [OPTION_DIRECTORY] = {'\0', "directory", "PATH", "the program's working directory",
                          IN(COLLECT)},
};

#define MOST_TIME_NS (UINT64_C(10000) * 3600 * 1000000000)

enum {
    LONG_OPTION = 256,      /* getopt's number of a long option: this + its id */
    MISSING_ARGUMENT = ':', /* getopt's answers */
    UNKNOWN_OPTION = '?',
    NEAR = 3, /* names at least this far apart are not confused */
};

static bool is_option_of(enum option_id option, enum command_id command)
{
    return (option_rows[option].commands & (1u << command)) != 0;
}

enum command_id options_find_command(const char *name)
{
    for (unsigned id = COMMAND_NONE + 1; id < COMMAND_COUNT; id++) {
        const struct command_row *row = &command_rows[id];

        if (strcmp(row->name, name) == 0 || (row->alias != NULL && strcmp(row->alias, name) == 0))
            return (enum command_id)id;
    }
    return COMMAND_NONE;
}

/* Keep the nearer of a candidate and the best so far. The start of a word is near to it. */
static void consider(const char *candidate, const char *name, const char **best, size_t *distance)
{
    size_t length = strlen(name);
    size_t apart = words_distance(name, candidate);

    if (length >= 2 && strncmp(name, candidate, length) == 0)
        apart = 1;
    if (apart < *distance && apart < strlen(candidate)) {
        *best = candidate;
        *distance = apart;
    }
}

const char *options_nearest_command(const char *name)
{
    const char *best = NULL;
    size_t distance = NEAR;

    for (unsigned id = COMMAND_NONE + 1; id < COMMAND_COUNT; id++) {
        if (command_rows[id].is_internal)
            continue;
        consider(command_rows[id].name, name, &best, &distance);
        if (command_rows[id].alias != NULL)
            consider(command_rows[id].alias, name, &best, &distance);
    }
    return best;
}

const char *options_nearest_option(enum command_id command, const char *name)
{
    const char *best = NULL;
    size_t distance = NEAR;

    for (unsigned id = 0; id < OPTION_COUNT; id++) {
        if (is_option_of((enum option_id)id, command) && option_rows[id].name != NULL)
            consider(option_rows[id].name, name, &best, &distance);
    }
    return best;
}

/* getopt's two descriptions of a command's options. */
struct getopt_tables {
    char letters[2 + 3 * OPTION_COUNT + 1];
    struct option names[OPTION_COUNT + 1];
};

static void make_tables(enum command_id command, struct getopt_tables *tables)
{
    char *letter = tables->letters;
    struct option *name = tables->names;

    if (command_rows[command].ends_options_at_word)
        *letter++ = '+';
    *letter++ =
        ':'; /* getopt tells a missing argument from an unknown option, and prints nothing */
    for (unsigned id = 0; id < OPTION_COUNT; id++) {
        const struct option_row *row = &option_rows[id];
        bool is_optional = row->argument != NULL && row->argument[0] == '[';

        if (!is_option_of((enum option_id)id, command))
            continue;
        if (row->letter != '\0') {
            *letter++ = row->letter;
            if (row->argument != NULL)
                *letter++ = ':';
            if (is_optional)
                *letter++ = ':';
        }
        if (row->name != NULL) {
            *name++ = (struct option){
                .name = row->name,
                .has_arg = row->argument == NULL ? no_argument
                           : is_optional         ? optional_argument
                                                 : required_argument,
                .val = LONG_OPTION + (int)id,
            };
        }
    }
    *letter = '\0';
    *name = (struct option){.name = NULL};
}

static enum option_id option_of_letter(enum command_id command, int letter)
{
    for (unsigned id = 0; id < OPTION_COUNT; id++) {
        if (is_option_of((enum option_id)id, command) && option_rows[id].letter == letter)
            return (enum option_id)id;
    }
    return OPTION_COUNT;
}

/* Say what is wrong with an option that getopt did not know. typed: the whole word. */
static void set_unknown(enum command_id command, const char *typed, struct error *err)
{
    const char *where = command == COMMAND_NONE ? "" : command_rows[command].name;
    const char *space = command == COMMAND_NONE ? "" : " ";
    const char *nearest;
    char *name;

    if (optopt >= LONG_OPTION) {
        error_set(err, "--%s takes no value", option_rows[optopt - LONG_OPTION].name);
        return;
    }
    if (optopt != 0) {
        error_set(err, "unknown option -%c: see memtrack%s%s --help", optopt, space, where);
        return;
    }
    name = words_format("%.*s", (int)strcspn(typed, "="), typed);
    nearest = options_nearest_option(command, name + strspn(name, "-"));
    free(name);
    if (nearest != NULL)
        error_set(err, "unknown option %s: did you mean --%s?", typed, nearest);
    else
        error_set(err, "unknown option %s: see memtrack%s%s --help", typed, space, where);
}

/* Whether a word is one of "a|b|c". */
static bool is_choice(const char *choices, const char *word)
{
    size_t length = strlen(word);

    for (const char *choice = choices; choice != NULL; choice = strchr(choice, '|')) {
        choice += *choice == '|';
        if (strcspn(choice, "|") == length && strncmp(choice, word, length) == 0)
            return true;
    }
    return false;
}

/* Note one option. Returns false with err when its value is not one of those allowed. */
static bool take_option(enum option_id option, const char *value, struct option_values *values,
                        struct error *err)
{
    const struct option_row *row = &option_rows[option];

    if (value != NULL && strchr(row->argument, '|') != NULL && !is_choice(row->argument, value)) {
        error_set(err, "--%s=%s: use one of %s", row->name, value, row->argument);
        return false;
    }
    if (option == OPTION_ON_EXCEED) {
        if (values->exceed_count == OPTIONS_MOST_EXCEED) {
            error_set(err, "--%s: is given too often", row->name);
            return false;
        }
        values->exceed[values->exceed_count++] = value;
    }
    values->is_set[option] = true;
    values->values[option] = value;
    return true;
}

bool options_parse(enum command_id command, int argc, char **argv, struct option_values *ret_values,
                   struct error *err)
{
    struct option_values values = {.operand_count = 0};
    struct getopt_tables tables;
    int found;

    make_tables(command, &tables);
    opterr = 0;
    optind = 0; /* also resets what getopt remembers of an earlier line */
    while ((found = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
        const char *typed = argv[optind - 1];
        enum option_id option;

        if (found == MISSING_ARGUMENT) {
            error_set(err, "%s needs a value: see memtrack %s --help", typed,
                      command_rows[command].name);
            return false;
        }
        if (found == UNKNOWN_OPTION) {
            set_unknown(command, typed, err);
            return false;
        }
        option = found >= LONG_OPTION ? (enum option_id)(found - LONG_OPTION)
                                      : option_of_letter(command, found);
        if (!take_option(option, optarg, &values, err))
            return false;
        if (option == OPTION_MODULE || option == OPTION_CODE)
            break; /* as with python: the rest is the program's */
    }
    values.operands = argv + optind;
    values.operand_count = argc - optind;
    *ret_values = values;
    return true;
}

bool options_number(const struct option_values *values, enum option_id option, uint64_t least,
                    uint64_t most, uint64_t *ret_number, struct error *err)
{
    const char *text = values->values[option];
    uint64_t number;
    char *end;

    if (text == NULL)
        return true;
    errno = 0;
    number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number < least ||
        number > most) {
        error_set(err, "--%s=%s: use a whole number from %" PRIu64 " to %" PRIu64,
                  option_rows[option].name, text, least, most);
        return false;
    }
    *ret_number = number;
    return true;
}

bool options_size(const struct option_values *values, enum option_id option, uint64_t least_bytes,
                  uint64_t most_bytes, uint64_t *ret_bytes, struct error *err)
{
    const char *text = values->values[option];
    struct error reason;
    uint64_t bytes;

    if (text == NULL)
        return true;
    if (!units_parse_size(text, &bytes, &reason)) {
        error_set(err, "--%s: %s", option_rows[option].name, reason.text);
        return false;
    }
    if (bytes < least_bytes || bytes > most_bytes) {
        error_set(err, "--%s=%s: use a size such as 512K or 2 GiB, from %s to %s",
                  option_rows[option].name, text, units_format_size(least_bytes, 0).text,
                  units_format_size(most_bytes, 0).text);
        return false;
    }
    *ret_bytes = bytes;
    return true;
}

bool options_percent(const struct option_values *values, enum option_id option, uint64_t least_ppm,
                     uint64_t most_ppm, uint64_t *ret_ppm, struct error *err)
{
    const char *text = values->values[option];
    struct error reason;
    uint64_t ppm;

    if (text == NULL)
        return true;
    if (!units_parse_percent(text, &ppm, &reason)) {
        error_set(err, "--%s: %s", option_rows[option].name, reason.text);
        return false;
    }
    if (ppm < least_ppm || ppm > most_ppm) {
        error_set(err, "--%s=%s: use a percentage such as 5%% or 0.5%%, from %g%% to %g%%",
                  option_rows[option].name, text, (double)least_ppm / 10000.0,
                  (double)most_ppm / 10000.0);
        return false;
    }
    *ret_ppm = ppm;
    return true;
}

bool options_time(const struct option_values *values, enum option_id option, uint64_t *ret_ns,
                  struct error *err)
{
    const char *text = values->values[option];
    struct error reason;
    uint64_t ns;

    if (text == NULL)
        return true;
    if (!units_parse_time(text, &ns, &reason)) {
        error_set(err, "--%s: %s", option_rows[option].name, reason.text);
        return false;
    }
    if (ns == 0 || ns > MOST_TIME_NS) {
        error_set(err,
                  "--%s=%s: use a time such as 500ms, 10 s or 2h, more than 0 and at most 10000h",
                  option_rows[option].name, text);
        return false;
    }
    *ret_ns = ns;
    return true;
}
