/* SPDX-License-Identifier: Apache-2.0 */
/* published.c - published rates of single GPUs: read, chosen from, and spread over a network's layers. */
#include "models/replay/published.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/csv.h"
#include "harness/base/file.h"
#include "harness/base/text.h"

enum { N_FIELDS = 11, USUAL_BATCH = 64, LIST_BYTES = 200, SHORT_BYTES = 24 };
enum field { MODEL, GPU, BATCH, PRECISION, DATA, RATE, FRAMEWORK, CONFIDENCE, YEAR, SOURCE, NOTE };

static const char head[] = "model,gpu,batch,precision,data,images_per_s,framework,confidence,year,source,note";

void published_free(struct published *p)
{
    free(p->path);
    free(p->rate);
    *p = (struct published){ 0 };
}

static enum rc take_text(char *out, size_t n_bytes, const char *text, const char *what, const char *path, int line)
{
    if (text[0] == '\0' || strlen(text) >= n_bytes)
        return rc_raise(RC_INVAL, "%s:%d: %s: is \"%.60s\"; use 1 to %zu letters", path, line, what, text, n_bytes - 1);
    snprintf(out, n_bytes, "%s", text);
    return RC_OK;
}

static enum rc take_int(int *out, const char *text, uint64_t max, const char *what, const char *path, int line)
{
    uint64_t value = 0;

    if (text[0] != '\0' && (!text_to_u64(text, &value) || value < 1 || value > max))
        return rc_raise(RC_INVAL, "%s:%d: %s: is \"%.60s\"; use a whole number from 1 to %llu, or nothing", path, line,
                        what, text, (unsigned long long)max);
    *out = (int)value;
    return RC_OK;
}

static enum rc read_row(struct published_rate *r, char *text, char separator, const char *path, int line)
{
    char *field[N_FIELDS], confidence[16];
    const int n_fields = csv_cut(text, separator, field, N_FIELDS);
    int year;
    enum rc rc;

    if (n_fields != N_FIELDS)
        FAIL(RC_INVAL, "%s:%d: %s; use %d fields: %s", path, line,
             n_fields == 0 ? "a quote is not closed" : "has not as many fields as the head", N_FIELDS, head);
    TRY(take_text(r->model, sizeof r->model, field[MODEL], "model", path, line));
    TRY(take_text(r->gpu, sizeof r->gpu, field[GPU], "gpu", path, line));
    TRY(take_text(r->precision, sizeof r->precision, field[PRECISION], "precision", path, line));
    TRY(take_text(r->data, sizeof r->data, field[DATA], "data", path, line));
    TRY(take_text(r->framework, sizeof r->framework, field[FRAMEWORK], "framework", path, line));
    TRY(take_text(confidence, sizeof confidence, field[CONFIDENCE], "confidence", path, line));
    TRY(take_text(r->source, sizeof r->source, field[SOURCE], "source", path, line));
    TRY(take_int(&r->batch, field[BATCH], PROFILE_MAX_BATCH, "batch", path, line));
    TRY(take_int(&year, field[YEAR], 9999, "year", path, line));
    if (!text_to_f64(field[RATE], &r->images_per_s) || r->images_per_s < 1e-3 || r->images_per_s > 1e9)
        FAIL(RC_INVAL, "%s:%d: images_per_s: is \"%.60s\"; use a number from 0.001 to 1e9", path, line, field[RATE]);
out:
    return rc;
}

static enum rc add_row(struct published *p, char *text, char separator, int line)
{
    struct published_rate *more = realloc(p->rate, (p->n_rates + 1) * sizeof *more);

    if (more == NULL)
        return rc_raise(RC_NOMEM, "%s: no memory", p->path);
    p->rate = more;
    p->rate[p->n_rates] = (struct published_rate){ 0 };
    return read_row(&p->rate[p->n_rates++], text, separator, p->path, line);
}

