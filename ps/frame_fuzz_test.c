/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_fuzz_test.c [N_FRAMES [FOLDER]] - messages made up by the thousand, most of them nearly right, through
 * suite/frame_fuzz.h; into FOLDER go the first inputs, as a corpus for libFuzzer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "ps/suite/frame_fuzz.h"
#include "ps/wire.h"

enum { MOST_FRAMES = 24, FRAME_BYTES = PS_HEADER_BYTES + 40, INPUT_BYTES = 1 + MOST_FRAMES * (2 + FRAME_BYTES) };
enum { N_IN_CORPUS = 512, PATH_BYTES = 512 };

struct made { /* an input */
    unsigned char bytes[INPUT_BYTES];
    size_t n_bytes, n_frames;
    uint64_t seed, counter;
};

struct goal {
    uint64_t n_frames;
    const char *folder; /* NULL: none */
};

static uint64_t draw(struct made *m, uint64_t n)
{
    return rng_u64(m->seed, RNG_TEST, m->counter++) % n;
}

/* A push of a chunk, as a worker sends it, in the form of the rules; *n_body: of the body, which is behind it. */
static void make_push(struct made *m, unsigned form, unsigned char *frame, size_t *n_body)
{
    const uint32_t chunk = (uint32_t)draw(m, 2), n_elems = chunk == 0 ? FUZZ_N_ELEMS_0 : FUZZ_N_ELEMS_1;
    struct ps_header h = { .op = draw(m, 4) > 0 ? PS_PUSH : PS_GIVE, .n_elems = n_elems, .chunk = chunk, .lr = 0.125f };
    const uint32_t pair[4] = { (uint32_t)draw(m, n_elems), n_elems - 1, 0x3f800000, 0x40000000 };
    const float value[FUZZ_N_ELEMS_0] = { 1, -2, 0.5f };

    h.form = form == 3 ? (draw(m, 2) ? PS_PAIRS : PS_FLOATS) : (enum ps_form)form;
    h.n_pairs = h.form == PS_PAIRS ? (uint32_t)draw(m, 2) : 0;
    const struct push_body body = ps_push_body(&h);
    *n_body = (size_t)push_body_bytes(&body);
    ps_header_encode(frame, &h);
    if (h.form == PS_PAIRS)
        memcpy(frame + PS_HEADER_BYTES, (const uint32_t[]){ pair[0], pair[2] }, *n_body);
    else
        memcpy(frame + PS_HEADER_BYTES, value, *n_body);
}

static void spoil(struct made *m, unsigned char *frame, size_t *n_bytes)
{
    static const unsigned char word[][4] = {
        { 0, 0, 0xc0, 0x7f }, { 0xff, 0xff, 0xff, 0xff }, { 0, 0, 0, 0x80 }, { 0, 0, 0x80, 0x7f }, { 0 }
    };

    for (uint64_t n = draw(m, 4); n > 0; n--)
        switch (draw(m, 4)) {
        case 0:
            frame[draw(m, FRAME_BYTES)] ^= (unsigned char)(1u << draw(m, 8));
            break;
        case 1:
            frame[draw(m, FRAME_BYTES)] = (unsigned char)draw(m, 256);
            break;
        case 2:
            memcpy(frame + 4 * draw(m, FRAME_BYTES / 4), word[draw(m, sizeof word / sizeof *word)], 4);
            break;
        default:
            *n_bytes = draw(m, FRAME_BYTES + 1);
        }
}

static void add_frame(struct made *m, unsigned form)
{
    static const enum ps_op other[] = {
        PS_FETCH, PS_LEAVE,   PS_LOOK,  PS_PULL, PS_PULL, PS_PARAMS, PS_STATE, PS_LATE,
        PS_TAKEN, PS_REFUSED, PS_BATCH, PS_NEXT, PS_JOIN, PS_COPY,   PS_LOST,  PS_HELD
    };
    unsigned char frame[FRAME_BYTES] = { 0 };
    unsigned how = (unsigned)draw(m, FUZZ_N_WORKERS) | FUZZ_REPAIR_KIND | FUZZ_REPAIR_LAYOUT;
    size_t n_body = 0;

    if (draw(m, 4) == 0)
        how |= FUZZ_SLOT * (unsigned)draw(m, FUZZ_N_SLOTS);
    if (draw(m, 8) > 0) {
        make_push(m, form, frame, &n_body);
        how |= FUZZ_REPAIR_STEP;
    } else
        ps_header_encode(frame, &(struct ps_header){ .op = other[draw(m, sizeof other / sizeof *other)] });
    size_t n_bytes = PS_HEADER_BYTES + n_body;
    if (draw(m, 2))
        spoil(m, frame, &n_bytes);
    if (draw(m, 4) == 0)
        how |= FUZZ_GUEST;
    how &= draw(m, 8) > 0 ? ~0u : (unsigned)draw(m, 256);
    m->bytes[m->n_bytes++] = (unsigned char)how;
    m->bytes[m->n_bytes++] = (unsigned char)n_bytes;
    memcpy(m->bytes + m->n_bytes, frame, n_bytes);
    m->n_bytes += n_bytes;
    m->n_frames++;
}

