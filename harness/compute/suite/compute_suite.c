/* SPDX-License-Identifier: Apache-2.0 */
/* compute_suite.c - the list of cases, their memory, and the cases about memory (compute.C5). */
#include "harness/compute/suite/compute_suite.h"

#include <stdlib.h>
#include <string.h>

#include "harness/compute/suite/suite_kit.h"

static void *must(void *p)
{
    if (p == NULL)
        abort(); /* a test without memory proves nothing */
    return p;
}

static struct compute_env env_of(const struct suite *s, int n_threads)
{
    return (
        struct compute_env){ .n_threads = n_threads, .precision = s->options.precision, .device = s->options.device };
}

static bool open_all(struct suite *s)
{
    s->pool.host = must(aligned_alloc(256, SUITE_POOL_BYTES));
    s->pool.got = must(aligned_alloc(256, SUITE_POOL_BYTES));
    s->pool.unseen = must(aligned_alloc(256, SUITE_POOL_BYTES));
    s->pool.doubles = must(calloc(SUITE_POOL_DOUBLES, sizeof *s->pool.doubles));
    for (int n = 1; n <= s->options.n_threads_most; n++) {
        const struct compute_env env = env_of(s, n);
        if (compute_open(&s->opened[n], s->ops, &env) != RC_OK ||
            compute_memory_open(s->opened[n], &s->pool.memory[n], SUITE_POOL_BYTES, "suite") != RC_OK) {
            suite_fail(s, "open: %s", rc_message());
            return false;
        }
    }
    return true;
}

static void close_all(struct suite *s)
{
    for (int n = 1; n <= SUITE_MAX_THREADS; n++) {
        if (s->opened[n] != NULL)
            compute_memory_close(s->opened[n], &s->pool.memory[n]);
        if (s->pool.memory[n] != NULL)
            suite_fail(s, "memory_close left the pointer");
        compute_close(&s->opened[n]);
        compute_close(&s->opened[n]);
        if (s->opened[n] != NULL)
            suite_fail(s, "close left the pointer");
    }
    free(s->pool.host);
    free(s->pool.got);
    free(s->pool.unseen);
    free(s->pool.doubles);
}

int compute_suite(const struct compute_backend *b, const struct compute_suite_options *options)
{
    struct suite s = { .ops = b, .case_name = "open" };

    if (options != NULL)
        s.options = *options;
    if (s.options.n_threads_most < 1 || s.options.n_threads_most > SUITE_MAX_THREADS)
        s.options.n_threads_most = SUITE_MAX_THREADS;
    if (open_all(&s)) {
        suite_memory(&s);
        if (b->touches_memory) {
            suite_gemm(&s);
            suite_elements(&s);
            suite_updates(&s);
            suite_convs(&s);
            suite_norms(&s);
            suite_pools(&s);
            suite_losses(&s);
        } else
            suite_untouched(&s);
        suite_counts(&s);
        suite_gemm_only(&s);
    }
    close_all(&s);
    return s.n_failures;
}

