/*
 * A C++ pool tells memtrack of its blocks.
 *
 * A free list of equal blocks behind an allocator that standard containers take. The pool asks
 * operator new for slabs of a thousand; memtrack_pool_alloc() and _free() say which of their blocks are
 * in use, and memtrack::phase says when.
 *
 *     c++ -std=c++11 -Iinclude -o pool examples/pool.cc
 *     memtrack run -o pool.bin ./pool && memtrack stats pool.bin
 */
#include <cstddef>
#include <cstdio>
#include <list>
#include <memtrack/memtrack.h>
#include <new>

/* Blocks of one size; they go back to the system never. */
template <std::size_t size_bytes> class slab_pool
{
  public:
    static void *take(const char *name)
    {
        if (first == nullptr)
            refill();
        block *taken = first;
        first = taken->next;
        memtrack_pool_alloc(name, taken, size_bytes);
        return taken;
    }

    static void give_back(const char *name, void *address)
    {
        memtrack_pool_free(name, address);
        block *given = static_cast<block *>(address);
        given->next = first;
        first = given;
    }

  private:
    union block {
        block *next;
        alignas(std::max_align_t) unsigned char bytes[size_bytes];
    };

    static void refill()
    {
        const int count = 1000;
        block *slab = static_cast<block *>(::operator new(count * sizeof(block)));

        for (int i = 0; i < count; i++) {
            slab[i].next = first;
            first = &slab[i];
        }
    }

    static block *first;
};

template <std::size_t size_bytes>
typename slab_pool<size_bytes>::block *slab_pool<size_bytes>::first = nullptr;

/* What std::list and std::map need: one object at a time from the pool, more from operator new. */
template <typename T> struct pool_allocator {
    using value_type = T;

    pool_allocator() = default;

    template <typename U> pool_allocator(const pool_allocator<U> &)
    {
    }

    T *allocate(std::size_t count)
    {
        if (count == 1)
            return static_cast<T *>(slab_pool<sizeof(T)>::take("list nodes"));
        return static_cast<T *>(::operator new(count * sizeof(T)));
    }

    void deallocate(T *address, std::size_t count)
    {
        if (count == 1)
            slab_pool<sizeof(T)>::give_back("list nodes", address);
        else
            ::operator delete(address);
    }

    friend bool operator==(const pool_allocator &, const pool_allocator &)
    {
        return true;
    }

    friend bool operator!=(const pool_allocator &, const pool_allocator &)
    {
        return false;
    }
};

int main()
{
    std::list<long, pool_allocator<long>> queue;
    long sum = 0;

    {
        memtrack::phase filling("fill");

        for (long i = 0; i < 20000; i++)
            queue.push_back(i);
    }
    memtrack_mark("full");
    memtrack::phase draining("drain");
    while (queue.size() > 5000) {
        sum += queue.front();
        queue.pop_front();
    }
    std::printf("%ld\n", sum);
    return 0;
}
