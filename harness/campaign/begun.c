/* SPDX-License-Identifier: Apache-2.0 */
/* begun.c - the plan of a campaign in its manifest, and whether what continues it is what began it. See begun.h. */
#include "harness/campaign/begun.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/folder.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/report/environment.h"
#include "harness/report/manifest.h"
#include "harness/report/xml.h"
#include "harness/train/train.h"
#include "harness/world/child.h"

/* --- the contents of input files --- */

/* behind: what follows the name of the option in the name of the digest. */
static enum rc add_input(struct digests *to, const struct opt *o, const char *behind, const char *path)
{
    char name[DIGEST_NAME_BYTES];

    if (path[0] == '\0' || train_is_built_in(o, path))
        return RC_OK;
    snprintf(name, sizeof name, "%s%s", o->name, behind);
    return file_of_option(digests_add(to, name, path), o->name);
}

/* "FILE", "PRESET|FILE", or "MODEL=FILE,...", whose files count from 1 on. */
static enum rc add_inputs_of(struct digests *to, const struct opt *o, const char *value)
{
    char item[PATH_MAX], behind[32];
    enum rc rc = RC_OK;

    if (!strstr(o->unit, "..."))
        return add_input(to, o, "", value);
    for (int i = 1; text_next(&value, item, sizeof item); i++) {
        const char *equals = strchr(item, '=');
        snprintf(behind, sizeof behind, ", file %d", i);
        TRY(add_input(to, o, behind, equals ? equals + 1 : item));
    }
out:
    return rc;
}

enum rc begun_find_inputs(struct digests *out, const struct opt_group *group, int n_groups)
{
    enum rc rc = RC_OK;

    digests_free(out);
    for (int g = 0; g < n_groups; g++)
        for (const struct opt *o = group[g].table; o->type != OPT_END; o++)
            if (o->file == OPT_READ)
                TRY(add_inputs_of(out, o, opt_text(o, group[g].into)));
out:
    return rc;
}

/* The options, and the values of --over. */
static enum rc find_inputs(struct sweep *s)
{
    const struct opt_group *train = sweep_train_group(s);
    char value[ARG_BYTES], behind[32];
    enum rc rc;

    TRY(begun_find_inputs(&s->inputs, s->given, s->n_given));
    for (int k = 0; k < s->n_axes; k++)
        for (const struct opt *o = train->table; o->type != OPT_END; o++) {
            const char *rest = s->axis[k].values;
            if (o->file != OPT_READ || strcmp(o->name, s->axis[k].option) != 0)
                continue;
            for (int n = 1; text_next(&rest, value, sizeof value); n++) {
                snprintf(behind, sizeof behind, ", value %d of --over", n);
                TRY(add_input(&s->inputs, o, behind, value));
            }
        }
out:
    return rc;
}

/* --- writing --- */

/* Is the option a path? Relative ones are kept as absolute ones: a campaign may be continued from another folder. */
static bool is_path(const struct opt *o)
{
    static const char *const unit[] = { "FILE", "DIR", "PATH", "PRESET|FILE" };

    for (size_t i = 0; o->type == OPT_TEXT && i < sizeof unit / sizeof *unit; i++)
        if (strcmp(o->unit, unit[i]) == 0)
            return true;
    return false;
}

static enum rc add_word(struct command_line *l, const struct opt_group *g, const struct opt *o, const char *here)
{
    const char *path = is_path(o) ? opt_text(o, g->into) : "";
    const bool is_relative = path[0] != '\0' && path[0] != '/' && !train_is_built_in(o, path);

    return command_line_add_option(l, g, o, is_relative ? here : "");
}

/* The command line: all that the user gave, and the worker counts, which are chosen by the cores of this machine. */
static enum rc add_words(struct command_line *l, const struct sweep *s)
{
    char here[ARG_BYTES];
    enum rc rc = RC_OK;

    l->n = 0;
    if (!getcwd(here, sizeof here))
        FAIL(RC_IO, "the folder this runs in has no name that can be kept: %s", strerror(errno));
    for (int k = 0; k < s->n_given; k++)
        for (int i = 0; s->given[k].table[i].type != OPT_END; i++)
            if (opt_is_given(&s->given[k], i))
                TRY(add_word(l, &s->given[k], &s->given[k].table[i], here));
    if (s->chosen_workers[0])
        command_line_add(l, "--workers=%s", s->chosen_workers);
out:
    return rc;
}

/* Will the plan hold the command line as it is? Bytes that are not UTF-8 have no place in it. Nothing continues from
 * where results go. */
