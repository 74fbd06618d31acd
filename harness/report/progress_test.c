/* SPDX-License-Identifier: Apache-2.0 */
/* progress_test.c - lines of a log, and the redrawn line of a terminal, on a clock made by hand. */
#include "harness/base/suite/printed.h"
#include "harness/base/suite/terminal_kit.h"
#include "harness/base/suite/unit.h"
#include "harness/report/progress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define S UINT64_C(1000000000)

UNIT_TEST(a_log_gets_a_line_at_most_every_ten_seconds)
{
    struct progress p;
    struct printed printed;

    printed_begin(&printed);
    progress_init(&p, printed.to, 8, 100 * S);
    assert_false(p.is_terminal);
    progress_update(&p, 1, "lenet ps", 105 * S); /* too soon */
    progress_update(&p, 2, "lenet ps", 120 * S);
    progress_update(&p, 3, "linear none", 129 * S); /* too soon */
    progress_update(&p, 4, NULL, 130 * S);
    progress_fini(&p, 3770 * S);
    char *text = printed_end(&printed);
    assert_string_equal(text, "2/8, 25 %, 0:20 so far, about 1:00 to go: lenet ps\n"
                              "4/8, 50 %, 0:30 so far, about 0:30 to go\n"
                              "4/8, 50 %, ended after 1:01:10\n");
    free(text);
}

/* A minute without a finished piece has a line. */
UNIT_TEST(long_pieces_show_the_time)
{
    struct progress p;
    struct printed printed;

    printed_begin(&printed);
    progress_init(&p, printed.to, 8, 100 * S);
    progress_tick(&p, 159 * S); /* too soon */
    progress_tick(&p, 160 * S);
    progress_tick(&p, 219 * S); /* too soon */
    progress_update(&p, 1, "lenet ps", 220 * S);
    progress_tick(&p, 280 * S);
    char *text = printed_end(&printed);
    assert_string_equal(text, "0/8, 0 %, 1:00 so far\n"
                              "1/8, 12 %, 2:00 so far, about 14:00 to go: lenet ps\n"
                              "1/8, 12 %, 3:00 so far, about 21:00 to go\n");
    free(text);
}

/* A caller whose pieces are parts of a scale shows the part alone; what ended before its first piece shows nothing. */
UNIT_TEST(a_part_needs_no_number)
{
    struct progress p;
    struct printed printed;

    printed_begin(&printed);
    progress_init(&p, printed.to, 1000, 0);
    progress_fini(&p, 5 * S);
    p.hides_number = true;
    progress_weigh(&p, 0.9996);
    progress_update(&p, 999, "pairwise", 20 * S);
    progress_weigh(&p, 1);
    progress_update(&p, 1000, "", 30 * S);
    progress_fini(&p, 30 * S);
    char *text = printed_end(&printed);
    assert_string_equal(text, "99 %, 0:20 so far, about 0:00 to go: pairwise\n"
                              "100 %, took 0:30\n");
    free(text);
}

UNIT_TEST(nothing_to_do_is_done)
{
    struct progress p;
    struct printed printed;

    printed_begin(&printed);
    progress_init(&p, printed.to, 0, 0);
    progress_fini(&p, 0);
    char *text = printed_end(&printed);
    assert_string_equal(text, "0/0, 100 %, took 0:00\n");
    free(text);
}

UNIT_TEST(a_terminal_gets_one_line_redrawn)
{
    struct progress p;
    int reader;
    FILE *to = kit_terminal(&reader, 73);

    setenv("TERM", "xterm", 1);
    progress_init(&p, to, 4, 0);
    assert_true(p.is_terminal);
    progress_update(&p, 1, "µµµµ", 10 * S);
    /* Of 72 bytes 3 are left for the name: one letter, and no half of another. */
    kit_terminal_reads(reader, "\r[######..................] 1/4, 25 %, 0:10 so far, about 0:30 to go: µ\033[K");
    progress_fini(&p, 11 * S);
    kit_terminal_reads(reader, "\r\033[K");
    setenv("TERM", "dumb", 1); /* cannot move its cursor: treated as a file */
    progress_init(&p, to, 4, 0);
    assert_false(p.is_terminal);
    fclose(to);
    close(reader);
}

/* Above the line of a terminal, which the next update draws again; in a log at once, however soon. */
UNIT_TEST(what_is_said_has_a_line_of_its_own)
{
    for (int is_terminal = 0; is_terminal < 2; is_terminal++) {
        struct progress p;
        char *text = NULL;
        size_t n_bytes = 0;
        FILE *to = open_memstream(&text, &n_bytes);
        assert_non_null(to);
        progress_init(&p, to, 8, 100 * S);
        p.is_terminal = is_terminal;
        progress_say(&p, "%s failed, %d of %d", "lenet ps", 1, 3);
        assert_string_equal(text, is_terminal ? "\r\033[Klenet ps failed, 1 of 3\n" : "lenet ps failed, 1 of 3\n");
        rewind(to);
        progress_hide(&p); /* what others print is not behind the bar; a log has no bar */
        fflush(to);
        assert_int_equal(n_bytes, is_terminal ? 4 : 0);
        assert_memory_equal(text, "\r\033[K", n_bytes);
        fclose(to);
        free(text);
    }
}

UNIT_MAIN("progress")
