/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_schema.c - the list of record_keys.h as a JSON Schema and as a page. Names and meanings of the list have no
 * character that JSON or Markdown would need escaped, which record_keys_test.c checks.
 */
#include <string.h>

#include "harness/report/record_keys.h"

enum { WORD_BYTES = 64, PAGE_COLUMNS = 110 };

static const struct {
    unsigned type;
    const char *json, *items, *page; /* items: type of the elements of an array */
} types[] = { { RECORD_WHOLE, "integer", NULL, "whole number" }, { RECORD_REAL, "number", NULL, "number" },
              { RECORD_BOOL, "boolean", NULL, "true, false" },   { RECORD_TEXT, "string", NULL, "text" },
              { RECORD_OBJECT, "object", NULL, "object" },       { RECORD_WHOLES, "array", "integer", "whole numbers" },
              { RECORD_REALS, "array", "number", "numbers" },    { RECORD_TEXTS, "array", "string", "texts" } };

enum { N_TYPES = sizeof types / sizeof *types };

/* The word at `at` of a list in which a blank follows each; returns what is behind it, NULL after the last. */
static const char *next_word(char out[WORD_BYTES], const char *at)
{
    const size_t n = strcspn(at, " ");

    if (n == 0 || n >= WORD_BYTES)
        return NULL;
    memcpy(out, at, n);
    out[n] = '\0';
    return at + n + 1;
}

/* --- JSON Schema --- */

static void print_key(FILE *to, const struct record_key *k)
{
    const char *unit = record_key_unit(k->name), *items = NULL;

    fprintf(to, "    \"key-%s\": { \"description\": \"%s\", ", k->name, k->meaning);
    if (unit[0])
        fprintf(to, "\"unit\": \"%s\", ", unit);
    fputs("\"type\": [", to);
    for (int i = 0; i < N_TYPES; i++)
        if (k->types & types[i].type) {
            fprintf(to, "\"%s\", ", types[i].json);
            items = types[i].items ? types[i].items : items;
        }
    fputs("\"null\"]", to);
    if (items)
        fprintf(to, ", \"items\": { \"type\": [\"%s\", \"null\"] }", items);
    fputs(" },\n", to);
}

static void print_properties(FILE *to, const char *keys, enum record_others others)
{
    char word[WORD_BYTES];

    /* An option may have the name of a key, and its own values. */
    for (const char *at = keys; (at = next_word(word, at));)
        if (others == RECORD_OPTIONS && !strchr(word, '_'))
            fprintf(to, ", \"%s\": true", word);
        else
            fprintf(to, ", \"%s\": { \"$ref\": \"#/$defs/key-%s\" }", word, word);
}

static void print_kind(FILE *to, const struct record_kind *kind, bool is_last)
{
    static const char *const pattern[] = { [RECORD_NO_OTHERS] = NULL,
                                           [RECORD_OPTIONS] = "^[A-Za-z0-9.-]+$",
                                           [RECORD_OPTIONS_OF_SIDES] = "^[ab]_[A-Za-z0-9.-]+$",
                                           [RECORD_CLUSTER_KEYS] = "^[a-z0-9_]+$" };

    fprintf(to, "    \"kind-%s\": { \"description\": \"%s\", \"type\": \"object\",\n      \"properties\": { ",
            kind->name, kind->meaning);
    fprintf(to, "\"kind\": { \"const\": \"%s\" }", kind->name);
    print_properties(to, kind->keys, kind->others);
    print_properties(to, record_keys_of_campaigns, RECORD_NO_OTHERS);
    fputs(" },\n", to);
    if (pattern[kind->others])
        fprintf(to, "      \"patternProperties\": { \"%s\": true },\n", pattern[kind->others]);
    fprintf(to, "      \"additionalProperties\": false, \"required\": [\"kind\"] }%s\n", is_last ? "" : ",");
}

