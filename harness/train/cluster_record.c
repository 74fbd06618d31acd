/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_record.c - the description of a simulated cluster in a run's record. */
#include "harness/train/cluster_record.h"

#include "harness/cluster/cluster_keys.h"

/* Rates of records are in bytes. */
static const char *cluster_record_key(int key)
{
    return cluster_keys[key].is_bits ? "link_bytes_per_s" : cluster_keys[key].name;
}

static void record_cluster_value(struct record *r, const struct cluster *c, int key)
{
    const struct key *k = &cluster_keys[key];
    char text[64];

    if (k->type == KEY_WHOLE)
        record_i64(r, cluster_record_key(key), (int64_t)cluster_key_number(c, key));
    else if (k->type == KEY_REAL)
        record_f64(r, cluster_record_key(key), k->is_bits ? c->link_bytes_per_s : cluster_key_number(c, key));
    else {
        cluster_key_format(c, key, text, sizeof text);
        record_text(r, cluster_record_key(key), text);
    }
}

void record_cluster(struct record *r, const struct cluster *c)
{
    const char *assumed[CLUSTER_MAX_KEYS];
    int key[CLUSTER_MAX_KEYS];
    const size_t n_assumed = cluster_assumed(c, key);

    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        record_cluster_value(r, c, i);
    for (size_t i = 0; i < n_assumed; i++)
        assumed[i] = cluster_record_key(key[i]);
    record_text_array(r, "assumed", assumed, n_assumed);
}
