/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digits.c - the data set "digits" from its CSV, refusing whatever is not exactly that.
 *
 * A row is 64 pixels and a label, whole numbers written without sign, space or leading zero, with
 * commas, semicolons or tabs between (csv_separator()); a line ends with LF, CRLF or the file. Empty lines after the
 * last row are passed over. Memory is that of the data set, whatever the file holds: lines longer than any right one
 * are refused as they are read.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/csv.h"
#include "harness/base/file.h"

extern const struct dataset_source digits_source;
const struct dataset_source digits_source = { .name = "digits", .shipped_file = "digits.csv" };

#define PIXEL_MEAN 0.3f /* about, of pixels scaled to 0..1 */

enum {
    N_ROWS = 1797,
    SIDE = 8,
    N_PIXELS = SIDE * SIDE,
    N_CLASSES = 10,
    MAX_PIXEL = 16,
    TEST_EVERY = 5, /* rows 4, 9, 14, ... */
    N_TEST = N_ROWS / TEST_EVERY,
    MAX_LINE_BYTES = 3 * N_PIXELS + 1, /* "16," each, then the label */
    MAX_QUOTED_BYTES = 12,             /* of a wrong field, in a message */
};

struct reader {
    FILE *file;
    const char *path;
    size_t line_number;            /* of text; from 1 */
    char text[MAX_LINE_BYTES + 2]; /* a carriage return, and one too many to tell "too long" */
    size_t n_bytes;
    char separator; /* of fields */
};

/* Next line without its end; *more false: there is none. */
static enum rc read_line(struct reader *r, bool *more)
{
    int byte;

    r->n_bytes = 0;
    r->line_number++;
    while ((byte = getc_unlocked(r->file)) != EOF && byte != '\n') {
        if (r->n_bytes == sizeof r->text)
            break;
        r->text[r->n_bytes++] = (char)byte;
    }
    if (ferror(r->file))
        return rc_raise(RC_INVAL, "%s: %s", r->path, strerror(errno));
    *more = byte != EOF || r->n_bytes > 0;
    if (r->n_bytes > 0 && byte == '\n' && r->text[r->n_bytes - 1] == '\r')
        r->n_bytes--;
    if (r->n_bytes > MAX_LINE_BYTES)
        return rc_raise(RC_INVAL, "%s:%zu: longer than %d bytes, the longest a row can be", r->path, r->line_number,
                        MAX_LINE_BYTES);
    return RC_OK;
}

/* out = a field as it is quoted in messages: truncated, and unprintable bytes replaced. */
static void quote(char out[MAX_QUOTED_BYTES + 4], const char *field, size_t n_bytes)
{
    const size_t n = n_bytes < MAX_QUOTED_BYTES ? n_bytes : MAX_QUOTED_BYTES;

    for (size_t i = 0; i < n; i++)
        out[i] = field[i] >= ' ' && field[i] <= '~' ? field[i] : '?';
    memcpy(out + n, n < n_bytes ? "..." : "", n < n_bytes ? 4 : 1);
}

static enum rc read_number(const struct reader *r, const char *field, size_t n_bytes, size_t n_field, unsigned *out)
{
    const bool is_label = n_field == N_PIXELS;
    const unsigned most = is_label ? N_CLASSES - 1 : MAX_PIXEL;
    char quoted[MAX_QUOTED_BYTES + 4];
    bool good = n_bytes == 1 || (n_bytes == 2 && field[0] != '0');
    unsigned value = 0;

    for (size_t i = 0; good && i < n_bytes; i++) {
        good = field[i] >= '0' && field[i] <= '9';
        value = 10 * value + (unsigned)(field[i] - '0');
    }
    *out = value;
    if (good && value <= most)
        return RC_OK;
    quote(quoted, field, n_bytes);
    if (is_label)
        return rc_raise(RC_INVAL, "%s:%zu: the label is \"%s\", not a whole number from 0 to %u", r->path,
                        r->line_number, quoted, most);
    return rc_raise(RC_INVAL, "%s:%zu: pixel %zu is \"%s\", not a whole number from 0 to %u", r->path, r->line_number,
                    n_field + 1, quoted, most);
}

/* The line in r -> value[N_PIXELS + 1]. */
static enum rc read_row(const struct reader *r, unsigned *value)
{
    const char *at = r->text, *end = r->text + r->n_bytes;
    size_t n_fields = 1;
    enum rc rc = RC_OK;

