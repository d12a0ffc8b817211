/*
 * Environments: what the tracked program gets to see, and what the collector must not.
 */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

/*
 * Return this process's environment with the library in LD_PRELOAD, before what is there, and the
 * session in MEMTRACK_SESSION. Nothing else differs, and the order is kept.
 * session: the variable's value.
 * Returns an array to be given to environment_free(). Context: tool.
 */
char **environment_of_program(const char *library, const char *session)
    __attribute__((returns_nonnull));

/*
 * Return this process's environment without LD_PRELOAD and MEMTRACK_*: the collector is never
 * tracked. Returns an array to be given to environment_free(). Context: tool.
 */
char **environment_of_collector(void) __attribute__((returns_nonnull));

/* Give one back; NULL is allowed. Context: tool. */
void environment_free(char **environment);

#endif
