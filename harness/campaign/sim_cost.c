/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_cost.c - the cost of computing a simulation: one line on standard error, and --cost FILE as JSON. The file also
 * has the load of its links in the steps: the busiest of each kind (cluster/topology.h); see sim_cost.h.
 */
#include "harness/campaign/sim_cost.h"

#include <jansson.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/report/record.h"

enum rc sim_cost_check(const char *path, const char *world, bool is_virtual)
{
    enum rc rc = RC_OK;

    if (!path[0])
        return RC_OK;
    if (!is_virtual)
        FAIL(RC_INVAL, "--cost %s: needs --world sim, but that is %s", path, world);
    TRY(file_of_option(file_check_writable(path), "cost"));
out:
    return rc;
}

static void record_loads(struct record *r, const struct world_cost *cost)
{
    struct record *loads = record_open(NULL);

    record_u64(r, "network_bytes", cost->network_bytes);
    for (int k = 0; k < N_LOADS; k++) {
        struct record *load = record_open(NULL);
        record_i64(load, "index", cost->load[k].index);
        record_f64(load, "busy_s", cost->load[k].busy_s);
        record_u64(load, "bytes", cost->load[k].n_bytes);
        record_child(loads, load_kind_name(k), &load);
    }
    record_child(r, "loads", &loads);
}

enum rc sim_cost_write(FILE *to, const char *verb, const char *path, const struct world_cost *cost)
{
    const double real_s = (double)cost->real_ns * 1e-9;
    const double messages_per_s = (double)cost->n_messages / real_s;
    struct record *r = NULL;
    enum rc rc = RC_OK;

    if (cost->real_ns == 0)
        goto out;
    if (path[0]) {
        r = record_open("sim_cost");
        record_u64(r, "messages_count", cost->n_messages);
        record_u64(r, "real_ns", cost->real_ns);
        record_f64(r, "messages_per_s", messages_per_s);
        record_loads(r, cost);
        TRY(record_write_file(r, path));
    }
    terminal_note(to, "gradmark %s: simulated %llu messages in %.3g s: %.3g messages/s", verb,
                  (unsigned long long)cost->n_messages, real_s, messages_per_s);
out:
    record_close(&r);
    return rc;
}

enum rc sim_cost_take(struct world_cost *sum, const char *path)
{
    json_t *file = json_load_file(path, 0, NULL);
    json_int_t n_messages, real_ns;
    enum rc rc = RC_OK;

    if (!file || json_unpack(file, "{s:I, s:I}", "messages_count", &n_messages, "real_ns", &real_ns) != 0)
        FAIL(RC_MISMATCH, "%s: the launch did not write its cost there", path);
    sum->n_messages += (uint64_t)n_messages;
    sum->real_ns += (uint64_t)real_ns;
out:
    json_decref(file);
    (void)unlink(path);
    return rc;
}
