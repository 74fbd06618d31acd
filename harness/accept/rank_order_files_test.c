/* SPDX-License-Identifier: Apache-2.0 */
/* rank_order_files_test.c - what a bundle says of orders of ranks: the files for launchers, and the page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/accept/acceptance_report.h"
#include "harness/accept/suite/acceptance_kit.h"
#include "harness/report/record.h"
#include "harness/report/suite/report_kit.h"

/* best: the order that is to be written; -1: none was measured. */
static void write_best(struct kit *k, int best)
{
    const struct criteria criteria = { .name = "four" };
    struct record *manifest = NULL;
    struct acceptance a;

    kit_acceptance(&a, 0);
    if (best >= 0) {
        kit_add_rank_orders(&a);
        a.rank_order[RANK_ORDER_SWITCHES].is_best = false;
        a.rank_order[best].is_best = true;
    }
    manifest = record_open("manifest");
    if (acceptance_write(&a, &criteria, manifest, k->dir) != RC_OK)
        fail_msg("%s", rc_message());
    record_close(&manifest);
    acceptance_close(&a);
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("nothing in\n%.3000s\nis: %s", text, part);
}

#define HEAD_(order)                                                         \
    "# order of ranks: " order "; line by line the host of rank 0, 1, ...\n" \
    "# mpirun --map-by seq --hostfile FILE; SLURM_HOSTFILE=FILE srun --distribution=arbitrary\n"
#define SLURM_ "--nodelist=host[1-4]\n# no node for --exclude\n"

KIT_TEST(the_best_order_is_a_file)
{
    struct kit *k = *state;

    write_best(k, RANK_ORDER_SWITCHES);
    assert_string_equal(kit_read(k, "rank_order.hosts"),
                        HEAD_("switches") "host1\nhost1\nhost3\nhost3\nhost2\nhost2\nhost4\nhost4\n");
    assert_string_equal(kit_read(k, "slurm.txt"), SLURM_ "# with SLURM_HOSTFILE=rank_order.hosts in the environment:\n"
                                                         "--distribution=arbitrary\n");
    has(kit_read(k, "SHA256SUMS"), "  rank_order.hosts\n");
}

KIT_TEST(slurm_has_words_for_two_orders)
{
    struct kit *k = *state;

    write_best(k, RANK_ORDER_SPREAD);
    assert_string_equal(kit_read(k, "rank_order.hosts"),
                        HEAD_("spread") "host1\nhost2\nhost3\nhost4\nhost1\nhost2\nhost3\nhost4\n");
    assert_string_equal(kit_read(k, "slurm.txt"), SLURM_ "--distribution=cyclic\n");
    write_best(k, RANK_ORDER_LAUNCHER); /* which is packed */
    assert_string_equal(kit_read(k, "slurm.txt"), SLURM_ "--distribution=block\n");
}

KIT_TEST(without_figures_there_is_no_file)
{
    struct kit *k = *state;

    write_best(k, -1);
    assert_int_equal(access(kit_path(k, "rank_order.hosts"), F_OK), -1);
    assert_null(strstr(kit_read(k, "SHA256SUMS"), "rank_order"));
    assert_string_equal(kit_read(k, "slurm.txt"), SLURM_);
    assert_null(strstr(kit_read(k, "report.html"), "Orders of ranks"));
}

/* accept.P5: of a part of the ranks there is no order. */
KIT_TEST(a_strange_name_leaves_no_order)
{
    const struct criteria criteria = { .name = "four" };
    struct record *manifest = NULL;
    struct kit *k = *state;
    struct acceptance a;

    kit_acceptance(&a, 0);
    kit_add_rank_orders(&a);
    snprintf(a.node[2].name, sizeof a.node[2].name, "x\nhost9");
    manifest = record_open("manifest");
    assert_int_equal(acceptance_write(&a, &criteria, manifest, k->dir), RC_OK);
    record_close(&manifest);
    assert_string_equal(kit_read(k, "rank_order.hosts"),
                        HEAD_("switches") "# none: the name of a node is no name of a host\n");
    acceptance_close(&a);
}

KIT_TEST(the_page_has_every_order)
{
    struct kit *k = *state;

    write_best(k, RANK_ORDER_SWITCHES);
    const char *page = kit_read(k, "report.html");
    has(page, "<h2>Orders of ranks</h2>");
    has(page, "<tr><td>pack</td><td class=\"n\" data-n=\"90000000\">90 MB/s</td><td class=\"n\" "
              "data-n=\"89000000\">89 MB/s to 91 MB/s</td><td class=\"n\" data-n=\"100\">100 %</td>");
    has(page, "<td>as launcher</td></tr>\n<tr><td>spread</td><td class=\"n\" data-n=\"45000000\">45 MB/s</td>");
    has(page, "<td>the best; switches as Slurm knows them</td></tr>\n");
    has(page, "<tr><td>shortest</td><td class=\"n\">-</td>");
    has(page, "rank_order.hosts has the order switches, a host for each rank.</p>");
    write_best(k, RANK_ORDER_SPREAD);
    has(kit_read(k, "report.html"),
        "rank_order.hosts has the order spread, a host for each rank; Slurm makes it by --distribution=cyclic.</p>");
}

UNIT_MAIN("rank_order_files")
