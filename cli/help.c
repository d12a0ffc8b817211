/*
 * Help: walks over the option table. Files in docs/ made from it are compared by a test.
 */
#include "help.h"

#include "commands.h"
#include "exit_status.h"
#include "message.h"
#include "words.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HELP_COLUMN = 28,
    HELP_WIDTH = 96,
};

static bool is_shown(enum option_id option, enum command_id command)
{
    return (option_rows[option].commands & (1u << command)) != 0;
}

/* Print words from a column on, with line breaks between them; the line stands at `column`. */
static void print_wrapped(FILE *out, const char *text, int column)
{
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");

        if (column + 1 + length > HELP_WIDTH) {
            fprintf(out, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (column > HELP_COLUMN) {
            putc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    putc('\n', out);
}

static void print_left_column(FILE *out, const char *left)
{
    int length = fprintf(out, "  %s", left);

    if (length >= HELP_COLUMN) {
        putc('\n', out);
        length = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - length, "");
}

/* Return an option as it is typed: "-o, --output FILE". Memory to be given to free(). */
static char *option_usage(const struct option_row *row)
{
    const char *argument = row->argument == NULL ? "" : row->argument;
    const char *between = row->argument == NULL ? "" : argument[0] == '[' ? "=" : " ";

    if (argument[0] == '[') /* "[N]" is typed "--name[=N]" */
        return words_format("    --%s[=%.*s]", row->name, (int)strlen(argument) - 2, argument + 1);
    if (row->name == NULL)
        return words_format("-%c%s%s", row->letter, between, argument);
    if (row->letter == '\0')
        return words_format("    --%s%s%s", row->name, between, argument);
    return words_format("-%c, --%s%s%s", row->letter, row->name, between, argument);
}

static void print_commands(FILE *out)
{
    fputs("\ncommands:\n", out);
    for (unsigned id = COMMAND_NONE + 1; id < COMMAND_COUNT; id++) {
        const struct command_row *row = &command_rows[id];
        char *left;

        if (row->is_internal)
            continue;
        left = row->alias == NULL ? words_format("%s", row->name)
                                  : words_format("%s, %s", row->name, row->alias);
        print_left_column(out, left);
        print_wrapped(out, row->help, HELP_COLUMN);
        free(left);
    }
}

static void print_options(enum command_id command, FILE *out)
{
    fputs("\noptions:\n", out);
    for (unsigned id = 0; id < OPTION_COUNT; id++) {
        char *left;

        if (!is_shown((enum option_id)id, command))
            continue;
        left = option_usage(&option_rows[id]);
        print_left_column(out, left);
        print_wrapped(out, option_rows[id].help, HELP_COLUMN);
        free(left);
    }
}

void help_print(enum command_id command, FILE *out)
{
    const struct command_row *row = &command_rows[command];

    if (command != COMMAND_NONE) {
        fprintf(out, "usage: memtrack %s [options] %s\n\n%s\n", row->name, row->operands,
                row->help);
        print_options(command, out);
        return;
    }
    fprintf(out, "usage: memtrack %s [options] ...\n\n%s\n", row->operands, row->help);
    print_commands(out);
    print_options(command, out);
    fputs("\nto begin with:\n"
          "  memtrack run app.py         run it, and record into memtrack-app.py.PID.bin\n"
          "  memtrack flamegraph FILE    make a page of it\n",
          out);
}

/* scdoc reads some characters as marks. */
static void print_man_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("*_\\<>", *text) != NULL)
            putc('\\', out);
        putc(*text, out);
    }
}

void help_print_man(FILE *out)
{
    for (unsigned command = COMMAND_NONE + 1; command < COMMAND_COUNT; command++) {
        const struct command_row *row = &command_rows[command];

        if (row->is_internal)
            continue;
        fprintf(out, "\n## memtrack %s [options] %s\n\n", row->name, row->operands);
        if (row->alias != NULL)
            fprintf(out, "(also *%s*) ", row->alias);
        print_man_text(out, row->help);
        fputs("\n\n", out);
        for (unsigned id = 0; id < OPTION_COUNT; id++) {
            char *left;

            if (!is_shown((enum option_id)id, (enum command_id)command) || id == OPTION_FORMAT)
                continue;
            left = option_usage(&option_rows[id]);
            fputs("*", out);
            print_man_text(out, left + strspn(left, " "));
            fputs("*\n\t", out);
            print_man_text(out, option_rows[id].help);
            fputs("\n\n", out);
            free(left);
        }
    }
}

