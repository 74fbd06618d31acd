/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_write.c - see cluster_write.h. */
#include "harness/cluster/cluster_write.h"

#include <string.h>

#include "harness/base/file.h"
#include "harness/base/key_write.h"
#include "harness/cluster/cluster_keys.h"

static void write_key(FILE *to, const struct cluster *c, int key, const char *source)
{
    static const char assumed[] = "assumed";
    char comment[CLUSTER_SOURCE_BYTES + sizeof assumed + 2];
    const bool adds = c->assumed >> key & 1 && strncmp(source, assumed, strlen(assumed)) != 0; /* B3 */

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
