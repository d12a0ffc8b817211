/*
 * The kernel's own clock, whatever clock the program is shown.
 */
#ifndef SESSION_CLOCK_H
#define SESSION_CLOCK_H

/*
 * Let sys_now_ns() ask the vDSO itself from now on. Where there is none (valgrind hides it), libc is
 * asked as before.
 * Context: start-up.
 */
void clock_use_kernel(void);

#endif
