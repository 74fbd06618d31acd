/* SPDX-License-Identifier: Apache-2.0 */
/* seal_test.c - lines with a running digest, and what is found when one of them was changed. */
#include "harness/base/suite/unit.h"
#include "harness/report/seal.h"

#include <stdlib.h>
#include <string.h>

/* Digests as coreutils have them: d1=$(printf '{"a":1}' | sha256sum | cut -c1-32), and
 * d2=$(printf '%s{"b":"x"}' "$d1" | sha256sum | cut -c1-32). */
#define D1 "015abd7f5cc57a2dd94b7590f04ad808"
#define D2 "5ead2e913221129892666153a9a20051"
static const char PLAIN[] = "{\"a\":1}\n{\"b\":\"x\"}\n{\"a\":1}\n";
static const char FIRST[] = "{\"a\":1,\"chain_sha256\":\"" D1 "\"}\n",
                  SECOND[] = "{\"b\":\"x\",\"chain_sha256\":\"" D2 "\"}\n";

static char *sealed(struct seal *s, const char *text)
{
    size_t n_bytes = 0;
    char *out = NULL;

    assert_int_equal(seal_lines(s, &out, &n_bytes, text, strlen(text)), RC_OK);
    assert_int_equal(strlen(out), n_bytes);
    return out;
}

UNIT_TEST(digests_are_those_of_sha256sum)
{
    struct seal s = { "" };
    char *text = sealed(&s, PLAIN), both[256];

    snprintf(both, sizeof both, "%s%s", FIRST, SECOND);
    assert_memory_equal(text, both, strlen(both));
    assert_memory_equal(text + strlen(text) - 3 - strlen(s.last), s.last, strlen(s.last));
    free(text);
}

/* In pieces, and of lines that have seals already, of another place. */
UNIT_TEST(lines_are_sealed_in_pieces_and_anew)
{
    struct seal whole = { "" }, s = { "" }, again = { "" };
    char *text = sealed(&whole, PLAIN), *first = sealed(&s, "{\"a\":1}\n"), *rest = sealed(&s, strchr(PLAIN, '\n') + 1);
    char *anew = sealed(&again, text);

    assert_memory_equal(text, first, strlen(first));
    assert_string_equal(text + strlen(first), rest);
    assert_string_equal(s.last, whole.last);
    assert_string_equal(anew, text);
    free(anew);
    anew = sealed(&(struct seal){ "" }, rest); /* without the first line */
    assert_int_equal(strlen(anew), strlen(rest));
    assert_string_not_equal(anew, rest);
    free(anew);
    free(text);
    free(first);
    free(rest);
}

static enum seal_found found(struct seal *s, const char *line)
{
    return seal_check(s, line, strlen(line));
}

UNIT_TEST(what_was_changed_does_not_fit)
{
    static const struct {
        const char *line;
        enum seal_found found, next; /* next: of SECOND behind it */
    } cases[] = {
        { FIRST, SEAL_FITS, SEAL_FITS },
        { "{\"a\":1,\"chain_sha256\":\"" D1 "\"}", SEAL_FITS, SEAL_FITS },    /* no line feed */
        { "{\"a\":3,\"chain_sha256\":\"" D1 "\"}\n", SEAL_OTHER, SEAL_FITS }, /* a digit; of what follows it tells */
        { "{\"a\":1,\"chain_sha256\":\"0" D2 "\"}\n", SEAL_OTHER, SEAL_OTHER },
        { "{\"a\":1,\"chain_sha256\":\"115abd7f5cc57a2dd94b7590f04ad808\"}\n", SEAL_OTHER, SEAL_OTHER },
        { "{\"a\":1,\"chain_sha256\":\"015ABD7F5CC57A2DD94B7590F04AD808\"}\n", SEAL_OTHER, SEAL_OTHER },
        { "{\"a\":1,\"chain_sha256\":\"\"}\n", SEAL_OTHER, SEAL_OTHER },
        { "{\"a\": 1, \"chain_sha256\": \"" D1 "\"}\n", SEAL_OTHER, SEAL_OTHER }, /* written anew */
        { "{\"chain_sha256\":\"" D1 "\",\"a\":1}\n", SEAL_OTHER, SEAL_OTHER },
        { "{\"a\":1,\"chain_sha256\":\"" D1 "\"}\r\n", SEAL_FITS, SEAL_FITS }, /* as an editor saves it */
        { "{\"a\":1}\n", SEAL_NONE, SEAL_OTHER },
        { "{\"a\":1,\"thain_sha256\":\"" D1 "\"}\n", SEAL_NONE, SEAL_OTHER }, /* another key of the same length */
        { "{\"a\":\"\\\"chain_sha256\\\"\"}\n", SEAL_NONE, SEAL_OTHER },      /* a text, no key */
        { "}\n", SEAL_NONE, SEAL_OTHER },
        { "\n", SEAL_NONE, SEAL_OTHER },
        { "", SEAL_NONE, SEAL_OTHER },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct seal s = { "" };
        if (found(&s, cases[i].line) != cases[i].found)
            fail_msg("line %zu: %s", i, cases[i].line);
        if (found(&s, SECOND) != cases[i].next)
            fail_msg("behind line %zu: %s", i, cases[i].line);
    }
}

UNIT_TEST(what_is_missing_moved_or_joined_does_not_fit)
{
    struct seal s = { "" };

    assert_int_equal(found(&s, SECOND), SEAL_OTHER); /* the first line is missing, or behind it */
    assert_int_equal(found(&s, FIRST), SEAL_OTHER);
    s = (struct seal){ "" };
    assert_int_equal(found(&s, FIRST), SEAL_FITS);
    assert_int_equal(found(&s, FIRST), SEAL_OTHER); /* twice there */
    assert_int_equal(found(&s, SECOND), SEAL_FITS);
}

UNIT_MAIN("seal")
