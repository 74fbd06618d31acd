/* SPDX-License-Identifier: Apache-2.0 */
/* simulations_test.c - simulations of a made-up program: what is taken of records, and what becomes of those that fail.
 */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/printed.h"
#include "harness/base/suite/unit.h"
#include "harness/campaign/simulations.h"
#include "harness/report/progress.h"
#include "harness/report/suite/report_kit.h"

enum { N = 5, FAILS = 3, DIES = 1, EMPTY = 2 };

/* Simulation i: 2 steps in i + 1 virtual seconds; by its word it fails, is killed, or leaves no records. */
#define PROGRAM                                                                                                  \
    "#!/bin/sh\nfor word; do case $word in --out=*) out=${word#--out=} ;; --cost=*) cost=${word#--cost=} ;; "    \
    "--virtual=*) virtual=${word#--virtual=} ;; --fails) echo 'no memory' >&2; exit 3 ;; --dies) kill -9 $$ ;; " \
    "--empty) exit 0 ;; esac; done\n"                                                                            \
    "echo \"{\\\"kind\\\":\\\"summary\\\",\\\"virtual_s\\\":$virtual,\\\"compute_s\\\":0.25}\" >$out\n"          \
    "{ echo '{\"network_bytes\":8,\"loads\":{'; for kind in $KINDS; do echo \"\\\"$kind\\\":{\\\"index\\\":1,"   \
    "\\\"busy_s\\\":4,\\\"bytes\\\":6},\"; done; echo '\"end\":{}}}'; } >$cost\n"

static int set_up(void **state)
{
    static struct kit kit;
    char kinds[512] = "";

    for (int k = 0; k < N_LOADS; k++)
        snprintf(kinds + strlen(kinds), sizeof kinds - strlen(kinds), "%s ", load_kind_name(k));
    return kit_open(&kit) && setenv("KINDS", kinds, 1) == 0 ? (*state = &kit, 0) : -1;
}

static int tear_down(void **state)
{
    kit_close(*state);
    return 0;
}

static void run(struct simulation *s, struct kit *k, int n_jobs, FILE *to)
{
    struct progress progress;
    char self_path[600];
    const struct simulations_env env = {
        .self_path = self_path, .folder = k->dir, .n_jobs = n_jobs, .progress = &progress
    };

    assert_true(kit_write(k, "program", PROGRAM));
    assert_int_equal(chmod(kit_path(k, "program"), 0700), 0);
    snprintf(self_path, sizeof self_path, "%s", kit_path(k, "program"));
    progress_init(&progress, to, N, 0);
    assert_int_equal(simulations_run(s, N, &env), RC_OK);
}

static void make(struct simulation *s)
{
    for (int i = 0; i < N; i++) {
        assert_int_equal(simulation_open(&s[i]), RC_OK);
        snprintf(s[i].name, sizeof s[i].name, "number %d", i);
        s[i].n_steps = 2;
        s[i].weight = i;
        assert_int_equal(simulation_add(&s[i], "--virtual=%d", i + 1), RC_OK);
    }
}

static void end(struct simulation *s)
{
    for (int i = 0; i < N; i++)
        simulation_close(&s[i]);
}

static void check_figures(const struct simulation *s, int i)
{
    assert_false(s[i].has_failed);
    assert_true(fabs(s[i].step_s - (i + 1) / 2.0) < 1e-12);
    assert_true(fabs(s[i].exposed_s - ((i + 1) / 2.0 - 0.25)) < 1e-12);
    assert_true(fabs(s[i].network_bytes - 4) < 1e-12);
    assert_true(fabs(s[i].load[0].busy_s - 2) < 1e-12);
    assert_int_equal(s[i].load[0].n_bytes, 3);
}

#define TEST(f) UNIT_TEST_WITH(f, set_up, tear_down)

TEST(figures_are_of_a_step)
{
    struct simulation s[N];

    for (int n_jobs = 1; n_jobs <= 3; n_jobs += 2) { /* V1 */
        struct printed p;
        printed_begin(&p);
        make(s);
        run(s, *state, n_jobs, p.to);
        for (int i = 0; i < N; i++)
            check_figures(s, i);
        assert_int_equal(simulations_check(s, N), RC_OK);
        end(s);
        char *text = printed_end(&p);
        free(text);
    }
}

/* The heaviest comes first, so number 4 is done before 3 fails, and the others go on behind it. */
TEST(others_go_on_V3)
{
    static const char *const told[] = {
        "the simulation of number 3 ended with exit code 3: no memory; the others continue\n",
        "the simulation of number 2 left no records; the others continue\n",
        "the simulation of number 1 was ended by signal 9 (Killed); the others continue\n",
    };
    struct simulation s[N];
    const char *at;
    struct printed p;

    printed_begin(&p);
    make(s);
    assert_int_equal(simulation_add(&s[FAILS], "--fails"), RC_OK);
    assert_int_equal(simulation_add(&s[DIES], "--dies"), RC_OK);
    assert_int_equal(simulation_add(&s[EMPTY], "--empty"), RC_OK);
    run(s, *state, 1, p.to);
    char *text = printed_end(&p);
    at = text;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        at = strstr(at, told[i]);
        assert_non_null(at);
        at++;
    }
    free(text);
    check_figures(s, 0);
    check_figures(s, 4);
    for (int i = 1; i < 4; i++) {
        assert_true(s[i].has_failed);
        assert_true(isnan(s[i].step_s) && isnan(s[i].network_bytes) && isnan(s[i].exposed_s));
    }
    assert_string_equal(s[DIES].why, "the simulation of number 1 was ended by signal 9 (Killed)");
    assert_int_equal(simulations_check(s, N), RC_PEER);
    assert_names(rc_message(), "3 of 5 simulations ... number 1 ... signal 9");
    end(s);
}

/* V3 */
TEST(one_reason_is_told_once)
{
    struct simulation s[N];
    struct printed p;

    printed_begin(&p);
    make(s);
    for (int i = 1; i < 4; i++)
        assert_int_equal(simulation_add(&s[i], "--fails"), RC_OK);
    run(s, *state, 1, p.to);
    char *text = printed_end(&p);
    const char *first = strstr(text, "ended with exit code 3: no memory; the others continue\n");
    assert_non_null(first);
    assert_null(strstr(first + 1, "ended with exit code 3"));
    free(text);
    for (int i = 1; i < 4; i++)
        assert_true(s[i].has_failed);
    assert_int_equal(simulations_check(s, N), RC_PEER);
    assert_names(rc_message(), "3 of 5 simulations ... exit code 3");
    end(s);
}

/* Nothing of a simulation stays in the folder. */
TEST(files_are_removed)
{
    struct kit *k = *state;
    struct simulation s[N];
    struct printed p;

    printed_begin(&p);
    make(s);
    assert_int_equal(simulation_add(&s[FAILS], "--fails"), RC_OK);
    run(s, k, 2, p.to);
    char *text = printed_end(&p);
    free(text);
    end(s);
    DIR *dir = opendir(k->dir);
    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        assert_true(strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || strcmp(e->d_name, "program") == 0);
    closedir(dir);
}

UNIT_MAIN("simulations")
