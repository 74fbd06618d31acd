/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_kit.h - the same calls on two backends, and their arrays compared. Private to cuda_test. */
#ifndef HARNESS_COMPUTE_SUITE_CUDA_KIT_H
#define HARNESS_COMPUTE_SUITE_CUDA_KIT_H

#include "harness/compute/compute.h"

enum { MAX_ARRAYS = 16 };

struct side {
    struct compute *c;
    void *array[MAX_ARRAYS];
    size_t n[MAX_ARRAYS];
    size_t n_arrays;
};

/* Asserts that b opens; env may be NULL. */
struct side *side_open(const struct compute_backend *b, const struct compute_env *env);
void side_close(struct side *s);
/* Frees the arrays. */
void side_empty(struct side *s);
/* The next array: n floats in [-1, 1), the same on each side. */
float *side_reals(struct side *s, size_t n);
/* Every array of a is, within tolerance times its largest value, that of b; then both are freed. */
void side_compare(struct side *a, struct side *b, double tolerance);

/* The cases of cuda_agrees.c: cuda against cpu. */
void convolutions_agree(void **state);
void bf16_convolutions_are_near(void **state);
void grouped_convolutions_agree(void **state);
void images_are_grouped_by_eights(void **state);
void norms_agree(void **state);
void pools_agree(void **state);
void values_agree(void **state);
/* Of cuda_copies.c. */
void wait_event_ignores_later_calls(void **state);
void copies_of_any_size_arrive(void **state);
/* Of cuda_packed.c. */
void packed_convolutions_give_the_same_bits(void **state);
void what_is_packed_is_not_packed_again(void **state);
void norms_and_biases_pack(void **state);
void pools_pack(void **state);
void packing_can_be_off(void **state);
/* Of cuda_profile.c. */
void scratch_is_foretold(void **state);
void stamps_are_of_the_device(void **state);
void gemms_alone_are_of_random_numbers(void **state);

#endif
