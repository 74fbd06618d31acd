/* SPDX-License-Identifier: Apache-2.0 */
/* push_body_test.c - every form there and back, its bytes, and pairs that are none. */
#include <string.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "ps/push_body.h"

enum { N = 37 };

static const struct compression none = { COMPRESSION_NONE, 0 }, fp16 = { COMPRESSION_FP16, 0 },
                                bf16 = { COMPRESSION_BF16, 0 }, tenth = { COMPRESSION_TOPK, 0.1 };

static int open_cpu(void **state)
{
    struct compute *c = NULL;
    const enum rc rc = compute_open(&c, &compute_cpu, NULL);

    *state = c;
    return rc != RC_OK;
}

static int close_cpu(void **state)
{
    struct compute *c = *state;

    compute_close(&c);
    return 0;
}

/* Values that 16 bits hold; every step-th is not zero. */
static void fill(float sent[N], int step)
{
    for (int i = 0; i < N; i++)
        sent[i] = i % step == 0 ? (float)(i + 1) * (i % 2 ? 0.5f : -0.25f) : 0.0f;
}

static void there_and_back(struct compute *compute, const struct compression *c, int step, enum ps_form form,
                           uint64_t n_bytes)
{
    float sent[N], packed[N + 1], got[N], sum[N];
    struct push_body b;

    fill(sent, step);
    packed[N] = -7.0f;
    for (int i = 0; i < N; i++) {
        got[i] = 99.0f;
        sum[i] = 1.0f;
    }
    assert_int_equal(push_body_pack(&b, packed, c, compute, sent, N), RC_OK);
    assert_int_equal(b.form, form);
    assert_int_equal(b.n_elems, N);
    assert_int_equal(push_body_bytes(&b), n_bytes);
    assert_true(push_body_is_of(&b, c));
    const void *body = b.form == PS_FLOATS ? (const void *)sent : (const void *)packed;
    assert_int_equal(push_body_check(&b, body), RC_OK);
    push_body_unpack(&b, compute, got, body, false);
    push_body_unpack(&b, compute, sum, body, true);
    assert_memory_equal(got, sent, sizeof sent);
    for (int i = 0; i < N; i++)
        assert_true(sum[i] == 1.0f + sent[i]);
    assert_true(packed[N] == -7.0f);
}

UNIT_TEST(every_form_comes_back)
{
    there_and_back(*state, &none, 3, PS_FLOATS, 4 * N);
    there_and_back(*state, &fp16, 1, PS_F16, 2 * N);
    there_and_back(*state, &bf16, 1, PS_BF16, 2 * N);
    there_and_back(*state, &tenth, 12, PS_PAIRS, 8 * 4);
    there_and_back(*state, &tenth, 100, PS_PAIRS, 8 * 1);
}

/* 19 of 37 as pairs would take 152 bytes, as floats 148. */
UNIT_TEST(what_is_shorter_is_sent)
{
    there_and_back(*state, &tenth, 2, PS_FLOATS, 4 * N);
    there_and_back(*state, &tenth, 3, PS_PAIRS, 8 * 13);
}

UNIT_TEST(hollow_bodies_have_the_length_of_their_part)
{
    struct push_body b;

    assert_int_equal(push_body_pack(&b, NULL, &tenth, *state, NULL, 0), RC_OK);
    assert_int_equal(push_body_bytes(&b), 0);
    struct compute *hollow = NULL;
    assert_int_equal(compute_open(&hollow, &compute_hollow, NULL), RC_OK);
    assert_int_equal(push_body_pack(&b, NULL, &tenth, hollow, NULL, 1000), RC_OK);
    assert_true(b.form == PS_PAIRS && b.n_pairs == 100 && push_body_bytes(&b) == 800);
    assert_int_equal(push_body_pack(&b, NULL, &fp16, hollow, NULL, 1000), RC_OK);
    assert_int_equal(push_body_bytes(&b), 2000);
    assert_int_equal(push_body_check(&b, NULL), RC_OK);
    push_body_unpack(&b, hollow, NULL, NULL, true);
    compute_close(&hollow);
}

UNIT_TEST(each_compression_has_its_forms)
{
    const struct compression *all[] = { &none, &fp16, &bf16, &tenth };
    static const bool is_of[4][PS_N_FORMS] = { [0] = { [PS_FLOATS] = true },
                                               [1] = { [PS_F16] = true },
                                               [2] = { [PS_BF16] = true },
                                               [3] = { [PS_FLOATS] = true, [PS_PAIRS] = true } };

    for (int i = 0; i < 4; i++)
        for (enum ps_form form = PS_FLOATS; form <= PS_N_FORMS; form++)
            assert_int_equal(push_body_is_of(&(struct push_body){ .form = form }, all[i]),
                             form < PS_N_FORMS && is_of[i][form]);
}

