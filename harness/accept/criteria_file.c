/* SPDX-License-Identifier: Apache-2.0 */
/* criteria_file.c - criteria as a commented YAML file, written and read to the same (accept.C2), as a record, as
 * help. */
#include <stdio.h>
#include <string.h>

#include "harness/accept/criteria_keys.h"
#include "harness/base/file.h"
#include "harness/base/key_table.h"
#include "harness/base/key_yaml.h"
#include "harness/report/record.h"

/* The first key of each part of the file. */
static const struct part {
    const char *key, *title;
} parts[] = {
    { "name", "What is tested" },
    { "false_discovery_ratio", "Statistics, of all stages" },
    { "most_clock_skew_s", "Stage preflight: what nodes must have" },
    { "least_flops_per_s", "Stage compute" },
    { "noise_quantum_s", "Stage noise: what the operating system takes" },
    { "pairwise_message_bytes", "Stage pairwise: every two nodes" },
    { "reducer", "Stage collectives" },
    { "ps_bytes", "Stage ps: parameter servers" },
    { "training_model", "Stage training" },
    { "integrity_steps_count", "Stage integrity: the same parameters on all ranks" },
    { "soak_minutes", "Stage soak" },
};

static void write_key(FILE *to, const struct criteria *c, const struct criteria *defaults, int i, const char *source)
{
    const struct key *k = &criteria_keys[i];
    char about[512], range[256], value[KEY_VALUE_BYTES], usual[KEY_VALUE_BYTES];
    char unchanged[KEY_VALUE_BYTES + 32] = "the default";

    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        if (strcmp(parts[p].key, k->name) == 0)
            fprintf(to, "\n# --- %s\n", parts[p].title);
    key_range(k, range, sizeof range);
    snprintf(about, sizeof about, "%s (%s%s%s)", k->meaning, k->unit, k->unit[0] ? ": " : "", range);
    fputc('\n', to);
    key_write_text(to, about);
    key_format(k, c, value, sizeof value);
    key_format(k, defaults, usual, sizeof usual);
    if (strcmp(value, usual) != 0)
        snprintf(unchanged, sizeof unchanged, "set; the default is %s", usual[0] ? usual : "empty");
    key_write_value(to, k, c, source[0] ? source : unchanged);
}

enum rc criteria_write(const struct criteria *c, const struct criteria_sources *sources, const char *head,
                       const char *path)
{
    struct criteria checked = *c, defaults;
    struct atomic_file file = { 0 };
    int key = 0;
    enum rc rc;

    criteria_default(&defaults);
    TRY(criteria_settle(&checked, &key));
    TRY(atomic_file_open(&file, path));
    key_write_head(file.stream, head);
    for (int i = 0; i < CRITERIA_N_KEYS; i++)
        write_key(file.stream, c, &defaults, i, sources ? sources->text[i] : "");
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

void criteria_record(const struct criteria *c, struct record *r)
{
    char text[KEY_VALUE_BYTES];

    for (int i = 0; i < CRITERIA_N_KEYS; i++) {
        const struct key *k = &criteria_keys[i];
        if (k->type == KEY_WHOLE || k->type == KEY_COUNT)
            record_i64(r, k->name, (int64_t)key_number(k, c));
        else if (k->type == KEY_REAL)
            record_f64(r, k->name, key_number(k, c));
        else {
            key_format(k, c, text, sizeof text);
            record_text(r, k->name, text);
        }
    }
}

void criteria_help(FILE *to)
{
    char range[256];

    for (int i = 0; i < CRITERIA_N_KEYS; i++) {
        const struct key *k = &criteria_keys[i];
        key_range(k, range, sizeof range);
        fprintf(to, "  %s: %s\n      %s%s%s; default %s\n", k->name, k->meaning, k->unit, k->unit[0] ? ": " : "", range,
                key_default(k));
    }
}

/* --- to read --- */

static enum rc take_all(struct criteria *out, const struct key_file *file)
{
    struct criteria c;
    int key = 0;
    enum rc rc;

    criteria_default(&c);
    for (int i = 0; i < CRITERIA_N_KEYS; i++)
        TRY(key_file_set(file, i, &c));
    if (criteria_settle(&c, &key) != RC_OK)
        TRY(key_file_refuse(file, key));
    *out = c;
out:
    return rc;
}

enum rc criteria_load(struct criteria *out, const char *path)
{
    struct key_file *file = NULL;
    enum rc rc;

    TRY(key_file_load(&file, &criteria_key_table, path));
    TRY(take_all(out, file));
out:
    key_file_close(&file);
    return rc;
}

enum rc criteria_parse(struct criteria *out, const char *name, const char *text, size_t n_bytes)
{
    struct key_file *file = NULL;
    enum rc rc;

    TRY(key_file_parse(&file, &criteria_key_table, name, text, n_bytes));
    TRY(take_all(out, file));
out:
    key_file_close(&file);
    return rc;
}
