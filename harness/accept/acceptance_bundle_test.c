/* SPDX-License-Identifier: Apache-2.0 */
/* acceptance_bundle_test.c - the files of a bundle: their text, and that a full disk leaves none that seems complete.
 */
#include <math.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/accept/acceptance_report.h"
#include "harness/accept/bundle_parts.h"
#include "harness/accept/metrics.h"
#include "harness/accept/suite/acceptance_kit.h"
#include "harness/base/suite/names.h"
#include "harness/report/record.h"
#include "harness/report/suite/report_kit.h"

static enum rc write_bundle(const struct kit *k, const struct acceptance *a)
{
    const struct criteria criteria = { .name = "four" };
    struct record *manifest = record_open("manifest");

    const enum rc rc = acceptance_write(a, &criteria, manifest, k->dir);
    record_close(&manifest);
    return rc;
}

/* Of the kit's test with faults; the text of a file is lent by kit_read(). */
static void write_faulty(struct kit *k, int faults)
{
    struct acceptance a;

    kit_acceptance(&a, faults);
    if (write_bundle(k, &a) != RC_OK)
        fail_msg("%s", rc_message());
    acceptance_close(&a);
}

static void has(const char *text, const char *part)
{
    assert_non_null(text);
    if (!strstr(text, part))
        fail_msg("nothing in\n%.2000s\nis: %s", text, part);
}

/* --- hosts --- */

KIT_TEST(nodes_that_are_blamed_are_bad)
{
    struct kit *k = *state;

    write_faulty(k, ALL_FAULTS);
    assert_string_equal(kit_read(k, "good.hosts"), "# blamed: link host1 - host4\nhost1 slots=2\nhost4 slots=2\n");
    assert_string_equal(kit_read(k, "bad.hosts"), "host2 slots=2\nhost3 slots=2\n");
    assert_string_equal(kit_read(k, "slurm.txt"),
                        "# blamed: link host1 - host4\n--nodelist=host[1,4]\n--exclude=host[2-3]\n");
}

KIT_TEST(a_healthy_cluster_has_no_bad_node)
{
    struct kit *k = *state;

    write_faulty(k, 0);
    assert_string_equal(kit_read(k, "good.hosts"), "host1 slots=2\nhost2 slots=2\nhost3 slots=2\nhost4 slots=2\n");
    assert_string_equal(kit_read(k, "bad.hosts"), "");
    assert_string_equal(kit_read(k, "slurm.txt"), "--nodelist=host[1-4]\n# no node for --exclude\n");
}

/* accept.P5; and everywhere else they are escaped. */
KIT_TEST(a_strange_name_is_no_host_and_no_tag)
{
    struct kit *k = *state;
    struct acceptance a;

    kit_acceptance(&a, FAULT_IN_NODE | FAULT_IN_LINK);
    snprintf(a.node[2].name, sizeof a.node[2].name, "<b>\"h'&\nhost9 slots=64");
    snprintf(a.node[0].name, sizeof a.node[0].name, "x\nhost8");
    snprintf(a.cluster_name, sizeof a.cluster_name, "<c>&\n");
    snprintf(a.criterion[0].name, sizeof a.criterion[0].name, "<i>\"&\n");
    assert_int_equal(write_bundle(k, &a), RC_OK);
    assert_string_equal(kit_read(k, "bad.hosts"), "# no name of a host: <b>\"h'&?host9 slots=64\n");
    assert_string_equal(kit_read(k, "good.hosts"), "# blamed: link x?host8 - host4\n# no name of a host: x?host8\n"
                                                   "host2 slots=2\nhost4 slots=2\n");
    assert_string_equal(kit_read(k, "slurm.txt"), "# blamed: link x?host8 - host4\n"
                                                  "# no name of a host: x?host8\n--nodelist=host[2,4]\n"
                                                  "# no name of a host: <b>\"h'&?host9 slots=64\n"
                                                  "# no node for --exclude\n");
    const char *page = kit_read(k, "report.html");
    assert_null(strstr(page, "<b>"));
    assert_null(strstr(page, "<i>"));
    assert_null(strstr(page, "<c>"));
    has(page, "<title>Acceptance of &lt;c&gt;&amp;?: fail</title>");
    has(page,
        "<p class=\"fail\">FAIL: 1 node and 1 link are slow: &lt;b&gt;&quot;h&#39;&amp;?host9 slots=64; link x?host8 "
        "- host4</p>");
    has(page, "<td>&lt;b&gt;&quot;h&#39;&amp;?host9 slots=64</td>");
    const char *junit = kit_read(k, "junit.xml");
    assert_null(strstr(junit, "<b>"));
    has(junit, "<property name=\"cluster\" value=\"&lt;c&gt;&amp;&#10;\"/>");
    has(junit, "name=\"&lt;i&gt;&quot;&amp;&#10;\" time=\"0\">");
    acceptance_close(&a);
}

