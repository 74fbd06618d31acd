/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload_list.h - the one list of models, in the order in which users see them.
 *
 * An entry NAME stands for `const struct workload workload_NAME`. CMakeLists.txt reads the entries of NETWORK_LIST,
 * too: some tests run once per network.
 */
#ifndef MODELS_WORKLOAD_LIST_H
#define MODELS_WORKLOAD_LIST_H

#define NETWORK_LIST(NETWORK) \
    NETWORK(lenet)            \
    NETWORK(alexnet)          \
    NETWORK(vgg16)            \
    NETWORK(resnet8)          \
    NETWORK(resnet50)         \
    NETWORK(resnet101)        \
    NETWORK(resnet152)        \
    NETWORK(inception3)

#define WORKLOAD_LIST(MODEL) \
    MODEL(linear)            \
    NETWORK_LIST(MODEL)      \
    MODEL(replay)

#endif