enum rc begun_check_words(const struct command_line *l)
{
    static const char *const free_option[] = { "--results=", "--name=", "--out=" };

    for (int i = 0; i < l->n; i++) {
        const char *word = l->argv[i];
        const int n_name = (int)strcspn(word, "=");
        bool is_free = false;
        for (size_t k = 0; k < sizeof free_option / sizeof *free_option; k++)
            is_free = is_free || strncmp(word, free_option[k], strlen(free_option[k])) == 0;
        if (!is_free && !utf8_is_valid(word))
            return rc_raise(RC_INVAL,
                            "%.*s %s: is not UTF-8; the campaign keeps it in a JSON file, and could not be continued; "
                            "give the file or folder a name in UTF-8",
                            n_name, word, word + n_name + (word[n_name] == '='));
    }
    return RC_OK;
}

static enum rc check_words(const struct sweep *s)
{
    struct command_line *l = malloc(sizeof *l);
    enum rc rc;

    if (!l)
        FAIL(RC_NOMEM, "no memory for a command line");
    TRY(add_words(l, s));
    TRY(begun_check_words(l));
out:
    free(l);
    return rc;
}

enum { FINGERPRINT_BYTES = 17, MAX_VARIABLES = 4096 };

/* Tells one build of this program from another, where the commit does not: FNV-1a of its file; "": it cannot be read.
 */
static void program_fingerprint(char out[FINGERPRINT_BYTES])
{
    FILE *from = fopen("/proc/self/exe", "re");
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    unsigned char bytes[65536];
    size_t n;

    out[0] = '\0';
    if (!from)
        return;
    while ((n = fread(bytes, 1, sizeof bytes, from)) > 0)
        for (size_t i = 0; i < n; i++)
            hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    if (!ferror(from))
        snprintf(out, FINGERPRINT_BYTES, "%016llx", (unsigned long long)hash);
    fclose(from);
}

/* The environment that this process was given: MPI_Init() adds to the one that it has. Where the system does not tell
 * it, none is recorded. */
static enum rc add_environment(struct record *r)
{
    char *variable[MAX_VARIABLES + 1] = { NULL }, *text = NULL;
    FILE *from = fopen("/proc/self/environ", "re");
    size_t n = 0, n_room = 0;
    enum rc rc = RC_OK;

    while (from && n < MAX_VARIABLES && getdelim(&text, &n_room, '\0', from) > 0) {
        variable[n] = strdup(text);
        if (!variable[n++])
            FAIL(RC_NOMEM, "no memory for the environment");
    }
    environment_record(r, variable);
out:
    for (size_t i = 0; i < n; i++)
        free(variable[i]);
    free(text);
    if (from)
        fclose(from);
    return rc;
}

enum rc begun_record_facts(struct record *plan)
{
    char fingerprint[FINGERPRINT_BYTES];

    program_fingerprint(fingerprint);
    record_text(plan, "program_fingerprint", fingerprint);
    return add_environment(plan);
}

static enum rc add_points(struct record *r, const struct campaign *c)
{
    char(*name)[LAUNCH_NAME_BYTES] = calloc(c->n_points, sizeof *name);
    const char **names = calloc(c->n_points, sizeof *names);
    uint64_t *n_steps = calloc(c->n_points, sizeof *n_steps);
    enum rc rc = RC_OK;

    if (!name || !names || !n_steps)
        FAIL(RC_NOMEM, "no memory for the names of %zu points", c->n_points);
    for (size_t i = 0; i < c->n_points; i++) {
        point_name(name[i], sizeof name[i], &c->point[i]);
        names[i] = name[i];
        n_steps[i] = c->point[i].n_steps;
    }
    record_text_array(r, "points", names, c->n_points);
    record_u64_array(r, "steps_count", n_steps, c->n_points);
out:
    free(n_steps);
    free(names);
    free(name);
    return rc;
}

/* What --continue goes by (K3). */
static enum rc make_plan(struct record **out, const struct sweep *s)
{
    struct command_line *l = malloc(sizeof *l);
    struct record *r = NULL;
    enum rc rc;

    if (!l)
        FAIL(RC_NOMEM, "no memory for a command line");
    TRY(add_words(l, s));
    r = record_open("plan");
    record_text_array(r, "arguments", (const char *const *)l->argv, (size_t)l->n);
    record_u64(r, "ranks_count", s->launcher.name ? (uint64_t)s->launcher.n_ranks : 0);
    digest_record(r, s->inputs.of, s->inputs.n);
    TRY(begun_record_facts(r));
    TRY(add_points(r, &s->campaign));
    *out = r;
    r = NULL;
out:
    record_close(&r);
    free(l);
    return rc;
}

