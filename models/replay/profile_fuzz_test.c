/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_fuzz_test.c N - N damaged profiles, the same ones on every run: each is refused with a message that
 * begins with the file's name and is one printable line, or loads to a profile that can be saved and loaded
 * again (models.J1). Meant for the address sanitizer too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "models/suite/profile_kit.h"

enum { TEXT_BYTES = 16384, ROUND_TRIPS = 300 };

struct fuzz {
    struct profile_kit kit;
    char seed_text[TEXT_BYTES], text[2 * TEXT_BYTES];
    size_t n_seed_bytes, n_bytes;
    uint64_t next; /* of the random numbers */
    int n_loaded, n_refused, n_failures;
};

static size_t draw(struct fuzz *f, size_t below)
{
    return (size_t)(rng_u64(1, RNG_TEST, f->next++) % below);
}

static void replace(struct fuzz *f, size_t at, size_t n_old, const char *new, size_t n_new)
{
    if (f->n_bytes - n_old + n_new >= sizeof f->text)
        return;
    memmove(f->text + at + n_new, f->text + at + n_old, f->n_bytes - at - n_old);
    memcpy(f->text + at, new, n_new);
    f->n_bytes += n_new - n_old;
}

static void flip_byte(struct fuzz *f)
{
    f->text[draw(f, f->n_bytes)] = (char)draw(f, 256);
}

static void drop_bytes(struct fuzz *f)
{
    const size_t at = draw(f, f->n_bytes), left = f->n_bytes - at;

    replace(f, at, 1 + draw(f, left < 40 ? left : 40), "", 0);
}

static void cut_off(struct fuzz *f)
{
    f->n_bytes = draw(f, f->n_bytes) + 1;
}

static void copy_bytes(struct fuzz *f)
{
    char part[64];
    const size_t from = draw(f, f->n_bytes), left = f->n_bytes - from;
    const size_t n = 1 + draw(f, left < sizeof part ? left : sizeof part);

    memcpy(part, f->text + from, n);
    replace(f, draw(f, f->n_bytes), 0, part, n);
}

/* In the place of a number another number, or a value of another type. */
static void change_value(struct fuzz *f)
{
    static const char *const value[] = {
        "0",    "-1",    "1e308", "-0.0",   "9223372036854775807", "3600000000000", "1e999", "true", "null", "[]", "{}",
        "\"\"", "[[[[]", "1.5",   "1e-320", "\"\\u0000\""
    };
    const char *new = value[draw(f, sizeof value / sizeof *value)];
    const size_t start = draw(f, f->n_bytes);

    for (size_t at = start; at + 2 < f->n_bytes; at++) {
        if (f->text[at] != ':')
            continue;
        size_t n = 1;
        while (at + n < f->n_bytes && strchr(",}\n", f->text[at + n]) == NULL)
            n++;
        replace(f, at + 1, n - 1, new, strlen(new));
        return;
    }
}

static void change(struct fuzz *f)
{
    static void (*const way[])(struct fuzz *) = { flip_byte,    drop_bytes,   cut_off,     copy_bytes,
                                                  change_value, change_value, change_value };
    const size_t n_changes = 1 + draw(f, 3);

    memcpy(f->text, f->seed_text, f->n_seed_bytes);
    f->n_bytes = f->n_seed_bytes;
    for (size_t i = 0; i < n_changes && f->n_bytes > 0; i++)
        way[draw(f, sizeof way / sizeof *way)](f);
}

static void complain(struct fuzz *f, int number, const char *what)
{
    fprintf(stderr, "profile_fuzz_test: text %d: %s: %s\n", number, what, rc_message());
    f->n_failures++;
}

static void check_round_trip(struct fuzz *f, int number, struct profile *p)
{
    struct profile *again = NULL;

    if (profile_save(p, f->kit.path) != RC_OK || profile_load(&again, f->kit.path) != RC_OK ||
        profile_step_ns(again) != profile_step_ns(p) || profile_n_params(again) != profile_n_params(p))
        complain(f, number, "was loaded, but is not the same when saved and loaded again");
    profile_close(&again);
}

static bool is_one_line(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

static void check(struct fuzz *f, int number)
{
    struct profile *p = NULL;

    if (!profile_kit_write(&f->kit, f->text, f->n_bytes)) {
        complain(f, number, "could not be written");
        return;
    }
    rc_clear();
    const enum rc rc = profile_load(&p, f->kit.path);
    if (rc == RC_OK && ++f->n_loaded <= ROUND_TRIPS)
        check_round_trip(f, number, p);
    if (rc != RC_OK && ++f->n_refused > 0 &&
        (rc != RC_INVAL || p != NULL || strncmp(rc_message(), f->kit.path, strlen(f->kit.path)) != 0))
        complain(f, number, "is refused without the name of the file");
    if (rc != RC_OK && !is_one_line(rc_message()))
        complain(f, number, "is refused with control bytes");
    profile_close(&p);
}

/* Control bytes that JSON can hold, in each kind of message. */
static void check_control_bytes(struct fuzz *f)
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

static int read_seed(struct fuzz *f)
{
    struct profile *p = profile_kit_small();
    int ok = p != NULL && profile_save(p, f->kit.path) == RC_OK;
    FILE *from = ok ? fopen(f->kit.path, "r") : NULL;

    profile_close(&p);
    if (from == NULL)
        return 0;
    f->n_seed_bytes = fread(f->seed_text, 1, sizeof f->seed_text, from);
    ok = f->n_seed_bytes > 500 && f->n_seed_bytes < sizeof f->seed_text;
    fclose(from);
    return ok;
}

int main(int argc, char **argv)
{
    static struct fuzz f;
    const int n_texts = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;

    if (profile_kit_open(&f.kit) != 0 || !read_seed(&f)) {
        fprintf(stderr, "profile_fuzz_test: no text to begin with: %s\n", rc_message());
        return 1;
    }
    check_control_bytes(&f);
    for (int i = 0; i < n_texts; i++) {
        change(&f);
        check(&f, i);
    }
    profile_kit_close(&f.kit);
    printf("%d loaded, %d refused, %d failures\n", f.n_loaded, f.n_refused, f.n_failures);
    /* both outcomes must occur, or nothing was tried */
    return f.n_failures == 0 && f.n_loaded > n_texts / 100 && f.n_refused > n_texts / 2 ? 0 : 1;
}