/* Cuts text. */
static bool is_head(char *text, char separator)
{
    char *field[N_FIELDS], name[SHORT_BYTES];
    const char *rest = head;
    bool is = csv_cut(text, separator, field, N_FIELDS) == N_FIELDS;

    for (int i = 0; is && i < N_FIELDS; i++)
        is = text_next(&rest, name, sizeof name) && strcmp(field[i], name) == 0;
    return is;
}

static enum rc take_line(struct published *p, char *text, char *separator, int line)
{
    char shown[61];

    if (*separator != '\0')
        return add_row(p, text, *separator, line);
    *separator = csv_separator(text);
    snprintf(shown, sizeof shown, "%s", text);
    if (!is_head(text, *separator))
        return rc_raise(RC_INVAL, "%s:%d: the head is \"%s\"; use %s", p->path, line, shown, head);
    return RC_OK;
}

static enum rc read_rows(struct published *p, FILE *from)
{
    char *text = NULL, separator = '\0';
    size_t n_bytes = 0;
    enum rc rc = RC_OK;

    for (int line = 1; getline(&text, &n_bytes, from) >= 0; line++) {
        text[strcspn(text, "\r\n")] = '\0';
        if (text[0] == '#' || csv_is_empty(text, strlen(text)))
            continue;
        TRY(take_line(p, text, &separator, line));
    }
    if (p->n_rates == 0)
        FAIL(RC_INVAL, "%s: has no rows", p->path);
out:
    free(text);
    return rc;
}

enum rc published_load(struct published *out, const char *path)
{
    struct published p = { .path = strdup(path) };
    FILE *from = NULL;
    enum rc rc;

    if (p.path == NULL)
        FAIL(RC_NOMEM, "%s: no memory", path);
    TRY(file_open_text(&from, path, "a file of published rates (CSV)"));
    TRY(read_rows(&p, from));
    *out = p;
    p = (struct published){ 0 };
out:
    if (from != NULL)
        fclose(from);
    published_free(&p);
    return rc;
}

static bool begins(const char *text, const char *part)
{
    for (; *part != '\0'; part++, text++)
        if (tolower((unsigned char)*text) != tolower((unsigned char)*part))
            return false;
    return true;
}

/* "P100" of "P100-SXM2", not "P1". */
static bool is_gpu(const char *gpu, const char *wish)
{
    return begins(gpu, wish) && (wish[0] == '\0' || !isalnum((unsigned char)gpu[strlen(wish)]));
}

static bool is_or_any(const char *text, const char *wish)
{
    return wish[0] == '\0' || strcmp(text, wish) == 0;
}

bool published_fits(const struct published_rate *r, const struct published_wish *w)
{
    return is_gpu(r->gpu, w->gpu) && is_or_any(r->model, w->model) && is_or_any(r->precision, w->precision) &&
           (w->batch == 0 || r->batch == w->batch);
}

/* How far a row is from what is chosen by default; less is better. */
static double distance(const struct published_rate *r)
{
    const double of_data = strcmp(r->data, "synthetic") == 0 ? 0.0 : 1000.0;

    return of_data + (r->batch > 0 ? fabs(log2((double)r->batch / USUAL_BATCH)) : 100.0);
}

/* "P100(Pascal)" -> "P100": what a user would type. A name that begins otherwise stays whole, "(P100)", cut to fit. */
static void short_gpu(char out[SHORT_BYTES], const char *gpu)
{
    const bool has_word = isalnum((unsigned char)gpu[0]);
    size_t n = 0;

    while (n + 1 < SHORT_BYTES && (has_word ? isalnum((unsigned char)gpu[n]) != 0 : gpu[n] != '\0')) {
        out[n] = gpu[n];
        n++;
    }
    out[n] = '\0';
}

struct name_list { /* of what there is, each once */
    char text[LIST_BYTES];
};

/* name: not empty. */
static void list_add(struct name_list *l, const char *name)
{
    const size_t n = strlen(l->text), n_name = strlen(name);

    for (const char *at = strstr(l->text, name); at != NULL; at = strstr(at + 1, name))
        if ((at == l->text || at[-1] == ' ') && (at[n_name] == '\0' || at[n_name] == ','))
            return;
    if (n + n_name + 3 < sizeof l->text)
        snprintf(l->text + n, sizeof l->text - n, "%s%s", n > 0 ? ", " : "", name);
}

