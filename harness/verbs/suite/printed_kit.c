/* SPDX-License-Identifier: Apache-2.0 */
/* printed_kit.c - see printed_kit.h. */
#include "harness/verbs/suite/printed_kit.h"

#include <stdlib.h>
#include <string.h>

#include "harness/verbs/train_report.h"

/* Lines that were broken are whole again. */
static void join_lines(char *text)
{
    const size_t n_least = 3; /* blanks before what continues a line */
    char *to = text;

    for (const char *at = text; *at;) {
        const size_t n_blanks = *at == '\n' ? strspn(at + 1, " ") : 0;
        *to++ = n_blanks >= n_least ? ' ' : *at;
        at += n_blanks >= n_least ? 1 + n_blanks : 1;
    }
    *to = '\0';
}

char *printed_run(const struct made_run *m, const struct train_summary *s, bool with_lines)
{
    struct printed p;

    printed_begin(&p);
    assert_int_equal(train_print(p.to, &m->job, &m->result, s, with_lines), RC_OK);
    char *text = printed_end(&p);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        assert_true(strcspn(line, "\n") <= 102); /* bytes; columns are fewer */
    }
    join_lines(text);
    return text;
}

void assert_row_of(const struct made_run *m, const struct train_summary *s, const char *name, const char *expected)
{
    char *text = printed_run(m, s, false), *row, *rest = NULL;

    for (row = strtok_r(text, "\n", &rest); row; row = strtok_r(NULL, "\n", &rest))
        if (strncmp(row, name, strlen(name)) == 0 && strncmp(row + strlen(name), "  ", 2) == 0)
            break;
    if (!row)
        fail_msg("no row %s", name);
    row += strlen(name);
    assert_string_equal(row + strspn(row, " "), expected);
    free(text);
}

void assert_row(const struct made_run *m, const char *name, const char *expected)
{
    struct train_summary s;

    assert_int_equal(train_summarise(&s, &m->job, &m->result), RC_OK);
    assert_row_of(m, &s, name, expected);
}