/* --- junit.xml --- */

KIT_TEST(suites_are_stages_and_cases_criteria)
{
    struct kit *k = *state;

    write_faulty(k, ALL_FAULTS);
    const char *text = kit_read(k, "junit.xml");
    has(text, "<testsuites name=\"gradmark accept\" tests=\"10\" failures=\"3\" errors=\"1\" "
              "time=\"32.000\">\n");
    has(text, "<testsuite name=\"pairwise\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"3.500\">\n");
    has(text, "<testcase classname=\"gradmark.accept.pairwise\" name=\"pair_bytes_per_s\" time=\"0\">\n"
              "<failure message=\"the worst is beyond the limit\" type=\"fail\">measured 50.5 MB/s, limit at least 90 "
              "MB/s&#10;the worst is beyond the limit</failure>\n<system-out>measured: 50500000\nleast: 90000000\n"
              "unit: byte/s\nsamples: 24\n</system-out>\n</testcase>\n");
    has(text, "low: 88000000\nhigh: 92000000\n");
    has(text, "<testcase classname=\"gradmark.accept.ps\" name=\"the stage\" time=\"0\">\n<error message=\"there is no "
              "server\" type=\"no data\">there is no server</error>\n");
    has(text,
        "<testcase classname=\"gradmark.accept.soak\" name=\"the stage\" time=\"0\">\n<skipped message=\"left out by "
        "--stages\">left out by --stages</skipped>\n");
    has(text, "<system-out>host3: it sends and receives slowly (pairwise, bytes_per_s: 60.6 MB/s, expected 101 MB/s: "
              "60.0 %; false-discovery rate less than 0.001)&#10;link host1 - host4 (pairwise");
    assert_int_equal(n_times(text, "<testsuite "), ACCEPT_N_STAGES);
    assert_int_equal(n_times(text, "<testcase "), 10);
}

/* A stage that ended early, after criteria that pass. */
KIT_TEST(no_stage_seems_better_than_it_is)
{
    struct kit *k = *state;
    struct acceptance a;

    kit_acceptance(&a, 0);
    a.stage[ACCEPT_NOISE].outcome = OUTCOME_NO_DATA;
    snprintf(a.stage[ACCEPT_NOISE].why, sizeof a.stage[ACCEPT_NOISE].why, "the time was up");
    snprintf(a.injected, sizeof a.injected, "rank:5=0.7");
    assert_int_equal(write_bundle(k, &a), RC_OK);
    const char *text = kit_read(k, "junit.xml");
    has(text, "<testsuite name=\"noise\" tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"0\"");
    has(text, "<error message=\"the time was up\" type=\"no data\">");
    assert_int_equal(n_times(text, "<property name=\"injected\" value=\"rank:5=0.7\"/>"),
                     ACCEPT_N_STAGES); /* accept.N2 */
    has(kit_read(k, "report.html"), "<p class=\"alert\">Faults were injected by --inject: rank:5=0.7.\n</p>");
    acceptance_close(&a);
}

/* --- report.html --- */

KIT_TEST(the_verdict_is_first_on_the_page)
{
    struct kit *k = *state;

    write_faulty(k, ALL_FAULTS);
    const char *page = kit_read(k, "report.html");
    static const char verdict[] = "<p class=\"fail\">FAIL: 1 node, 2 ranks and 1 link are at fault: rank 5 on host3; "
                                  "host3; link host1 - host4; rank 3 on host2</p>";
    const char *const order[] = { verdict,
                                  "<h2>Failed</h2>",
                                  "<li>host3: it sends and receives slowly (pairwise, bytes_per_s: 60.6 MB/s",
                                  "<h2>Next steps</h2>",
                                  "<h2>Criteria</h2>",
                                  "<h2>Not judged, or in part</h2>",
                                  "<li>ps: no data: there is no server</li>\n<li>skipped: soak</li>",
                                  "<h2>Pairs of nodes</h2>",
                                  "<figcaption>Rates of all pairs",
                                  "<figcaption>Latencies of all pairs",
                                  "<h2>The slowest pairs</h2>",
                                  "<h2>Nodes</h2>",
                                  "<h2>Preflight</h2>",
                                  "<h2>Collectives</h2>",
                                  "<h2>Training</h2>",
                                  "<h2>Integrity</h2>",
                                  "<h2>Stages</h2>" };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const char *found = strstr(page, order[i]);
        if (found)
            page = found;
        else
            fail_msg("not there, or before others: %s", order[i]);
    }
}

