/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_fuzz_test.c N - N damaged profiles, the same ones on every run: each is refused with a message that
 * begins with the file's name and is one printable line, or loads to a profile that can be saved and loaded
 * again (models.J1). Meant for the address sanitizer too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/text_fuzz.h"
#include "models/suite/profile_kit.h"

enum { ROUND_TRIPS = 300 };

static struct profile_kit kit;

/* In the place of a number another number, or a value of another type. */
static void change_value(struct text_fuzz *f)
{
    static const char *const value[] = {
        "0",    "-1",    "1e308", "-0.0",   "9223372036854775807", "3600000000000", "1e999", "true", "null", "[]", "{}",
        "\"\"", "[[[[]", "1.5",   "1e-320", "\"\\u0000\""
    };
    const char *new = value[text_fuzz_draw(f, sizeof value / sizeof *value)];
    const size_t start = text_fuzz_draw(f, f->n_bytes);

    for (size_t at = start; at + 2 < f->n_bytes; at++) {
        if (f->text[at] != ':')
            continue;
        size_t n = 1;
        while (at + n < f->n_bytes && strchr(",}\n", f->text[at + n]) == NULL)
            n++;
        text_fuzz_replace(f, at + 1, n - 1, new, strlen(new));
        return;
    }
}

static void check_round_trip(struct text_fuzz *f, int number, struct profile *p)
{
    struct profile *again = NULL;

    if (profile_save(p, kit.path) != RC_OK || profile_load(&again, kit.path) != RC_OK ||
        profile_step_ns(again) != profile_step_ns(p) || profile_n_params(again) != profile_n_params(p))
        text_fuzz_complain(f, number, "was loaded, but is not the same when saved and loaded again");
    profile_close(&again);
}

static void check(struct text_fuzz *f, int number)
{
    struct profile *p = NULL;

    if (!profile_kit_write(&kit, f->text, f->n_bytes)) {
        text_fuzz_complain(f, number, "could not be written");
        return;
    }
    rc_clear();
    const enum rc rc = profile_load(&p, kit.path);
    if (rc == RC_OK && ++f->n_taken <= ROUND_TRIPS)
        check_round_trip(f, number, p);
    if (rc != RC_OK && ++f->n_refused > 0 &&
        (rc != RC_INVAL || p != NULL || strncmp(rc_message(), kit.path, strlen(kit.path)) != 0))
        text_fuzz_complain(f, number, "is refused without the name of the file");
    if (rc != RC_OK && !text_fuzz_is_one_line(rc_message()))
        text_fuzz_complain(f, number, "is refused with control bytes");
    profile_close(&p);
}

/* Control bytes that JSON can hold, in each kind of message. */
static void check_control_bytes(struct text_fuzz *f)
{
    static const char *const texts[] = {
        "{\"format\": \"gradmark-profile\", \"version\": 1, \"\\n\\u001b[2J\": 2}",
        "{\"format\": \"gradmark-profile\", \"version\": \"\x7f\"}",
        "{\"format\": \x1b}",
        "{\"format\": \x7f\n\x7f}",
    };

    for (int i = 0; i < (int)(sizeof texts / sizeof *texts); i++) {
        f->n_bytes = strlen(texts[i]);
        memcpy(f->text, texts[i], f->n_bytes);
        check(f, -1 - i);
    }
}

static bool make_seed(struct text_fuzz *f)
{
    struct profile *p = profile_kit_small();
    const bool is_saved = p != NULL && profile_save(p, kit.path) == RC_OK;

    profile_close(&p);
    return is_saved && text_fuzz_read_seed(f, kit.path, 500);
}

int main(int argc, char **argv)
{
    static struct text_fuzz f = { .program = "profile_fuzz_test", .seed = 1, .change_value = change_value };
    const int n_texts = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;

    if (profile_kit_open(&kit) != 0 || !make_seed(&f)) {
        fprintf(stderr, "profile_fuzz_test: no text to begin with: %s\n", rc_message());
        return 1;
    }
    check_control_bytes(&f);
    for (int i = 0; i < n_texts; i++) {
        text_fuzz_change(&f);
        check(&f, i);
    }
    profile_kit_close(&kit);
    printf("%d loaded, %d refused, %d failures\n", f.n_taken, f.n_refused, f.n_failures);
    /* both outcomes must occur, or nothing was tried */
    return f.n_failures == 0 && f.n_taken > n_texts / 100 && f.n_refused > n_texts / 2 ? 0 : 1;
}
