/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_file.c - a cluster description as a YAML file: values, which of them are assumed, and their sources. */
#include "harness/cluster/cluster_file.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/key_write.h"
#include "harness/base/key_yaml.h"
#include "harness/cluster/cluster_keys.h"

/* Take the value of a key, or leave the default where the document has no such key. */
static enum rc convert(struct cluster *c, struct cluster_sources *sources, const struct key_file *file, int key)
{
    char comment[CLUSTER_SOURCE_BYTES];
    enum rc rc;

    TRY(key_file_set(file, key, c));
    if (key_file_line(file, key) == 0)
        return RC_OK;
    key_file_comment(file, key, comment, sizeof comment);
    if (strncmp(comment, "assumed", strlen("assumed")) != 0) /* cluster.B3 */
        c->assumed &= ~(UINT64_C(1) << key);
    if (sources)
        snprintf(sources->text[key], sizeof sources->text[key], "%s", comment);
out:
    return rc;
}

/* Rates that only those need whose computing no profile times: without one, it takes no time. */
static enum rc convert_rates(struct cluster *c, struct cluster_sources *sources, const struct key_file *file)
{
    static const char *const name[] = { "flops_per_s", "memory_bytes_per_s" };
    char most[32];
    enum rc rc = RC_OK;

    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const int key = cluster_key_find(name[i]);
        if (key_file_line(file, key) > 0)
            continue;
        snprintf(most, sizeof most, "%.17g", cluster_keys[key].most);
        TRY(cluster_key_set(c, key, most));
        c->unlimited |= UINT64_C(1) << key;
        if (sources)
            snprintf(sources->text[key], sizeof sources->text[key], "assumed: not given, so no limit");
    }
out:
    return rc;
}

static enum rc convert_all(struct cluster *out, struct cluster_sources *sources, const struct key_file *file)
{
    struct cluster c;
    int key = 0;
    enum rc rc;

    cluster_default(&c);
    snprintf(c.name, sizeof c.name, "unnamed");
    for (int i = 0; sources && i < CLUSTER_N_KEYS; i++)
        snprintf(sources->text[i], sizeof sources->text[i], "assumed: not given");
    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        TRY(convert(&c, sources, file, i));
    TRY(convert_rates(&c, sources, file));
    if (cluster_keys_agree(&c, &key) != RC_OK)
        TRY(key_file_refuse(file, key));
    snprintf(c.place, sizeof c.place, "%.*s:%d", CLUSTER_PLACE_BYTES - 16, key_file_name(file),
             key_file_line(file, cluster_key_find("hosts_count")));
    *out = c;
out:
    return rc;
}

enum rc cluster_load(struct cluster *out, struct cluster_sources *sources, const char *path)
{
    struct key_file *file = NULL;
    enum rc rc;

    TRY(key_file_load(&file, &cluster_key_table, path));
    TRY(convert_all(out, sources, file));
out:
    key_file_close(&file);
    return rc;
}

enum rc cluster_parse(struct cluster *out, struct cluster_sources *sources, const char *name, const char *text,
                      size_t n_bytes)
{
    struct key_file *file = NULL;
    enum rc rc;

    TRY(key_file_parse(&file, &cluster_key_table, name, text, n_bytes));
    TRY(convert_all(out, sources, file));
out:
    key_file_close(&file);
    return rc;
}

/* --- to write --- */

static void write_key(FILE *to, const struct cluster *c, int key, const char *source)
{
    static const char assumed[] = "assumed";
    char comment[CLUSTER_SOURCE_BYTES + sizeof assumed + 2];
    const bool adds = c->assumed >> key & 1 && strncmp(source, assumed, strlen(assumed)) != 0; /* cluster.B3 */

    snprintf(comment, sizeof comment, "%s%s%s", adds ? assumed : "", adds && source[0] ? ": " : "", source);
    key_write_value(to, &cluster_keys[key], c, comment);
}

/* Does the loader know it without being told? */
static bool is_idle_default(const struct cluster *c, int key)
{
    char value[KEY_VALUE_BYTES], standard[KEY_VALUE_BYTES];
    struct cluster d;

    cluster_default(&d);
    cluster_key_format(c, key, value, sizeof value);
    cluster_key_format(&d, key, standard, sizeof standard);
    return c->assumed >> key & 1 && !cluster_key_matters(c, key) && strcmp(value, standard) == 0;
}

enum rc cluster_write(const struct cluster *c, const struct cluster_sources *sources, const char *head,
                      const char *path)
{
    struct atomic_file file = { 0 };
    int key = 0;
    enum rc rc;

    TRY(cluster_keys_agree(c, &key));
    TRY(atomic_file_open(&file, path));
    key_write_head(file.stream, head);
    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        if (!is_idle_default(c, i))
            write_key(file.stream, c, i, sources->text[i]);
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}
