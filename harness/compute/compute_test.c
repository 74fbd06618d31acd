/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute_test.c - backends through the suite, and mutants the suite must catch.
 *
 * usage: compute_test suite NAME | tf32 NAME | bf16 NAME | mutant NAME | control NAME | emulated NAME | registry |
 *        allocation
 */
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/test_allocations.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/suite/compute_mutants.h"
#include "harness/compute/suite/compute_suite.h"
#include "harness/compute/suite/gpu_skip.h"
#include "harness/compute/suite/reference.h"

#if GRADMARK_CUDA_ON_HOST
#include "harness/compute/cuda/on_host/on_host_test.h"

extern const struct compute_backend compute_cuda; /* of on_host/, in place of the real one */
#endif

static const char *wanted;

static const struct compute_backend *backend_found(const char *name)
{
    const struct compute_backend *b = NULL;

#if GRADMARK_CUDA_ON_HOST
    if (strcmp(name, "cuda") == 0)
        return &compute_cuda;
#endif
    assert_int_equal(compute_find(&b, name), RC_OK);
    return b;
}

/* compute.C3 is not checked for a GPU emulated on the CPU: the emulation allocates. */
static struct compute_suite_options options_for(const struct compute_backend *b, enum precision precision)
{
    const bool is_device = compute_has_own_memory(b);

    return (struct compute_suite_options){ .precision = precision,
                                           .n_threads_most = is_device ? 1 : 0,
                                           .log = stderr,
                                           .n_allocations =
                                               is_device && GRADMARK_CUDA_ON_HOST ? NULL : test_allocations };
}

/* compute.C1 to C5: suite/compute_suite.h. Skipped where the backend says that it has no such precision or device. */
static void pass_suite(enum precision precision)
{
    const struct compute_backend *b = backend_found(wanted);
    const struct compute_suite_options options = options_for(b, precision);
    const struct compute_env env = { .precision = precision };
    struct compute *c = NULL;
    const enum rc rc = compute_open(&c, b, &env);

    compute_close(&c);
    if (rc == RC_UNSUPPORTED && !b->host_memory)
        exit(gpu_skip(rc_message()));
    if (rc == RC_UNSUPPORTED) {
        fprintf(stderr, "skipped: %s\n", rc_message());
        exit(77);
    }
    assert_int_equal(rc, RC_OK);
    assert_int_equal(compute_suite(b, &options), 0);
}

UNIT_TEST_OF("suite", suite_passes)
{
    pass_suite(PRECISION_FP32);
}

UNIT_TEST_OF("tf32", suite_passes_in_tf32)
{
    pass_suite(PRECISION_TF32);
}

UNIT_TEST_OF("bf16", suite_passes_in_bf16)
{
    pass_suite(PRECISION_BF16);
}

/* Failures of a mutant in the cases of the operation it replaces. */
static int mutant_failures(FILE *log)
{
    struct compute_suite_options options = { .log = log, .n_allocations = test_allocations };
    struct compute_backend b;

    assert_true(compute_mutant(&b, &options.only, wanted));
    return compute_suite(&b, &options);
}

UNIT_TEST_OF("mutant", mutant_is_caught)
{
    assert_true(mutant_failures(NULL) > 0);
}

UNIT_TEST_OF("control", control_passes)
{
    assert_int_equal(mutant_failures(stderr), 0);
}

/* compute.C1 of products in a backend whose GEMMs round otherwise at another alignment. */
UNIT_TEST_OF("emulated", emulated_gemms_are_judged)
{
#if GRADMARK_CUDA_ON_HOST
    const bool by_alignment = strcmp(wanted, "control_gemm_by_alignment") == 0;
    const bool elsewhere = strcmp(wanted, "gemm_by_turn_at_another_alignment") == 0;
    const struct on_host_limits limits = { .memory_bytes = (size_t)1 << 30,
                                           .gemm_by_alignment = by_alignment || elsewhere,
                                           .gemm_by_turn = !by_alignment };
    struct compute_suite_options options = options_for(&compute_cuda, PRECISION_FP32);

    assert_true(by_alignment || elsewhere || strcmp(wanted, "gemm_by_turn") == 0);
    options.only = "reals";
    if (!by_alignment)
        options.log = NULL;
    on_host_set(&limits);
    const int n_failures = compute_suite(&compute_cuda, &options);
    if (by_alignment)
        assert_int_equal(n_failures, 0);
    else
        assert_true(n_failures > 0);
#else
    fail_msg("only the emulated device is told how to sum");
#endif
}