enum rc sweep_write_manifest(const struct sweep *s, struct record **options, bool is_complete)
{
    const struct campaign *c = &s->campaign;
    struct record *r = NULL, *plan = NULL;
    char path[600];
    enum rc rc;

    TRY(make_plan(&plan, s));
    r = record_open("campaign");
    record_child(r, "options", options);
    record_u64(r, "points_count", c->n_points);
    record_u64(r, "launches_per_point_count", campaign_most_launches(c));
    record_text(r, "launcher", s->launcher.name);
    record_bool(r, "is_complete", is_complete);
    record_u64(r, "continued_count", (uint64_t)c->session);
    record_text(r, "continued_despite", s->despite[0] ? s->despite : NULL);
    /* The end of runs.jsonl (seal.E2): once it is in place, as a session that is killed writes no other manifest. */
    record_text(r, "runs_" SEAL_KEY, c->runs.stream || c->is_unsealed || !c->seal.last[0] ? NULL : c->seal.last);
    record_child(r, "plan", &plan);
    manifest_fill(r, c->is_virtual);
    snprintf(path, sizeof path, "%s/manifest.json", c->dir);
    TRY(record_write_file(r, path));
out:
    record_close(&plan);
    record_close(&r);
    return rc;
}

void sweep_continue_command(char *out, size_t n_bytes, const struct sweep *s)
{
    const char *name = s->launcher.name;
    const bool is_own = name && strcmp(name, "gradmark launch") == 0;
    char launcher[64] = "", folder[4 * CAMPAIGN_DIR_BYTES];

    text_shell_word(folder, sizeof folder, s->campaign.dir);
    if (name)
        snprintf(launcher, sizeof launcher, "%s %s %d %s", name, strcmp(name, "mpirun") == 0 ? "-np" : "-n",
                 s->launcher.n_ranks, is_own ? "-- " : "");
    snprintf(out, n_bytes, "%s%scompare --continue %s", launcher, is_own ? "" : "gradmark ", folder);
}

static void choose_paths(struct sweep *s)
{
    snprintf(s->launch_path, sizeof s->launch_path, "%s/.launch.jsonl", s->campaign.dir);
    if (s->campaign.is_virtual)
        snprintf(s->cost_path, sizeof s->cost_path, "%s/.launch_cost.json", s->campaign.dir);
}

enum rc sweep_open_files(struct sweep *s, const char *results_dir, const char *name)
{
    enum rc rc;

    TRY(check_words(s));
    TRY(find_inputs(s));
    TRY(campaign_open(&s->campaign, results_dir, name));
    choose_paths(s);
out:
    return rc;
}

enum rc sweep_check_files(struct sweep *s, const char *results_dir, const char *name)
{
    char dir[CAMPAIGN_DIR_BYTES];
    enum rc rc;

    TRY(check_words(s));
    TRY(find_inputs(s));
    TRY(folder_check_dated(dir, sizeof dir, results_dir, name));
out:
    return rc;
}

/* --- continuing --- */

static const json_t *plan_of(const struct begun *k)
{
    return json_object_get(k->manifest, "plan");
}

static enum rc read_words(struct begun *k)
{
    const json_t *words = json_object_get(plan_of(k), "arguments");
    size_t i;
    json_t *word;

    if (!json_is_array(words) || json_array_size(words) > MAX_ARGS)
        return rc_raise(RC_INVAL, "--continue %s: its %s has no plan: that campaign cannot be continued", k->folder,
                        k->file);
    json_array_foreach(words, i, word)
    {
        if (!json_is_string(word))
            return rc_raise(RC_INVAL, "--continue %s: the plan in its %s is damaged", k->folder, k->file);
        k->word[k->n_words++] = (char *)(uintptr_t)json_string_value(word);
    }
    return RC_OK;
}

/* Was it started as this process was? */
static enum rc check_launcher(const struct begun *k, const struct launcher *launcher)
{
    const char *then = json_string_value(json_object_get(k->manifest, "launcher"));
    const json_int_t n_then = json_integer_value(json_object_get(plan_of(k), "ranks_count"));
    char folder[RC_MESSAGE_BYTES];

