/* SPDX-License-Identifier: Apache-2.0 */
/* run_operands.h - the arrays that an op works on. Internal to run*.c. */
#ifndef MODELS_ENGINE_RUN_OPERANDS_H
#define MODELS_ENGINE_RUN_OPERANDS_H

#include "models/engine/run.h"

/* An operand's array in memory of the compute; NULL: absent, or no memory is touched. */
static inline void *array_of(const struct run *r, struct view v)
{
    if (v.buffer < 0 || r->memory == NULL)
        return NULL;
    return r->memory + r->program->item[v.buffer].offset_bytes + v.offset_bytes * r->B;
}

static inline float *output_of(const struct run *r, const struct op *op, enum operand which)
{
    return array_of(r, op->v[which]);
}

static inline const float *input_of(const struct run *r, const struct op *op, enum operand which)
{
    return op->v[which].buffer == VIEW_IMAGE ? r->x : array_of(r, op->v[which]);
}

#endif
