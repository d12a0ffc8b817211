/*
 * A program that cannot have us in it.
 */
#ifndef SESSION_LEAVE_H
#define SESSION_LEAVE_H

/*
 * If a sanitizer is in the program: execute it again, without our library and the session. What
 * was to happen to it has not begun yet, and it never knows.
 * arguments, environment: main()'s. Returns when there is none, or when that fails.
 * Context: start-up, before anything else.
 */
void leave_sanitizer(char *const *arguments, char *const *environment);

#endif