    for (const char *p = at; p < end; p++)
        n_fields += *p == r->separator;
    if (r->n_bytes == 0)
        FAIL(RC_INVAL, "%s:%zu: empty line instead of %d pixels and a label", r->path, r->line_number, N_PIXELS);
    if (n_fields != N_PIXELS + 1)
        FAIL(RC_INVAL, "%s:%zu: %zu values instead of %d (%d pixels and a label)", r->path, r->line_number, n_fields,
             N_PIXELS + 1, N_PIXELS);
    for (size_t i = 0; i < n_fields; i++) {
        const char *comma = at;
        while (comma < end && *comma != r->separator)
            comma++;
        TRY(read_number(r, at, (size_t)(comma - at), i, &value[i]));
        at = comma + 1;
    }
out:
    return rc;
}

/* Where row i of the file goes: training samples first, both in the order of the file. */
static size_t place_of(size_t i)
{
    if (i % TEST_EVERY == TEST_EVERY - 1)
        return N_ROWS - N_TEST + i / TEST_EVERY;
    return i - i / TEST_EVERY;
}

/* As of any other table of separated values. */
static char separator_of(const struct reader *r)
{
    char line[sizeof r->text + 1];

    snprintf(line, sizeof line, "%.*s", (int)r->n_bytes, r->text);
    return csv_separator(line);
}

static enum rc read_rows(struct dataset *d, struct reader *r)
{
    unsigned value[N_PIXELS + 1];
    bool more = true;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < N_ROWS; i++) {
        TRY(read_line(r, &more));
        if (!more)
            FAIL(RC_INVAL, "%s:%zu: ends after %zu of %d rows", r->path, r->line_number, i, N_ROWS);
        if (i == 0)
            r->separator = separator_of(r);
        TRY(read_row(r, value));
        const size_t at = place_of(i);
        for (size_t k = 0; k < N_PIXELS; k++)
            d->feature[at * N_PIXELS + k] = (float)value[k] / MAX_PIXEL;
        d->label[at] = value[N_PIXELS];
    }
    do
        TRY(read_line(r, &more));
    while (more && csv_is_empty(r->text, r->n_bytes));
    if (more)
        FAIL(RC_INVAL, "%s:%zu: more than %d rows", r->path, r->line_number, N_ROWS);
out:
    return rc;
}

/* Centred: networks bear higher learning rates then. */
static enum rc digits_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    const float *restrict pixel = d->feature + i * N_PIXELS;
    float *restrict to = x;

    (void)channel_stride;
    for (size_t k = 0; k < N_PIXELS; k++)
        to[k] = pixel[k] - PIXEL_MEAN;
    return RC_OK;
}

static enum rc digits_bytes(const struct dataset *d, size_t i, uint8_t *out)
{
    for (size_t k = 0; k < N_PIXELS; k++)
        out[k] = (uint8_t)(d->feature[i * N_PIXELS + k] * 255.0f + 0.5f);
    return RC_OK;
}

static const struct dataset_ops digits_ops = {
    .image = digits_image,
    .label = dataset_array_label,
    .bytes = digits_bytes,
};

enum rc dataset_open_digits(struct dataset **out, const char *path)
{
    struct reader r = { .path = path };
    struct dataset *d = NULL;
    enum rc rc = RC_OK;

    TRY(file_open_text(&r.file, path, "a table of digits (CSV)"));
    d = calloc(1, sizeof *d);
    if (d == NULL)
        FAIL(RC_NOMEM, "data set digits: %zu bytes", sizeof *d);
    d->ops = &digits_ops;
    d->name = digits_source.name;
    d->C = 1;
    d->H = d->W = SIDE;
    d->n_test = N_TEST;
    d->n_train = N_ROWS - N_TEST;
    d->n_features = N_PIXELS;
    d->n_classes = N_CLASSES;
    d->feature = calloc((size_t)N_ROWS * N_PIXELS, sizeof *d->feature);
    d->label = calloc(N_ROWS, sizeof *d->label);
    if (d->feature == NULL || d->label == NULL)
        FAIL(RC_NOMEM, "data set digits: %zu bytes", (size_t)N_ROWS * (N_PIXELS + 1) * sizeof *d->feature);
    TRY(read_rows(d, &r));
    *out = d;
    d = NULL;
out:
    dataset_close(&d);
    if (r.file != NULL)
        fclose(r.file);
    return rc;
}
