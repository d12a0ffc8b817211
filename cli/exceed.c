/*
 * --on-exceed. Plain text work.
 */
#include "exceed.h"

#include "base/memory.h"
#include "print/units.h"
#include "words.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ACCEPTED                                                                       \
    "use SIZE=snapshot, SIZE=stop, SIZE=signal:USR1 or SIZE=exec:COMMAND, with a size" \
    " such as 512M or 2 GiB"

#define PREFIX "SIG"

enum {
    LAST_SIGNAL = 64,
    CONTINUATION_MASK = 0xc0, /* of UTF-8 */
    CONTINUATION = 0x80,
};

static const struct {
    const char *name;
    int number;
} signal_names[] = {
    {"HUP", SIGHUP},       {"INT", SIGINT},   {"QUIT", SIGQUIT},   {"ILL", SIGILL},
    {"TRAP", SIGTRAP},     {"ABRT", SIGABRT}, {"BUS", SIGBUS},     {"FPE", SIGFPE},
    {"KILL", SIGKILL},     {"USR1", SIGUSR1}, {"SEGV", SIGSEGV},   {"USR2", SIGUSR2},
    {"PIPE", SIGPIPE},     {"ALRM", SIGALRM}, {"TERM", SIGTERM},   {"CHLD", SIGCHLD},
    {"CONT", SIGCONT},     {"STOP", SIGSTOP}, {"TSTP", SIGTSTP},   {"TTIN", SIGTTIN},
    {"TTOU", SIGTTOU},     {"URG", SIGURG},   {"XCPU", SIGXCPU},   {"XFSZ", SIGXFSZ},
    {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"IO", SIGIO},
    {"POLL", SIGIO},       {"PWR", SIGPWR},   {"SYS", SIGSYS},
};

/* A name, with or without SIG, or a number. Returns 0 for what is none. */
static int signal_of(const char *text)
{
    char *end;
    long number;

    if (text[0] >= '1' && text[0] <= '9') {
        number = strtol(text, &end, 10);
        return *end == '\0' && number <= LAST_SIGNAL ? (int)number : 0;
    }
    if (strncasecmp(text, PREFIX, strlen(PREFIX)) == 0)
        text += strlen(PREFIX);
    for (size_t i = 0; i < sizeof(signal_names) / sizeof(signal_names[0]); i++)
        if (strcasecmp(signal_names[i].name, text) == 0)
            return signal_names[i].number;
    return 0;
}

/* Return what stands behind a word; NULL when the text does not begin with it. */
static const char *behind(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0 ? text + strlen(word) : NULL;
}

static bool parse_action(const char *text, struct collect_rule *rule)
{
    const char *argument;

    if (strcmp(text, "snapshot") == 0) {
        rule->action = COLLECT_SNAPSHOT;
        return true;
    }
    if (strcmp(text, "stop") == 0) {
        rule->action = COLLECT_STOP;
        return true;
    }
    argument = behind(text, "signal:");
    if (argument != NULL) {
        rule->action = COLLECT_SIGNAL;
        rule->signal_number = signal_of(argument);
        return rule->signal_number != 0;
    }
    rule->action = COLLECT_COMMAND;
    rule->command = behind(text, "exec:");
    return rule->command != NULL && rule->command[0] != '\0';
}

/* What does not fit is left out, not in the midst of a character. A name is one line. */
static void make_label(struct collect_rule *rule, const char *action)
{
    char *whole =
        words_format("exceeded %s: %s", units_format_size(rule->limit_bytes, 0).text, action);
    size_t length = strlen(whole);

    if (length >= sizeof(rule->label)) {
        length = sizeof(rule->label) - 1;
        while (((unsigned char)whole[length] & CONTINUATION_MASK) == CONTINUATION)
            length--;
    }
    for (size_t i = 0; i < length; i++)
        rule->label[i] = (unsigned char)whole[i] < ' ' ? ' ' : whole[i];
    rule->label[length] = '\0';
    free(whole);
}

static bool parse_rule(const char *text, struct collect_rule *rule)
{
    const char *equals = strchr(text, '=');
    char *size;
    bool is_size;

    *rule = (struct collect_rule){.limit_bytes = 0};
    if (equals == NULL)
        return false;
    size = words_format("%.*s", (int)(equals - text), text);
    is_size = units_parse_size(size, &rule->limit_bytes, NULL) && rule->limit_bytes > 0 &&
              rule->limit_bytes < UINT64_MAX;
    free(size);
    if (!is_size || !parse_action(equals + 1, rule))
        return false;
    make_label(rule, equals + 1);
    return true;
}

bool exceed_parse(const struct option_values *values, struct collect_rule *ret_rules,
                  uint32_t *ret_count, struct error *err)
{
    for (unsigned i = 0; i < values->exceed_count; i++) {
        if (i == COLLECT_MOST_RULES) {
            error_set(err, "--on-exceed: can be given %d times", COLLECT_MOST_RULES);
            return false;
        }
        if (!parse_rule(values->exceed[i], &ret_rules[i])) {
            error_set(err, "--on-exceed=%s: " ACCEPTED, values->exceed[i]);
            return false;
        }
    }
    *ret_count = values->exceed_count;
    return true;
}
