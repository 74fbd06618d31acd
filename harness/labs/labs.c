/* SPDX-License-Identifier: Apache-2.0 */
/* labs.c - which labs there are. */
#include <string.h>

#include "harness/base/text.h"
#include "harness/labs/lab.h"
#include "harness/labs/lab_list.h"

/* In the order of the class in docs/teach.md. */
static const struct lab *const list[] = { &lab_batch_size, &lab_ring,  &lab_distribute, &lab_learning_rate,
                                          &lab_staleness,  &lab_split, &lab_cnn,        &lab_why_not,
                                          &lab_pipeline,   NULL };

const struct lab *lab_at(int i)
{
    return list[i];
}

enum rc lab_find(const struct lab **out, const char *name)
{
    const char *names[sizeof list / sizeof *list];
    char all[256] = "";
    size_t n = 0;

    for (; list[n]; n++) {
        if (strcmp(list[n]->name, name) == 0) {
            *out = list[n];
            return RC_OK;
        }
        names[n] = list[n]->name;
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", n > 0 ? ", " : "", names[n]);
    }
    names[n] = NULL;
    const char *near = text_nearest(name, names);
    if (near)
        return rc_raise(RC_INVAL, "%.60s: there is no such lab; did you mean %s? The labs: %s", name, near, all);
    return rc_raise(RC_INVAL, "%.60s: there is no such lab; the labs: %s", name, all);
}
