/* SPDX-License-Identifier: Apache-2.0 */
/* shapes.h - the shapes of compute.h in a form that C and CUDA C++ both read. Private to cuda. */
#ifndef HARNESS_COMPUTE_CUDA_SHAPES_H
#define HARNESS_COMPUTE_CUDA_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cuda_window { /* struct window, and its output */
    int B, C, H, W;
    int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
    int out_h, out_w;
};

struct cuda_sgd { /* struct sgd */
    float lr, momentum, weight_decay, grad_scale, velocity_min;
};

struct cuda_adagrad { /* struct adagrad */
    float lr, epsilon, weight_decay, grad_scale, squares_min;
};

struct cuda_adam { /* struct adam */
    float beta1, rest1, beta2, rest2, epsilon, weight_decay, grad_scale, rate, root, velocity_min, squares_min;
};

#endif
