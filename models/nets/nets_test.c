/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nets_test.c - the tables against what is published, and mutants of the tables that must be caught.
 *
 * usage: nets_test facts|mutant PATH-OF-MODEL_TENSORS.CSV [NAME]
 */
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
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

UNIT_TEST_OF("facts", every_network_is_the_published_one)
{
    for (int i = 0; i < N_NETWORKS; i++) {
        const int n_forms = every[i]->network->min_image_size_aux != 0 ? 2 : 1;
        for (int form = 0; form < n_forms; form++) {
            struct network *n = opened(every[i], (struct network_opts){ .aux_head = form == 1 });
            assert_int_equal(network_contradictions(n, every[i], tensors_path), 0);
            network_close(&n);
        }
    }
}

UNIT_TEST_OF("facts", narrow_networks_are_the_published_ones_divided)
{
    static const int divisor[] = { 2, 3, 4, 8, 64, 1024 };

    for (int i = 0; i < N_NETWORKS; i++)
        for (size_t k = 0; k < sizeof divisor / sizeof divisor[0]; k++) {
            struct network *n = opened(every[i], (struct network_opts){ .width_divisor = divisor[k] });
            assert_int_equal(network_contradictions(n, every[i], tensors_path), 0);
            network_close(&n);
        }
}

/* models.Y2: nothing but the table and the options decides. */
UNIT_TEST_OF("facts", opening_twice_gives_the_same)
{
    struct network *a = opened(&workload_inception3, (struct network_opts){ .aux_head = true });
    struct network *b = opened(&workload_inception3, (struct network_opts){ .aux_head = true });

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

UNIT_TEST_OF("mutant", the_mutant_is_caught)
{
    const struct network_mutant *m = network_mutant_start(mutant_name);
    struct network *n = NULL;

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
    if (argc < 3) {
        fprintf(stderr, "usage: nets_test facts|mutant MODEL_TENSORS.CSV [NAME]\n");
        return 2;
    }
    tensors_path = argv[2];
    mutant_name = argc > 3 ? argv[3] : "";
    return unit_run("nets", argv[1], NULL, NULL);
}