/* Print the options of a command as words, and after them the choices of those that have some. */
static void print_bash_options(enum command_id command, FILE *out)
{
    fprintf(out, "    %s", command_rows[command].name);
    if (command_rows[command].alias != NULL)
        fprintf(out, " | %s", command_rows[command].alias);
    fputs(")\n        options=\"", out);
    for (unsigned id = 0, count = 0; id < OPTION_COUNT; id++) {
        const struct option_row *row = &option_rows[id];

        if (!is_shown((enum option_id)id, command) || id == OPTION_FORMAT)
            continue;
        if (row->letter != '\0')
            fprintf(out, "%s-%c", count++ > 0 ? " " : "", row->letter);
        if (row->name != NULL)
            fprintf(out, "%s--%s", count++ > 0 ? " " : "", row->name);
    }
    fputs("\"\n        ;;\n", out);
}

static void print_bash_choices(FILE *out)
{
    for (unsigned id = 0; id < OPTION_COUNT; id++) {
        const struct option_row *row = &option_rows[id];

        if (row->argument == NULL || strchr(row->argument, '|') == NULL || id == OPTION_FORMAT)
            continue;
        fprintf(out, "    --%s)\n        COMPREPLY=($(compgen -W \"", row->name);
        for (const char *letter = row->argument; *letter != '\0'; letter++)
            putc(*letter == '|' ? ' ' : *letter, out);
        fputs("\" -- \"$word\"))\n        return\n        ;;\n", out);
    }
}

void help_print_bash(FILE *out)
{
    fputs("# Completion of memtrack for bash. Made by: memtrack help --format=bash\n"
          "_memtrack()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options=\n"
          "    [[ $word == '=' ]] && word=\n"
          "    [[ $before == '=' ]] && before=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        COMPREPLY=($(compgen -W \"--help --version",
          out);
    for (unsigned id = COMMAND_NONE + 1; id < COMMAND_COUNT; id++) {
        if (!command_rows[id].is_internal)
            fprintf(out, " %s", command_rows[id].name);
    }
    fputs("\" -- \"$word\"))\n        return\n    fi\n    case $before in\n", out);
    print_bash_choices(out);
    fputs("    esac\n    case ${COMP_WORDS[1]} in\n", out);
    for (unsigned id = COMMAND_NONE + 1; id < COMMAND_COUNT; id++) {
        if (!command_rows[id].is_internal)
            print_bash_options((enum command_id)id, out);
    }
    fputs("    esac\n"
          "    if [[ $word == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
          "    else\n"
          "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
          "    fi\n}\n"
          "complete -o filenames -F _memtrack memtrack\n",
          out);
}

/* Become `man` for the installed page, or the one beside the program; returns when there is none. */
static void show_manual(void)
{
    static const char *const pages[] = {"../share/man/man1/memtrack.1", "../docs/memtrack.1"};
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

    if (length <= 0)
        return;
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        char *page = words_format("%s/%s", program, pages[i]);

        if (access(page, R_OK) == 0)
            execlp("man", "man", "-l", page, (char *)NULL);
        free(page);
    }
}

int command_help(enum command_id id, const struct option_values *values)
{
    const char *format = values->values[OPTION_FORMAT];
    enum command_id command = COMMAND_NONE;

    (void)id;
    if (values->operand_count > 0) {
        const char *name = values->operands[0];
        const char *nearest = options_nearest_command(name);

        command = options_find_command(name);
        if (command == COMMAND_NONE) {
            message_print("unknown command %s%s%s%s", name, nearest ? ": did you mean " : "",
                          nearest ? nearest : "", nearest ? "?" : "");
            return EXIT_USAGE;
        }
    }
    if (format != NULL && strcmp(format, "man") == 0)
        help_print_man(stdout);
    else if (format != NULL && strcmp(format, "bash") == 0)
        help_print_bash(stdout);
    else {
        if (command == COMMAND_NONE && format == NULL && isatty(STDOUT_FILENO))
            show_manual();
        help_print(command, stdout);
    }
    return EXIT_DONE;
}
