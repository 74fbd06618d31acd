/* SPDX-License-Identifier: Apache-2.0 */
/* diff_conditions.c - what differs beside the figures of two campaigns (diff.N3). */
#include <string.h>

#include "harness/campaign/diff_parts.h"
#include "harness/report/digest.h"

enum { SHOWN_BYTES = 200, SHOWN_TEXT_BYTES = SHOWN_BYTES + 8 };

/* Of the same text, whole? */
static bool is_same(const json_t *a, const json_t *b)
{
    char first[DIFF_TEXT_BYTES], second[DIFF_TEXT_BYTES];

    if (json_is_string(a) && json_is_string(b))
        return strcmp(json_string_value(a), json_string_value(b)) == 0;
    recorded_text(first, sizeof first, a);
    recorded_text(second, sizeof second, b);
    return strcmp(first, second) == 0;
}

/* How many bytes of two texts are not shown: of long ones that begin alike all but a few before they differ. */
static size_t n_hidden_bytes(const json_t *a, const json_t *b)
{
    enum { CONTEXT_BYTES = 20 };
    const char *first = json_string_value(a), *second = json_string_value(b);
    size_t n = 0;

    if (!first || !second || (strlen(first) <= SHOWN_BYTES && strlen(second) <= SHOWN_BYTES))
        return 0;
    while (first[n] && first[n] == second[n])
        n++;
    n -= n < CONTEXT_BYTES ? n : CONTEXT_BYTES;
    while (n > 0 && ((unsigned char)first[n] & 0xc0) == 0x80) /* in the midst of a character of UTF-8 */
        n--;
    return n;
}

/* "...long enough...": SHOWN_BYTES at most of a value's text, from n_hidden on. */
static void shown_text(char out[SHOWN_TEXT_BYTES], const json_t *value, size_t n_hidden)
{
    const char *text = json_string_value(value);
    size_t n_shown = SHOWN_BYTES;

    if (!text || (n_hidden == 0 && strlen(text) <= SHOWN_BYTES)) {
        recorded_text(out, SHOWN_TEXT_BYTES, value);
        return;
    }
    text += n_hidden;
    while (n_shown < strlen(text) && n_shown > 0 && ((unsigned char)text[n_shown] & 0xc0) == 0x80)
        n_shown--;
    snprintf(out, SHOWN_TEXT_BYTES, "%s%.*s%s", n_hidden > 0 ? "..." : "", (int)n_shown, text,
             n_shown < strlen(text) ? "..." : "");
}

bool diff_values(char *out, size_t n_bytes, const char *key, const json_t *a, const json_t *b)
{
    char first[SHOWN_TEXT_BYTES], second[SHOWN_TEXT_BYTES];

    if (!a || !b || is_same(a, b))
        return false;
    shown_text(first, a, n_hidden_bytes(a, b));
    shown_text(second, b, n_hidden_bytes(a, b));
    snprintf(out, n_bytes, "%s %s and %s", key, first, second);
    return true;
}

/* A line for each of these members that differs. */
static void tell_members(const json_t *a, const json_t *b, const char *const *keys, const char *what, FILE *to)
{
    char text[DIFF_TEXT_BYTES];

    for (; *keys; keys++)
        if (diff_values(text, sizeof text, *keys, json_object_get(a, *keys), json_object_get(b, *keys)))
            fprintf(to, "%s: %s\n", what, text);
}

/* What an object of the manifests of both launches of a pair has. */
static json_t *object_of(const struct diff *d, int which, size_t pair, const char *object)
{
    return json_object_get(diff_about(d, which, &d->pair[pair])->manifest, object);
}

/* Was the same difference of this member told of a pair before? */
static bool is_told_before(const struct diff *d, const char *object, const char *key, size_t pair)
{
    const json_t *mine = json_object_get(object_of(d, 0, pair, object), key),
                 *other = json_object_get(object_of(d, 1, pair, object), key);

    for (size_t e = 0; e < pair; e++) {
        const json_t *before[] = { json_object_get(object_of(d, 0, e, object), key),
                                   json_object_get(object_of(d, 1, e, object), key) };
        if (before[0] && before[1] && is_same(before[0], mine) && is_same(before[1], other))
            return true;
    }
    return false;
}

/* Every member of an object of the launches' manifests that differs, but for those that say where results go and how
 * many there are. */