/* Of an elastic run: who (a worker, or FUZZ_GUEST) asks for its first batch or the next (PS_NEXT), or joins. */
static void add_request(struct made *m, unsigned who, enum ps_op op)
{
    m->bytes[m->n_bytes++] = (unsigned char)(who | FUZZ_REPAIR_KIND | FUZZ_REPAIR_LAYOUT);
    m->bytes[m->n_bytes++] = PS_HEADER_BYTES;
    ps_header_encode(m->bytes + m->n_bytes, &(struct ps_header){ .op = op });
    m->n_bytes += PS_HEADER_BYTES;
    m->n_frames++;
}

static void make_input(struct made *m, uint64_t seed)
{
    m->seed = seed;
    m->counter = m->n_bytes = m->n_frames = 0;
    const unsigned rules = (unsigned)draw(m, 256);
    m->bytes[m->n_bytes++] = (unsigned char)rules;
    const bool is_elastic = fuzz_is_elastic(rules);
    for (unsigned w = 0; w < FUZZ_N_WORKERS && is_elastic; w++)
        add_request(m, w, PS_NEXT);
    const bool joins = is_elastic && draw(m, 2) == 0;
    if (joins)
        add_request(m, FUZZ_GUEST, PS_JOIN);
    for (uint64_t n = 1 + draw(m, MOST_FRAMES - FUZZ_N_WORKERS - 1); n > 0; n--)
        if (is_elastic && draw(m, 4) == 0)
            add_request(m, joins && draw(m, 2) == 0 ? FUZZ_GUEST : (unsigned)draw(m, FUZZ_N_WORKERS), PS_NEXT);
        else
            add_frame(m, rules / FUZZ_N_RULES % FUZZ_N_FORMS);
    if (draw(m, 16) == 0)
        m->n_bytes = 1 + draw(m, m->n_bytes);
}

static void keep(const struct made *m, const char *folder)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/%05llu", folder, (unsigned long long)m->seed);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(m->bytes, 1, m->n_bytes, file), m->n_bytes);
    assert_int_equal(fclose(file), 0);
}

/* The generator has to reach what it is for: gradients that are applied, and refusals, in good part. */
static void every_message_is_taken_or_refused_P5(void **state)
{
    const struct goal *goal = *state;
    struct fuzz_outcome all = { 0 };
    struct made *m = malloc(sizeof *m);

    assert_non_null(m);
    for (uint64_t seed = 0, n_frames = 0; n_frames < goal->n_frames; seed++, n_frames += m->n_frames) {
        struct fuzz_outcome seen;
        const char *why;
        make_input(m, seed);
        if (goal->folder && seed < N_IN_CORPUS)
            keep(m, goal->folder);
        if (!frame_fuzz(&seen, &why, m->bytes, m->n_bytes))
            fail_msg("seed %llu: %s", (unsigned long long)seed, why);
        all.n_messages += seen.n_messages;
        all.n_applied += seen.n_applied;
        all.n_answers += seen.n_answers;
        all.n_refused += seen.n_refused;
    }
    free(m);
    print_message("%zu messages: %zu applied, %zu refused, %zu answers\n", all.n_messages, all.n_applied, all.n_refused,
                  all.n_answers);
    assert_true(all.n_messages > goal->n_frames / 3);
    assert_true(all.n_applied > all.n_messages / 10);
    assert_true(all.n_refused > all.n_messages / 10);
}

/* No bytes, one, and all of one value, of any length. */
static void inputs_of_no_sense_end_P5(void **state)
{
    unsigned char bytes[600];
    struct fuzz_outcome seen;
    const char *why;

    (void)state;
    for (int value = 0; value < 256; value += 51)
        for (size_t n = 0; n <= sizeof bytes; n += 1 + n / 7) {
            memset(bytes, value, sizeof bytes);
            if (!frame_fuzz(&seen, &why, bytes, n))
                fail_msg("%zu bytes of %d: %s", n, value, why);
            assert_int_equal(seen.n_applied, 0);
        }
}

int main(int argc, char **argv)
{
    struct goal goal = { .n_frames = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000,
                         .folder = argc > 2 ? argv[2] : NULL };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(every_message_is_taken_or_refused_P5, &goal),
        cmocka_unit_test(inputs_of_no_sense_end_P5),
    };

    return cmocka_run_group_tests_name("frame_fuzz", tests, NULL, NULL);
}