void record_print_schema(FILE *to)
{
    fputs("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
          "  \"title\": \"Records of gradmark\",\n  \"type\": \"object\",\n  \"required\": [\"kind\"],\n"
          "  \"properties\": { \"kind\": { \"enum\": [",
          to);
    for (const struct record_kind *kind = record_kinds; kind->name; kind++)
        fprintf(to, "%s\"%s\"", kind == record_kinds ? "" : ", ", kind->name);
    fputs("] } },\n  \"allOf\": [\n", to);
    for (const struct record_kind *kind = record_kinds; kind->name; kind++)
        fprintf(to,
                "    { \"if\": { \"properties\": { \"kind\": { \"const\": \"%s\" } } }, "
                "\"then\": { \"$ref\": \"#/$defs/kind-%s\" } }%s\n",
                kind->name, kind->name, kind[1].name ? "," : "");
    fputs("  ],\n  \"$defs\": {\n", to);
    for (const struct record_key *k = record_keys; k->name; k++)
        print_key(to, k);
    for (const struct record_kind *kind = record_kinds; kind->name; kind++)
        print_kind(to, kind, !kind[1].name);
    fputs("  }\n}\n", to);
}

/* --- docs/records.md --- */

static void print_names(FILE *to, const char *keys)
{
    char word[WORD_BYTES];
    size_t n_used = 0;

    for (const char *at = keys; (at = next_word(word, at));) {
        const size_t n = strlen(word) + strlen("``");
        const bool is_first = n_used == 0, is_full = n_used + 1 + n > PAGE_COLUMNS;
        fprintf(to, "%s`%s`", is_first ? "" : is_full ? "\n" : " ", word);
        n_used = is_first || is_full ? n : n_used + 1 + n;
    }
}

static void print_kind_of_page(FILE *to, const struct record_kind *kind)
{
    static const char *const others[] = { [RECORD_NO_OTHERS] = "",
                                          [RECORD_OPTIONS] = "Names of options may be keys, too.\n",
                                          [RECORD_OPTIONS_OF_SIDES] =
                                              "`a_` or `b_` with the name of an option may be keys, too.\n",
                                          [RECORD_CLUSTER_KEYS] =
                                              "Names of a cluster description may be keys, too.\n" };

    fprintf(to, "\n### %s\n\n%s.\n", kind->name, kind->meaning);
    if (kind->keys[0])
        fputc('\n', to);
    print_names(to, kind->keys);
    fprintf(to, "%s%s%s", kind->keys[0] ? "\n" : "", others[kind->others][0] ? "\n" : "", others[kind->others]);
}

static void print_key_of_page(FILE *to, const struct record_key *k)
{
    const char *between = "";

    fprintf(to, "| `%s` | ", k->name);
    for (int i = 0; i < N_TYPES; i++)
        if (k->types & types[i].type) {
            fprintf(to, "%s%s", between, types[i].page);
            between = " or ";
        }
    fprintf(to, " | %s | %s |\n", record_key_unit(k->name), k->meaning);
}

void record_print_page(FILE *to)
{
    fputs("# Records\n\n"
          "```sh\nbuild/release/gradmark help --format records        # this page\n"
          "build/release/gradmark help --format json-schema    # the same for programs, as a JSON Schema\n```\n\n"
          "Every kind of record, and every key. gradmark writes no other keys.\n\n"
          "Every record has the key `kind`. Every value may be `null`: it is not known, or does not apply. A key is "
          "left\n"
          "out if it could never apply to the run. Ratios have no unit: 1 means 100 %. A record in the file of a\n"
          "campaign may also have the keys\n",
          to);
    print_names(to, record_keys_of_campaigns);
    fputs(".\n\n## Kinds\n", to);
    for (const struct record_kind *kind = record_kinds; kind->name; kind++)
        print_kind_of_page(to, kind);
    fputs("\n## Keys\n\n| key | type | unit | meaning |\n|---|---|---|---|\n", to);
    for (const struct record_key *k = record_keys; k->name; k++)
        print_key_of_page(to, k);
}
