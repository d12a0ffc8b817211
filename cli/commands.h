/*
 * The commands, one file each; the reports share one. All have the form of command_function.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "options.h"

/* Start a program tracked and end as it ends. Context: tool. */
command_function command_run;

/* Steer a recording that goes on. Context: tool. */
command_function command_ctl;

/* Make any of the reports of a capture. Context: tool. */
command_function command_report;

/* Write a finished capture again, smaller. Context: tool. */
command_function command_recompress;
command_function command_bundle;

/* The collector of a session, started by command_run(). Context: tool. */
command_function command_collect;

/* Cut a capture that goes on, for the collector. Context: tool. */
command_function command_cut;

/* Show the man page, or help that comes from the option table. Context: tool. */
command_function command_help;

#endif