/* compute.C5: zeroed; what is put is got, no more and no less; several blocks, closed in any order. */
static void memory_case(struct suite *s, const void *arg)
{
    enum { N_BLOCKS = 3 };
    static const size_t n_bytes[N_BLOCKS] = { 1, 4099, 3 << 20 };
    static const size_t order[N_BLOCKS] = { 1, 2, 0 };
    unsigned char *byte = (unsigned char *)s->pool.host, *got = (unsigned char *)s->pool.got;
    void *memory[N_BLOCKS] = { NULL, NULL, NULL };

    (void)arg;
    for (size_t i = 0; i < N_BLOCKS; i++) {
        if (compute_memory_open(s->c, &memory[i], n_bytes[i], "a block") != RC_OK || memory[i] == NULL) {
            suite_fail(s, "memory_open of %zu bytes: %s", n_bytes[i], rc_message());
            continue;
        }
        if ((uintptr_t)memory[i] % COMPUTE_ALIGN_BYTES != 0)
            suite_fail(s, "C1: memory at %p, should start on %d bytes", memory[i], COMPUTE_ALIGN_BYTES);
        memset(got, 0xa5, n_bytes[i]);
        compute_get(s->c, got, memory[i], n_bytes[i]);
        for (size_t k = 0; k < n_bytes[i]; k++)
            if (got[k] != 0)
                suite_fail(s, "byte %zu of fresh memory is %d, should be 0", k, got[k]);
        for (size_t k = 0; k < n_bytes[i]; k++)
            byte[k] = (unsigned char)(k * 7 + i);
        compute_put(s->c, memory[i], byte, n_bytes[i]);
        memset(byte, 0, n_bytes[i]); /* put() may not read it any more */
    }
    for (size_t i = 0; i < N_BLOCKS && memory[i] != NULL; i++) {
        memset(got, 0xa5, n_bytes[i] + 1);
        compute_get(s->c, got, memory[i], n_bytes[i]);
        for (size_t k = 0; k <= n_bytes[i]; k++) {
            const unsigned char want = k < n_bytes[i] ? (unsigned char)(k * 7 + i) : 0xa5;
            if (got[k] != want)
                suite_fail(s, "byte %zu of %zu came back as %d, should be %d", k, n_bytes[i], got[k], want);
        }
    }
    for (size_t i = 0; i < N_BLOCKS; i++)
        compute_memory_close(s->c, &memory[order[i]]);
}

/* Host memory that the backend gives: zeroed; put() reads it and is done, get() fills it, both also in its middle. */
static void host_memory_case(struct suite *s, const void *arg)
{
    enum { N = 5 << 20, AT = 4099 };
    unsigned char *host = NULL;
    void *memory = NULL, *block = NULL;

    (void)arg;
    if (compute_memory_open(s->c, &memory, N, "a block") != RC_OK ||
        compute_host_open(s->c, &block, N, "its copy") != RC_OK) {
        suite_fail(s, "%s", rc_message());
        goto out;
    }
    host = block;
    for (size_t k = 0; k < N; k++) {
        if (host[k] != 0)
            suite_fail(s, "byte %zu of fresh host memory is %d, should be 0", k, host[k]);
        host[k] = (unsigned char)(k * 7 + k / 256);
    }
    compute_put(s->c, memory, host, N);
    memset(host, 0xa5, N); /* put() may not read it any more */
    compute_get(s->c, host + AT, (unsigned char *)memory + AT, N - AT);
    for (size_t k = 0; k < N; k++) {
        const unsigned char want = k < AT ? 0xa5 : (unsigned char)(k * 7 + k / 256);
        if (host[k] != want)
            suite_fail(s, "byte %zu came back as %d, should be %d", k, host[k], want);
    }
out:
    compute_host_close(s->c, &block);
    compute_memory_close(s->c, &memory);
}

static void too_much_case(struct suite *s, const void *arg)
{
    void *memory = NULL;

    (void)arg;
    if (compute_memory_open(s->c, &memory, SIZE_MAX / 4, "the moon") != RC_NOMEM)
        suite_fail(s, "a quarter of all addresses were to be had");
    else if (strstr(rc_message(), "the moon") == NULL || strstr(rc_message(), "4611686018427387903") == NULL)
        suite_fail(s, "\"%s\" should name what for and how many bytes", rc_message());
    compute_memory_close(s->c, &memory);
}

void suite_memory(struct suite *s)
{
    if (!s->ops->touches_memory)
        return;
    const struct compute_suite_options options = s->options;
    s->options.n_allocations = NULL; /* these are to allocate */
    s->options.only = NULL;
    suite_run(s, "memory", memory_case, NULL);
    suite_run(s, "host_memory", host_memory_case, NULL);
    suite_run(s, "too much memory", too_much_case, NULL);
    s->options = options;
}