UNIT_TEST(pairs_that_are_none_are_refused)
{
    static const struct {
        uint32_t index[3];
        const char *says;
    } wrong[] = { { { 0, 1, N }, "pair 2 of 3 is of element 37 of 37" },
                  { { UINT32_MAX, 1, 2 }, "pair 0 of 3 is of element 4294967295 of 37" },
                  { { 4, 4, 5 }, "pair 1 of 3 is of element 4 of 37, behind one of element 4" },
                  { { 4, 5, 3 }, "pair 2 of 3" } };
    const struct push_body b = { PS_PAIRS, N, 3 };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint32_t body[6] = { 0 };
        memcpy(body, wrong[i].index, sizeof wrong[i].index);
        assert_int_equal(push_body_check(&b, body), RC_MISMATCH);
        if (!strstr(rc_message(), wrong[i].says))
            fail_msg("\"%s\" does not say \"%s\"", rc_message(), wrong[i].says);
    }
}

/* Any indices: what is accepted is added inside the array (the sanitizers judge), and to ascending elements. */
UNIT_TEST(any_pairs_are_added_or_refused)
{
    enum { N_PAIRS = 4 };
    const struct push_body b = { PS_PAIRS, N, N_PAIRS };
    int n_accepted = 0;

    for (uint64_t i = 0; i < 20000; i++) {
        uint32_t body[2 * N_PAIRS] = { 0 };
        float sum[N] = { 0 };
        for (uint64_t k = 0; k < N_PAIRS; k++) {
            const uint64_t draw = rng_u64(3, RNG_TEST, 2 * (i * N_PAIRS + k));
            body[k] = (uint32_t)(draw % 50 == 0 ? draw >> 32 : k * 8 + draw % 12);
            body[N_PAIRS + k] = 0x3f800000; /* 1.0 */
        }
        bool is_right = true;
        for (int k = 0; k < N_PAIRS; k++)
            is_right = is_right && body[k] < N && (k == 0 || body[k] > body[k - 1]);
        assert_int_equal(push_body_check(&b, body), is_right ? RC_OK : RC_MISMATCH);
        if (!is_right)
            continue;
        push_body_unpack(&b, *state, sum, body, false);
        for (uint32_t k = 0; k < N_PAIRS; k++)
            assert_true(sum[body[k]] == 1.0f);
        n_accepted++;
    }
    assert_true(n_accepted > 1000 && n_accepted < 19000);
}

/* Any one value of any form, at any place; and no value that is finite. */
UNIT_TEST(one_value_that_is_not_finite_is_seen)
{
    static const struct {
        enum ps_form form;
        uint32_t bad[3], good[3];
    } of[] = { { PS_FLOATS, { 0x7f800000, 0xff800000, 0x7f800001 }, { 0x7f7fffff, 0xff7fffff, 0x00000001 } },
               { PS_PAIRS, { 0x7f800000, 0xffc00000, 0x7fffffff }, { 0x7f7fffff, 0xff7fffff, 0x807fffff } },
               { PS_F16, { 0x7c00, 0xfc00, 0x7c01 }, { 0x7bff, 0xfbff, 0x8001 } },
               { PS_BF16, { 0x7f80, 0xff80, 0xffff }, { 0x7f7f, 0xff7f, 0x8001 } } };

    for (size_t f = 0; f < sizeof of / sizeof *of; f++) {
        const struct push_body b = { of[f].form, N, of[f].form == PS_PAIRS ? N : 0 };
        for (int i = 0; i < N; i++)
            for (int v = 0; v < 6; v++) {
                const uint32_t value = v < 3 ? of[f].bad[v] : of[f].good[v - 3];
                uint32_t word[2 * N] = { 0 };
                uint16_t half[N] = { 0 };
                for (int k = 0; k < N; k++) /* an index may look like anything */
                    word[k] = of[f].form == PS_PAIRS ? 0x7f800000u + (uint32_t)k : 0;
                word[of[f].form == PS_PAIRS ? N + i : i] = value;
                half[i] = (uint16_t)value;
                const bool is_half = of[f].form == PS_F16 || of[f].form == PS_BF16;
                assert_int_equal(push_body_is_finite(&b, is_half ? (const void *)half : word), v >= 3);
            }
        assert_true(push_body_is_finite(&b, NULL));
    }
}

int main(void)
{
    return unit_run("push_body", NULL, open_cpu, close_cpu);
}
