/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nets_test.c - the tables against what is published, and mutants of the tables that must be caught.
 *
 * usage: nets_test facts|mutant PATH-OF-MODEL_TENSORS.CSV [NAME]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "models/suite/network_facts.h"
#include "models/suite/network_mutants.h"
#include "models/workload.h"

static const char *tensors_path, *mutant_name;

#define ADDRESS(name) &workload_##name,
static const struct workload *const every[] = { NETWORK_LIST(ADDRESS) };
enum { N_NETWORKS = sizeof every / sizeof every[0] };

static struct network *opened(const struct workload *w, struct network_opts opts)
{
    struct network *n = NULL;

    if (network_open(&n, w->network, &opts) != RC_OK)
        fail_msg("%s", rc_message());
    return n;
}

static void every_network_is_the_published_one(void **state)
{
    (void)state;
    for (int i = 0; i < N_NETWORKS; i++) {
        const int n_forms = every[i]->network->min_image_size_aux != 0 ? 2 : 1;
        for (int form = 0; form < n_forms; form++) {
            struct network *n = opened(every[i], (struct network_opts){ .aux_head = form == 1 });
            assert_int_equal(network_contradictions(n, every[i], tensors_path), 0);
            network_close(&n);
        }
    }
}

static void narrow_networks_are_the_published_ones_divided(void **state)
{
    static const int divisor[] = { 2, 3, 4, 8, 64, 1024 };

    (void)state;
    for (int i = 0; i < N_NETWORKS; i++)
        for (size_t k = 0; k < sizeof divisor / sizeof divisor[0]; k++) {
            struct network *n = opened(every[i], (struct network_opts){ .width_divisor = divisor[k] });
            assert_int_equal(network_contradictions(n, every[i], tensors_path), 0);
            network_close(&n);
        }
}

/* models.Y2: nothing but the table and the options decides. */
static void opening_twice_gives_the_same(void **state)
{
    struct network *a = opened(&workload_inception3, (struct network_opts){ .aux_head = true });
    struct network *b = opened(&workload_inception3, (struct network_opts){ .aux_head = true });

    (void)state;
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->n_segments, b->n_segments);
    for (int i = 0; i < a->n_segments; i++) {
        assert_string_equal(a->segment_name[i], b->segment_name[i]);
        assert_true(a->segment[i].offset_elems == b->segment[i].offset_elems);
    }
    network_close(&a);
    network_close(&a);
    network_close(&b);
}

static void the_mutant_is_caught(void **state)
{
    const struct network_mutant *m = network_mutant_start(mutant_name);
    struct network *n = NULL;

    (void)state;
    if (m == NULL)
        fail_msg("there is no mutant %s", mutant_name);
    if (network_open(&n, m->workload->network, &m->opts) != RC_OK) /* the builder caught it */
        return;
    network_mutant_change(n);
    assert_int_not_equal(network_contradictions(n, m->workload, tensors_path), 0);
    network_close(&n);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest facts[] = { cmocka_unit_test(every_network_is_the_published_one),
                                        cmocka_unit_test(narrow_networks_are_the_published_ones_divided),
                                        cmocka_unit_test(opening_twice_gives_the_same) };
    const struct CMUnitTest mutant[] = { cmocka_unit_test(the_mutant_is_caught) };
    const char *what = argc >= 3 ? argv[1] : "";

    tensors_path = argc >= 3 ? argv[2] : NULL;
    mutant_name = argc >= 4 ? argv[3] : "";
    if (strcmp(what, "facts") == 0)
        return cmocka_run_group_tests(facts, NULL, NULL);
    if (strcmp(what, "mutant") == 0)
        return cmocka_run_group_tests(mutant, NULL, NULL);
    fprintf(stderr, "usage: nets_test facts|mutant MODEL_TENSORS.CSV [NAME]\n");
    return 2;
}
