/*
 * Help in three forms, all made from the option table: for people, for the man page, for bash.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "options.h"

#include <stdio.h>

/* Print how the program is called and its commands, or a command's options. Context: tool. */
void help_print(enum command_id command, FILE *out);

/* Print the sections of the man page that describe commands and options (scdoc). Context: tool. */
void help_print_man(FILE *out);

/* Print the bash completion. Context: tool. */
void help_print_bash(FILE *out);

#endif
