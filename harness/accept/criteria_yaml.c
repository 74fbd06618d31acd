/* SPDX-License-Identifier: Apache-2.0 */
/* criteria_yaml.c - criteria from a YAML file. */
#include "harness/accept/criteria_keys.h"
#include "harness/base/key_yaml.h"

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
