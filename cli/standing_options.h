/*
 * Options of `memtrack run` that stand in the environment, for all recordings of a shell or a machine.
 */
#ifndef CLI_STANDING_OPTIONS_H
#define CLI_STANDING_OPTIONS_H

#include "base/error.h"

#include <stdbool.h>

/*
 * Put the options of MEMTRACK_OPTIONS before those of the command line, so that these have the last
 * word.
 * argc, argv: of a command, its name first. Replaced when there are any; the new vector lives as long
 * as the program.
 * Returns false with err when what stands there is not options alone. Context: tool; once.
 */
bool standing_options_join(int *argc, char ***argv, struct error *err);

#endif
