/*
 * Messages to the user, on stderr, each a line that begins with "memtrack: ". Only cli/ prints.
 */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

/*
 * Print a line, in one write, so that lines of several processes do not mix. What is longer than a
 * path and a sentence is cut off. Context: tool.
 */
void message_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