UNIT_TEST_OF("registry", registry_names_the_nearest)
{
    const struct compute_backend *b = NULL;
    const char *name;
    int n = 0, n_cuda = 0;

    for (; compute_kind.at(n) != NULL; n++) {
        assert_int_equal(compute_find(&b, compute_kind.at(n)->name), RC_OK);
        assert_ptr_equal(&b->module, compute_kind.at(n));
    }
    assert_true(n >= 2);
    /* Known in every build; what is not built in says why. */
    for (int i = 0; (name = module_name(&compute_kind, i)) != NULL; i++) {
        const bool is_cuda = strcmp(name, "cuda") == 0;
        const enum rc rc = compute_find(&b, name);
        n_cuda += is_cuda;
        assert_true(rc == RC_OK || (is_cuda && rc == RC_UNSUPPORTED && strstr(rc_message(), "was built")));
        n -= rc == RC_OK;
    }
    assert_int_equal(n_cuda, 1);
    assert_int_equal(n, 0);
    assert_int_equal(compute_find(&b, "hollo"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "the nearest is hollow"));
    assert_int_equal(compute_find(&b, "zzzzzzzzz"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "zzzzzzzzz"));
    assert_int_equal(compute_find(&b, ""), RC_INVAL);
}

UNIT_TEST_OF("registry", precisions_are_found)
{
    static const enum precision all[] = { PRECISION_FP32, PRECISION_TF32, PRECISION_BF16 };
    static const char *const names[] = { "fp32", "tf32", "bf16", NULL };
    enum precision found;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(precision_find(&found, names[i]), RC_OK);
        assert_int_equal(found, all[i]);
    }
    assert_int_equal(precision_find(&found, "amp"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "no precision \"amp\"; there are fp32, tf32 and bf16"));
}

/* compute.C3 is the suite's; that its counter counts is seen here. */
UNIT_TEST_OF("allocation", allocations_are_counted)
{
    const size_t before = test_allocations();
    void *volatile p = malloc(1), *volatile q = calloc(1, 1), *volatile r = aligned_alloc(64, 64);

    assert_int_equal(test_allocations() - before, 3);
    void *grown = realloc(p, 4096);
    assert_non_null(grown);
    p = grown;
    assert_int_equal(test_allocations() - before, 4);
    free(p);
    free(q);
    free(r);
}

/* Of dropout, which the suite compares with the reference's: it keeps its share, and SplitMix64 is SplitMix64. */
UNIT_TEST_OF("registry", the_reference_keeps_its_share)
{
    size_t n_kept = 0;

    for (uint64_t i = 0; i < 100000; i++)
        n_kept += reference_kept(5, i, 0.6f);
    assert_true(n_kept > 59000 && n_kept < 61000); /* 6 standard deviations are 930 */
    /* Number 0 from state 0 is e220a8397b1dcdaf: its upper 24 bits are 0.88331... of 2^24. */
    assert_true(reference_kept(0, 0, 0.8834f));
    assert_false(reference_kept(0, 0, 0.8833f));
}

static void count_tick(void *arg)
{
    ++*(int *)arg;
}

/* compute.C6: pages of large memory are touched for long. Host memory of the cpu backend; every page is zero. */
UNIT_TEST_OF("allocation", opening_memory_ticks)
{
    const size_t n_bytes = (size_t)100 << 20;
    int n_ticks = 0;
    const struct compute_env env = { .tick = count_tick, .arg = &n_ticks };
    struct compute *c = NULL;
    void *memory = NULL;

    assert_int_equal(compute_open(&c, &compute_cpu, &env), RC_OK);
    n_ticks = 0;
    assert_int_equal(compute_memory_open(c, &memory, n_bytes, "a test"), RC_OK);
    assert_in_range(n_ticks, 100 / 16, 100 / 16 + 3);
    for (size_t i = 0; i < n_bytes; i += 4096)
        assert_int_equal(((unsigned char *)memory)[i], 0);
    compute_memory_close(c, &memory);
    compute_close(&c);
}

struct passed {
    int n_ticks;
    uint64_t ns;
    int n_ticks_before; /* of the last call of note_pass() */
};

static void note_tick(void *arg)
{
    ((struct passed *)arg)->n_ticks++;
}

static void note_pass(void *arg, uint64_t ns)
{
    struct passed *p = arg;

    p->ns += ns;
    p->n_ticks_before = p->n_ticks;
}

/* compute.C6: also a rank that only lets recorded time pass gives a sign of life, before it does. */
UNIT_TEST_OF("allocation", passing_time_ticks)
{
    struct passed passed = { 0 };
    const struct compute_env env = { .tick = note_tick, .pass = note_pass, .arg = &passed };
    const struct compute_env waits_for_none = { .tick = note_tick, .arg = &passed };
    struct compute *c = NULL;

    assert_int_equal(compute_open(&c, &compute_cpu, &env), RC_OK);
    passed = (struct passed){ 0 };
    compute_pass(c, 70);
    compute_pass(c, 5);
    assert_int_equal(passed.ns, 75);
    assert_int_equal(passed.n_ticks, 2);
    assert_int_equal(passed.n_ticks_before, 2);
    compute_close(&c);
    assert_int_equal(compute_open(&c, &compute_cpu, &waits_for_none), RC_OK);
    passed = (struct passed){ 0 };
    compute_pass(c, 70);
    assert_int_equal(passed.n_ticks, 1);
    compute_close(&c);
}

int main(int argc, char **argv)
{
    wanted = argc > 2 ? argv[2] : "";
    return unit_run("compute", argc > 1 ? argv[1] : NULL, NULL, NULL);
}
