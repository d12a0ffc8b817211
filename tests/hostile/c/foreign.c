/*
 * A program of another architecture than ours, without a C library, so that no other one has to be
 * installed: foreign [run PROGRAM [ARGUMENT...]]. Says that it is there, executes the program in a
 * child and ends as that did; else it ends with CODE_DONE. For i386; the tests build it.
 */
enum {
    CODE_DONE = 9,
    CODE_CANNOT = 12,
    /* linux arch/x86/entry/syscalls/syscall_32.tbl */
    CALL_EXIT = 1,
    CALL_FORK = 2,
    CALL_WRITE = 4,
    CALL_WAITPID = 7,
    CALL_EXECVE = 11,
};

static long call(long number, long a, long b, long c)
{
    long result;

    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
    return result;
}

static int run(char **arguments, char **environment)
{
    long child = call(CALL_FORK, 0, 0, 0);
    int status = 0;

    if (child == 0) {
        call(CALL_EXECVE, (long)arguments[0], (long)arguments, (long)environment);
        call(CALL_EXIT, CODE_CANNOT, 0, 0);
    }
    call(CALL_WAITPID, child, (long)&status, 0);
    return (status & 127) != 0 ? 128 + (status & 127) : status >> 8 & 255;
}

/* A script that it is the interpreter of stands there too. */
static int is_run(const char *word)
{
    return word[0] == 'r' && word[1] == 'u' && word[2] == 'n' && word[3] == '\0';
}

/* stack: as Linux leaves it: a count, the arguments, NULL, the environment, NULL. */
__attribute__((used)) void begin(long *stack)
{
    char **arguments = (char **)(stack + 1);
    char said[] = "foreign\n";
    int code = CODE_DONE;

    call(CALL_WRITE, 1, (long)said, sizeof(said) - 1);
    if (stack[0] > 2 && is_run(arguments[1]))
        code = run(arguments + 2, arguments + stack[0] + 1);
    call(CALL_EXIT, code, 0, 0);
}

__asm__(".globl _start\n"
        "_start:\n"
        "movl %esp, %eax\n"
        "andl $-16, %esp\n"
        "subl $12, %esp\n"
        "pushl %eax\n"
        "call begin\n");
