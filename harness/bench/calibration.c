/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibration.c - a measured cluster, and the cluster description with which the sim world reproduces the
 * measurement; see calibration.h.
 */
#include "harness/bench/calibration.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/cluster/cluster_keys.h"

#define LEAST_LATENCY_S 1e-9 /* of a link of the simulator */
/* Jitter from which on other programs are the likely cause. */
#define NOISY_RATIO 0.2

struct description { /* while it is written */
    struct cluster *cluster;
    struct cluster_sources *sources;
};

/* The source of a key's value: one that begins with "assumed" says of it that it is. */
static void PRINTF_LIKE(3, 4) note(const struct description *d, const char *name, const char *source, ...)
{
    static const char assumed[] = "assumed";
    const int key = cluster_key_find(name);
    va_list ap;

    va_start(ap, source);
    vsnprintf(d->sources->text[key], CLUSTER_SOURCE_BYTES, source, ap);
    va_end(ap);
    if (strncmp(d->sources->text[key], assumed, strlen(assumed)) != 0)
        d->cluster->assumed &= ~(UINT64_C(1) << key);
}

/* Six digits: a measurement has no more, and a reader of the file is spared the rest. */
static enum rc set(const struct description *d, const char *name, double value)
{
    char text[32], why[RC_MESSAGE_BYTES];

    snprintf(text, sizeof text, "%.6g", value);
    if (cluster_key_set(d->cluster, cluster_key_find(name), text) == RC_OK)
        return RC_OK;
    snprintf(why, sizeof why, "%s", rc_message());
    return rc_raise(RC_INVAL, "measured %s %.300s", name, why);
}

const char *calibration_class_name(enum link_class of)
{
    return of == LINK_WITHIN ? "within a host" : "between hosts";
}

enum cluster_sharing calibration_sharing(const struct local_sharing *s)
{
    if (s->n_pairs == 0)
        return SHARING_NONE;
    /* Nearer to n times as long than to as long as alone, by ratios. */
    if (s->pairs_s > s->one_s * sqrt(s->n_pairs))
        return SHARING_HOST;
    return s->fan_s > s->one_s * sqrt(2) ? SHARING_RANK : SHARING_NONE;
}

static double residual_percent(const struct line_fit *fit)
{
    return 100 * fabs(fit->worst_ratio);
}

/* Of the messages that spend more on their bytes than on the latency: what shorter ones take says nothing of the rate.
 */
static double rate_residual_percent(const struct link_fit *f)
{
    double worst_ratio = 0;

    for (int i = 0; i < LINK_N_SIZES; i++) {
        const double n_bytes = (double)link_size_bytes(i);
        if (n_bytes * f->message.slope_s >= f->alpha_s)
            worst_ratio = fmax(worst_ratio, fabs(line_fit_residual_ratio(&f->message, n_bytes, f->median_s[i])));
    }
    return 100 * worst_ratio;
}

/* A rate needs times that grow with the size. */
static enum rc check_rate(const struct link_fit *f, enum link_class of)
{
    if (f->message.slope_s > 0)
        return RC_OK;
    return rc_raise(RC_INVAL,
                    "%s: a message of 16 MiB took no longer than one of 4 bytes; other work disturbed it: measure when "
                    "the machines are idle",
                    calibration_class_name(of));
}

/* What carries messages between hosts, as far as it is more than a link: an overhead, and nothing else of its own. It
 * is called tcp, whatever carried them: the keys of rdma mean the same. */
static enum rc describe_protocol(const struct description *d, const struct link_fit *f)
{
    static const char key[] = "tcp_message_s";
    enum rc rc;

    d->cluster->protocol = PROTOCOL_TCP;
    note(d, "protocol", "measured: messages of a burst take longer than their bytes on the wire");
    TRY(set(d, key, f->message_s));
    if (f->is_capped)
        note(d, key, "measured: half of alpha; bursts say more, %.4g us a message", 1e6 * f->burst.slope_s);
    else
        note(d, key, "measured: what a message adds to a burst, 4 to %d at once, largest residual %.1f %%",
             link_burst_messages(LINK_N_BURSTS - 1), residual_percent(&f->burst));
    TRY(set(d, "tcp_latency_s", 0));
    note(d, "tcp_latency_s", "measured: is in link_latency_s");
    TRY(set(d, "tcp_rate_ratio", 1));
    note(d, "tcp_rate_ratio", "measured: is in link_bits_per_s");
    TRY(set(d, "tcp_process_bytes_per_s", 0));
    note(d, "tcp_process_bytes_per_s", "assumed: no limit of a process besides");
out:
    return rc;
}

