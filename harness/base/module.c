/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - finds modules by name, places their option structs in one block, calls the hooks of those in use. */
#include "harness/base/module.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/opt.h"
#include "harness/base/text.h"

enum { MAX_MODULES = 64 };

static const struct module_absent *absent_at(const struct module_kind *kind, int i)
{
    return kind->absent && kind->absent[i].name ? &kind->absent[i] : NULL;
}

static int n_built_in(const struct module_kind *kind)
{
    int n = 0;

    while (kind->at(n))
        n++;
    return n;
}

const char *module_name(const struct module_kind *kind, int i)
{
    const int n = n_built_in(kind);

    if (i < n)
        return kind->at(i)->name;
    for (int k = 0; absent_at(kind, k); k++)
        if (k == i - n)
            return kind->absent[k].name;
    return NULL;
}

unsigned module_caps(const struct module_kind *kind, int i)
{
    const int n = n_built_in(kind);

    return i < n ? kind->at(i)->caps : kind->absent[i - n].caps;
}

enum rc module_find(const struct module **out, const struct module_kind *kind, const char *name)
{
    const char *known[MAX_MODULES + 1] = { NULL };
    char choices[300];

    for (int i = 0; kind->at(i); i++)
        if (strcmp(kind->at(i)->name, name) == 0) {
            *out = kind->at(i);
            return RC_OK;
        }
    for (int i = 0; absent_at(kind, i); i++)
        if (strcmp(kind->absent[i].name, name) == 0)
            return rc_raise(RC_UNSUPPORTED, "%s %s: %s", kind->what, name, kind->absent[i].why_not);
    for (int i = 0; i < MAX_MODULES && module_name(kind, i); i++)
        known[i] = module_name(kind, i);
    text_say_choices(choices, sizeof choices, name, known);
    return rc_raise(RC_INVAL, "%s %.40s: no such %s%s", kind->what, name, kind->what, choices);
}

static void append(char *out, size_t n_bytes, const char *name)
{
    const size_t n_used = strlen(out);

    snprintf(out + n_used, n_bytes - n_used, "%s%s", n_used > 0 ? " or " : "", name);
}

void module_names_with(char *out, size_t n_bytes, const struct module_kind *kind, unsigned caps)
{
    out[0] = '\0';
    for (int i = 0; module_name(kind, i); i++)
        if ((module_caps(kind, i) & caps) == caps)
            append(out, n_bytes, module_name(kind, i));
}

/* Can module run in a world with these caps? */
static bool suits(const struct module *module, unsigned world_caps)
{
    return (world_caps & module->needs_world) == module->needs_world && !(world_caps & module->refuses_world);
}

bool module_runs_in(const struct module *module, const struct module *world)
{
    return suits(module, world->caps);
}

enum rc module_check_world(const struct module_kind *kind, const struct module *module,
                           const struct module_kind *world_kind, const struct module *world)
{
    char names[128] = "";

    if (module_runs_in(module, world))
        return RC_OK;
    for (int i = 0; module_name(world_kind, i); i++)
        if (suits(module, module_caps(world_kind, i)))
            append(names, sizeof names, module_name(world_kind, i));
    if (names[0] == '\0')
        return rc_raise(RC_INVAL, "--%s %s: cannot run in --%s %s, nor in any other world of this program", kind->what,
                        module->name, world_kind->what, world->name);
    return rc_raise(RC_INVAL, "--%s %s: needs --%s %s, but that is %s", kind->what, module->name, world_kind->what,
                    names, world->name);
}

/* Iterates over the built-in modules of all kinds, in order, and over the places of their option structs in a union
 * module_values. */
struct walk {
    const struct module_kind *const *kinds;
    int kind, index;             /* of module: kinds[kind]->at(index) */
    const struct module *module; /* NULL: behind the last */
    size_t offset_bytes;         /* of the option struct of module */
};

