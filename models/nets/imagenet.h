/* SPDX-License-Identifier: Apache-2.0 */
/* imagenet.h - what networks for ImageNet have in common: three channels, 1000 classes, and by default a short run with
 * a batch that has room in small memory: it is for the time of a step. */
#ifndef MODELS_NETS_IMAGENET_H
#define MODELS_NETS_IMAGENET_H

#include "models/engine/network_builder.h"
#include "models/engine/training.h"

/* Workload workload_NAME, built by build_NAME(). ...: further members of its struct network_def. */
#define IMAGENET_WORKLOAD(id, size, least_size, lr, ...) \
    static const struct network_def id = {               \
        .name = #id,                                     \
        .image_size = size,                              \
        .min_image_size = least_size,                    \
        .n_classes = 1000,                               \
        .C_in = 3,                                       \
        .build = build_##id,                             \
        __VA_ARGS__,                                     \
    };                                                   \
                                                         \
    const struct workload workload_##id = {              \
        .module.name = #id,                              \
        .dataset = "synthetic",                          \
        .network = &id,                                  \
        .default_lr = lr,                                \
        .default_momentum = 0.9,                         \
        .default_batch = 8,                              \
        .default_steps = 50,                             \
        .default_target_loss = 0.0,                      \
        .ops = &network_training_ops,                    \
    };

#endif
