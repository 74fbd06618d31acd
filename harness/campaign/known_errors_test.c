/* SPDX-License-Identifier: Apache-2.0 */
/* known_errors_test.c - made-up errors whose ranges are counted by hand, and the table that is compiled in. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/campaign/known_errors.h"
#include "harness/campaign/reproduce.h"

#define HEADER "# made up\nexchange,hosts,table,line,cluster,error_points,fit_points\n"
#define WITHOUT_FITS                                                                                                 \
    HEADER "collective,several,a,4,x,-10,\ncollective,several,a,5,x,20,\ncollective,several,a,6,x,-30,\ncollective," \
           "several,a,7,x,-40,\n"                                                                                    \
           "collective,several,b,4,y,5,\ncollective,several,b,5,z,2,\ncollective,several,c,4,w,-1,\n"                \
           "collective,several,e,4,v,-3,\ncollective,several,f,4,u,4,\n"                                             \
           "servers,several,d,4,y,-50,\nservers,several,d,5,w,7,\n"                                                  \
           "collective,one,a,8,x,-3,\n"

static const char made_up[] = WITHOUT_FITS;
/* 3, 1, 2, 4 and 3 times the error of their fits, which is at least a point */
static const char with_fits[] =
    WITHOUT_FITS "collective,several,a,5,x,-6,2\ncollective,one,b,6,z,1,0.5\nservers,several,d,5,w,8,4\n"
                 "collective,one,e,5,v,-4,1\ncollective,several,e,6,v,3,1\n";

static void assert_range(const char *text, const struct known_errors_of *of, const struct known_errors_range *want)
{
    struct known_errors e;
    struct known_errors_range r;

    assert_int_equal(known_errors_read(&e, text), RC_OK);
    assert_int_equal(known_errors_find(&r, &e, of), RC_OK);
    if (!(fabs(r.most - want->most) < 1e-12) || r.is_of_fits != want->is_of_fits || r.n_rows != want->n_rows ||
        r.n_tables != want->n_tables || r.has_both_exchanges != want->has_both_exchanges)
        fail_msg("%s: %g of %zu rows of %zu tables", of->cluster, r.most, r.n_rows, r.n_tables);
    known_errors_close(&e);
}

/* Six tables and one more weigh 1 each, the rows of a 1/4: 5.6 of 7 is reached with -30. */
UNIT_TEST(each_table_weighs_the_same_E3_E4)
{
    const struct known_errors_of of = { .is_on_several = true, .cluster = "new" };
    const struct known_errors_range want = { .most = 0.30, .n_rows = 9, .n_tables = 6 };

    assert_range(made_up, &of, &want);
    assert_range(with_fits, &of, &want);
}

/* Without a five tables are left: 4.8 of 6. */
UNIT_TEST(rows_of_the_same_hosts_are_left_out_E1)
{
    const struct known_errors_of of = { .is_on_several = true, .cluster = "x" };
    const struct known_errors_range want = { .most = 0.05, .n_rows = 5, .n_tables = 5 };

    assert_range(made_up, &of, &want);
}

/* Servers on several hosts are in two tables: rings count, too, and 7.2 of 9 is only reached with -50. On one host is
 * one row, and none beside its own. */
UNIT_TEST(few_tables_take_the_other_exchange_E2)
{
    const struct known_errors_of servers = { .has_servers = true, .is_on_several = true, .cluster = "new" };
    const struct known_errors_range of_eight = {
        .most = 0.50, .n_rows = 11, .n_tables = 8, .has_both_exchanges = true
    };
    const struct known_errors_of one = { .has_servers = true, .cluster = "new" }, own = { .cluster = "x" };
    const struct known_errors_range of_one = { .most = 0.03, .n_rows = 1, .n_tables = 1, .has_both_exchanges = true };
    struct known_errors e;
    struct known_errors_range r;

    assert_range(made_up, &servers, &of_eight);
    assert_range(made_up, &one, &of_one);
    assert_int_equal(known_errors_read(&e, made_up), RC_OK);
    assert_int_equal(known_errors_find(&r, &e, &own), RC_OK);
    assert_true(isnan(r.most) && r.n_rows == 0);
    known_errors_close(&e);
}

/* Of five fits the largest counts, if none has more than four rows. Without x there are four, and the errors without
 * fits count. */
