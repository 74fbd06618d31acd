/* SPDX-License-Identifier: Apache-2.0 */
/* charts_test_kit.h - the charts of a campaign, drawn with a gnuplot that is a script and notes how it was called. */
#ifndef HARNESS_CAMPAIGN_SUITE_CHARTS_TEST_KIT_H
#define HARNESS_CAMPAIGN_SUITE_CHARTS_TEST_KIT_H

#include <sys/stat.h>

#include "harness/campaign/suite/campaign_test_kit.h"

static const char GNUPLOT[] = "#!/bin/sh\n"
                              "[ \"$1\" = --version ] && exit 0\n"
                              "eval \"$2\"\n" /* the assignments read as those of a shell */
                              "printf '%s %s %s %s|%s|%s|%s|%s|%s\\n' \"${3##*/}\" \"${data##*/}\" \"$format\" "
                              "\"${out##*/}\" \"$model\" \"$scaling\" "
                              "\"$machine\" \"$launches\" \"$exchange\" >>\"${0%/*}/calls\"\n"
                              "[ -e \"${0%/*}/fails-${3##*/}\" ] && { echo No valid data points >&2; exit 1; }\n"
                              "printf '%0300d' 0 >\"$out\"\n";

/* campaign_draw() with a PATH that holds the kit's folder only. *told: what it prints; the caller frees it. */
static inline enum rc draw_telling(struct kit *k, const struct campaign *c, bool with_gnuplot, char **told)
{
    const char *path = getenv("PATH");
    char saved[4096];
    size_t n_bytes = 0;

    *told = NULL;
    FILE *to = open_memstream(told, &n_bytes);
    assert_non_null(to);

    snprintf(saved, sizeof saved, "%s", path ? path : "");
    if (with_gnuplot) {
        assert_true(kit_write(k, "gnuplot", GNUPLOT));
        assert_int_equal(chmod(kit_path(k, "gnuplot"), 0700), 0);
    }
    setenv("PATH", k->dir, 1);
    const enum rc rc = campaign_draw(c, to);
    setenv("PATH", saved, 1);
    assert_int_equal(fclose(to), 0);
    return rc;
}

static inline enum rc draw(struct kit *k, const struct campaign *c, bool with_gnuplot)
{
    char *told;
    const enum rc rc = draw_telling(k, c, with_gnuplot, &told);

    assert_string_equal(told, "");
    free(told);
    return rc;
}

static inline int n_lines(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

#endif
