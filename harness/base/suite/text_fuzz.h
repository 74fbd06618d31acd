/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_fuzz.h - damaged copies of a text, the same ones on every run, for tests of what reads such texts.
 *
 * The test fills the first members and seed_text, then calls text_fuzz_change() for each copy, and text_fuzz_complain()
 * if what reads it does wrong.
 */
#ifndef HARNESS_BASE_SUITE_TEXT_FUZZ_H
#define HARNESS_BASE_SUITE_TEXT_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/rc.h"
#include "harness/base/rng.h"

enum { TEXT_FUZZ_BYTES = 32768 };

struct text_fuzz {
    const char *program; /* begins each complaint */
    uint64_t seed;
    /* In the place of a value another one: of the format, and so of the test. */
    void (*change_value)(struct text_fuzz *f);
    char seed_text[TEXT_FUZZ_BYTES], text[2 * TEXT_FUZZ_BYTES]; /* the whole text; the damaged copy */
    size_t n_seed_bytes, n_bytes;
    uint64_t next; /* of the random numbers */
    int n_taken, n_refused, n_failures;
};

static inline size_t text_fuzz_draw(struct text_fuzz *f, size_t below)
{
    return (size_t)(rng_u64(f->seed, RNG_TEST, f->next++) % below);
}

/* Nothing where there is no room for it. */
static inline void text_fuzz_replace(struct text_fuzz *f, size_t at, size_t n_old, const char *new, size_t n_new)
{
    if (f->n_bytes - n_old + n_new >= sizeof f->text)
        return;
    memmove(f->text + at + n_new, f->text + at + n_old, f->n_bytes - at - n_old);
    memcpy(f->text + at, new, n_new);
    f->n_bytes += n_new - n_old;
}

static inline void text_fuzz_drop(struct text_fuzz *f)
{
    const size_t at = text_fuzz_draw(f, f->n_bytes), left = f->n_bytes - at;

    text_fuzz_replace(f, at, 1 + text_fuzz_draw(f, left < 40 ? left : 40), "", 0);
}

static inline void text_fuzz_copy(struct text_fuzz *f)
{
    char part[64];
    const size_t from = text_fuzz_draw(f, f->n_bytes), left = f->n_bytes - from;
    const size_t n = 1 + text_fuzz_draw(f, left < sizeof part ? left : sizeof part);

    memcpy(part, f->text + from, n);
    text_fuzz_replace(f, text_fuzz_draw(f, f->n_bytes), 0, part, n);
}

/* The next copy: up to three changes, most of them of values. */
static inline void text_fuzz_change(struct text_fuzz *f)
{
    memcpy(f->text, f->seed_text, f->n_seed_bytes);
    f->n_bytes = f->n_seed_bytes;
    for (size_t n_left = 1 + text_fuzz_draw(f, 3); n_left > 0 && f->n_bytes > 0; n_left--)
        switch (text_fuzz_draw(f, 7)) {
        case 0:
            f->text[text_fuzz_draw(f, f->n_bytes)] = (char)text_fuzz_draw(f, 256);
            break;
        case 1:
            text_fuzz_drop(f);
            break;
        case 2:
            f->n_bytes = text_fuzz_draw(f, f->n_bytes) + 1;
            break;
        case 3:
            text_fuzz_copy(f);
            break;
        default:
            f->change_value(f);
        }
}

/* The file at path becomes the text to begin with. false: it has fewer bytes than `least`, or too many. */
static inline bool text_fuzz_read_seed(struct text_fuzz *f, const char *path, size_t least)
{
    FILE *from = fopen(path, "r");

    if (!from)
        return false;
    f->n_seed_bytes = fread(f->seed_text, 1, sizeof f->seed_text, from);
    fclose(from);
    return f->n_seed_bytes > least && f->n_seed_bytes < sizeof f->seed_text;
}

static inline void text_fuzz_complain(struct text_fuzz *f, int number, const char *what)
{
    fprintf(stderr, "%s: text %d: %s: %s\n", f->program, number, what, rc_message());
    f->n_failures++;
}

/* Has the message no byte that a terminal obeys? */
static inline bool text_fuzz_is_one_line(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

#endif
