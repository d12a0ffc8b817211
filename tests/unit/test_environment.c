/*
 * Tests of the environments that the program and the collector get.
 */
#include "environment.h"

#include "test.h"

static void set_environment(const char *const *variables)
{
    static char *copies[16];

    for (size_t i = 0; variables[i] != NULL; i++)
        copies[i] = strdup(variables[i]);
    environ = copies;
}

static void check_equal(char **environment, const char *const *expected)
{
    size_t i = 0;

    for (; expected[i] != NULL; i++) {
        CHECK(environment[i] != NULL);
        CHECK_TEXT(environment[i], expected[i]);
    }
    CHECK(environment[i] == NULL);
    environment_free(environment);
}

TEST(a_program_sees_two_variables_more)
{
    const char *const before[] = {"B=2", "A=1", "MEMTRACK_PYTHON=p", "=odd", "noequals", NULL};
    const char *const after[] = {"B=2",
                                 "A=1",
                                 "MEMTRACK_PYTHON=p",
                                 "=odd",
                                 "noequals",
                                 "LD_PRELOAD=/l.so",
                                 "MEMTRACK_SESSION=s",
                                 NULL};

    set_environment(before);
    check_equal(environment_of_program("/l.so", "s"), after);
}

TEST(other_preloaded_libraries_stay_behind_ours)
{
    const char *const before[] = {"LD_PRELOAD=/a.so /b.so", "LD_PRELOADX=1", NULL};
    const char *const after[] = {"LD_PRELOAD=/l.so:/a.so /b.so", "LD_PRELOADX=1",
                                 "MEMTRACK_SESSION=s", NULL};

    set_environment(before);
    check_equal(environment_of_program("/l.so", "s"), after);
}

TEST(an_outer_session_is_replaced_and_the_library_stays_once)
{
    const char *const before[] = {"MEMTRACK_SESSION=old", "LD_PRELOAD=/a.so:/l.so", NULL};
    const char *const after[] = {"MEMTRACK_SESSION=s", "LD_PRELOAD=/a.so:/l.so", NULL};

    set_environment(before);
    check_equal(environment_of_program("/l.so", "s"), after);
}

TEST(a_library_whose_path_begins_like_ours_is_another)
{
    const char *const before[] = {"LD_PRELOAD=/l.so.1", NULL};
    const char *const after[] = {"LD_PRELOAD=/l.so:/l.so.1", "MEMTRACK_SESSION=s", NULL};

    set_environment(before);
    check_equal(environment_of_program("/l.so", "s"), after);
}

TEST(the_collector_sees_nothing_of_tracking)
{
    const char *const before[] = {
        "A=1", "LD_PRELOAD=/l.so", "MEMTRACK_SESSION=s", "MEMTRACK_X=", "Z=", NULL};
    const char *const after[] = {"A=1", "Z=", NULL};

    set_environment(before);
    check_equal(environment_of_collector(), after);
}