KIT_TEST(the_page_has_every_figure)
{
    static const char *const parts[] = {
        /* a criterion with measured value, limit and interval */
        "<tr><td>collectives</td><td>allreduce_busbw_bytes_per_s 1048576</td><td>pass</td><td></td><td class=\"n\" "
        "data-n=\"90000000\">90 MB/s</td><td class=\"n\">at least 80 MB/s</td><td class=\"n\" "
        "data-n=\"88000000\">88 MB/s to 92 MB/s</td><td class=\"n\" data-n=\"24\">24</td></tr>\n",
        /* pairs: slowest first */
        "<tbody>\n<tr><td>host1</td><td>host4</td><td class=\"n\" data-n=\"50.5\">50.5</td><td class=\"n\" "
        "data-n=\"50\">50</td><td class=\"n\" data-n=\"40\">40</td></tr>\n<tr><td>host4</td><td>host1</td>",
        /* nodes: blame, ranks, out, in, latency, GEMM, memory, detours, longest, step, wait */
        "<tr><td>host1</td><td>bytes_per_s (link host1 - host4)</td><td class=\"n\" data-n=\"2\">2</td><td class=\"n\" "
        "data-n=\"101\">101</td><td class=\"n\" data-n=\"101\">101</td><td class=\"n\" data-n=\"20\">20</td>",
        "<tr><td>host2</td><td>flops_per_s (rank 3)</td><td class=\"n\" data-n=\"2\">2</td><td class=\"n\" "
        "data-n=\"101\">101</td><td class=\"n\" data-n=\"101\">101</td><td class=\"n\" data-n=\"20\">20</td><td "
        "class=\"n\" "
        "data-n=\"35\">35</td><td class=\"n\" data-n=\"10\">10</td><td class=\"n\" data-n=\"0.1\">0.1</td><td "
        "class=\"n\" "
        "data-n=\"50\">50</td><td class=\"n\">-</td><td class=\"n\">-</td></tr>\n",
        "<tr><td>host3</td><td>parameters (rank 5); bytes_per_s</td><td class=\"n\" data-n=\"2\">2</td><td class=\"n\" "
        "data-n=\"60.6\">60.6</td><td class=\"n\" data-n=\"60.6\">60.6</td>",
        "<tr><td>host4</td><td>bytes_per_s (link host1 - host4)</td>",
        "<td class=\"n\" data-n=\"0.1005\">0.1005</td>",
        "<tr><td>kernel</td><td>FAIL</td><td>6.1.0</td><td>host4</td><td>6.0.9</td></tr>\n",
        "<tr><td>cores</td><td>pass</td><td>2</td><td>-</td><td>-</td></tr>\n",
        "<tr><td class=\"n\" data-n=\"1048576\">1048576</td><td class=\"n\" data-n=\"90000000\">90 MB/s</td><td "
        "class=\"n\" data-n=\"88000000\">88 MB/s to 92 MB/s</td><td class=\"n\" data-n=\"90\">90 %</td><td "
        "class=\"n\" data-n=\"5\">5</td></tr>\n",
        "<tr><td class=\"n\" data-n=\"4\">4</td><td class=\"n\" data-n=\"8\">8</td><td class=\"n\" "
        "data-n=\"3720\">3720 samples/s</td><td class=\"n\" data-n=\"3650\">3650 samples/s to 3790 samples/s</td><td "
        "class=\"n\" data-n=\"93\">93 %</td><td class=\"n\" data-n=\"91\">91 % to 95 %</td><td class=\"n\" "
        "data-n=\"5\">5 %</td><td class=\"n\" data-n=\"60\">60</td><td class=\"n\" data-n=\"41\">41</td></tr>\n",
        "Parameters of all ranks were compared 10 times, every 5 steps; they differed 1 times.",
        "Rank 5 on host3 has other parameters at step 30, in segment conv1.weight.",
        "<li>pairwise: fail, 3.5 s</li>",
    };
    struct kit *k = *state;

    write_faulty(k, ALL_FAULTS);
    const char *page = kit_read(k, "report.html");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        has(page, parts[i]);
    assert_int_equal(n_times(page, "src=\"data:image/svg+xml;base64,"), 2);
    write_faulty(k, 0);
    page = kit_read(k, "report.html");
    has(page, "<p class=\"pass\">PASS: 7 criteria hold on 4 nodes and 8 ranks</p>");
    has(page, "data-n=\"180000000\">180 MB/s</td>"); /* push and pull */
    assert_null(strstr(page, "<h2>Failed</h2>"));
}