/* Set module to the one at (kind, index); behind the last of a kind, to the first one of the next kind that has any. */
static void find_module_from(struct walk *w)
{
    while (w->kinds[w->kind] && !(w->module = w->kinds[w->kind]->at(w->index))) {
        w->kind++;
        w->index = 0;
    }
    if (!w->kinds[w->kind])
        w->module = NULL;
}

static struct walk walk_first(const struct module_kind *const *kinds)
{
    struct walk w = { .kinds = kinds };

    find_module_from(&w);
    return w;
}

static void walk_next(struct walk *w)
{
    const size_t align = _Alignof(max_align_t);

    w->offset_bytes += (w->module->opts_bytes + align - 1) / align * align;
    w->index++;
    find_module_from(w);
}

int module_opt_groups(struct opt_group *group, const struct module_kind *const *kinds, union module_values *into)
{
    int n = 0;

    for (struct walk w = walk_first(kinds); w.module; walk_next(&w)) {
        if (!w.module->options)
            continue;
        assert(n < MAX_MODULE_GROUPS && w.offset_bytes + w.module->opts_bytes <= sizeof into->bytes);
        group[n++] = (struct opt_group){ .title = kinds[w.kind]->what,
                                         .table = w.module->options,
                                         .into = into->bytes + w.offset_bytes,
                                         .module = w.module };
    }
    return n;
}

const void *module_options(const union module_values *from, const struct module_kind *const *kinds,
                           const struct module *module)
{
    for (struct walk w = walk_first(kinds); w.module; walk_next(&w))
        if (w.module == module)
            return module->options ? from->bytes + w.offset_bytes : NULL;
    return NULL;
}

/* The index of the kind that module belongs to. */
static int kind_of(const struct module_kind *const *kinds, const struct module *module)
{
    struct walk w = walk_first(kinds);

    while (w.module && w.module != module)
        walk_next(&w);
    assert(w.module);
    return w.kind;
}

/* RC_INVAL for the first given option of group g, whose module is not `used`, the one of this kind in use. */
static enum rc refuse_group(const struct opt_group *g, const struct module_kind *kind, const struct module *used)
{
    char value[128];
    int i = 0;

    while (!opt_is_given(g, i))
        i++;
    opt_format(&g->table[i], g->into, value, sizeof value);
    if (!used)
        return rc_raise(RC_INVAL, "--%s.%s %s: is an option of %s %s, and this run uses no %s", g->module->name,
                        g->table[i].name, value, kind->what, g->module->name, kind->what);
    return rc_raise(RC_INVAL, "--%s.%s %s: is an option of %s %s; needs --%s %s, but that is %s", g->module->name,
                    g->table[i].name, value, kind->what, g->module->name, kind->what, g->module->name, used->name);
}

enum rc module_refuse_unused(const struct opt_group *group, int n_groups, const struct module_kind *const *kinds,
                             const struct module *const *used)
{
    for (int g = 0; g < n_groups; g++) {
        if (!group[g].module || opt_first_given(&group[g]) < 0)
            continue;
        const int kind = kind_of(kinds, group[g].module);
        if (used[kind] != group[g].module)
            return refuse_group(&group[g], kinds[kind], used[kind]);
    }
    return RC_OK;
}

enum rc module_check_all(const union module_values *opts, const struct module_kind *const *kinds,
                         const struct module *const *used, const struct job_facts *facts)
{
    enum rc rc = RC_OK;

    for (int k = 0; kinds[k]; k++)
        if (used[k] && used[k]->check)
            TRY(used[k]->check(module_options(opts, kinds, used[k]), facts));
out:
    return rc;
}

struct memory_need module_memory(const union module_values *opts, const struct module_kind *const *kinds,
                                 const struct module *const *used, const struct job_facts *facts)
{
    struct memory_need sum = { 0 };

    for (int k = 0; kinds[k]; k++) {
        if (!used[k] || !used[k]->memory)
            continue;
        const struct memory_need m = used[k]->memory(module_options(opts, kinds, used[k]), facts);
        sum.worker_bytes += m.worker_bytes;
        sum.server_bytes += m.server_bytes;
        sum.rank_0_bytes += m.rank_0_bytes;
    }
    return sum;
}
