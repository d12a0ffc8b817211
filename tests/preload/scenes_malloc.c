/* Scenes of the malloc family. */
#include "scenes.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* C23: there when the tracker is, or libc has them. */
__attribute__((weak)) void free_sized(void *block, size_t size_bytes);
__attribute__((weak)) void free_aligned_sized(void *block, size_t align_bytes, size_t size_bytes);

static int scene_nothing(void)
{
    return 0;
}

static int scene_malloc(void)
{
    void *block = malloc(12345);

    use(block);
    free(block);
    return 0;
}

static int scene_realloc(void)
{
    void *block = realloc(NULL, 1111);

    use(block);
    block = realloc(block, 222222);
    use(block);
    block = reallocarray(block, 3, 1111);
    use(block);
    EXPECT(realloc(block, 0) == NULL);
    return 0;
}

static int scene_family(void)
{
    void *blocks[8] = {NULL};

    blocks[0] = calloc(7, 1001);
    EXPECT(posix_memalign(&blocks[1], 64, 1002) == 0);
    blocks[2] = aligned_alloc(64, 1024 + 64);
    blocks[3] = memalign(64, 1003);
    blocks[4] = valloc(1004);
    blocks[5] = pvalloc(1005);
    blocks[6] = malloc(1006);
    blocks[7] = memalign(32, 1007);
    for (unsigned i = 0; i < 6; i++) {
        EXPECT(blocks[i] != NULL);
        free(blocks[i]);
    }
    if (free_sized != NULL)
        free_sized(blocks[6], 1006);
    if (free_aligned_sized != NULL)
        free_aligned_sized(blocks[7], 32, 1007);
    free(NULL);
    return 0;
}

/* More than there is, and more than there can be. */
static int scene_failures(void)
{
    void *block = malloc(4321);
    void *none = NULL;
    volatile size_t huge = SIZE_MAX / 4, half = SIZE_MAX / 2;

    EXPECT(block != NULL);
    errno = 0;
    EXPECT(malloc(huge) == NULL && errno == ENOMEM);
    errno = 0;
    EXPECT(calloc(half, 3) == NULL && errno == ENOMEM);
    errno = 0;
    EXPECT(realloc(block, huge) == NULL && errno == ENOMEM);
    errno = 0;
    EXPECT(reallocarray(block, half, 3) == NULL && errno == ENOMEM);
    EXPECT(posix_memalign(&none, 64, huge) == ENOMEM && none == NULL);
    EXPECT(posix_memalign(&none, 3, 64) == EINVAL);
    free(block);
    return 0;
}

/* Long enough for ticks, laps and whatever else happens once in a while. */
static int scene_errno(void)
{
    struct timespec pause = {.tv_nsec = 1000000};

    for (unsigned i = 0; i < 60000; i++) {
        void *block;

        errno = 1234;
        block = malloc(100);
        EXPECT(errno == 1234);
        block = realloc(block, 200 + i % 100000);
        EXPECT(errno == 1234);
        free(block);
        EXPECT(errno == 1234);
        free(calloc(3, 5));
        EXPECT(errno == 1234);
        if (i % 1000 == 0)
            nanosleep(&pause, NULL);
    }
    return 0;
}

/* The provider (provider.c) counts what reaches it: as many as we made, not one more. */
static int scene_counts(void)
{
    unsigned (*count_calls)(void) = (unsigned (*)(void))dlsym(RTLD_DEFAULT, "provider_count_calls");
    struct timespec pause = {.tv_nsec = 1000000};
    unsigned before;

    EXPECT(count_calls != NULL);
    before = count_calls();
    for (unsigned i = 0; i < 100000; i++) {
        void *block = malloc(1 + i % 1000);

        use(block);
        free(block);
        if (i % 10000 == 0)
            nanosleep(&pause, NULL);
    }
    EXPECT(count_calls() - before == 200000);
    before = count_calls();
    for (unsigned i = 0; i < 1000; i++)
        use(realloc(calloc(1, 77), 88));
    EXPECT(count_calls() - before >= 2000);
    return 0;
}

static void *churn(void *sizes)
{
    void *blocks[64] = {NULL};

    for (unsigned i = 0; i < 20000; i++) {
        free(blocks[i % 64]);
        blocks[i % 64] = malloc(*(size_t *)sizes + i % 7);
    }
    for (unsigned i = 0; i < 64; i++)
        free(blocks[i]);
    return NULL;
}

static int scene_threads(void)
{
    size_t sizes[4] = {100, 200, 300, 400};
    pthread_t threads[4];

    for (unsigned i = 0; i < 4; i++)
        EXPECT(pthread_create(&threads[i], NULL, churn, &sizes[i]) == 0);
    for (unsigned i = 0; i < 4; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    return 0;
}

static void *pass_on(void *block)
{
    free(block);
    return malloc(70001);
}

/* A block is made in one thread and released in another. */
static int scene_hand_over(void)
{
    for (unsigned i = 0; i < 200; i++) {
        void *block = malloc(60001), *back;
        pthread_t thread;

        EXPECT(pthread_create(&thread, NULL, pass_on, block) == 0);
        EXPECT(pthread_join(thread, &back) == 0);
        free(back);
    }
    return 0;
}

static int scene_big(void)
{
    for (unsigned i = 0; i < 3; i++) {
        void *block = malloc(65536 + i);

        use(block);
        free(block);
    }
    return 0;
}

static int scene_large_allocations(void)
{
    void *block = malloc((size_t)3 << 30);

    use(block);
    free(block);
    return 0;
}

/* Writes more than a ring holds. */
static int scene_many(void)
{
    for (unsigned i = 0; i < 40000; i++) {
        void *block = malloc(33);

        use(block);
        free(block);
    }
    return 0;
}

static sigjmp_buf jump;

static void jump_away(int number)
{
    (void)number;
    siglongjmp(jump, 1);
}

/* Handlers leave whatever they interrupted for good; the provider is one that can bear it. */
static int scene_jumps(void)
{
    volatile unsigned jumps = 0;
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec time = {.it_interval = {.tv_nsec = 50021}, .it_value = {.tv_nsec = 50021}};

    signal(SIGUSR1, jump_away);
    EXPECT(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    EXPECT(timer_settime(timer, 0, &time, NULL) == 0);
    if (sigsetjmp(jump, 1) != 0)
        jumps++;
    while (jumps < 2000) {
        void *block = malloc(50);

        use(block);
        free(block);
    }
    timer_delete(timer);
    signal(SIGUSR1, SIG_IGN);
    free(malloc(12345));
    return 0;
}

const struct scene malloc_scenes[] = {
    {"nothing", scene_nothing},
    {"malloc", scene_malloc},
    {"realloc", scene_realloc},
    {"family", scene_family},
    {"failures", scene_failures},
    {"errno", scene_errno},
    {"counts", scene_counts},
    {"threads", scene_threads},
    {"hand_over", scene_hand_over},
    {"big", scene_big},
    {"large", scene_large_allocations},
    {"many", scene_many},
    {"jumps", scene_jumps},
    {NULL, NULL},
};