/* What comes back slows what goes. */
static enum rc describe_duplex(const struct description *d, const struct link_fit *f)
{
    const double ratio = link_fit_duplex_ratio(f);
    char ring[64] = "";
    enum rc rc;

    if (isnan(ratio)) {
        note(d, "link_duplex_ratio",
             "assumed: full duplex; by this transport two hosts that exchange wait for each other, whatever a link "
             "carries (16 MiB took %.2f times as long): measure on three hosts",
             f->both_ratio);
        return RC_OK;
    }
    if (f->n_ring_hosts > 0)
        snprintf(ring, sizeof ring, ", around a ring of all %d hosts", f->n_ring_hosts);
    TRY(set(d, "link_duplex_ratio", fmax(ratio, 1)));
    note(d, "link_duplex_ratio", "measured: 16 MiB take %.2f times as long while as many come in%s%s", f->both_ratio,
         ring,
         ratio >= 2  ? "; a link is full duplex where that is at most 1.05"
         : ratio < 1 ? "; more than twice, which no description can say: 1 is the least"
                     : "");
out:
    return rc;
}

static enum rc describe_between(const struct description *d, const struct link_fit *f)
{
    static const char missing[] = "assumed: one host was measured, which has no link to another; the built-in value";
    enum rc rc;

    if (f->n_pairs == 0) {
        note(d, "link_bits_per_s", "%s", missing);
        note(d, "link_latency_s", "%s", missing);
        note(d, "link_duplex_ratio", "%s", missing);
        return RC_OK;
    }
    TRY(check_rate(f, LINK_BETWEEN));
    TRY(set(d, "link_bits_per_s", 8 / f->message.slope_s));
    note(d, "link_bits_per_s",
         "measured: 1 / beta, %d pairs, %d sizes, largest residual %.1f %%, of those longer than alpha %.1f %%",
         f->n_pairs, LINK_N_SIZES, residual_percent(&f->message), rate_residual_percent(f));
    TRY(describe_duplex(d, f));
    TRY(set(d, "link_latency_s", fmax(f->alpha_s - 2 * f->message_s, LEAST_LATENCY_S)));
    note(d, "link_latency_s", "measured: alpha, %.4g us, less two overheads of %.4g us, of the same times",
         1e6 * f->alpha_s, 1e6 * f->message_s);
    if (f->message_s > 0)
        TRY(describe_protocol(d, f));
    else {
        d->cluster->protocol = PROTOCOL_BARE;
        note(d, "protocol", "measured: messages of a burst take what their bytes need on the wire");
    }
out:
    return rc;
}

static enum rc describe_within(const struct description *d, const struct link_fit *f, const struct local_sharing *s)
{
    static const char missing[] =
        "assumed: one rank a host was measured, which has no other rank there; the built-in value";
    enum rc rc;

    if (f->n_pairs == 0) {
        note(d, "local_bytes_per_s", "%s", missing);
        note(d, "local_latency_s", "%s", missing);
        return RC_OK;
    }
    TRY(check_rate(f, LINK_WITHIN));
    TRY(set(d, "local_bytes_per_s", 1 / f->message.slope_s));
    note(d, "local_bytes_per_s", "measured: 1 / beta, %d pairs, %d sizes, largest residual %.1f %%", f->n_pairs,
         LINK_N_SIZES, residual_percent(&f->message));
    TRY(set(d, "local_latency_s", fmax(f->alpha_s, LEAST_LATENCY_S)));
    note(d, "local_latency_s", "measured: alpha, of the same times");
    d->cluster->local_sharing = (int)calibration_sharing(s);
    if (s->n_pairs == 0)
        note(d, "local_sharing", "assumed: to measure it takes a host with four ranks");
    else
        note(d, "local_sharing",
             "measured: 16 MiB take %.2f times as long with %d pairs at once, %.2f with two others of a rank",
             s->pairs_s / s->one_s, s->n_pairs, s->fan_s / s->one_s);
out:
    return rc;
}

