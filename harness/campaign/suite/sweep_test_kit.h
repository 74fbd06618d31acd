/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_test_kit.h - a sweep as a command line would make it, for the tests of its parts. */
#ifndef HARNESS_CAMPAIGN_SUITE_SWEEP_TEST_KIT_H
#define HARNESS_CAMPAIGN_SUITE_SWEEP_TEST_KIT_H

#include <sys/stat.h>

#include "harness/campaign/suite/campaign_test_kit.h"
#include "harness/campaign/sweep.h"
#include "harness/world/wait.h"

enum { KIT_MAX_WORDS = 16 };

/* Options of every training from words ("--batch=16 --seed=7", overwritten and lent to s); started now, with a budget
 * that no test spends. One sweep at a time: the groups are the kit's. */
static inline void kit_sweep(struct sweep *s, char *words)
{
    static struct opt_group group[1 + MAX_MODULE_GROUPS];
    char *word[KIT_MAX_WORDS], *rest = words;
    int n = 0;

    *s = (struct sweep){
        .budget_s = 1e6, .started_ns = wait_clock_ns(), .given = group, .cost_file = "", .max_failures = 3
    };
    group[0] = (struct opt_group){ "every training of it", train_opt_table, &s->train, { 0 }, NULL };
    s->n_given = 1 + module_opt_groups(group + 1, train_kinds, &s->train.modules);
    for (char *w = strsep(&rest, " "); w && *w; w = strsep(&rest, " ")) {
        assert_true(n < KIT_MAX_WORDS);
        word[n++] = w;
    }
    if (opt_parse(group, s->n_given, NULL, n, word) != RC_OK)
        fail_msg("%s", rc_message());
    s->campaign.is_virtual = strcmp(s->train.world, "sim") == 0;
    s->campaign.n_launches_wanted = MADE_LAUNCHES;
}

static inline void kit_axes(struct sweep *s, const char *model, const char *mode, const char *workers)
{
    s->axis[0] = (struct axis){ "model", model };
    s->axis[1] = (struct axis){ "mode", mode };
    s->axis[2] = (struct axis){ "workers", workers };
    s->n_axes = 3;
}

/* A script in the place of gradmark: it notes its arguments, and its n-th launch trains 100 n samples/s. While there is
 * a file `fails`, launches whose arguments hold its text end with exit code 3, after their records; where there is a
 * file `once`, the first of them removes `fails`. */
static const char KIT_PROGRAM[] =
    "#!/bin/sh\n"
    "dir=${0%/*}\n"
    "echo \"$*\" >>\"$dir/calls\"\n"
    "n=0; while read -r line; do n=$((n + 1)); done <\"$dir/calls\"\n"
    "for word; do case $word in --out=*) out=${word#--out=} ;; esac; done\n"
    "echo '{\"kind\":\"summary\",\"batch_per_worker_count\":8,\"throughput_samples_per_s\":'${n}00'}' >\"$out\"\n"
    "[ -f \"$dir/fails\" ] || exit 0\n"
    "read -r what <\"$dir/fails\"\n"
    "case \"$*\" in *\"$what\"*) [ ! -f \"$dir/once\" ] || rm \"$dir/fails\"; echo 'gradmark train: warning: so' >&2; "
    "echo 'gradmark: rank 1 has been silent for 2.0 s: in step 7' >&2; "
    "echo 'gradmark: rank 1 is back, silent for 3.0 s' >&2; "
    "echo 'it broke' >&2; echo 'a second line' "
    ">&2; exit 3 ;; esac\n";

/* Launches of s run the script; no call is noted yet. */
static inline void kit_script(struct sweep *s, struct kit *k)
{
    FILE *nowhere = fopen("/dev/null", "w");

    assert_non_null(nowhere);
    assert_true(kit_write(k, "program", KIT_PROGRAM));
    assert_int_equal(chmod(kit_path(k, "program"), 0700), 0);
    (void)unlink(kit_path(k, "calls"));
    snprintf(s->self_path, sizeof s->self_path, "%s", kit_path(k, "program"));
    snprintf(s->launch_path, sizeof s->launch_path, "%s", kit_path(k, "launch"));
    progress_init(&s->progress, nowhere, s->campaign.n_points * MADE_LAUNCHES, s->started_ns);
}

static inline void kit_script_end(struct sweep *s)
{
    fclose(s->progress.to);
}

/* Three points in the folder of the kit; its runs are not open. words: overwritten, and lent. */
static inline void kit_open_three(struct sweep *s, struct kit *k, char *words)
{
    kit_sweep(s, words);
    kit_axes(s, "linear", "single,none,allreduce", "1");
    s->order_seed = 5;
    snprintf(s->campaign.dir, sizeof s->campaign.dir, "%s", k->dir);
    assert_int_equal(sweep_plan(s), RC_OK);
    assert_int_equal(s->campaign.n_points, 3);
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        s->campaign.point[i].n_steps = 10 + i;
        s->campaign.point[i].wait = WAIT_SPIN; /* whatever this machine has */
    }
    kit_script(s, k);
}

static inline void kit_close_three(struct sweep *s)
{
    kit_script_end(s);
    campaign_close(&s->campaign);
}

/* The arguments of each call, a line for each, without the last one, --out=... */
static inline void kit_calls(struct kit *k, char *text, size_t n_bytes)
{
    char out[KIT_PATH_BYTES + 8];

    snprintf(out, sizeof out, " --out=%s", kit_path(k, "launch"));
    text[0] = '\0';
    for (const char *at = kit_read(k, "calls"), *end; at && (end = strstr(at, out)) != NULL; at = end + strlen(out))
        snprintf(text + strlen(text), n_bytes - strlen(text), "%.*s", (int)(end - at), at);
    snprintf(text + strlen(text), n_bytes - strlen(text), "\n");
}

#endif