    if (then ? launcher->name && strcmp(then, launcher->name) == 0 && n_then == launcher->n_ranks : !launcher->name)
        return RC_OK;
    text_shell_word(folder, sizeof folder, k->folder);
    if (!then)
        return rc_raise(RC_INVAL, "--continue %s: it was started without %s; use gradmark compare --continue %s",
                        k->folder, launcher->name, folder);
    return rc_raise(RC_INVAL, "--continue %s: it was started by %s with %d ranks; so it has to be continued", k->folder,
                    then, (int)n_then);
}

enum rc begun_open(struct begun *out, const char *folder, const struct launcher *launcher)
{
    char path[600];

    snprintf(path, sizeof path, "%s/manifest.json", folder);
    return begun_open_file(out, folder, path, launcher);
}

enum rc begun_open_file(struct begun *out, const char *folder, const char *path, const struct launcher *launcher)
{
    const char *slash = strrchr(path, '/');
    struct begun k = { .folder = folder };
    json_error_t error;
    FILE *from = NULL;
    enum rc rc;

    *out = (struct begun){ 0 };
    snprintf(k.file, sizeof k.file, "%s", slash ? slash + 1 : path);
    if (access(path, R_OK) != 0)
        FAIL(RC_INVAL, "--continue %s: %s cannot be read: %s; use the folder of one comparison", folder, k.file,
             strerror(errno));
    TRY(file_of_option(file_open_text(&from, path, "what gradmark wrote"), "continue"));
    k.manifest = json_loadf(from, 0, &error);
    if (!k.manifest)
        FAIL(RC_INVAL, "--continue %s: its %s cannot be read: line %d: %s", folder, k.file, error.line, error.text);
    TRY(read_words(&k));
    TRY(check_launcher(&k, launcher));
    k.n_continued = (int)json_integer_value(json_object_get(k.manifest, "continued_count"));
    *out = k;
    k = (struct begun){ 0 };
out:
    if (from)
        fclose(from);
    begun_close(&k);
    return rc;
}

void begun_close(struct begun *k)
{
    json_decref(k->manifest);
    *k = (struct begun){ 0 };
}

/* What manifest_fill() writes now; and the environment as in the plan. */
static enum rc facts_now(json_t **out, bool is_virtual)
{
    struct record *r = record_open(NULL);
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *to = NULL;
    enum rc rc;

    manifest_fill(r, is_virtual);
    TRY(add_environment(r)); /* in the place of manifest_fill()'s */
    to = open_memstream(&text, &n_bytes);
    if (!to)
        FAIL(RC_NOMEM, "no memory for the facts of this machine");
    TRY(record_print(r, to));
    if (fflush(to) != 0)
        FAIL(RC_NOMEM, "no memory for the facts of this machine");
    *out = json_loadb(text, n_bytes, 0, NULL);
    if (!*out)
        FAIL(RC_NOMEM, "no memory for the facts of this machine");
out:
    if (to)
        fclose(to);
    free(text);
    record_close(&r);
    return rc;
}

/* RC_INVAL, or a note in k->changes. */
static enum rc note_change(struct begun *k, bool anyway, const char *what, const json_t *then, const json_t *now)
{
    char *const texts[] = { then ? json_dumps(then, JSON_ENCODE_ANY | JSON_COMPACT) : NULL,
                            now ? json_dumps(now, JSON_ENCODE_ANY | JSON_COMPACT) : NULL };
    const char *const before = texts[0] ? texts[0] : "nothing", *const after = texts[1] ? texts[1] : "nothing";
    const size_t n_used = strlen(k->changes);
    enum rc rc = RC_OK;

    if (anyway)
        snprintf(k->changes + n_used, sizeof k->changes - n_used, "%s%s was %.100s, is %.100s", n_used > 0 ? "; " : "",
                 what, before, after);
    else
        rc = rc_raise(RC_INVAL,
                      "--continue %s: was begun where %s was %.120s, which is %.120s now: results of both would not be "
                      "alike; --continue-anyway continues, and the results name it",
                      k->folder, what, before, after);
    free(texts[0]);
    free(texts[1]);
    return rc;
}

/* Two builds of a tree that was changed since its commit have the same commit. */
static bool is_other_build(const struct begun *k, const char *now)
{
    const json_t *is_dirty = json_object_get(k->manifest, "git_dirty");
    const char *then = json_string_value(json_object_get(plan_of(k), "program_fingerprint"));

    return !json_is_false(is_dirty) && then && strcmp(then, now) != 0;
}

/* Is this fact of no weight? When it is; how much memory the kernel has taken for itself this time; how many variables
 * are not recorded. The environment is compared variable by variable. */