static enum rc describe_rate(const struct description *d, const char *key, const struct compute_spread *s,
                             const char *what, int n_ranks)
{
    enum rc rc;

    TRY(set(d, key, s->median));
    note(d, key, "measured: %s on %d ranks at once, the median rank's; %.4g to %.4g", what, n_ranks, s->least, s->most);
out:
    return rc;
}

/* 0: nothing was measured, and a server computes as a worker. */
static enum rc describe_server(const struct description *d, const char *key, double value)
{
    enum rc rc;

    if (!(value > 0))
        return RC_OK;
    TRY(set(d, key, value));
    note(d, key, "measured: as of workers, on the processors of the host");
out:
    return rc;
}

/* As much as that is noise of others, which no description can say. */
static enum rc describe_jitter_ratio(const struct description *d, double ratio)
{
    if (set(d, "jitter_ratio", ratio) != RC_OK)
        return rc_raise(
            RC_INVAL,
            "jitter: equal work took %.3g times as long as the fastest, on average; other work disturbed it: "
            "measure when the machines are idle",
            1 + ratio);
    note(d, "jitter_ratio", "measured: of the same times, by L-moments");
    return RC_OK;
}

static enum rc describe_compute(const struct description *d, const struct calibration *c)
{
    const struct compute_bench *m = &c->compute;
    enum rc rc;

    TRY(describe_rate(d, "flops_per_s", &m->flops_per_s, "GEMMs", c->n_ranks));
    TRY(describe_rate(d, "memory_bytes_per_s", &m->memory_bytes_per_s, "updates", c->n_ranks));
    TRY(describe_server(d, "server_flops_per_s", c->server_flops_per_s));
    TRY(describe_server(d, "server_memory_bytes_per_s", c->server_memory_bytes_per_s));
    d->cluster->jitter = (int)m->jitter.kind;
    if (m->jitter.kind == JITTER_NONE)
        note(d, "jitter", "measured: %zu times of the same work vary by less than 0.1 %%", m->jitter.n_times);
    else
        note(d, "jitter", "measured: nearest to %zu times of the same work, Kolmogorov-Smirnov distance %.3f",
             m->jitter.n_times, m->jitter.distance);
    TRY(describe_jitter_ratio(d, m->jitter.ratio));
out:
    return rc;
}

bool calibration_is_noisy(const struct calibration *m)
{
    return m->compute.jitter.ratio > NOISY_RATIO;
}

void calibration_doubt(struct cluster *c, struct cluster_sources *sources, const struct calibration *m)
{
    static const char *const doubtful[] = { "jitter", "jitter_ratio" };

    for (size_t i = 0; i < sizeof doubtful / sizeof *doubtful; i++) {
        const int key = cluster_key_find(doubtful[i]);
        snprintf(sources->text[key], sizeof sources->text[key],
                 "assumed: " CALIBRATION_DOUBTFUL ": equal work took %.0f %% longer than the fastest",
                 100 * m->compute.jitter.ratio);
        c->assumed |= UINT64_C(1) << key;
    }
}

void calibration_tell_doubt(const struct cluster_sources *sources, const char *name, FILE *to)
{
    if (strstr(sources->text[cluster_key_find("jitter_ratio")], CALIBRATION_DOUBTFUL))
        fprintf(to, "Doubtful: %s: " CALIBRATION_DOUBTFUL CALIBRATION_REMEDY, name);
}

enum rc calibration_describe(struct cluster *out, struct cluster_sources *sources, const struct calibration *c,
                             const char *name)
{
    const struct description d = { out, sources };
    enum rc rc;

    cluster_default(out);
    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        snprintf(sources->text[i], sizeof sources->text[i], "assumed: not measured");
    TRY(cluster_key_set(out, cluster_key_find("name"), name));
    note(&d, "name", "by gradmark calibrate");
    note(&d, "hosts_count", "assumed: as many as the ranks need; %d were measured", c->links.n_hosts);
    TRY(set(&d, "ranks_per_host_count", c->links.n_most_host_ranks));
    note(&d, "ranks_per_host_count", "measured: %d ranks on %d hosts", c->n_ranks, c->links.n_hosts);
    TRY(describe_between(&d, &c->links.link[LINK_BETWEEN]));
    TRY(describe_within(&d, &c->links.link[LINK_WITHIN], &c->links.sharing));
    TRY(describe_compute(&d, c));
out:
    return rc;
}
