/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_simulations.c - the file of finished simulations: a sealed line for each, added when it ends; see
 * kept_simulations.h.
 */
#include "harness/campaign/kept_simulations.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/partial_file.h"
#include "harness/report/record.h"

enum { PATH_BYTES = 4096, KEY_BYTES = SIMULATION_WORDS * SIMULATION_WORD_BYTES };

/* --- writing --- */

/* N2: the options, a blank between two. */
static void write_key(char *out, const struct kept_simulations *k, const struct simulation *s)
{
    const size_t n_folder = strlen(k->folder);
    size_t n = 0;

    out[0] = '\0';
    for (int i = 0; i < s->n_words; i++) {
        const char *word = s->word[i], *equals = strchr(word, '='), *value = equals ? equals + 1 : word;
        if (strncmp(value, k->folder, n_folder) == 0 && value[n_folder] == '/')
            n += (size_t)snprintf(out + n, KEY_BYTES - n, "%s%.*s%s", n > 0 ? " " : "", (int)(value - word), word,
                                  value + n_folder + 1);
        else
            n += (size_t)snprintf(out + n, KEY_BYTES - n, "%s%s", n > 0 ? " " : "", word);
    }
}

static void add_loads(struct record *r, const struct simulation *s)
{
    struct record *loads = record_open(NULL);

    for (int i = 0; i < N_LOADS; i++) {
        struct record *load = record_open(NULL);
        record_i64(load, "index", s->load[i].index);
        record_f64(load, "busy_s", s->load[i].busy_s);
        record_u64(load, "bytes", s->load[i].n_bytes);
        record_child(loads, load_kind_name(i), &load);
    }
    record_child(r, "loads", &loads);
}

static enum rc make_record(struct record **out, const struct kept_simulations *k, const struct simulation *s)
{
    char *key = malloc(KEY_BYTES);

    if (!key)
        return rc_raise(RC_NOMEM, "no memory for the options of a simulation");
    struct record *r = *out = record_open("simulation");
    write_key(key, k, s);
    record_text(r, "options", key);
    record_f64(r, "step_s", s->step_s);
    record_f64(r, "step_mean_s", s->step_mean_s);
    record_f64(r, "compute_s", s->compute_s);
    record_f64(r, "exposed_s", s->exposed_s);
    record_text(r, "hot_tensor", s->hot_tensor);
    record_f64(r, "imbalance_ratio", s->imbalance_ratio);
    record_i64(r, "hot_server_index", s->hot_server);
    record_f64(r, "staleness_mean_count", s->staleness_mean_count);
    record_f64(r, "network_bytes", s->network_bytes);
    add_loads(r, s);
    free(key);
    return RC_OK;
}

enum rc kept_simulations_add(struct kept_simulations *k, const struct simulation *s)
{
    struct seal seal = k->seal;
    struct record *r = NULL;
    char *text = NULL, *sealed = NULL;
    size_t n_text = 0, n_sealed = 0;
    FILE *to = open_memstream(&text, &n_text);
    enum rc rc = RC_OK;

    if (!to)
        FAIL(RC_NOMEM, "no memory for the record of a simulation");
    TRY(make_record(&r, k, s));
    TRY(record_print(r, to));
    if (fflush(to) != 0)
        FAIL(RC_NOMEM, "no memory for the record of a simulation");
    TRY(seal_lines(&seal, &sealed, &n_sealed, text, n_text));
    TRY(partial_file_append(&k->file, sealed, n_sealed));
    k->seal = seal;
    k->n++;
out:
    if (to)
        fclose(to);
    free(text);
    free(sealed);
    record_close(&r);
    return rc;
}

/* --- reading --- */

static void take_figures(struct simulation *s, const json_t *r)
{
    const char *hot = json_string_value(json_object_get(r, "hot_tensor"));
    const json_t *loads = json_object_get(r, "loads");

    s->step_s = record_number(r, "step_s");
    s->step_mean_s = record_number(r, "step_mean_s");
    s->compute_s = record_number(r, "compute_s");
    s->exposed_s = record_number(r, "exposed_s");
    s->imbalance_ratio = record_number(r, "imbalance_ratio");
    s->hot_server = (int)json_integer_value(json_object_get(r, "hot_server_index"));
    s->staleness_mean_count = record_number(r, "staleness_mean_count");
    s->network_bytes = record_number(r, "network_bytes");
    snprintf(s->hot_tensor, sizeof s->hot_tensor, "%s", hot ? hot : "");
    for (int i = 0; i < N_LOADS; i++) {
        const json_t *load = json_object_get(loads, load_kind_name(i));
        s->load[i] = (struct link_load){ .index = (int)json_integer_value(json_object_get(load, "index")),
                                         .busy_s = record_number(load, "busy_s"),
                                         .n_bytes = (uint64_t)json_integer_value(json_object_get(load, "bytes")) };
    }
}

/* The one of s[n] that the record is of. */
static void take_record(struct kept_simulations *k, struct simulation *s, size_t n, const json_t *r, char *key)
{
    const char *options = json_string_value(json_object_get(r, "options"));

    for (size_t i = 0; options && i < n; i++) {
        if (s[i].is_known)
            continue;
        write_key(key, k, &s[i]);
        if (strcmp(key, options) != 0)
            continue;
        take_figures(&s[i], r);
        s[i].is_known = s[i].step_s > 0;
        k->n += s[i].is_known;
        return;
    }
}

enum rc kept_simulations_take(struct kept_simulations *k, struct simulation *s, size_t n)
{
    char *line = NULL, *key = malloc(KEY_BYTES);
    size_t n_room = 0;
    uint64_t n_kept_bytes = 0;
    ssize_t n_bytes;
    enum rc rc = RC_OK;

    if (!key)
        FAIL(RC_NOMEM, "no memory for the options of a simulation");
    rewind(k->file.stream);
    k->seal = (struct seal){ .last = "" };
    while ((n_bytes = getline(&line, &n_room, k->file.stream)) > 0 && line[n_bytes - 1] == '\n') {
        json_t *r = seal_check(&k->seal, line, (size_t)n_bytes) == SEAL_FITS
                        ? json_loadb(line, (size_t)n_bytes, 0, NULL)
                        : NULL;
        take_record(k, s, n, r, key);
        json_decref(r);
        n_kept_bytes += (uint64_t)n_bytes;
    }
    TRY(partial_file_cut(&k->file, n_kept_bytes));
out:
    free(line);
    free(key);
    return rc;
}

/* --- the file --- */

static void name_it(char out[PATH_BYTES], const char *folder)
{
    snprintf(out, PATH_BYTES, "%s/simulations.jsonl", folder);
}

enum rc kept_simulations_open(struct kept_simulations *out, const char *folder)
{
    char path[PATH_BYTES];

    *out = (struct kept_simulations){ .folder = folder };
    name_it(path, folder);
    return partial_file_open(&out->file, path);
}

enum rc kept_simulations_reopen(struct kept_simulations *out, const char *folder)
{
    char path[PATH_BYTES];

    *out = (struct kept_simulations){ .folder = folder };
    name_it(path, folder);
    return partial_file_reopen(&out->file, path);
}

void kept_simulations_leave(struct kept_simulations *k)
{
    partial_file_leave(&k->file);
    *k = (struct kept_simulations){ .folder = NULL };
}