static bool is_ignored(const char *key)
{
    static const char *const ignored[] = { "date_utc", "memory_bytes", "environment", "environment_left_out_count" };

    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (strcmp(key, ignored[i]) == 0)
            return true;
    return false;
}

/* Of variables that change what libraries do: those that have changed, or are new, or gone. */
static enum rc check_environment(struct begun *k, bool anyway, json_t *now)
{
    json_t *then = json_object_get(plan_of(k), "environment"), *value;
    const char *key;
    enum rc rc = RC_OK;

    json_object_foreach(now, key, value)
    {
        if (!json_equal(json_object_get(then, key), value))
            TRY(note_change(k, anyway, key, json_object_get(then, key), value));
    }
    json_object_foreach(then, key, value)
    {
        if (!json_object_get(now, key))
            TRY(note_change(k, anyway, key, value, NULL));
    }
out:
    return rc;
}

enum rc begun_check(struct begun *k, bool anyway)
{
    const bool is_virtual = !json_object_get(k->manifest, "host");
    char fingerprint[FINGERPRINT_BYTES];
    json_t *now = NULL, *value, *built = NULL;
    const char *key;
    enum rc rc;

    TRY(facts_now(&now, is_virtual));
    json_object_foreach(now, key, value)
    {
        const json_t *then = json_object_get(k->manifest, key);
        if (!is_ignored(key) && !json_equal(then, value))
            TRY(note_change(k, anyway, key, then, value));
    }
    TRY(check_environment(k, anyway, json_object_get(now, "environment")));
    program_fingerprint(fingerprint);
    if (is_other_build(k, fingerprint)) {
        built = json_string(fingerprint);
        TRY(note_change(k, anyway, "the build of a changed tree", json_object_get(plan_of(k), "program_fingerprint"),
                        built));
    }
out:
    json_decref(built);
    json_decref(now);
    return rc;
}

enum rc begun_check_digests(struct begun *k, const struct digests *now, bool anyway)
{
    json_t *then = json_object_get(plan_of(k), DIGEST_KEY), *digest = NULL;
    char what[DIGEST_NAME_BYTES + 32];
    enum rc rc = RC_OK;

    for (size_t i = 0; then && i < now->n; i++) { /* older plans have none */
        const bool is_operand = strcmp(now->of[i].name, "operand") == 0;
        json_decref(digest);
        digest = json_string(now->of[i].sha256);
        if (!digest)
            FAIL(RC_NOMEM, "no memory for the digests of input files");
        snprintf(what, sizeof what, "the SHA-256 of %s%s", is_operand ? "the " : "--", now->of[i].name);
        if (!json_equal(json_object_get(then, now->of[i].name), digest))
            TRY(note_change(k, anyway, what, json_object_get(then, now->of[i].name), digest));
    }
out:
    json_decref(digest);
    return rc;
}

enum rc begun_check_inputs(struct begun *k, struct sweep *s, bool anyway)
{
    enum rc rc;

    TRY(find_inputs(s));
    TRY(begun_check_digests(k, &s->inputs, anyway));
out:
    return rc;
}

enum rc begun_apply(const struct begun *k, struct sweep *s)
{
    const json_t *names = json_object_get(plan_of(k), "points"), *n_steps = json_object_get(plan_of(k), "steps_count");
    struct campaign *c = &s->campaign;
    char name[LAUNCH_NAME_BYTES];

    if (json_array_size(names) != c->n_points || json_array_size(n_steps) != c->n_points)
        return rc_raise(RC_INVAL, "--continue %s: it has %zu points, of the same options come %zu here", k->folder,
                        json_array_size(names), c->n_points);
    for (size_t i = 0; i < c->n_points; i++) {
        const char *then = json_string_value(json_array_get(names, i));
        point_name(name, sizeof name, &c->point[i]);
        if (!then || strcmp(then, name) != 0)
            return rc_raise(RC_INVAL, "--continue %s: its point %zu is %.150s, of the same options comes %.150s here",
                            k->folder, i + 1, then ? then : "nothing", name);
        c->point[i].n_steps = (uint64_t)json_integer_value(json_array_get(n_steps, i));
        if (c->point[i].n_steps == 0)
            return rc_raise(RC_INVAL, "--continue %s: the plan in its manifest.json is damaged", k->folder);
    }
    return RC_OK;
}

