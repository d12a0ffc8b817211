/*
 * Scenes for tests/preload: programs whose records are known.
 *
 * Sizes are odd ones, so that what a scene does can be told from what libc does for it. A scene
 * returns the exit code; 0 says that all went as it would without the tracker.
 */
#ifndef PRELOAD_SCENES_H
#define PRELOAD_SCENES_H

struct scene {
    const char *name;
    int (*run)(void);
};

/* Each ends with a row of NULLs. */
extern const struct scene malloc_scenes[];
extern const struct scene map_scenes[];
extern const struct scene process_scenes[];

/* Keep the compiler from seeing that a block is of no use. */
static inline void use(void *block)
{
    __asm__ volatile("" : : "r"(block) : "memory");
}

/* The scene has failed unless the condition holds: return the line. */
#define EXPECT(condition_)           \
    do {                             \
        if (!(condition_))           \
            return (__LINE__ & 127); \
    } while (0)

#endif