KIT_TEST(a_test_without_data_has_a_page)
{
    struct kit *k = *state;
    struct acceptance a;

    assert_int_equal(acceptance_open(&a, 1, 1), RC_OK);
    a.corruption[0] = (struct corruption){ -1, 7, "fc" };
    a.n_corruptions = 1;
    a.integrity_checks_count = 2;
    a.soak = (struct soak){ 1.5, 0.02, 1.25, 900, 10 };
    assert_int_equal(write_bundle(k, &a), RC_OK);
    const char *page = kit_read(k, "report.html");
    has(page, "<p class=\"open\">NO DATA: nothing was judged</p>");
    has(page, "Ranks have other parameters at step 7, in segment fc; which of them is wrong cannot be told.");
    has(page,
        "900 steps of 10 trainings in 1.5 minutes. Steps of the last tenth took +2.00 % of those of the first; the "
        "slowest tenth took 1.25 times the median.");
    assert_null(strstr(page, "<h2>Pairs of nodes</h2>"));
    acceptance_close(&a);
}

/* --- metrics --- */

/* Of a soak whose nodes have odd names: each sample is of the node's slowest rank. */
KIT_TEST(metrics_escape_names)
{
    struct kit *k = *state;
    char path[512];
    struct acceptance a;

    assert_int_equal(acceptance_open(&a, 2, 3), RC_OK);
    strcpy(a.node[0].name, "a\"b\\c");
    strcpy(a.node[1].name, "d\ne");
    a.node_of_rank[0] = a.node_of_rank[1] = 0;
    a.node_of_rank[2] = 1;
    a.soak = (struct soak){ 1.5, NAN, 1.25, 900, 10 };
    const struct soak_part part = { 600, 0.5, (const double[]){ 0.25, 0.5, NAN }, (const double[]){ 3, 2, 1 } };
    snprintf(path, sizeof path, "%s", kit_path(k, "m.prom"));
    assert_int_equal(metrics_write(&a, &part, true, path), RC_OK);
    const char *text = kit_read(k, "m.prom");
    has(text, "\ngradmark_soak_node_compute_seconds{node=\"a\\\"b\\\\c\"} 0.5\n# TYPE");
    has(text, "\ngradmark_soak_node_wait_seconds{node=\"a\\\"b\\\\c\"} "
              "3\ngradmark_soak_node_wait_seconds{node=\"d\\ne\"} 1\n# EOF\n");
    has(text, "\ngradmark_soak_elapsed_seconds 90\n");
    assert_null(strstr(text, "drift")); /* accept.D1 */
    acceptance_close(&a);
}

/* --- the whole --- */

KIT_TEST(the_same_test_gives_the_same_bytes_P3)
{
    static const char *const name[] = { "acceptance.jsonl", "report.html", "junit.xml", "good.hosts",
                                        "bad.hosts",        "slurm.txt",   "SHA256SUMS" };
    struct kit *k = *state;
    char *first[sizeof name / sizeof *name];
    struct acceptance a;

    write_faulty(k, ALL_FAULTS);
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        first[i] = strdup(kit_read(k, name[i]));
    assert_int_equal(acceptance_load(&a, k->dir), RC_OK); /* of a loaded one, too */
    assert_int_equal(write_bundle(k, &a), RC_OK);
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        assert_string_equal(kit_read(k, name[i]), first[i]);
        free(first[i]);
    }
    acceptance_close(&a);
}

KIT_TEST(sums_are_of_all_other_files_P1)
{
    static const char *const name[] = { "acceptance.jsonl", "bad.hosts",     "criteria.yaml", "good.hosts",
                                        "junit.xml",        "manifest.json", "report.html",   "slurm.txt" };
    struct kit *k = *state;
    char expected[4096] = "";

    write_faulty(k, ALL_FAULTS);
    assert_int_equal(kit_count_files(k), 9);
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        unsigned char digest[crypto_hash_sha256_BYTES];
        char hex[2 * sizeof digest + 1];
        const char *text = kit_read(k, name[i]);
        assert_non_null(text);
        assert_true(strlen(text) < KIT_TEXT_BYTES - 1);
        crypto_hash_sha256(digest, (const unsigned char *)text, strlen(text));
        sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s  %s\n", hex, name[i]);
    }
    assert_string_equal(kit_read(k, "SHA256SUMS"), expected);
}