/* What the launch left that was killed. */
static void remove_launch_files(const char *dir)
{
    DIR *d = opendir(dir);

    if (!d)
        return;
    for (const struct dirent *entry = readdir(d); entry; entry = readdir(d))
        if (strncmp(entry->d_name, ".launch", strlen(".launch")) == 0)
            (void)unlinkat(dirfd(d), entry->d_name, 0);
    (void)closedir(d);
}

static void tell_damage(const struct left_out *o)
{
    if (o->n_lines > 0)
        terminal_note(
            stderr,
            "gradmark compare: warning: %zu line%s of its records, line %zu first, changed after it was written: "
            "what %s is left out, %llu bytes, and made again; as they were, the records are in %s",
            o->n_lines, o->n_lines == 1 ? "" : "s", o->damaged_line, o->n_lines == 1 ? "it is of" : "they are of",
            (unsigned long long)o->n_bytes, o->aside);
}

enum rc sweep_reopen_files(struct sweep *s, const struct begun *k)
{
    struct campaign *c = &s->campaign;
    const char *despite = json_string_value(json_object_get(k->manifest, "continued_despite"));
    const bool is_complete = json_is_true(json_object_get(k->manifest, "is_complete"));
    struct left_out left_out = { 0 };
    char cut[96] = "";
    enum rc rc;

    TRY(campaign_reopen(c, k->folder));
    rc = sweep_reload(s, &left_out);
    if (rc != RC_OK && is_complete) { /* refused: it stays what it was */
        char why[RC_MESSAGE_BYTES];
        snprintf(why, sizeof why, "%s", rc_message());
        (void)!campaign_commit(c);
        FAIL(rc, "%s", why);
    }
    TRY(rc);
    remove_launch_files(c->dir);
    campaign_remove_charts(c);
    campaign_remove_verdicts(c);
    choose_paths(s);
    c->session = k->n_continued + 1;
    snprintf(s->despite, sizeof s->despite, "%.200s%s%.300s", despite ? despite : "",
             despite && k->changes[0] ? "; " : "", k->changes);
    if (left_out.n_bytes > 0 && left_out.n_lines == 0)
        snprintf(cut, sizeof cut, "; %llu bytes of one that had not ended are cut off",
                 (unsigned long long)left_out.n_bytes);
    terminal_note(stderr, "gradmark compare: continues %s: %zu of %zu launches are finished%s", c->dir,
                  c->n_launches_done, c->n_points * c->n_launches_wanted, cut);
    tell_damage(&left_out);
out:
    return rc;
}

/* --- hosts --- */

enum { HOST_BYTES = 64 };

/* The first of "|one|other|" (NULL: of none) that is not in name[n]; "": all are. */
static void find_missing(char out[HOST_BYTES], const char *hosts, const char (*name)[HOST_BYTES], int n)
{
    const char *rest = hosts ? hosts + strspn(hosts, "|") : "";

    out[0] = '\0';
    for (size_t n_bytes; (n_bytes = strcspn(rest, "|")) > 0; rest += n_bytes + 1) {
        bool is_there = false;
        for (int r = 0; r < n && !is_there; r++)
            is_there = strlen(name[r]) == n_bytes && strncmp(name[r], rest, n_bytes) == 0;
        if (is_there)
            continue;
        snprintf(out, HOST_BYTES, "%.*s", (int)n_bytes, rest);
        return;
    }
}

enum rc sweep_check_hosts(struct sweep *s, struct world *w)
{
    char own[HOST_BYTES] = "", missing[HOST_BYTES] = "", (*all)[HOST_BYTES] = calloc((size_t)w->n_ranks, sizeof *all);
    const size_t n_used = strlen(s->despite);
    enum rc rc = RC_OK;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for the hosts of %d ranks", w->n_ranks);
    child_host_name(own, sizeof own);
    TRY(world_allgather(w, own, all, sizeof own));
    if (w->rank == 0)
        find_missing(missing, s->campaign.hosts, (const char(*)[HOST_BYTES])all, w->n_ranks);
    TRY(world_broadcast(w, missing, sizeof missing));
    if (missing[0] && !s->goes_on_anyway)
        FAIL(RC_INVAL,
             "--continue %s: launches were made on host %s, which is none of this job: those of both would not be "
             "alike; "
             "--continue-anyway continues, and the results name it",
             s->campaign.dir, missing);
    if (missing[0] && w->rank == 0)
        snprintf(s->despite + n_used, sizeof s->despite - n_used, "%shost %s is not there any more",
                 n_used > 0 ? "; " : "", missing);
out:
    free(all);
    return rc;
}
