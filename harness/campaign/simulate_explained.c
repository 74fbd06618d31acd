/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_explained.c - of a prediction on a page: what was measured, what given, what assumed, and what of it counts.
 */
#include <stdio.h>
#include <string.h>

#include "harness/campaign/simulate.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/html.h"
#include "harness/report/table.h"

/* The values of one kind of source that are of any effect; a list, or that there are none. */
static void write_values(FILE *to, const struct used_cluster *c, const char *source, const char *title)
{
    char value[64];
    int n = 0;

    for (int key = 0; key < CLUSTER_N_KEYS; key++) {
        if (cluster_keys[key].type == KEY_TEXT || strcmp(used_cluster_source_name(c, key), source) != 0 ||
            !cluster_key_matters(&c->cluster, key))
            continue;
        if (n++ == 0) {
            html_element(to, "p", NULL, "%s", title);
            fputs("<ul>\n", to);
        }
        cluster_key_format(&c->cluster, key, value, sizeof value);
        html_element(to, "li", NULL, "%s = %s: %s", cluster_keys[key].name, value,
                     c->sources->text[key][0] ? c->sources->text[key] : "as the description has it, without a source");
    }
    if (n > 0)
        fputs("</ul>\n", to);
    else
        html_element(to, "p", NULL, "%s nothing.", title);
}

void simulate_explain_clusters(FILE *to, const struct simulate *s)
{
    if (s->terms->cluster_set[0])
        html_element(to, "p", NULL, "Set by --cluster-set, in place of what the descriptions have: %s",
                     s->terms->cluster_set);
    for (size_t i = 0; i < s->n_clusters; i++) {
        const struct used_cluster *c = &s->cluster[i];
        html_element(to, "h3", NULL, "%s%s%s", c->name, c->transport[0] ? ", servers by " : "", c->transport);
        write_values(to, c, "measured", "Measured:");
        write_values(to, c, "given", "Given:");
        write_values(to, c, "assumed", "Assumed:");
    }
}

static enum rc explain(FILE *to, const struct simulate *s, size_t point)
{
    const struct simulate_point *p = &s->point[point];
    const struct used_profile *profile = &s->profiles.profile[p->profile];
    char way[SIMULATE_WAY_BYTES], bottleneck[BOTTLENECK_BYTES];
    struct table *t = NULL;
    enum rc rc;

    TRY(simulate_assumptions_table(&t, s, point, CLUSTER_MAX_KEYS));
    simulate_way_name(way, sizeof way, &s->way[p->way]);
    simulate_bottleneck_text(bottleneck, sizeof bottleneck, s, p);
    html_element(to, "h3", NULL, "%s, %s, %d GPUs: %.1f images/s, %.1f %% of %d times one GPU", profile->model, way,
                 p->n_gpus, p->images_per_s, 100 * p->efficiency.mean, p->n_gpus);
    html_element(to, "p", NULL, "It waits for: %s of a step.", bottleneck);
    if (table_n_rows(t) > 0)
        html_table(to, t, "assumptions by what they move");
    else
        html_element(to, "p", NULL, "None of the values that it stands on is an assumption.");
out:
    table_close(&t);
    return rc;
}

enum rc simulate_explain(FILE *to, const struct simulate *s)
{
    bool is_first = true;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->n_points; i++) {
        if (!simulate_is_explained(s, i) || simulate_failure(s, &s->point[i]))
            continue;
        if (is_first) {
            html_element(to, "h2", NULL, "Which assumption moves a prediction most");
            html_element(to, "p", NULL, "%s.", simulate_assumptions_text());
        }
        is_first = false;
        TRY(explain(to, s, i));
    }
out:
    return rc;
}