/* No file may be longer than so many bytes. */
KIT_TEST(a_full_disk_leaves_no_sums_P1)
{
    static const rlim_t most[] = { 0, 30, 100, 600, 5000, 10000, 20000 };
    struct kit *k = *state;
    struct acceptance a;
    struct rlimit kept, full;
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);

    kit_acceptance(&a, ALL_FAULTS);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &kept), 0);
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        full = kept;
        full.rlim_cur = most[i];
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
        const enum rc rc = write_bundle(k, &a);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &kept), 0);
        assert_int_equal(rc, RC_IO);
        assert_non_null(strstr(rc_message(), "write failed: File too large"));
        assert_null(kit_read(k, "SHA256SUMS"));
        assert_null(kit_read(k, "report.html")); /* whole or not at all */
    }
    signal(SIGXFSZ, handler);
    assert_int_equal(write_bundle(k, &a), RC_OK);
    assert_non_null(kit_read(k, "SHA256SUMS"));
    acceptance_close(&a);
}

/* What a process leaves that is killed between two stages: criteria and what was measured, and no verdict. */
KIT_TEST(a_partial_folder_is_judged_when_it_is_read)
{
    struct kit *k = *state;
    struct acceptance a, read;
    struct record *manifest = NULL;
    struct criteria c;

    kit_acceptance(&a, FAULT_IN_RANK);
    a.n_findings = a.n_criteria = 0;
    a.is_partial = true;
    a.outcome = OUTCOME_NO_DATA;
    for (int s = ACCEPT_NOISE; s < ACCEPT_N_STAGES; s++)
        a.stage[s].was_run = false;
    criteria_default(&c);
    assert_int_equal(criteria_set(&c, "stages=compute,noise,most_repeats_count=3,least_flops_per_s=4e10"), RC_OK);
    assert_int_equal(acceptance_keep(&a, k->dir), RC_OK);
    assert_int_equal(acceptance_read(&read, k->dir), RC_OK); /* without criteria: as it is */
    assert_int_equal(read.n_criteria, 0);
    acceptance_close(&read);
    manifest = record_open("accept");
    assert_int_equal(acceptance_begin(&c, manifest, k->dir), RC_OK);
    record_close(&manifest);
    has(kit_read(k, "manifest.json"), "\"accept\"");
    assert_int_equal(acceptance_load(&read, k->dir), RC_OK);
    assert_int_equal(read.n_criteria, 0);
    acceptance_close(&read);
    assert_int_equal(acceptance_read(&read, k->dir), RC_OK);
    assert_true(read.is_partial);
    assert_int_equal(read.outcome, OUTCOME_NO_DATA);
    assert_int_equal(read.stage[ACCEPT_COMPUTE].outcome, OUTCOME_FAIL);
    assert_int_equal(read.stage[ACCEPT_NOISE].outcome, OUTCOME_NO_DATA);
    assert_int_equal(read.stage[ACCEPT_PS].outcome, OUTCOME_SKIPPED);
    assert_int_equal(read.n_findings, 1);
    assert_true(read.finding[0].subject == SUBJECT_RANK && read.finding[0].a == 3);
    read.is_partial = false; /* a whole one is as it was judged when it was written */
    read.n_findings = 0;
    read.n_criteria = 0;
    assert_int_equal(acceptance_keep(&read, k->dir), RC_OK);
    acceptance_close(&read);
    assert_int_equal(acceptance_read(&read, k->dir), RC_OK);
    assert_int_equal(read.n_criteria, 0);
    acceptance_close(&read);
    acceptance_close(&a);
}

KIT_TEST(a_folder_that_is_not_there_is_told)
{
    struct kit gone = *(struct kit *)*state;
    struct acceptance a;

    snprintf(gone.dir, sizeof gone.dir, "/nowhere/at/all");
    kit_acceptance(&a, 0);
    assert_int_equal(write_bundle(&gone, &a), RC_INVAL);
    assert_names(rc_message(), "/nowhere/at/all/acceptance.jsonl:");
    acceptance_close(&a);
}

UNIT_MAIN("acceptance_bundle")
