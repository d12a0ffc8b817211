/*
 * Short names: what is left out is what brackets hold, and nothing else.
 */
#include "test.h"

#include "report/function_names.h"

static const char *shorten(const char *name, bool is_ascii)
{
    static struct memory_pool pool;
    struct frame frame = {.function = name, .kind = FRAME_NATIVE};

    return label_function(&pool, &frame, is_ascii);
}

TEST(short_names_and_those_of_python_are_left_alone)
{
    struct memory_pool pool = {.newest = NULL};
    struct frame frame = {.kind = FRAME_PYTHON,
                          .function = "a_function_of_python_with_a_long<name>(and brackets)"};

    CHECK_TEXT(shorten("Solver::step(int)", false), "Solver::step(int)");
    CHECK_TEXT(shorten("a_function_of_C_with_a_name_that_is_longer_than_most", false),
               "a_function_of_C_with_a_name_that_is_longer_than_most");
    CHECK(label_function(&pool, &frame, false) == frame.function);
    memory_pool_finish(&pool);
}

TEST(arguments_are_left_out_from_the_innermost_on)
{
    static const struct {
        const char *name, *shorter;
    } cases[] = {
        {"std::map<int, std::vector<std::pair<int, std::less<int>>>>::at",
         "std::map<int, std::vector<...>>::at"},
        {"std::vector<std::allocator<int> >::push_back(int const&)",
         "std::vector<...>::push_back(...)"},
        {"solve(std::vector<int> const&, unsigned long, int)", "solve(...)"},
        {"std::function<void (int, long, std::vector<int>)>::operator()(int) const",
         "std::function<...>::operator()(int) const"},
        {"operator< <std::vector<int>, std::vector<long int> >(int)", "operator< <...>(int)"},
        {"boost::operator<<(std::ostream&, boost::path const&)", "boost::operator<<(...)"},
        {"(anonymous namespace)::Parser::parse_all(std::vector<Token> const&, int)",
         "(anonymous namespace)::Parser::parse_all(...)"},
        {"Foo::operator->(std::unique_ptr<Bar, Deleter<Bar>>)", "Foo::operator->(...)"},
        {"<alloc::vec::Vec<u64, Global> as core::iter::traits::FromIterator<u64>>::from_iter",
         "<alloc::vec::Vec<...> as core::iter::traits::FromIterator<u64>>::from_iter"},
        {"Matrix<(Kind)1, (2 > 1), 100000, 100000>::resize(unsigned long)",
         "Matrix<...>::resize(...)"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_case("%s", cases[i].name);
        CHECK_TEXT(shorten(cases[i].name, true), cases[i].shorter);
    }
    CHECK_TEXT(shorten("solve(std::vector<int> const&, unsigned long, int)", false),
               "solve(\xe2\x80\xa6)");
}

TEST(names_whose_brackets_do_not_match_are_left_alone)
{
    static const char *const names[] = {
        "a_name_that_is_cut_off<std::vector<std::vector<int, ",
        "a_name_that_is_cut_off_in_its_parameters(std::vector",
        "a_name_with_too_many_of_them_at_its_end_as_it_is>>>>",
        "std::vector<int>::a_name_that_closes_what_is_not_open>",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        test_case("%s", names[i]);
        CHECK_TEXT(shorten(names[i], true), names[i]);
    }
}

TEST(extensions_of_python_are_called_without_what_they_were_built_for)
{
    CHECK_TEXT(shorten("fast.cpython-313-x86_64-linux-gnu.so+0x1a20", false), "fast.so+0x1a20");
    CHECK_TEXT(shorten("fast.abi3.so+0x1a20", false), "fast.so+0x1a20");
    CHECK_TEXT(shorten("libfoo.so.1+0x1a20", false), "libfoo.so.1+0x1a20");
}
