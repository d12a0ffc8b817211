/*
 * C++: the operators, and a vector that grows. `operators each|vector`.
 */
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

/* The compiler may leave out a pair of new and delete that nobody looks at. */
template <typename T> static T *keep(T *object)
{
    asm volatile("" : "+r"(object) : : "memory");
    return object;
}

struct alignas(128) Wide {
    char bytes[40064];
};

static void each()
{
    struct Odd {
        char bytes[40001];
    };

    delete keep(new Odd);
    delete[] keep(new char[40003]);
    delete keep(new Wide);
    delete[] keep(new (std::nothrow) char[40007]);
}

static void vector_grows()
{
    std::vector<int> numbers;

    for (int i = 0; i < 512; i++)
        numbers.push_back(*keep(&i));
}

int main(int argc, char **argv)
{
    if (argc == 2 && std::strcmp(argv[1], "each") == 0)
        each();
    else if (argc == 2 && std::strcmp(argv[1], "vector") == 0)
        vector_grows();
    else
        return 98;
    return 0;
}
