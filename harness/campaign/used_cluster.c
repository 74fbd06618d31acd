/* SPDX-License-Identifier: Apache-2.0 */
/* used_cluster.c - see used_cluster.h. */
#include "harness/campaign/used_cluster.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/html.h"
#include "harness/report/record.h"

bool used_cluster_is(const struct used_cluster *c, const struct cluster_wish *wish)
{
    return strcmp(c->name, wish->name) == 0 && strcmp(c->transport, wish->transport) == 0 &&
           c->n_gpus_per_host == wish->n_gpus_per_host;
}

enum rc used_cluster_open(struct used_cluster *out, const char *option, const struct cluster_wish *wish,
                          const char *settings)
{
    struct used_cluster c = { .sources = calloc(1, sizeof *c.sources), .n_gpus_per_host = wish->n_gpus_per_host };
    char protocol[32], hosts[48];
    enum rc rc;

    if (!c.sources)
        FAIL(RC_NOMEM, "no memory for the sources of a cluster");
    if (strlen(wish->name) >= sizeof c.name)
        FAIL(RC_INVAL, "cluster %.60s...: is too long a name", wish->name);
    snprintf(c.name, sizeof c.name, "%s", wish->name);
    snprintf(c.transport, sizeof c.transport, "%s", wish->transport);
    rc = cluster_find(&c.cluster, c.sources, c.name);
    TRY(option ? file_of_option(rc, option) : rc);
    TRY(cluster_set(&c.cluster, c.sources, settings));
    snprintf(protocol, sizeof protocol, "protocol=%s", c.transport);
    if (c.transport[0])
        TRY(cluster_set(&c.cluster, NULL, protocol));
    snprintf(hosts, sizeof hosts, "ranks_per_host_count=%d", c.n_gpus_per_host);
    if (c.n_gpus_per_host > 0)
        TRY(cluster_set(&c.cluster, NULL, hosts));
    c.n_calibrated = calibration_spread(c.calibrated, &c.cluster, c.sources);
    *out = c;
    c.sources = NULL;
out:
    used_cluster_close(&c);
    return rc;
}

void used_cluster_close(struct used_cluster *c)
{
    free(c->sources);
    c->sources = NULL;
}

const char *used_cluster_transport(const struct used_cluster *c)
{
    static const char *const name[] = {
        [PROTOCOL_BARE] = "bare", [PROTOCOL_TCP] = "tcp", [PROTOCOL_RDMA] = "rdma", [PROTOCOL_GRPC] = "grpc"
    };

    return name[c->cluster.protocol];
}

void used_cluster_short_name(char *out, size_t n_bytes, const struct used_cluster *c)
{
    const char *name = strrchr(c->name, '/');

    name = name ? name + 1 : c->name;
    const size_t n = strlen(name), n_suffix = strlen(".yaml");
    const bool is_yaml = n > n_suffix && strcmp(name + n - n_suffix, ".yaml") == 0;
    snprintf(out, n_bytes, "%.*s", (int)(is_yaml ? n - n_suffix : n), name);
}

void used_cluster_title(char *out, size_t n_bytes, const struct used_cluster *c)
{
    char file[ROW_CLUSTER_BYTES];

    used_cluster_short_name(file, sizeof file, c);
    if (!c->cluster.name[0] || strcmp(c->cluster.name, "unnamed") == 0 || strcmp(c->cluster.name, file) == 0)
        snprintf(out, n_bytes, "%s", c->name);
    else
        snprintf(out, n_bytes, "%s (%s)", c->cluster.name, c->name);
}

const char *used_cluster_source_name(const struct used_cluster *c, int key)
{
    if (c->cluster.assumed >> key & 1)
        return "assumed";
    return strncmp(c->sources->text[key], "measured", 8) == 0 ? "measured" : "given";
}

static void print_chosen(const struct used_cluster *c, FILE *to)
{
    int n = 0;

    for (int k = 0; k < CLUSTER_N_KEYS; k++)
        if (strstr(c->sources->text[k], "chosen beside the published") != NULL)
            fprintf(to, "%s%s",
                    n++ == 0 ? "  chosen to fit published rows, so the errors of these are no test: " : ", ",
                    cluster_keys[k].name);
    if (n > 0)
        fputc('\n', to);
}

void used_cluster_print_assumed(const struct used_cluster *c, FILE *to)
{
    int key[CLUSTER_MAX_KEYS];
    const size_t n = cluster_assumed(&c->cluster, key);

    fprintf(to, "%s%s%s: assumed, neither measured nor published:", c->name, c->transport[0] ? ", " : "", c->transport);
    for (size_t k = 0; k < n; k++) {
        char value[64];
        cluster_key_format(&c->cluster, key[k], value, sizeof value);
        fprintf(to, "%s %s=%s", k > 0 ? "," : "", cluster_keys[key[k]].name, value);
    }
    fputc('\n', to);
    print_chosen(c, to);
}

void used_cluster_write_assumed(const struct used_cluster *c, FILE *to)
{
    int key[CLUSTER_MAX_KEYS];
    const size_t n = cluster_assumed(&c->cluster, key);

    html_element(to, "p", NULL, "Assumed of %s%s%s:", c->name, c->transport[0] ? ", " : "", c->transport);
    fputs("<ul>\n", to);
    for (size_t i = 0; i < n; i++) {
        char value[64];
        cluster_key_format(&c->cluster, key[i], value, sizeof value);
        html_element(to, "li", NULL, "%s = %s: %s", cluster_keys[key[i]].name, value, c->sources->text[key[i]]);
    }
    fputs("</ul>\n", to);
}

static void record_value(struct record *record, const struct cluster *c, int key)
{
    char text[64];

    if (cluster_keys[key].type == KEY_REAL || cluster_keys[key].type == KEY_WHOLE) {
        record_f64(record, cluster_keys[key].name, cluster_key_number(c, key));
        return;
    }
    cluster_key_format(c, key, text, sizeof text);
    record_text(record, cluster_keys[key].name, text);
}

enum rc used_cluster_record(struct record *record, const struct used_cluster *c)
{
    struct record *values = NULL, *assumed = NULL;
    int key[CLUSTER_MAX_KEYS];
    const size_t n = cluster_assumed(&c->cluster, key);
    enum rc rc;

    TRY(record_open(&values, NULL));
    TRY(record_open(&assumed, NULL));
    record_text(record, "cluster", c->name);
    record_text(record, "transport", used_cluster_transport(c));
    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        record_value(values, &c->cluster, i);
    for (size_t i = 0; i < n; i++)
        record_text(assumed, cluster_keys[key[i]].name, c->sources->text[key[i]]);
    record_child(record, "values", &values);
    record_child(record, "assumed", &assumed);
out:
    record_close(&assumed);
    record_close(&values);
    return rc;
}

enum rc used_cluster_print_json(const char *option, const char *name, const char *settings)
{
    struct used_cluster c = { .sources = NULL };
    struct report *to = NULL;
    struct record *r = NULL;
    enum rc rc;

    TRY(used_cluster_open(&c, option, &(struct cluster_wish){ .name = name, .transport = "" }, settings));
    TRY(record_open(&r, "cluster"));
    TRY(used_cluster_record(r, &c));
    TRY(report_open(&to, "-"));
    TRY(report_write(to, r));
    TRY(report_commit(to));
out:
    report_close(&to);
    record_close(&r);
    used_cluster_close(&c);
    return rc;
}
