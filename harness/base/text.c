/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - edit distance, strict numbers, comma lists, words of a shell. */
#include "harness/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_WORD = 64 };

static int lower(char c)
{
    return tolower((unsigned char)c);
}

/* Letters to insert, remove or replace, and neighbours to swap (optimal string alignment); both words at most MAX_WORD
 * bytes. */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned rows[3][MAX_WORD + 1], *before = rows[0], *above = rows[1], *row = rows[2];
    const size_t n_b = strlen(b);

    for (unsigned j = 0; j <= n_b; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1]; i++) {
        unsigned *const oldest = before;
        before = above;
        above = row;
        row = oldest;
        row[0] = i;
        for (unsigned j = 1; j <= n_b; j++) {
            const bool swaps =
                i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
            unsigned best = above[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (swaps && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
    }
    return row[n_b];
}

/* Does longer begin with shorter, which has some letters, or few and a hyphen after them? */
static bool has_first_words(const char *longer, const char *shorter)
{
    const size_t n = strlen(shorter);

    return strncmp(longer, shorter, n) == 0 && (n >= 3 || (n == 2 && (longer[n] == '-' || longer[n] == '_')));
}

/* Is word the first letters of the words of choice, which has several? */
static bool has_initials(const char *choice, const char *word)
{
    size_t n = 0;

    for (const char *at = choice; at && *at; at = strchr(at, '-'), at += at != NULL) {
        if (word[n] != *at)
            return false;
        n++;
    }
    return n >= 2 && word[n] == '\0';
}

const char *text_nearest(const char *word, const char *const *choices)
{
    const char *const *all = choices;
    const char *nearest = NULL;
    unsigned least = MAX_WORD + 1;

    if (strlen(word) > MAX_WORD)
        return NULL;
    for (; *choices; choices++) {
        const size_t n_choice = strlen(*choices);
        if (n_choice > MAX_WORD)
            continue;
        const size_t n_longer = n_choice > strlen(word) ? n_choice : strlen(word);
        const unsigned d = edit_distance(word, *choices);
        if (d < least && 3 * d <= n_longer) {
            least = d;
            nearest = *choices;
        }
    }
    for (; *all && !nearest; all++)
        if (has_first_words(word, *all) || has_first_words(*all, word) || has_initials(*all, word))
            nearest = *all;
    return nearest;
}

size_t text_typographic_dashes(const char *word)
{
    const char *at = word;

    while (strncmp(at, "\xe2\x88\x92", 3) == 0 || /* minus */
           (strncmp(at, "\xe2\x80", 2) == 0 && (unsigned char)at[2] >= 0x90 && (unsigned char)at[2] <= 0x95))
        at += 3;
    return (size_t)(at - word);
}

enum { N_SUFFIXES = 7 };
static const struct {
    const char *text;
    uint64_t factor;
} suffixes[N_SUFFIXES] = { { "Gi", 1ull << 30 },
                           { "Mi", 1ull << 20 },
                           { "Ki", 1ull << 10 },
                           { "G", 1000000000 },
                           { "M", 1000000 },
                           { "K", 1000 },
                           { "", 1 } }; /* first choice first */

static bool suffix_factor(const char *suffix, uint64_t *factor)
{
    for (int i = 0; i < N_SUFFIXES; i++)
        if (strcmp(suffix, suffixes[i].text) == 0) {
            *factor = suffixes[i].factor;
            return true;
        }
    return false;
}

void text_of_size(char *out, size_t n_bytes, uint64_t value)
{
    int i = 0;

    while (suffixes[i].factor > 1 && (value < suffixes[i].factor || value % suffixes[i].factor != 0))
        i++;
    snprintf(out, n_bytes, "%llu%s", (unsigned long long)(value / suffixes[i].factor), suffixes[i].text);
}

int text_choice(const char *choices, const char *name)
{
    const size_t n_bytes = strlen(name);

    for (int i = 0; choices; i++) {
        if (strcspn(choices, "|") == n_bytes && strncmp(choices, name, n_bytes) == 0)
            return i;
        choices = strchr(choices, '|');
        choices += choices != NULL;
    }
    return -1;
}

void text_say_choices(char *out, size_t n_bytes, const char *word, const char *const *choices)
{
    enum { MORE_BYTES = 24 }; /* " and N more" and ")" */
    const char *nearest = text_nearest(word, choices);
    size_t n = (size_t)(nearest ? snprintf(out, n_bytes, "; the nearest is %s (of ", nearest)
                                : snprintf(out, n_bytes, "; there are "));
    int i = 0, n_more = 0;

    for (; choices[i] && n + strlen(choices[i]) + 2 + MORE_BYTES < n_bytes; i++)
        n += (size_t)snprintf(out + n, n_bytes - n, "%s%s", i > 0 ? ", " : "", choices[i]);
    while (choices[i + n_more])
        n_more++;
    if (n_more > 0 && n < n_bytes)
        n += (size_t)snprintf(out + n, n_bytes - n, " and %d more", n_more);
    if (nearest && n < n_bytes)
        snprintf(out + n, n_bytes - n, ")");
}

bool text_to_u64(const char *text, uint64_t *out)
{
    char *end = NULL;
    uint64_t factor = 1;

    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno == ERANGE || !suffix_factor(end, &factor) || value > UINT64_MAX / factor)
        return false;
    *out = value * factor;
    return true;
}

bool text_to_plain_u64(const char *text, uint64_t *out)
{
    return strspn(text, "0123456789") == strlen(text) && text_to_u64(text, out);
}

bool text_is_ipv6(const char *text)
{
    const char *colon = strchr(text, ':');

    return colon && strchr(colon + 1, ':');
}

bool text_to_f64(const char *text, double *out)
{
    char *end = NULL;

    if (text[0] == '\0' || strspn(text, "+-.0123456789eE") != strlen(text))
        return false;
    errno = 0;
    const double value = strtod(text, &end);
    if (*end != '\0' || !isfinite(value))
        return false;
    *out = value;
    return true;
}

/* " (20 G is 20e9)" of a number with a prefix of units, as in 20 GFLOPS or 20G. Returns whether it is one. */
static bool say_prefixed(char *out, size_t n_bytes, const char *text)
{
    static const char prefixes[] = "kMGTP";
    const size_t n_digits = strspn(text, "0123456789.");
    const char *unit = text + n_digits + strspn(text + n_digits, " ");
    const char *prefix = *unit ? strchr(prefixes, *unit) : NULL;

    if (n_digits == 0 || !prefix)
        return false;
    snprintf(out, n_bytes, " (%.*s %c is %.*se%d)", (int)n_digits, text, *prefix, (int)n_digits, text,
             3 * (int)(prefix - prefixes + 1));
    return true;
}

/* 8, 1/8 or 1e-6: how many of `unit` is one of the unit that text begins with, behind the prefix `*prefix`, which is 1
 * if there is none; 0: no unit that can be converted. Bits and bytes have prefixes, as in Gbit/s; seconds are ms, us,
 * ns, and also min and h. */
static double conversion(const char *text, const char *unit, double *prefix)
{
    static const char letters[] = "kmgt";
    static const struct {
        const char *name;
        double s;
    } time[] = { { "ms", 1e-3 }, { "us", 1e-6 }, { "\xc2\xb5s", 1e-6 }, { "ns", 1e-9 },
                 { "s", 1 },     { "m", 60 },    { "min", 60 },         { "h", 3600 } };
    const double unit_s = strcmp(unit, "s") == 0 ? 1 : strncmp(unit, "min", 3) == 0 ? 60 : 0;
    const char *letter = *text ? strchr(letters, tolower((unsigned char)*text)) : NULL;

    *prefix = 1;
    for (size_t i = 0; unit_s > 0 && i < sizeof time / sizeof *time; i++)
        if (strcmp(text, time[i].name) == 0)
            return time[i].s / unit_s;
    for (const char *l = letters; letter && l <= letter; l++)
        *prefix *= 1e3;
    text += letter != NULL;
    const bool is_bits = strncasecmp(text, "bit", 3) == 0 || strncmp(text, "bps", 3) == 0;
    const bool is_bytes = text[0] == 'B' || strncasecmp(text, "byte", 4) == 0;
    if (strncmp(unit, "bit", 3) == 0)
        return is_bytes ? 8 : is_bits;
    if (strncmp(unit, "byte", 4) == 0)
        return is_bits ? 1.0 / 8 : is_bytes;
    return 0;
}

/* " (900 Mbit/s is 1.125e+08 bytes/s)" of a number with a unit that can be converted to `unit`. Returns whether it is
 * one. */
static bool say_converted(char *out, size_t n_bytes, const char *text, const char *unit)
{
    char digits[32];
    double value, prefix;
    const int n_digits = (int)strspn(text, "0123456789.");
    const char *given = text + n_digits + strspn(text + n_digits, " ");
    const double factor = conversion(given, unit, &prefix);

    snprintf(digits, sizeof digits, "%.*s", n_digits, text);
    if (factor == 0 || !text_to_f64(digits, &value))
        return false;
    snprintf(out, n_bytes, " (%s %s is %g %s)", digits, given, value * prefix * factor, unit);
    return true;
}

void text_number_hint(char *out, size_t n_bytes, const char *text, const char *unit)
{
    char number[32];
    double value;
    size_t n = (size_t)snprintf(number, sizeof number, "%s", text);
    char *const comma = strchr(number, ',');

    out[0] = '\0';
    if (n == 0 || n >= sizeof number)
        return;
    const bool is_percent = number[n - 1] == '%';
    if (is_percent)
        number[--n] = '\0';
    while (is_percent && n > 0 && number[n - 1] == ' ')
        number[--n] = '\0';
    if (comma && !strchr(number, '.'))
        *comma = '.';
    if (say_converted(out, n_bytes, number, unit) || say_prefixed(out, n_bytes, number))
        return;
    if (!text_to_f64(number, &value))
        return;
    if (is_percent)
        snprintf(out, n_bytes, " (%s %% is %g)", number, value / 100);
    else if (comma)
        snprintf(out, n_bytes, " (%s, with a point)", number);
}

bool text_next(const char **rest, char *out, size_t n_bytes)
{
    if (*rest == NULL)
        return false;
    const char *comma = strchr(*rest, ',');
    const size_t n_element = comma ? (size_t)(comma - *rest) : strlen(*rest);
    const size_t n_copied = n_element < n_bytes ? n_element : n_bytes - 1;

    memcpy(out, *rest, n_copied);
    out[n_copied] = '\0';
    *rest = comma ? comma + 1 : NULL;
    return true;
}

static void say_near(char *out, size_t n_bytes, uint64_t below, uint64_t above)
{
    if (below == 0 || below == above)
        snprintf(out, n_bytes, "%" PRIu64, above);
    else
        snprintf(out, n_bytes, "%" PRIu64 " or %" PRIu64, below, above);
}

void text_near_multiples(char *out, size_t n_bytes, uint64_t n, uint64_t of)
{
    const uint64_t below = n - n % of;

    say_near(out, n_bytes, below, below > UINT64_MAX - of ? below : below + of);
}

void text_near_divisors(char *out, size_t n_bytes, uint64_t n, uint64_t whole)
{
    uint64_t below = n < whole ? n : whole, above = below;

    while (below > 1 && whole % below != 0)
        below--;
    while (above < whole && (above <= 1 || whole % above != 0))
        above++;
    say_near(out, n_bytes, below <= 1 ? 0 : below, above);
}

size_t text_drop_marks(char *text, size_t n_bytes)
{
    size_t n = 0;

    for (size_t i = n_bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; i < n_bytes; i++)
        if (!(text[i] == '\r' && i + 1 < n_bytes && text[i + 1] == '\n'))
            text[n++] = text[i];
    text[n] = '\0';
    return n;
}

static bool is_plain(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";

    return text[0] != '\0' && text[strspn(text, plain)] == '\0';
}

void text_shell_word(char *out, size_t n_bytes, const char *text)
{
    size_t n = 0;

    if (is_plain(text)) {
        snprintf(out, n_bytes, "%s", text);
        return;
    }
    n += (size_t)snprintf(out, n_bytes, "'");
    for (const char *c = text; *c && n < n_bytes; c++) /* a quote ends the word, is one by itself, and begins another */
        n += (size_t)snprintf(out + n, n_bytes - n, "%s%c%s", *c == '\'' ? "'\\" : "", *c, *c == '\'' ? "'" : "");
    if (n < n_bytes)
        snprintf(out + n, n_bytes - n, "'");
}

bool text_has_control(char *shown, size_t n_bytes, const char *text)
{
    bool has_any = false;

    for (const char *c = text; *c; c++)
        has_any |= iscntrl((unsigned char)*c) != 0;
    snprintf(shown, n_bytes, "%s", text);
    for (char *c = shown; *c; c++)
        *c = iscntrl((unsigned char)*c) ? '?' : *c;
    return has_any;
}

void text_of_f64(char out[32], double value)
{
    for (int n = DBL_DIG; n <= DBL_DECIMAL_DIG; n++) { /* any decimal of DBL_DIG digits survives; %g ends its zeros */
        snprintf(out, 32, "%.*g", n, value);
        if (strtod(out, NULL) == value)
            break;
    }
}

void text_of_f32(char out[32], float value)
{
    for (int n = FLT_DIG; n <= FLT_DECIMAL_DIG; n++) {
        snprintf(out, 32, "%.*g", n, (double)value);
        if (strtof(out, NULL) == value)
            break;
    }
}

void rate_text(char *out, size_t n_bytes, double per_s)
{
    static const char *const prefix[] = { "", " k", " M", " G" };
    enum { N_PREFIXES = sizeof prefix / sizeof *prefix };
    char digits[32];

    if (!isfinite(per_s)) {
        snprintf(out, n_bytes, "-");
        return;
    }
    for (int i = 0; i < N_PREFIXES; i++, per_s /= 1000) {
        snprintf(digits, sizeof digits, "%.4g", per_s);
        snprintf(out, n_bytes, "%s%s", digits, prefix[i]);
        if (strtod(digits, NULL) < 1000)
            break;
    }
}
