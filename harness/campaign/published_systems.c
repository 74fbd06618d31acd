/* SPDX-License-Identifier: Apache-2.0 */
/* published_systems.c - see published_systems.h. */
#include "harness/campaign/published_systems.h"

#include <stdio.h>
#include <string.h>

#include "harness/cluster/cluster_keys.h"

/* The rates of one core are those of memcpy: 6.0 GB/s on an EC2 X1 (github.com/apache/arrow pull 580, 2017), 25 MB in
 * 4.5 ms on a Broadwell-E (stackoverflow.com/questions/39260020), both read and written. */
#define ONE_STREAM                                                                \
    {                                                                             \
        "tcp_rate_ratio", 0.548, 0.1, 0.95,                                       \
            "NCCL 2.0 has one stream for each ring: 13.7 of 25 Gbit/s (iperf, "   \
            "github.com/bytedance/byteps issue 29, 2019); NCCL in clouds: 10 of " \
            "100 Gbit/s (horovod issue 2581, 2021)"                               \
    }
#define SEVERAL_STREAMS                                                            \
    {                                                                              \
        "tcp_rate_ratio", 0.95, 0.548, 0.99,                                       \
            "NCCL 2.4 has several: 95 % of 25 Gbit/s with 2 threads of 8 sockets " \
            "(Zhang et al. 2020, gist zarzen/c2dca465)"                            \
    }
#define GRPC_CHANNEL                                                     \
    {                                                                    \
        "grpc_process_bytes_per_s", 0.9e9, 0.9e9, 2.6e9,                 \
            "one channel, and eight servers to one process (github.com/" \
            "tensorflow/tensorflow issue 6116, 2016)"                    \
    }

static const struct published_system of_option[] = {
    { .name = "horovod-2017",
      .bucket_bytes = 64 << 20,
      .source = "HOROVOD_FUSION_THRESHOLD (github.com/horovod/horovod pull 15, 2017)",
      .value = { ONE_STREAM } },
    { .name = "horovod-0.16",
      .bucket_bytes = 64 << 20,
      .source = "HOROVOD_FUSION_THRESHOLD, 128 MiB only since 0.21 (github.com/horovod/horovod pull 2468, 2020)",
      .value = { SEVERAL_STREAMS } },
    { .name = "ddp",
      .bucket_bytes = 25 << 20,
      .source = "bucket_cap_mb (Li et al., PyTorch Distributed, VLDB 2020)",
      .value = { SEVERAL_STREAMS } },
    { .name = "mpi",
      .bucket_bytes = 64 << 20,
      .source = "as Horovod of 2017, whose tensors MPI sums on the processors of the hosts",
      .value = { { "collective_copy_bytes_per_s", 3.1e9, 2.6e9, 6e9,
                   "a memcpy by one core (6 GB/s), and pinned (11.7 GB/s) or pageable memory (3 to 6 GB/s) to the GPU "
                   "over PCIe 3.0" },
                 { "collective_sum_bytes_per_s", 12e9, 11e9, 17e9,
                   "one core, as in a memcpy: 6.0 GB/s read and written, or 5.6 with lines read before they are "
                   "written" } } },
    { .name = "tf-grpc",
      .has_servers = true,
      .placement = "round-robin",
      .ps_transport = "grpc",
      .source = "tf.train.replica_device_setter",
      .value = { GRPC_CHANNEL } },
    { .name = "tf-distributed-2017",
      .has_servers = true,
      .placement = "whole",
      .ps_transport = "grpc",
      .source = "tf_cnn_benchmarks, variable_update=parameter_server: to the server with the fewest bytes",
      .value = { GRPC_CHANNEL } },
};

const struct published_system *published_system_find(const char *name)
{
    for (size_t i = 0; i < sizeof of_option / sizeof *of_option; i++)
        if (strcmp(of_option[i].name, name) == 0)
            return &of_option[i];
    return NULL;
}

static enum rc fill_value(struct cluster *c, struct cluster_sources *sources, const struct published_system *s,
                          const struct system_value *v, char *setting, size_t n_bytes)
{
    const int key = cluster_key_find(v->key);
    enum rc rc = RC_OK;

    setting[0] = '\0';
    if (strncmp(sources->text[key], CLUSTER_NOT_GIVEN, strlen(CLUSTER_NOT_GIVEN)) != 0)
        return RC_OK;
    snprintf(setting, n_bytes, "%s=%.9g", v->key, v->value);
    TRY(cluster_set(c, NULL, setting));
    c->assumed |= UINT64_C(1) << key;
    snprintf(sources->text[key], sizeof sources->text[key], "assumed: range %.9g to %.9g; %s: %s", v->low, v->high,
             s->name, v->source);
out:
    return rc;
}

enum rc published_system_fill(char settings[SYSTEM_SETTINGS_BYTES], const struct published_system *s, struct cluster *c,
                              struct cluster_sources *sources)
{
    char setting[SYSTEM_SETTINGS_BYTES / SYSTEM_MOST_VALUES - 1];
    size_t n = 0;
    enum rc rc = RC_OK;

    settings[0] = '\0';
    for (size_t i = 0; i < SYSTEM_MOST_VALUES && s->value[i].key; i++) {
        TRY(fill_value(c, sources, s, &s->value[i], setting, sizeof setting));
        if (setting[0])
            n += (size_t)snprintf(settings + n, SYSTEM_SETTINGS_BYTES - n, "%s%s", n > 0 ? "," : "", setting);
    }
out:
    return rc;
}
