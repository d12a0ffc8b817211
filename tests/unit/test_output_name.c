/*
 * Tests of the names of captures and reports.
 */
#include "output_name.h"

#include "test.h"

TEST(a_capture_is_named_for_its_program_and_pid)
{
    static const struct {
        const char *program, *name;
    } cases[] = {
        {"app.py", "memtrack-app.py.42.bin"},
        {"http.server", "memtrack-http.server.42.bin"},
        {"a/b", "memtrack-a-b.42.bin"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *name = output_name_of_capture(NULL, cases[i].program, 42);

        CHECK_TEXT(name, cases[i].name);
        free(name);
    }
}

TEST(marks_in_a_pattern_are_replaced)
{
    char host[256] = "", expected[300];
    char *name;

    setenv("SLURM_PROCID", "3", 1);
    CHECK(gethostname(host, sizeof(host) - 1) == 0);
    snprintf(expected, sizeof(expected), "d/%s-42-3-%%-%%x%%", host);
    name = output_name_of_capture("d/%h-%p-%r-%%-%x%", "app", 42);
    CHECK_TEXT(name, expected);
    free(name);
    name = output_name_of_capture("%t", "app", 42);
    CHECK_EQUAL(strlen(name), strlen("20260102-030405"));
    free(name);
}

TEST(a_page_lies_beside_its_capture)
{
    static const struct {
        const char *capture, *page;
    } cases[] = {
        {"memtrack-app.py.42.bin", "memtrack-flamegraph-app.py.42.html"},
        {"out.bin", "memtrack-flamegraph-out.html"},
        {"some/dir.bin/out", "some/dir.bin/memtrack-flamegraph-out.html"},
        {"/x/memtrack-a.bin", "/x/memtrack-flamegraph-a.html"},
        {".bin", "memtrack-flamegraph-.bin.html"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *name = output_name_of_report(cases[i].capture, "flamegraph", ".html");

        test_case("%s", cases[i].capture);
        CHECK_TEXT(name, cases[i].page);
        free(name);
    }
}
