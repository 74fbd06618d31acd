/* SPDX-License-Identifier: Apache-2.0 */
/* known_errors_test.c - made-up errors whose ranges are counted by hand, and the table that is compiled in. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/campaign/known_errors.h"
#include "harness/campaign/reproduce.h"

#define HEADER "# made up\nexchange,hosts,table,line,cluster,error_points\n"

static const char made_up[] =
    HEADER "collective,several,a,4,x,-10\ncollective,several,a,5,x,-20\ncollective,several,a,6,x,-30\ncollective,"
           "several,a,7,x,-40\n"
           "collective,several,b,4,y,5\ncollective,several,b,5,z,2\ncollective,several,c,4,w,-1\n"
           "servers,several,d,4,y,-50\nservers,several,d,5,w,7\n"
           "collective,one,a,8,x,-3\n";

static void assert_range(const char *text, const struct known_errors_of *of, const struct known_errors_range *want)
{
    struct known_errors e;
    struct known_errors_range r;

    assert_int_equal(known_errors_read(&e, text), RC_OK);
    assert_int_equal(known_errors_find(&r, &e, of), RC_OK);
    if (!(fabs(r.low - want->low) < 1e-12) || !(fabs(r.high - want->high) < 1e-12) || r.n_rows != want->n_rows ||
        r.n_tables != want->n_tables || r.has_both_exchanges != want->has_both_exchanges)
        fail_msg("%s: %g to %g of %zu rows of %zu tables", of->cluster, r.low, r.high, r.n_rows, r.n_tables);
    known_errors_close(&e);
}

/* Four tables weigh 1 each, the rows of a 1/4: 0.4 is reached with -30, 3.6 with 5. */
static void each_table_weighs_the_same_E3(void **state)
{
    const struct known_errors_of of = { .is_on_several = true, .cluster = "new" };
    const struct known_errors_range want = { .low = -0.30, .high = 0.05, .n_rows = 7, .n_tables = 4 };

    (void)state;
    assert_range(made_up, &of, &want);
}

/* Without a three tables are left, and none is below. */
static void rows_of_the_same_hosts_are_left_out_E1(void **state)
{
    const struct known_errors_of of = { .is_on_several = true, .cluster = "x" };
    const struct known_errors_range want = { .low = -0.01, .high = 0.05, .n_rows = 3, .n_tables = 3 };

    (void)state;
    assert_range(made_up, &of, &want);
}

/* Servers on several hosts are in two tables: rings count, too. On one host is one row, and none beside its own. */
static void few_tables_take_the_other_exchange_E2(void **state)
{
    const struct known_errors_of servers = { .has_servers = true, .is_on_several = true, .cluster = "new" };
    const struct known_errors_range of_six = {
        .low = -0.50, .high = 0.07, .n_rows = 9, .n_tables = 6, .has_both_exchanges = true
    };
    const struct known_errors_of one = { .has_servers = true, .cluster = "new" }, own = { .cluster = "x" };
    const struct known_errors_range of_one = {
        .low = -0.03, .high = 0, .n_rows = 1, .n_tables = 1, .has_both_exchanges = true
    };
    struct known_errors e;
    struct known_errors_range r;

    (void)state;
    assert_range(made_up, &servers, &of_six);
    assert_range(made_up, &one, &of_one);
    assert_int_equal(known_errors_read(&e, made_up), RC_OK);
    assert_int_equal(known_errors_find(&r, &e, &own), RC_OK);
    assert_true(isnan(r.low) && isnan(r.high) && r.n_rows == 0);
    known_errors_close(&e);
}

static void what_is_no_table_is_refused(void **state)
{
    static const struct {
        const char *text, *line;
    } wrong[] = { { "", "errors.csv:1:" },
                  { "# made up\n", "errors.csv:2:" },
                  { HEADER, "errors.csv:3:" },
                  { HEADER "collective,several,a,4,x,1 x\n", "errors.csv:3:" },
                  { HEADER "collective,several,a,4,x,\n", "errors.csv:3:" },
                  { "collective,several,a,4,x,1\n", "errors.csv:1:" },
                  { HEADER "collective,several,a,4,x,1\ncollective,many,a,4,x,1\n", "errors.csv:4:" },
                  { HEADER "tree,several,a,4,x,1\n", "errors.csv:3:" },
                  { HEADER "collective,several,a,4,x,nan\n", "errors.csv:3:" },
                  { HEADER "collective,several,a,4,x\n", "errors.csv:3:" } };
    struct known_errors e;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(known_errors_read(&e, wrong[i].text), RC_INVAL);
        assert_non_null(strstr(rc_message(), wrong[i].line));
    }
}

static void keep_line(void *to, const char *line)
{
    snprintf(to, 200, "%s", line);
}

/* Nothing is assumed, and no other table has such rows: there is no band, and the line says why. */
static void without_any_error_there_is_no_band(void **state)
{
    static struct used_cluster cluster = { .cluster = { .name = "new", .n_ranks_per_host = 4 } };
    const struct published_row row = { .line = 2 };
    const struct reproduce_terms terms = { .has_bands = true };
    struct point_of_row p = { .row = &row, .mode = ROW_COLLECTIVE, .n_gpus = 8, .has_band = true };
    const struct reproduction r = { .terms = &terms, .cluster = &cluster, .point = &p, .n_points = 1 };
    char line[200] = "";

    (void)state;
    p.predicted_ratio = 0.5;
    p.known = (struct known_errors_range){ .low = NAN, .high = NAN };
    reproduction_find_band(&r, &p);
    assert_true(isnan(p.band.low) && isnan(p.band.high) && isnan(p.assumed_low));
    reproduction_band_lines(&r, keep_line, line);
    assert_string_equal(line,
                        "new, ring on several hosts: band: no other published table has such rows; of constants alone");
}

/* Of each published row: do 70 to 90 of 100 lie within what all other hosts say? */
static void the_table_holds_its_own_rows(void **state)
{
    struct known_errors e;
    struct known_errors_range r;
    size_t n_held = 0;

    (void)state;
    assert_int_equal(known_errors_open(&e), RC_OK);
    for (size_t i = 0; i < e.n_rows; i++) {
        const struct known_errors_of of = { .has_servers = e.row[i].has_servers,
                                            .is_on_several = e.row[i].is_on_several,
                                            .cluster = e.row[i].cluster };
        assert_int_equal(known_errors_find(&r, &e, &of), RC_OK);
        assert_true(r.n_tables >= KNOWN_ERRORS_LEAST && r.low <= 0 && r.high >= 0);
        n_held += e.row[i].ratio >= r.low && e.row[i].ratio <= r.high;
    }
    printf("%zu of %zu rows lie within the errors of other tables\n", n_held, e.n_rows);
    assert_true(e.n_rows > 100 && 10 * n_held >= 7 * e.n_rows && 10 * n_held <= 9 * e.n_rows);
    known_errors_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_table_weighs_the_same_E3),
        cmocka_unit_test(rows_of_the_same_hosts_are_left_out_E1),
        cmocka_unit_test(few_tables_take_the_other_exchange_E2),
        cmocka_unit_test(what_is_no_table_is_refused),
        cmocka_unit_test(without_any_error_there_is_no_band),
        cmocka_unit_test(the_table_holds_its_own_rows),
    };

    return cmocka_run_group_tests_name("known_errors", tests, NULL, NULL);
}
