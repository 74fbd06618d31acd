/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one_thread.c - ends a test that is marked ONE_THREAD when its program starts a thread. Preloaded; test-only.
 *
 * The thread sanitizer finds nothing in a test of one thread, so it does not run those; this holds that they are such.
 * Threads that a library starts for itself do not count: its code has no sanitizer in it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

typedef int create_fn(pthread_t *out, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg);

create_fn pthread_create;

int pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg)
{
    void *const next = dlsym(RTLD_NEXT, "pthread_create");
    const void *const headers = (const void *)getauxval(AT_PHDR);
    Dl_info caller, program;
    create_fn *create;

    if (!dladdr(__builtin_return_address(0), &caller) || !dladdr(headers, &program) ||
        caller.dli_fbase == program.dli_fbase) {
        fprintf(stderr, "one_thread: a test that is marked ONE_THREAD starts a thread\n");
        _exit(70);
    }
    memcpy(&create, &next, sizeof create); /* ISO C converts no object pointer to that of a function */
    return create(out, attributes, fn, arg);
}
