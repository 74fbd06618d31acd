/* SPDX-License-Identifier: Apache-2.0 */
/* prediction_chart.c - see prediction_chart.h. */
#include "harness/campaign/prediction_chart.h"

#include "harness/campaign/used_profile.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/chart.h"
#include "harness/report/html.h"

enum { NAME_BYTES = 352, NOTE_BYTES = 256, MOST_PICTURE_BYTES = 4 << 20 };

enum rc prediction_chart_draw(const struct prediction_chart *c, const char *path, bool *is_drawn)
{
    static const char *const quantity[] = { "efficiency", "images" };
    int key[CLUSTER_MAX_KEYS];
    const size_t n_assumed = cluster_assumed(&c->cluster->cluster, key);
    char picture[NAME_BYTES], note[NOTE_BYTES], cluster[USED_CLUSTER_TITLE_BYTES];
    enum rc rc = RC_OK;

    used_cluster_title(cluster, sizeof cluster, c->cluster);
    snprintf(note, sizeof note, "simulated on %.100s; %zu of its values are assumed", cluster, n_assumed);
    for (int i = 0; i < 2; i++) {
        const struct chart_var var[] = { { "model", c->model },
                                         { "scaling", note },
                                         { "of_table", c->of_table },
                                         { "quantity", quantity[i] },
                                         { "band", c->has_band ? "yes" : "no" } };
        snprintf(picture, sizeof picture, "%s-%s", quantity[i], c->name);
        rc = chart_draw("reproduce", path, c->folder, picture, var, sizeof var / sizeof *var);
        if (rc == RC_UNSUPPORTED)
            *is_drawn = false;
        TRY(rc == RC_UNSUPPORTED ? RC_OK : rc);
    }
out:
    return rc;
}

enum rc prediction_chart_write(FILE *to, const char *folder, const char *name)
{
    static const char *const quantity[] = { "images", "efficiency" };
    char path[USED_PROFILE_PATH_BYTES + NAME_BYTES];
    size_t n_bytes;
    enum rc rc = RC_OK;

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s-%s.svg", folder, quantity[i], name);
        rc = html_picture(to, path, i == 0 ? "images/s" : "efficiency", MOST_PICTURE_BYTES, &n_bytes);
        if (rc == RC_INVAL || rc == RC_UNSUPPORTED)
            html_element(to, "p", NULL, "No picture: %s", rc_message());
        else
            TRY(rc);
    }
    rc = RC_OK;
out:
    return rc;
}
