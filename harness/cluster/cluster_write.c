/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_write.c - see cluster_write.h. */
#include "harness/cluster/cluster_write.h"

#include <ctype.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/cluster/cluster_keys.h"

/* The loader takes values of at most 63 bytes, which text in quotes may be as escapes of 4. */
enum { LINE_CHARS = 120, VALUE_BYTES = 64, QUOTED_BYTES = 4 * VALUE_BYTES + 3, COMMENT_COLUMN = 32 };

static bool is_plain(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* out := text as a YAML value: as it is where nothing in it can mean anything, else in quotes. A '#' is escaped too:
 * who looks for the comment finds no other. */
static void quote(char out[QUOTED_BYTES], const char *text)
{
    bool needs_quotes = text[0] == '\0' || !isalpha((unsigned char)text[0]);
    size_t n = 0;

    for (const char *c = text; *c; c++)
        needs_quotes = needs_quotes || !is_plain(*c);
    if (!needs_quotes) {
        snprintf(out, QUOTED_BYTES, "%s", text);
        return;
    }
    out[n++] = '"';
    for (const char *c = text; *c; c++)
        n += (size_t)snprintf(out + n, QUOTED_BYTES - n, *c == '"' || *c == '\\' || *c == '#' ? "\\x%02x" : "%c",
                              (unsigned char)*c);
    snprintf(out + n, QUOTED_BYTES - n, "\"");
}

/* text as a comment behind column `column`, wrapped at spaces; what does not fit goes on in lines of its own. Runs of
 * spaces become one. */
static void write_comment(FILE *to, const char *text, int column)
{
    bool is_first = true;

    for (const char *word = text + strspn(text, " "); *word; word += strspn(word, " ")) {
        const int n = (int)strcspn(word, " ");
        if (is_first)
            column += fprintf(to, "%*s# ", column < COMMENT_COLUMN ? COMMENT_COLUMN - column : 1, "");
        else if (column + 1 + n > LINE_CHARS) {
            column = fprintf(to, "\n%*s# ", COMMENT_COLUMN, "") - 1;
        } else
            column += fprintf(to, " ");
        for (int i = 0; i < n; i++)
            fputc((unsigned char)word[i] < 0x20 || word[i] == 0x7f ? '?' : word[i], to);
        column += n;
        is_first = false;
        word += n;
    }
    fputc('\n', to);
}

static void write_key(FILE *to, const struct cluster *c, int key, const char *source)
{
    static const char assumed[] = "assumed";
    char value[VALUE_BYTES], quoted[QUOTED_BYTES], comment[CLUSTER_SOURCE_BYTES + sizeof assumed + 2];
    const bool adds = c->assumed >> key & 1 && strncmp(source, assumed, strlen(assumed)) != 0; /* B3 */

    cluster_key_format(c, key, value, sizeof value);
    quote(quoted, value);
    snprintf(comment, sizeof comment, "%s%s%s", adds ? assumed : "", adds && source[0] ? ": " : "", source);
    write_comment(
        to, comment,
        fprintf(to, "%s: %s", cluster_keys[key].name, cluster_keys[key].type == CLUSTER_TEXT ? quoted : value));
}

/* Does the loader know it without being told? */
static bool is_idle_default(const struct cluster *c, int key)
{
    char value[VALUE_BYTES], standard[VALUE_BYTES];
    struct cluster d;

    cluster_default(&d);
    cluster_key_format(c, key, value, sizeof value);
    cluster_key_format(&d, key, standard, sizeof standard);
    return c->assumed >> key & 1 && !cluster_key_matters(c, key) && strcmp(value, standard) == 0;
}

enum rc cluster_write(const struct cluster *c, const struct cluster_sources *sources, const char *head,
                      const char *path)
{
    struct atomic_file file = { 0 };
    int key = 0;
    enum rc rc;

    TRY(cluster_keys_agree(c, &key));
    TRY(atomic_file_open(&file, path));
    for (const char *line = head ? head : ""; *line; line += line[strcspn(line, "\n")] == '\n') {
        const int n = (int)strcspn(line, "\n");
        fprintf(file.stream, "#%s%.*s\n", n > 0 ? " " : "", n, line);
        line += n;
    }
    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        if (!is_idle_default(c, i))
            write_key(file.stream, c, i, sources->text[i]);
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}