static void tell_object(const struct diff *d, const char *object, const char *what, FILE *to)
{
    static const char *const unimportant[] = {
        "kind", "model", "mode", "workers", "seed", "save", "resume", "timeline"
    };
    const bool are_options = strcmp(object, "options") == 0;
    char text[DIFF_TEXT_BYTES];

    for (size_t i = 0; i < d->n_pairs; i++) {
        json_t *first = object_of(d, 0, i, object), *second = object_of(d, 1, i, object);
        for (void *at = json_object_iter(first); at; at = json_object_iter_next(first, at)) {
            const char *key = json_object_iter_key(at);
            bool is_left_out = false;
            for (size_t u = 0; are_options && u < sizeof unimportant / sizeof *unimportant; u++)
                is_left_out = is_left_out || strcmp(unimportant[u], key) == 0;
            if (!is_left_out &&
                diff_values(text, sizeof text, key, json_object_iter_value(at), json_object_get(second, key)) &&
                !is_told_before(d, object, key, i))
                fprintf(to, "%s: %s\n", what, text);
        }
    }
}

/* Of the process that made the launches: MPI adds to the environment that it was given. Older manifests, and those of
 * runs, have the whole alone. */
static json_t *environment_of(const json_t *a, const json_t *b, const json_t *of)
{
    const bool have_plans = json_object_get(json_object_get(a, "plan"), "environment") &&
                            json_object_get(json_object_get(b, "plan"), "environment");

    return json_object_get(have_plans ? json_object_get(of, "plan") : of, "environment");
}

/* Variables too that one of both has. Nothing where one of both does not know its environment. */
static void tell_environment(const json_t *a, const json_t *b, FILE *to)
{
    json_t *first = environment_of(a, b, a), *second = environment_of(a, b, b), *none = json_string("not set"), *value;
    char text[DIFF_TEXT_BYTES];
    const char *name;

    if (!json_is_object(first) || !json_is_object(second))
        goto out;
    json_object_foreach(first, name, value)
    {
        json_t *other = json_object_get(second, name);
        if (diff_values(text, sizeof text, name, value, other ? other : none))
            fprintf(to, "other environment: %s\n", text);
    }
    json_object_foreach(second, name, value)
    {
        if (!json_object_get(first, name) && diff_values(text, sizeof text, name, none, value))
            fprintf(to, "other environment: %s\n", text);
    }
out:
    json_decref(none);
}

/* Where there are several: of one alone the manifest tells. Those of a simulation are those of its cluster. */
static void tell_hosts(const struct diff *d, FILE *to)
{
    const struct recorded *a = d->of[0], *b = d->of[1];

    if (a->campaign.is_virtual || (json_array_size(a->hosts) < 2 && json_array_size(b->hosts) < 2))
        return;
    for (int which = 0; which < 2; which++) {
        const json_t *hosts = d->of[which]->hosts;
        size_t n_told = 0;
        for (size_t i = 0; i < json_array_size(hosts); i++) {
            const char *name = json_string_value(json_array_get(hosts, i));
            if (recorded_has_host(d->of[1 - which], name))
                continue;
            fprintf(to, n_told++ > 0 ? ", %s" : "other hosts: %s", name);
        }
        if (n_told > 0)
            fprintf(to, " in %c alone\n", which ? 'B' : 'A');
    }
}

static void tell_continued(const json_t *manifest, char letter, FILE *to)
{
    const char *despite = json_string_value(json_object_get(manifest, "continued_despite"));

    if (despite && despite[0])
        fprintf(to, "%c was continued though it was begun under other conditions: %s\n", letter, despite);
}

void diff_tell_conditions(const struct diff *d, FILE *to)
{
    static const char *const machine[] = { "host", "cpu_model", "cores_count", "memory_bytes", "kernel", NULL };
    static const char *const program[] = { "compiler", "compiler_flags", "build_type", NULL };
    const json_t *a = recorded_manifest(d->of[0]), *b = recorded_manifest(d->of[1]);
    json_t *libraries = json_object_get(a, "libraries");

    tell_members(a, b, machine, "other machine", to);
    tell_members(a, b, program, "other program", to);
    for (void *at = json_object_iter(libraries); at; at = json_object_iter_next(libraries, at)) {
        const char *const one[] = { json_object_iter_key(at), NULL };
        tell_members(libraries, json_object_get(b, "libraries"), one, "other library", to);
    }
    tell_hosts(d, to);
    tell_environment(a, b, to);
    tell_object(d, "options", "other option", to);
    tell_object(d, "cluster", "other cluster", to);
    tell_object(d, "profile", "other profile", to);
    tell_object(d, DIGEST_KEY, "other contents (SHA-256)", to);
    tell_continued(a, 'A', to);
    tell_continued(b, 'B', to);
}
