/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_driver.c - a libcuda.so.1 that fails, for tests: every call returns the error FAKE_CUDA_ERROR (a number of
 * CUresult), but for the version, FAKE_CUDA_VERSION. CUDA's runtime loads it where LD_LIBRARY_PATH says so.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int number_of(const char *variable)
{
    const char *text = getenv(variable);

    return text ? atoi(text) : 999; /* CUDA_ERROR_UNKNOWN */
}

static int fail(void)
{
    return number_of("FAKE_CUDA_ERROR");
}

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status);

int cuInit(unsigned flags)
{
    (void)flags;
    return fail();
}

int cuDriverGetVersion(int *version)
{
    *version = number_of("FAKE_CUDA_VERSION");
    return 0;
}

int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status)
{
    int (*function)(void) = fail;
    int (*version_of)(int *) = cuDriverGetVersion;
    int (*address_of)(const char *, void **, int, uint64_t, int *) = cuGetProcAddress_v2;

    (void)version;
    (void)flags;
    if (strcmp(name, "cuDriverGetVersion") == 0)
        memcpy(out, &version_of, sizeof *out);
    else if (strcmp(name, "cuGetProcAddress") == 0)
        memcpy(out, &address_of, sizeof *out);
    else
        memcpy(out, &function, sizeof *out);
    if (status)
        *status = 0;
    return 0;
}