UNIT_TEST(fits_are_judged_by_fits_E5)
{
    struct known_errors_of of = { .is_on_several = true, .is_fitted = true, .cluster = "new" };
    const struct known_errors_range want = {
        .most = 4, .is_of_fits = true, .n_rows = 5, .n_tables = 5, .has_both_exchanges = true
    };
    const struct known_errors_range unfitted = { .most = 0.05, .n_rows = 5, .n_tables = 5 };

    assert_range(with_fits, &of, &want);
    of.cluster = "x";
    assert_range(with_fits, &of, &unfitted);
}

UNIT_TEST(what_is_no_table_is_refused)
{
    static const struct {
        const char *text, *line;
    } wrong[] = { { "", "errors.csv:1:" },
                  { "# made up\n", "errors.csv:2:" },
                  { HEADER, "errors.csv:3:" },
                  { HEADER "collective,several,a,4,x,1 x,\n", "errors.csv:3:" },
                  { HEADER "collective,several,a,4,x,,\n", "errors.csv:3:" },
                  { "collective,several,a,4,x,1,\n", "errors.csv:1:" },
                  { HEADER "collective,several,a,4,x,1,\ncollective,many,a,4,x,1,\n", "errors.csv:4:" },
                  { HEADER "tree,several,a,4,x,1,\n", "errors.csv:3:" },
                  { HEADER "collective,several,a,4,x,nan,\n", "errors.csv:3:" },
                  { HEADER "collective,several,a,4,x,1\n", "errors.csv:3:" },
                  { HEADER "collective,several,a,4,x,1,-1\n", "errors.csv:3:" },
                  { HEADER "collective,several,a,4,x,1,no\n", "errors.csv:3:" } };
    struct known_errors e;

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
UNIT_TEST(without_any_error_there_is_no_band)
{
    static struct used_cluster cluster = { .cluster = { .name = "new", .n_ranks_per_host = 4 } };
    const struct published_row row = { .line = 2 };
    const struct reproduce_terms terms = { .has_bands = true };
    struct point_of_row p = { .row = &row, .mode = ROW_COLLECTIVE, .n_gpus = 8, .has_band = true };
    const struct reproduction r = { .terms = &terms, .cluster = &cluster, .point = &p, .n_points = 1 };
    char line[200] = "";

    p.predicted_ratio = 0.5;
    p.known = (struct known_errors_range){ .most = NAN };
    reproduction_find_band(&r, &p);
    assert_true(isnan(p.band.low) && isnan(p.band.high) && isnan(p.assumed_low));
    reproduction_band_lines(&r, keep_line, line);
    assert_string_equal(line,
                        "new, ring on several hosts: band: no other published table has such rows; of constants alone");
}

struct held {
    size_t n_rows, n_held;
};

/* How many published rows, or rows after a fit, lie within what all other hosts say? Those of hosts without which too
 * few fits are left are not judged by fits. */
static struct held count_held(const struct known_errors *e, bool of_fits)
{
    struct held held = { .n_rows = 0 };
    struct known_errors_range r;

    for (size_t i = 0; i < e->n_rows; i++) {
        const struct known_error *row = &e->row[i];
        const struct known_errors_of of = { .has_servers = row->has_servers,
                                            .is_on_several = row->is_on_several,
                                            .is_fitted = of_fits,
                                            .cluster = row->cluster };
        if (!isnan(row->fit_ratio) != of_fits)
            continue;
        assert_int_equal(known_errors_find(&r, e, &of), RC_OK);
        assert_true(r.most > 0 && r.n_tables >= KNOWN_ERRORS_LEAST && (of_fits || !r.is_of_fits));
        if (r.is_of_fits != of_fits)
            continue;
        held.n_held += fabs(row->ratio) <= r.most * (of_fits ? fmax(KNOWN_ERRORS_OF_FIT, row->fit_ratio) : 1);
        held.n_rows++;
    }
    printf("%zu of %zu rows%s lie within the errors of other tables\n", held.n_held, held.n_rows,
           of_fits ? " after a fit" : "");
    return held;
}

UNIT_TEST(the_table_holds_its_own_rows_E4)
{
    struct known_errors e;

    assert_int_equal(known_errors_open(&e), RC_OK);
    const struct held unfitted = count_held(&e, false), fitted = count_held(&e, true);
    assert_true(unfitted.n_rows > 100 && 10 * unfitted.n_held >= 8 * unfitted.n_rows);
    assert_true(unfitted.n_held < unfitted.n_rows);
    assert_true(fitted.n_rows > 5 && 10 * fitted.n_held >= 8 * fitted.n_rows);
    known_errors_close(&e);
}

UNIT_MAIN("known_errors")