static const char own_rate[] = "; for a rate of your own: gradmark profile --images-per-s N --batch N";

/* Why no row fits: the first of gpu, model, precision and batch that nothing before it leaves a row for. */
static enum rc explain(const struct published *p, const struct published_wish *wish)
{
    struct name_list gpus = { "" }, models = { "" }, precisions = { "" }, batches = { "" };
    const char *gpu = wish->gpu[0] != '\0' ? wish->gpu : "any GPU";
    const char *model = wish->model[0] != '\0' ? wish->model : "any model";
    char text[SHORT_BYTES];

    for (size_t i = 0; i < p->n_rates; i++) {
        const struct published_rate *r = &p->rate[i];
        short_gpu(text, r->gpu);
        list_add(&gpus, text);
        if (!is_gpu(r->gpu, wish->gpu))
            continue;
        list_add(&models, r->model);
        if (!is_or_any(r->model, wish->model))
            continue;
        list_add(&precisions, r->precision);
        if (!is_or_any(r->precision, wish->precision))
            continue;
        snprintf(text, sizeof text, "%d", r->batch);
        list_add(&batches, r->batch > 0 ? text : "rates with an unpublished batch");
    }
    if (models.text[0] == '\0')
        return rc_raise(RC_INVAL, "--published %.40s: no rate of such a GPU was published; there are %s%s", gpu,
                        gpus.text, own_rate);
    if (precisions.text[0] == '\0')
        return rc_raise(RC_INVAL, "--model %.40s: no rate on %.40s was published; there are %s%s", model, gpu,
                        models.text, own_rate);
    if (batches.text[0] == '\0')
        return rc_raise(RC_INVAL, "--precision %.40s: no rate of %s on %.40s was published; there are %s",
                        wish->precision, model, gpu, precisions.text);
    return rc_raise(RC_INVAL, "--batch %d: no rate of %s on %.40s was published; there are %s%s", wish->batch, model,
                    gpu, batches.text, own_rate);
}

enum rc published_choose(const struct published_rate **out, size_t *n_fitting, const struct published *p,
                         const struct published_wish *wish)
{
    const struct published_rate *best = NULL;
    size_t n = 0;

    for (size_t i = 0; i < p->n_rates; i++) {
        if (!published_fits(&p->rate[i], wish))
            continue;
        if (best == NULL || distance(&p->rate[i]) < distance(best))
            best = &p->rate[i];
        n++;
    }
    if (best == NULL)
        return explain(p, wish);
    *out = best;
    if (n_fitting != NULL)
        *n_fitting = n;
    return RC_OK;
}

enum rc published_profile(struct profile **out, const struct published_rate *r, const struct network *n)
{
    const int batch = r->batch > 0 ? r->batch : USUAL_BATCH;
    struct profile *p = NULL;
    enum rc rc;

    TRY(profile_of_network(&p, n, batch));
    snprintf(p->precision, sizeof p->precision, "%s", r->precision);
    snprintf(p->device, sizeof p->device, "%s", r->gpu);
    if (r->framework[0] == '\0')
        snprintf(p->source, sizeof p->source,
                 "derived, not measured: %g images/s, batch %d%s, of %s; the time of a step spread over the layers by "
                 "their flops, forward to backward 1:2",
                 r->images_per_s, batch, r->batch > 0 ? "" : " (assumed)", r->source);
    else
        snprintf(
            p->source, sizeof p->source,
            "derived, not measured: %g images/s, %s, batch %d%s, %s, %s data, %s (%s); the time of a step spread over "
            "the layers by their flops, forward to backward 1:2",
            r->images_per_s, r->gpu, batch, r->batch > 0 ? "" : " (assumed: not published)", r->precision, r->data,
            r->framework, r->source);
    p->images_per_s = r->images_per_s;
    TRY(profile_spread(p, (uint64_t)llround(1e9 * batch / r->images_per_s)));
    *out = p;
    p = NULL;
out:
    profile_close(&p);
    return rc;
}
