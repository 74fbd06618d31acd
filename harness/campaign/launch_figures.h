/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_figures.h - the figures that a campaign reads of each launch: FIGURE(member, key) is a member of struct launch
 * (campaign.h) and the key of the launch's summary record. NaN: null in the record, or not in it.
 *
 * The last four tell of other load on its machine.
 */
#ifndef HARNESS_CAMPAIGN_LAUNCH_FIGURES_H
#define HARNESS_CAMPAIGN_LAUNCH_FIGURES_H

#define LAUNCH_FIGURES(FIGURE)                                      \
    FIGURE(throughput_samples_per_s, "throughput_samples_per_s")    \
    FIGURE(low_samples_per_s, "throughput_low_samples_per_s")       \
    FIGURE(high_samples_per_s, "throughput_high_samples_per_s")     \
    FIGURE(efficiency_ratio, "efficiency_ratio")                    \
    FIGURE(bound_ratio, "bound_ratio")                              \
    FIGURE(bound_low_ratio, "bound_low_ratio")                      \
    FIGURE(bound_high_ratio, "bound_high_ratio")                    \
    FIGURE(step_mean_s, "step_mean_s")                              \
    FIGURE(compute_s, "compute_s")                                  \
    FIGURE(wait_s, "wait_s")                                        \
    FIGURE(wire_s, "wire_s")                                        \
    FIGURE(server_s, "server_s")                                    \
    FIGURE(apply_s, "apply_s")                                      \
    FIGURE(rest_s, "rest_s")                                        \
    FIGURE(loss_last, "loss_last")                                  \
    FIGURE(accuracy_ratio, "accuracy_ratio")                        \
    FIGURE(staleness_mean_count, "staleness_mean_count")            \
    FIGURE(staleness_max_count, "staleness_max_count")              \
    FIGURE(seconds_to_target_s, "seconds_to_target_loss_s")         \
    FIGURE(samples_to_target_count, "samples_to_target_loss_count") \
    FIGURE(steal_ratio, "steal_ratio")                              \
    FIGURE(others_cores_count, "others_cores_count")                \
    FIGURE(taken_cores_ratio, "taken_cores_ratio")                  \
    FIGURE(frequency_hz, "frequency_hz")

#endif
