/*
 * memtrack: finds the command and hands over. Nothing is done here that the command does not need.
 */
#include "commands.h"
#include "exit_status.h"
#include "help.h"
#include "message.h"
#include "options.h"
#include "standing_options.h"

#include <stdio.h>

/* Ends 4 when what was printed could not be written, to a full disk say. */
static int finish_output(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    message_print("standard output: cannot be written");
    return EXIT_OUTPUT;
}

/* The program's own options: everything before a command. */
static int run_without_command(int argc, char **argv)
{
    struct option_values values;
    struct error err;

    if (!options_parse(COMMAND_NONE, argc, argv, &values, &err)) {
        message_print("%s", err.text);
        return EXIT_USAGE;
    }
    if (values.is_set[OPTION_VERSION]) {
        puts("memtrack " MEMTRACK_VERSION);
        return EXIT_DONE;
    }
    help_print(COMMAND_NONE, values.is_set[OPTION_HELP] ? stdout : stderr);
    return values.is_set[OPTION_HELP] ? EXIT_DONE : EXIT_USAGE;
}

static int run_command(int argc, char **argv)
{
    enum command_id command = options_find_command(argv[0]);
    struct option_values values;
    struct error err;

    if (command == COMMAND_NONE) {
        const char *nearest = options_nearest_command(argv[0]);

        if (nearest != NULL)
            message_print("unknown command %s: did you mean %s?", argv[0], nearest);
        else
            message_print("unknown command %s: see memtrack --help", argv[0]);
        return EXIT_USAGE;
    }
    if ((command == COMMAND_RUN && !standing_options_join(&argc, &argv, &err)) ||
        !options_parse(command, argc, argv, &values, &err)) {
        message_print("%s", err.text);
        return EXIT_USAGE;
    }
    if (values.is_set[OPTION_HELP]) {
        help_print(command, stdout);
        return EXIT_DONE;
    }
    return command_rows[command].run(command, &values);
}

int main(int argc, char **argv)
{
    if (argc < 2 || argv[1][0] == '-')
        return finish_output(run_without_command(argc, argv));
    return finish_output(run_command(argc - 1, argv + 1));
}
