/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_keys.c - the one list of keys and kinds of records; see record_keys.h.
 *
 * A key means the same in all kinds. Its name ends in its unit (report.O1). A new key gets a row here and its name in
 * the list of each kind that has it.
 */
#include "harness/report/record_keys.h"

#include <stdlib.h>
#include <string.h>

#include "harness/cluster/cluster_keys.h"

/* Types of a value: a whole number, a real one, true or false, text, an object; arrays of them. All may be null. */
enum {
    I = RECORD_WHOLE,
    R = RECORD_REAL,
    B = RECORD_BOOL,
    T = RECORD_TEXT,
    O = RECORD_OBJECT,
    Is = RECORD_WHOLES,
    Rs = RECORD_REALS,
    Ts = RECORD_TEXTS
};

#define NONE RECORD_NO_OTHERS

/* clang-format off */
const struct record_key record_keys[] = { /* sorted by name */
    { "a", T | I | R, "The first of two settings, campaigns or values; of a finding: its node or rank" },
    { "a_cores_count", I, "Cores of setting a" },
    { "a_launches_count", I, "Runs of setting a" },
    { "a_layout", T, "Layout of setting a, if layouts are compared" },
    { "a_measured", R, "Measured value of test a" },
    { "a_mode", T, "Mode of setting a" },
    { "a_outcome", T, "Outcome of test a" },
    { "a_samples_per_s", R, "Mean throughput in campaign a" },
    { "a_servers_count", I, "Servers of setting a" },
    { "a_workers_count", I, "Workers of setting a" },
    { "accuracy_ratio", R, "Test images that are classified correctly, as a part of all" },
    { "activations_bytes", I, "Memory for activations of a rank; of a layout: activations sent per step" },
    { "activations_bytes_per_step", R, "Activations that the rank that sends most sends per step" },
    { "alarmed_trials_count", I, "Trials without a fault in which the test found one" },
    { "algbw_bytes_per_s", R, "Algorithm bandwidth: bytes of the message divided by the time" },
    { "alternating_pairs_count", I, "Pairs of turns with and without exchange (--alternate-exchange)" },
    { "alternating_turn_steps_count", I, "Steps of a turn (--alternate-exchange)" },
    { "apply_s", R, "Part of the mean step: apply the update" },
    { "arguments", Ts, "The command line, without the launcher" },
    { "as_well_high", Rs, "Highest value that fits the rows as well, per key" },
    { "as_well_low", Rs, "Lowest value that fits the rows as well, per key" },
    { "assumed", Ts | O, "Values of the cluster that are assumed, with their sources if known" },
    { "assumed_high_ratio", R, "Upper end of the band by assumed and calibrated values and jitter alone" },
    { "assumed_low_ratio", R, "Lower end of the band by assumed and calibrated values and jitter alone" },
    { "at_least", B, "Is the limit a minimum? Otherwise it is a maximum" },
    { "available_bytes", I, "Memory that was available at the start" },
    { "b", T | I | R, "The second of two settings, campaigns or values; of a finding: the other node of a link" },
    { "b_cores_count", I, "Cores of setting b" },
    { "b_is", T, "How b compares with a: better, worse or the like" },
    { "b_launches_count", I, "Runs of setting b" },
    { "b_layout", T, "Layout of setting b, if layouts are compared" },
    { "b_measured", R, "Measured value of test b" },
    { "b_mode", T, "Mode of setting b" },
    { "b_outcome", T, "Outcome of test b" },
    { "b_over_a_high_ratio", R, "Upper end of the 95 % interval of b_over_a_ratio" },
    { "b_over_a_low_ratio", R, "Lower end of the 95 % interval of b_over_a_ratio" },
    { "b_over_a_ratio", R, "Value of b divided by value of a" },
    { "b_samples_per_s", R, "Mean throughput in campaign b" },
    { "b_servers_count", I, "Servers of setting b" },
    { "b_workers_count", I, "Workers of setting b" },
    { "band_of", T, "The assumed value that widens the band of the prediction most" },
    { "bands_count", I, "Rows that have a band" },
    { "baseline_gpus_count", I, "GPUs of the baseline, which efficiencies are relative to: 1, or those of one host" },
    { "baseline_images_per_s", R, "Images per second of each GPU of the baseline" },
    { "baseline_samples_per_s", R, "Throughput of one worker alone, for efficiency_ratio" },
    { "batch", R, "Images per batch" },
    { "batch_count", I, "Images per batch of one GPU" },
    { "batch_per_worker_count", I, "Samples per batch of a worker" },
    { "batches_again_count", I, "Batches that a second worker had to compute again (--elastic)" },
    { "batches_applied_count", I, "Batches whose gradients were applied (--elastic)" },
    { "batches_count", I, "Batches of the run (--elastic)" },
    { "batches_done_count", I, "Batches that were finished at that time" },
    { "better_count", I, "Settings with b better than a" },
    { "block_position", I, "Place of the run in its round, from 0" },
    { "both_ways", B, "Does the finding hold in both directions of the link?" },
    { "bottleneck", T, "What limits the predicted step" },
    { "bottleneck_ratio", R, "Part of the step that the bottleneck is busy" },
    { "bound", T, "How the bound was measured" },
    { "bound_failed", B, "Is bound_ratio above 1, by more than rounding?" },
    { "bound_goodput_bytes_per_s", R, "Goodput of the bound at this size" },
    { "bound_high_ratio", R, "Upper end of the 95 % interval of bound_ratio" },
    { "bound_low_ratio", R, "Lower end of the 95 % interval of bound_ratio" },
    { "bound_ratio", R, "Throughput or rate as a part of the measured bound" },
    { "bound_samples_per_s", R, "Throughput that the measured limits allow" },
    { "broken_files_count", I, "Broken files that --skip-broken left out" },
    { "bubble_ratio", R, "Part of the step that stages wait, by the formula of the schedule" },
    { "bucket_bytes", I, "Size of a bucket" },
    { "budget_s", R, "Time that --autotune may use" },
    { "build_type", T, "CMake build type" },
    { "busbw_bytes_per_s", R, "Bus bandwidth: comparable for all numbers of ranks" },
    { "busbw_high_bytes_per_s", R, "Upper end of the 95 % interval of busbw_bytes_per_s" },
    { "busbw_low_bytes_per_s", R, "Lower end of the 95 % interval of busbw_bytes_per_s" },
    { "busy_s", R, "Time per step that the link carries bytes; of sim_cost: in the whole run" },
    { "bytes", I, "Bytes on the link" },
    { "bytes_count", I, "Size of the message" },
    { "bytes_per_s", R | Rs, "Rate; of pairs: to each other node" },
    { "calibration_log", R, "Part of the uncertainty that comes from the calibration, as a logarithm" },
    { "calls_per_repeat_count", I, "Calls that one repeat measures together" },
    { "campaign_s", R, "Time that the campaign had used at the end of this run" },
    { "can_tell", B, "Is the band narrow enough to say which mode is faster?" },
    { "candidates_count", I, "Values of options that --autotune considered" },
    { "ceiling", T, "Which measurement is the ceiling" },
    { "ceiling_busbw_bytes_per_s", R, "Bus bandwidth of the ceiling at this size" },
    { "chain_sha256", T, "Digest of this line and of all before it" },
    { "channels_count", I, "Channels of an image" },
    { "checks_count", I, "Sums that were checked" },
    { "classes_count", I, "Classes of the data" },
    { "cluster", T | O, "The simulated cluster: its name, or its values" },
    { "cluster_sha256", T, "SHA-256 of the description of the cluster" },
    { "compiler", T, "Compiler, with its version" },
    { "compiler_flags", T, "Options of the compiler" },
    { "compression", T, "Compression of gradients" },
    { "compute", T, "Backend of the arithmetic" },
    { "compute_ratio", R, "Factor from simulated to measured compute time" },
    { "compute_s", R, "Part of the mean step: forward and backward pass" },
    { "consistency", T, "Consistency rule of the servers" },
    { "continued_count", I, "Times that the campaign was continued" },
    { "continued_despite", T, "What had changed when --continue-anyway continued it" },
    { "cores_count", I, "Cores of the host" },
    { "corruptions_count", I, "Unequal replicas that --verify-every found" },
    { "cost_ratio", R, "Cost of the stage divided by the mean of all stages" },
    { "could_test", B, "Could the test reach a verdict?" },
    { "counted", B, "Does the row count in the mean error?" },
    { "cpu_model", T, "Model of the CPU" },
    { "criteria_file", T, "File with the criteria; null: the defaults" },
    { "criterion", T, "Name of the criterion" },
    { "data", T, "The data set, or the data that a published rate is for" },
    { "data_wait_s", R, "Mean time per step that worker 0 waited for its samples" },
    { "dataset", T, "Data set" },
    { "date_utc", T, "Date and time in UTC" },
    { "dense_params_count", I, "Parameters of the dense layers in this shard" },
    { "detour_ratio", Rs, "Part of the time that a rank loses to the operating system, per repeat" },
    { "device", T, "Accelerator of the rank" },
    { "did_not_learn", B, "Did the loss not fall?" },
    { "differs", T, "Why the two are not compared" },
    { "disturbed", T, "Did other work use the machine during the run? yes, no or not_known" },
    { "disturbed_pairs_count", I, "Pairs with a disturbed run" },
    { "drift_log", R, "Part of the uncertainty that comes from a drift with the size, as a logarithm" },
    { "drift_ratio", R, "Median step of the soak's last tenth divided by that of its first tenth, minus 1" },
    { "effective_rounds_count", R, "Independent rounds that as precise a mean would need" },
    { "efficiency_ratio", R, "Throughput divided by that of the same number of workers, each alone" },
    { "element", I, "Index of the first wrong element" },
    { "element_type", T, "Type of an element" },
    { "elements_count", I, "Elements of the message" },
    { "encryption", T, "curve, clear or local" },
    { "end_node", I, "Node of the network after the last one of the stage" },
    { "ended", T, "What ended the measurement early" },
    { "environment", O, "Variables of rank 0's environment that may matter" },
    { "environment_left_out_count", I, "Such variables that are not recorded" },
    { "error_ratio", R, "Predicted minus published efficiency; of a check: predicted by measured time, minus 1" },
    { "exchange_bytes", I, "Memory for the exchange of gradients" },
    { "exchange_keeps_high_ratio", R, "Upper end of the 95 % interval of exchange_keeps_ratio" },
    { "exchange_keeps_low_ratio", R, "Lower end of the 95 % interval of exchange_keeps_ratio" },
    { "exchange_keeps_ratio", R, "Throughput with exchange divided by that without, in the same run" },
    { "exchange_keeps_robust_ratio", R, "The same by the median of averages of two pairs" },
    { "exchange_memory", T, "private, shared or device" },
    { "exchange_pages", T, "small, transparent huge or hugetlb" },
    { "exchange_ratio", R, "Factor from simulated to measured exchange time" },
    { "exchange_s", R, "Mean step without compute; of a stage: time of its exchange" },
    { "exchange_shared_by", T, "How memory is shared" },
    { "exchange_shared_reason", T, "Why it is not shared in a better way" },
    { "expected", R, "The expected value, in its unit" },
    { "exposed_comm_s", R | Rs, "Communication that a worker waited for; of a step: of each worker" },
    { "exposed_ratio", R, "Exposed communication as a part of the step" },
    { "exposed_s", R, "Predicted communication that a worker waits for" },
    { "fact", I, "Index of the preflight fact that differs, from 0" },
    { "failed", T, "Why the trial failed; null: it did not" },
    { "failed_saves_count", I, "Checkpoints that could not be written" },
    { "failed_simulations", Ts, "Messages of simulations that failed" },
    { "false_count", I, "Findings that are no injected fault" },
    { "faults_count", I, "Injected faults" },
    { "file", T, "File that was written" },
    { "finished_rows_count", I, "Rows that were finished" },
    { "first_node", I, "First node of the network in the stage" },
    { "first_rank", I, "First rank of the node" },
    { "fitted", B, "Was the row one of --fit-rows?" },
    { "fitted_mean_absolute_error_before_ratio", R, "The same with the values of the description" },
    { "fitted_mean_absolute_error_ratio", R, "Mean error of efficiency in the rows of the fit" },
    { "fitted_rows_count", I, "Rows of the fit" },
    { "flipped_bit_found_count", I, "Injected bit flips that were found" },
    { "flipped_bit_injected_count", I, "Injected bit flips" },
    { "flops_per_s", Rs, "Rate of matrix multiplication, per repeat" },
    { "flops_per_sample_count", R, "Floating-point operations for one sample" },
    { "flops_ratio", R, "Operations of the stage as a part of those of all stages" },
    { "folder", T, "Folder of the results" },
    { "for_lessons_without", T, "What a lesson left out of the training; null: nothing" },
    { "formula_step_s", R, "Step by the formula, without simulation" },
    { "found", T, "What the lab found, as sentences" },
    { "found_after_s", R, "Time until the fault was found" },
    { "found_count", I, "Injected faults that were found" },
    { "found_in", T, "a or b: the test that has the finding alone" },
    { "framework", T, "Framework of the published rate" },
    { "frequency_hz", R, "Mean frequency of the cores" },
    { "from", I, "Index of the sending node, from 0" },
    { "gathered_bytes_per_step", R, "Activations that the shard gathers per step" },
    { "git_commit", T, "Commit of the sources" },
    { "git_dirty", B, "Had the sources been changed since?" },
    { "global_batch_count", I, "Samples per step of all workers" },
    { "goodput_bytes_per_s", R, "Bytes of all workers divided by the time" },
    { "goodput_high_bytes_per_s", R, "Upper end of the 95 % interval of goodput_bytes_per_s" },
    { "goodput_low_bytes_per_s", R, "Lower end of the 95 % interval of goodput_bytes_per_s" },
    { "gpu", T, "GPU of the published rate" },
    { "gpus_count", I, "GPUs, one worker each" },
    { "gradients", T, "How gradients are sent: fp32, fp16 or bf16" },
    { "gradients_bytes", I, "Gradients that the rank that sends most sends per step" },
    { "gradients_bytes_per_step", R, "Gradients that a rank sends per step" },
    { "guest_batches_count", I, "Batches that late joiners computed" },
    { "has", T, "What this node has instead" },
    { "has_changes", B, "Did --autotune choose anything but defaults?" },
    { "has_failed", B, "Did the trial fail?" },
    { "healthy_subjects_count", I, "Ranks, nodes and links without an injected fault" },
    { "healthy_trials_count", I, "Trials without a fault" },
    { "height", I, "Height of an image in pixels" },
    { "held_micro_batches_count", I, "Most micro-batches that the stage held at once" },
    { "hidden_comm_s", R | Rs, "Communication during compute; of a step: of each worker" },
    { "high", R, "Upper end of the 95 % interval of measured" },
    { "high_bytes_per_s", R, "Upper end of the 95 % interval of bytes_per_s" },
    { "high_efficiency_ratio", R, "Upper end of the 95 % interval of efficiency_ratio" },
    { "high_launcher_samples_per_s", R, "Upper end of the 95 % interval of launcher_samples_per_s" },
    { "high_ratio", R, "Upper end of the 95 % interval of ratio" },
    { "high_samples_per_s", R, "Upper end of the 95 % interval of samples_per_s" },
    { "high_step_s", R, "Upper end of the band of predicted_step_s" },
    { "host", T, "Name of the host" },
    { "host_bytes", I, "Memory of all ranks of a host together" },
    { "hosts_count", I, "Hosts" },
    { "hot_server_bytes", I, "Parameters of the server that has most" },
    { "hot_server_index", I, "The server that has most parameters, from 0" },
    { "hot_tensor", T, "Largest tensor of the busiest server" },
    { "hot_tensor_bytes", I, "Its size" },
    { "image_size_px", I, "Width and height of the images" },
    { "images_per_s", R, "Images per second" },
    { "imbalance_ratio", R, "Parameters of the server that has most, divided by the mean of all servers" },
    { "index", I, "Number of the link, from 0" },
    { "injected", T, "Injected faults, as --inject takes them" },
    { "input_sha256", O, "SHA-256 of the input files, by option" },
    { "input_wait_s", R | Rs, "Time per step that a worker waited for samples; of a step: of each worker" },
    { "integrity_checks_count", I, "Comparisons of replicas" },
    { "integrity_checks_s", R, "Time for these comparisons" },
    { "integrity_every_steps_count", I, "Steps between two comparisons" },
    { "is_best", B, "Is it the best one?" },
    { "is_chosen", B, "Is it the chosen one?" },
    { "is_complete", B, "Is the campaign complete?" },
    { "is_given_up", B, "Was the setting given up after this failure?" },
    { "is_in_use", B, "Is it the setting that all candidates are compared with?" },
    { "is_stopped", B, "Did a signal stop --autotune?" },
    { "is_virtual", B, "Is the time simulated?" },
    { "kernel", T, "Operating system and architecture" },
    { "keys", Ts, "Keys of a cluster description that were fitted" },
    { "killed_rank_found_count", I, "Killed ranks that were found" },
    { "killed_rank_injected_count", I, "Killed ranks" },
    { "kind", T, "What the record is" },
    { "last_bin_and_above_count", I, "The last entry of pushes_count counts this staleness and more" },
    { "last_level_cache_bytes", I, "Last-level caches of a host" },
    { "late_gradients_count", I, "Gradients that came after their round was closed" },
    { "late_ratio", Rs, "Part of the round trips to each other node that were late" },
    { "latencies_count", I, "Requests that the percentiles rest on" },
    { "latency_p50_s", R, "Median time of one request" },
    { "latency_p99_s", R, "Time that 99 % of the requests take at most" },
    { "latency_s", Rs, "Latency to each other node" },
    { "launch_index", I, "Round of the comparison, from 0" },
    { "launcher", T, "Program that starts the processes" },
    { "launcher_samples_per_s", R, "Throughput with the launcher's order of ranks" },
    { "launches_count", I, "Runs of the setting" },
    { "launches_log", R, "Part of the uncertainty that comes from the spread of runs, as a logarithm" },
    { "launches_per_point_count", I, "Runs of each setting" },
    { "layout", T, "data x pipeline x tensor parallel" },
    { "layout_waited_ratio", R, "Part of the run that worker 0 waited for stages and shards" },
    { "lead_max_count", I, "Most steps that a worker was ahead of the slowest one" },
    { "learned", T, "Did the loss fall? yes, no or not_known" },
    { "learned_reason", T, "Why learned says so" },
    { "learning_rate", R, "Learning rate" },
    { "left_out_mean_absolute_error_before_ratio", R, "The same with the values of the description" },
    { "left_out_mean_absolute_error_ratio", R, "Mean error of efficiency in rows that a fit to the other tables predicts" },
    { "left_out_rows_count", I, "Rows of those tables" },
    { "left_out_tables_count", I, "Tables that were predicted by a fit to the other tables" },
    { "left_ranks", Is, "Workers that left the run on purpose" },
    { "left_s", R, "Time that --autotune had left" },
    { "libraries", O, "Versions of the libraries at build time" },
    { "limit", R, "The limit, in its unit" },
    { "limit_compute_after_s", R, "limit_compute_s, measured after the run" },
    { "limit_compute_before_s", R, "limit_compute_s, measured before the run" },
    { "limit_compute_s", R, "Least time of a step for compute alone" },
    { "limit_server_after_s", R, "limit_server_s, measured after the run" },
    { "limit_server_before_s", R, "limit_server_s, measured before the run" },
    { "limit_server_s", R, "Least time of a step for the servers alone" },
    { "limit_wire_after_s", R, "limit_wire_s, measured after the run" },
    { "limit_wire_before_s", R, "limit_wire_s, measured before the run" },
    { "limit_wire_s", R, "Least time of a step for the network alone" },
    { "line_index", I, "Line of the published table" },
    { "loads", O, "Busiest link of each kind: its index, busy_s and bytes" },
    { "longest_detour_s", Rs, "Longest interruption of a spinning rank, per repeat" },
    { "loss", R, "Mean training loss of the step over all workers" },
    { "loss_first", R, "Training loss at the start" },
    { "loss_last", R, "Training loss at the end" },
    { "loss_test", R, "Loss on the test images" },
    { "lossy_node_found_count", I, "Injected nodes with packet loss that were found" },
    { "lossy_node_injected_count", I, "Injected nodes with packet loss" },
    { "lost_rank", I, "Rank whose loss ended the test; -1: none" },
    { "lost_ranks", Is, "Ranks that were lost" },
    { "low", R, "Lower end of the 95 % interval of measured" },
    { "low_bytes_per_s", R, "Lower end of the 95 % interval of bytes_per_s" },
    { "low_efficiency_ratio", R, "Lower end of the 95 % interval of efficiency_ratio" },
    { "low_launcher_samples_per_s", R, "Lower end of the 95 % interval of launcher_samples_per_s" },
    { "low_ratio", R, "Lower end of the 95 % interval of ratio" },
    { "low_samples_per_s", R, "Lower end of the 95 % interval of samples_per_s" },
    { "low_step_s", R, "Lower end of the band of predicted_step_s" },
    { "lr_staleness", T, "How the learning rate depends on staleness" },
    { "made_for", O, "The run for which the choice is valid" },
    { "mean_absolute_error_ratio", R, "Mean of the absolute errors of efficiency" },
    { "mean_throughput_factor", R, "Mean factor between predicted and published throughput" },
    { "measured", R, "The measured value, in its unit" },
    { "measured_compute_s", R, "Measured compute time of a step" },
    { "measured_step_s", R, "Measured time of a step" },
    { "measured_steps_count", I, "Steps that the figures are of" },
    { "memory", T, "none, private, shared, staged or device" },
    { "memory_bytes", I, "Memory of the host; of a stage or layout: memory that a rank needs" },
    { "memory_bytes_per_s", Rs, "Memory bandwidth, per repeat" },
    { "message", T, "Why it failed" },
    { "message_bytes", I, "Size of the message" },
    { "messages_count", I, "Messages of the simulation" },
    { "messages_per_s", R, "Messages simulated per real second" },
    { "messages_sum_ns", I, "Of a timeline: sum of all times of --messages, each since the first, modulo 2^53" },
    { "metric", T, "Name of the measured quantity" },
    { "micro_batches_count", I, "Micro-batches of a worker's batch" },
    { "minutes", R, "Length of the soak in minutes" },
    { "mode", T, "allreduce, ps, single or none; of a prediction also ps-sync or ps-async" },
    { "model", T, "Network" },
    { "mpi_thread_level", T, "Thread level that MPI granted" },
    { "name", T, "Name" },
    { "network_bytes", I | R, "Bytes that hosts send per step; of sim_cost: in the whole run" },
    { "network_bytes_per_gpu", R, "Bytes per step and GPU that leave the hosts" },
    { "network_ratio", R, "Part of the step that the busiest network card is busy" },
    { "no_difference_count", I, "Settings without a clear difference" },
    { "node", I, "Index of the node, from 0; -1: of all" },
    { "node_of_rank", Is, "The node of each rank" },
    { "nodes_count", I, "Nodes" },
    { "not_compared_count", I, "Settings that are not compared" },
    { "not_learned_advice", T, "What to try if the loss did not fall" },
    { "of", T, "What the record is about: ring or ps; of a figure: its size or rank" },
    { "of_bound_ratio", R, "Goodput as a part of the bound" },
    { "of_ceiling_ratio", R, "Bus bandwidth as a part of the ceiling" },
    { "offset", R, "Final parameter of the model linear" },
    { "one_gpu_images_per_s", R, "Images per second of one GPU alone" },
    { "operand", T, "First operand of the command" },
    { "operation", T, "What was measured: sum, push, pull, both, echo or others" },
    { "option", T, "Option whose value is tried" },
    { "options", O | T, "Options with their values, defaults included" },
    { "order", I | T, "The order of ranks: its name or its index" },
    { "other", T, "What the other nodes have" },
    { "other_files_count", I, "Files that are no pictures" },
    { "others_cores_count", R, "Cores that other programs used, in the mean" },
    { "out", T, "Folder that was written" },
    { "out_of_place_algbw_bytes_per_s", R, "algbw_bytes_per_s of the call out of place" },
    { "out_of_place_busbw_bytes_per_s", R, "busbw_bytes_per_s of the call out of place" },
    { "out_of_place_busbw_high_bytes_per_s", R, "busbw_high_bytes_per_s of the call out of place" },
    { "out_of_place_busbw_low_bytes_per_s", R, "busbw_low_bytes_per_s of the call out of place" },
    { "out_of_place_repeats_count", I, "repeats_count of the call out of place" },
    { "out_of_place_time_high_s", R, "time_high_s of the call out of place" },
    { "out_of_place_time_low_s", R, "time_low_s of the call out of place" },
    { "out_of_place_time_s", R, "time_s of the call out of place" },
    { "out_of_place_wrong_count", I, "wrong_count of the call out of place" },
    { "outcome", T, "pass, fail, no data, skipped or no limit; of a trial of --autotune: chosen, slower and others" },
    { "overlap", T, "on or off: does communication run during compute?" },
    { "overlap_reason", T, "Why overlap and priority were chosen" },
    { "own_batches_count", I, "Batches of this worker" },
    { "own_cores_count", I, "Cores that the rank is bound to; 0: it is not bound" },
    { "p_value", R, "Probability of such a difference, or a larger one, if nothing differs" },
    { "pages", T, "Pages of the memory: small, transparent huge or hugetlb" },
    { "pairs_count", I, "Pairs of runs that the ratio rests on" },
    { "params_bytes", I, "Memory for parameters" },
    { "params_count", I, "Parameters" },
    { "params_sha256", T, "Hash of the final parameters" },
    { "part_batch_count", I, "Samples per batch of this worker, if the data are split unevenly" },
    { "part_samples_count", I, "Samples that this worker has, if the data are split unevenly" },
    { "parts_count", I, "Parts of the soak" },
    { "pass_s", R, "Time to pass a micro-batch to the next stage" },
    { "passed_bytes", I, "Bytes of a micro-batch that the stage passes on" },
    { "peak_resident_bytes", R, "Largest resident memory of rank 0's process" },
    { "phase", T, "What the rank was doing: start, probe, step, serve or end" },
    { "piece_max_bytes", I, "Largest chunk of a gradient" },
    { "pieces_count", I, "Chunks of the message" },
    { "pieces_in_flight_count", I, "Most outstanding chunks of a worker" },
    { "pipeline_bound_by", T, "profile or run: where the times of pipeline_bound_s come from" },
    { "pipeline_bound_s", R, "Least time of a step of the pipeline" },
    { "placement", T, "Where servers keep parameters; of comm: in place or out of place" },
    { "plan", O, "What --continue compares" },
    { "planned_held_micro_batches_count", I, "Micro-batches that the stage should hold, by the schedule" },
    { "planned_memory", O, "Memory that the run needs, by use" },
    { "planned_memory_bytes", I, "Memory that the run needs on one host" },
    { "point", T, "Name of the setting" },
    { "points", Ts, "Names of the settings" },
    { "points_count", I, "Settings of the campaign" },
    { "precision", T, "Precision of the arithmetic" },
    { "predicted_high_ratio", R, "Upper end of the band of predicted_ratio" },
    { "predicted_images_per_s", R, "Predicted images per second of all GPUs" },
    { "predicted_low_ratio", R, "Lower end of the band of predicted_ratio" },
    { "predicted_ratio", R, "Predicted efficiency" },
    { "predicted_step_s", R, "Predicted time of a step" },
    { "priority", T, "on or off: are the first layers sent first?" },
    { "profile", O, "Model, device and source of the profile" },
    { "profile_sha256", T, "SHA-256 of the profile" },
    { "program_fingerprint", T, "Hash of the program file, if the sources had been changed" },
    { "public_key", T, "Public key of the file, 40 characters of Z85" },
    { "published_ratio", R, "Published efficiency" },
    { "pull_checks_count", I, "Pulled parameters that were checked" },
    { "pull_steps_count", R, "Steps of this worker that pulled parameters" },
    { "push_steps_count", I | R, "Steps that pushed gradients" },
    { "pushes_count", Is, "Entry i counts pushes with staleness i" },
    { "q_value", R, "False-discovery rate at which it is found; 0: certain" },
    { "quantity", T, "throughput, exchange_cost or time_to_target" },
    { "range_high", Rs, "Upper end of the range of each fitted key" },
    { "range_low", Rs, "Lower end of the range of each fitted key" },
    { "rank", I, "Number of the rank, from 0; -1: not known" },
    { "ranks", Is, "Ranks, in this order" },
    { "ranks_count", I, "Ranks" },
    { "ratio", R, "The first value divided by the second; of a verdict: above 1 if a is better" },
    { "ratio_high", R, "Upper end of the interval of ratio" },
    { "ratio_low", R, "Lower end of the interval of ratio" },
    { "real_ns", I, "Real time of the simulation" },
    { "reducer", T, "Allreduce algorithm" },
    { "reducer_reason", T, "Why it was chosen" },
    { "refused", T, "Kinds of the messages that servers refused" },
    { "refused_count", I, "Messages and connections that servers refused" },
    { "repeat", I, "Repeat of the measurement, from 0" },
    { "repeated_parts_count", I, "Parts of gradients that came twice and were applied once" },
    { "repeats_count", I, "Repeats that the figure rests on" },
    { "replicas_copied_bytes", I, "Size of the standbys that were made again" },
    { "replicas_copied_count", I, "Standbys that were made again" },
    { "replicas_count", I, "Standbys of each server" },
    { "replicate_mean_s", R, "Mean time that a push waits for the standby" },
    { "rest_s", R, "Part of the mean step: everything else" },
    { "restarted_from_steps", Is, "Steps from which the run was started again" },
    { "restarts_count", I, "Times that the run was started again" },
    { "result", T, "a or b is better, or cannot tell; simulated, also equal" },
    { "role", T, "worker or server" },
    { "root_rank", I, "Root of a broadcast; -1: no broadcast" },
    { "rotated_bytes", I, "Memory that the calls of a rank rotate through" },
    { "rotated_host_bytes", I, "The same of all ranks of a host" },
    { "round", I, "Round of the race, from 1" },
    { "rounds_count", I, "Rounds of the measurement" },
    { "rows", T, "Condition of --fit-rows" },
    { "rows_count", I, "Rows of the table" },
    { "rows_in_band_count", I, "Rows whose published efficiency lies in their band" },
    { "running_means_and_variances_count", I, "Running means and variances of the batch normalisations" },
    { "runs_chain_sha256", T, "chain_sha256 of the last line of runs.jsonl" },
    { "same_as", I, "Index of the first order that is equal" },
    { "samples_count", I, "Samples that all workers had trained on; of a criterion: values it rests on" },
    { "samples_lost_count", I, "Samples that were computed and are in no parameter" },
    { "samples_per_s", R, "Throughput" },
    { "samples_to_target_loss_count", I, "Samples until the target loss was reached" },
    { "saves_count", I, "Checkpoints that were written" },
    { "saving_s", R, "Time for writing them" },
    { "scaling", T, "weak or strong: is the batch of a worker or of all workers constant?" },
    { "scattered_bytes_per_step", R, "Gradients of activations that the shard scatters per step" },
    { "schedule", T, "Schedule of the pipeline" },
    { "seconds_to_target_loss_s", R, "Time until the target loss was reached" },
    { "seed", I, "Seed of the random numbers" },
    { "seeds_count", I, "Seeds that were simulated" },
    { "segment", T, "Name of the tensor" },
    { "segment_index", I, "Index of the tensor, from 0" },
    { "sent_bytes_per_step", R, "Gradient bytes that a worker sends per step" },
    { "sent_ratio", R, "Sent bytes divided by those without compression" },
    { "server_bytes", I, "Memory of a server" },
    { "server_s", R, "Part of the mean step: work of the servers" },
    { "servers_beside_workers", B, "Do servers run on the cores of workers?" },
    { "servers_count", I, "Servers" },
    { "servers_replaced_count", I, "Servers that their standbys replaced" },
    { "servers_without_replica_count", I, "Servers without a standby at the end" },
    { "session_index", I, "Session of the campaign, from 0; --continue begins another one" },
    { "setting", T, "Name of the setting, or the changed value" },
    { "settings", O, "Options that are not the defaults" },
    { "sha256", T, "SHA-256 of all lines before" },
    { "shard", I, "Number of the shard, from 0" },
    { "shard_index", I, "Number of the rank's shard, from 0" },
    { "shard_wait_s", R, "Time per step that the rank waited for its group of shards" },
    { "shards_bytes", I, "Size of the written files" },
    { "shards_count", I, "Shards of a stage; of pack: written files" },
    { "simulated_compute_s", R, "Simulated compute time of a step" },
    { "simulated_step_s", R, "Simulated time of a step" },
    { "slope", R, "Final parameter of the model linear" },
    { "slow_link_found_count", I, "Injected slow links that were found" },
    { "slow_link_injected_count", I, "Injected slow links" },
    { "slow_link_throughput_ratio", R, "Throughput with one slow link divided by that without" },
    { "slow_node_found_count", I, "Injected slow nodes that were found" },
    { "slow_node_injected_count", I, "Injected slow nodes" },
    { "slow_rank_found_count", I, "Injected slow ranks that were found" },
    { "slow_rank_injected_count", I, "Injected slow ranks" },
    { "source", T, "Where the values are from" },
    { "speed_switch_ratio", R, "Factor by which the speed changed" },
    { "speed_switch_round_index", I, "Round in which the speed changed, from 0" },
    { "spent_s", R, "Time that --autotune used" },
    { "spread_log", R, "Part of the uncertainty that comes from the spread of sizes, as a logarithm" },
    { "stage", I | T, "Number of the stage, from 0; of accept: its name" },
    { "stage_imbalance_ratio", R, "Cost of the stage that costs most, divided by the mean" },
    { "stage_index", I, "Number of the rank's stage, from 0" },
    { "stage_wait_s", R, "Time per step that the rank waited for other stages" },
    { "stages_count", I, "Stages of the pipeline" },
    { "staleness_from_count", Is, "Lowest staleness of each entry of staleness_pushes_count" },
    { "staleness_max_count", I, "Largest staleness of a push" },
    { "staleness_mean_count", R, "Mean staleness of a push" },
    { "staleness_pushes_count", Is, "Pushes with the staleness of each entry" },
    { "stalled_rank_found_count", I, "Stalled ranks that were found" },
    { "stalled_rank_injected_count", I, "Stalled ranks" },
    { "steady_state", T, "reached, not reached, switch or too short" },
    { "steady_state_rule", T, "Rule that finds the steady state" },
    { "steal_ratio", R, "Part of the time that the hypervisor gave to others" },
    { "step", I, "Step of the training, from 0" },
    { "step_compute_s", Rs, "Compute time of a step, per repeat" },
    { "step_index", I, "Step, from 0" },
    { "step_max_s", R, "Longest step of a worker" },
    { "step_mean_s", R, "Mean step of a worker" },
    { "step_min_s", R, "Shortest step of a worker" },
    { "step_p50_s", R, "Median step of a worker" },
    { "step_p95_s", R, "Time that 95 % of a worker's steps take at most" },
    { "step_p99_s", R, "Time that 99 % of a worker's steps take at most" },
    { "step_s", R, "Time of a step" },
    { "step_wait_s", Rs, "Waiting time of a step, per repeat" },
    { "steps_count", I | R | Is, "Steps; of a plan: of each setting" },
    { "stop_signal", I, "Signal that stopped the test; 0: none" },
    { "stopped_by", T, "Signal that stopped it; null: none" },
    { "subject", T, "What is slow or wrong: a rank, a node or a link" },
    { "summary", T, "What the lab shows" },
    { "system", T, "Name of the known system; null: none" },
    { "table", T, "The published table" },
    { "tables", T, "Tables of the lab, as text" },
    { "taken_cores_limit_ratio", R, "The limit of taken_cores_ratio for a run of this length" },
    { "taken_cores_ratio", R, "Part of the run's cores that others took" },
    { "task", T, "training or inference" },
    { "test_images_count", I, "Images for tests" },
    { "test_samples_count", I, "Samples for tests" },
    { "text", T, "The same as a sentence" },
    { "threads_count", T, "Threads of a worker, as text" },
    { "threads_per_worker_count", I, "Threads of a worker" },
    { "throughput_high_samples_per_s", R, "Upper end of the 95 % interval of the throughput within this run" },
    { "throughput_low_samples_per_s", R, "Lower end of the 95 % interval of the throughput within this run" },
    { "throughput_ratio", R, "Throughput with the change divided by that without" },
    { "throughput_samples_per_s", R, "Samples per second of all workers, in the steady state" },
    { "time_high_s", R, "Upper end of the 95 % interval of time_s" },
    { "time_low_s", R, "Lower end of the 95 % interval of time_s" },
    { "time_s", R, "Time of one call" },
    { "took_s", R, "Time that the stage took" },
    { "tournament_repeats_count", I, "Repeats of the pairwise measurement" },
    { "train_images_count", I, "Images for training" },
    { "train_samples_count", I, "Samples for training" },
    { "transport", T, "What carries the messages" },
    { "trial_index", I, "Number of the trial, from 0" },
    { "trials_count", I, "Trials" },
    { "type", T, "The collective; ps: push and pull" },
    { "unit", T, "Unit of the values" },
    { "unlike_own_benchmark", T, "What differs from the library's own benchmark" },
    { "unseen_mean_absolute_error_before_ratio", R, "The same with the values of the description" },
    { "unseen_mean_absolute_error_ratio", R, "Mean error of efficiency in the rows that were not fitted" },
    { "unseen_rows_count", I, "Rows that were not fitted" },
    { "unsteady_pairs_count", I, "Pairs with a run without steady state" },
    { "untested_count", I, "Trials that could not test" },
    { "untried_count", I, "Candidates that --autotune had no time for" },
    { "value", T | R, "The value" },
    { "values", O | Rs, "All values of the cluster, by key; of fit: the fitted values" },
    { "verb", T, "The subcommand" },
    { "version", T, "Version of gradmark" },
    { "virtual_s", R, "Simulated time since the start; null in real worlds" },
    { "wait_policy", T, "spin or sleep" },
    { "wait_s", R, "Part of the mean step: wait for other ranks" },
    { "waited_ratio", R, "Part of the steps' time that it waited for others" },
    { "wall_s", R, "Time since the start; null in simulations" },
    { "warmup_rounds_count", I, "Rounds at the start that are left out" },
    { "was_run", B, "Was the stage run?" },
    { "what", T, "What the record is about" },
    { "why", T, "Why" },
    { "width", I, "Width of an image in pixels" },
    { "wire_s", R, "Part of the mean step: messages on the network" },
    { "withheld", T, "disturbed, unsteady, bound or control if the verdict is withheld" },
    { "withheld_reason", T, "The same as a sentence" },
    { "worker", I, "Number of the worker, from 0" },
    { "worker_index", I, "Number of the worker, from 0" },
    { "worker_memory_bytes", I, "Memory that a worker needs" },
    { "workers_count", I, "Workers" },
    { "workers_per_device_max_count", I, "Most workers on one accelerator" },
    { "working_folder", T, "Folder in which the command ran" },
    { "world", T, "What ranks run in" },
    { "worse_count", I, "Settings or criteria with b worse than a" },
    { "worst_absolute_error_ratio", R, "Largest absolute error of efficiency" },
    { "worst_ratio", R, "Steps of the soak's slowest minute divided by the median of all" },
    { "wrong_count", I, "Elements that were wrong; null: not checked" },
    { NULL, 0, NULL },
};

#define KEYS_BUILD "version git_commit git_dirty compiler compiler_flags build_type "
#define KEYS_MACHINE \
    "host kernel cpu_model cores_count memory_bytes date_utc libraries environment environment_left_out_count "
#define KEYS_DISTURBANCE \
    "disturbed steal_ratio others_cores_count taken_cores_ratio taken_cores_limit_ratio frequency_hz "
#define KEYS_PARTS "step_mean_s compute_s wait_s wire_s server_s apply_s rest_s exposed_comm_s hidden_comm_s "
#define KEYS_WAY "transport mode reducer consistency placement servers_count "
#define KEYS_FIT(rows) \
    rows "_rows_count " rows "_mean_absolute_error_ratio " rows "_mean_absolute_error_before_ratio "
#define KEYS_PREDICTED \
    "model gpus_count " KEYS_WAY "gradients cluster system published_ratio predicted_ratio predicted_low_ratio " \
    "predicted_high_ratio assumed_low_ratio assumed_high_ratio band_of can_tell error_ratio one_gpu_images_per_s " \
    "baseline_gpus_count baseline_images_per_s predicted_images_per_s step_s " \
    "exposed_s steps_count batch_count hot_tensor imbalance_ratio counted fitted table line_index seeds_count bottleneck " \
    "bottleneck_ratio network_ratio network_bytes_per_gpu staleness_mean_count "
#define KEYS_STEPS \
    "setting workers_count launches_count measured_step_s measured_compute_s simulated_step_s simulated_compute_s " \
    "predicted_step_s low_step_s high_step_s compute_ratio exchange_ratio spread_log drift_log calibration_log " \
    "launches_log "
#define KEYS_SIZE "model mode servers_count error_ratio " KEYS_STEPS
#define KEYS_COMM \
    "type operation bound world transport encryption compute reducer reducer_reason ceiling ranks_count " \
    "workers_count servers_count hosts_count bytes_count elements_count element_type root_rank memory " \
    "rotated_bytes pieces_count pieces_in_flight_count calls_per_repeat_count wait_policy unlike_own_benchmark " \
    "placement time_s time_low_s time_high_s algbw_bytes_per_s busbw_bytes_per_s busbw_low_bytes_per_s " \
    "busbw_high_bytes_per_s goodput_bytes_per_s goodput_low_bytes_per_s goodput_high_bytes_per_s latency_p50_s " \
    "latency_p99_s latencies_count repeats_count wrong_count "
#define KEYS_CHANGED "what model gpus_count " KEYS_WAY "setting throughput_ratio "
#define KEYS_CHOICE "settings has_changes ratio ratio_low ratio_high pairs_count candidates_count untried_count "
#define KEYS_RATE "message_bytes bytes_per_s low_bytes_per_s high_bytes_per_s bound_ratio repeats_count "
#define KEYS_CONTINUED "operand working_folder continued_despite plan options failed_simulations "

/* What a record of a campaign may have more than that of a run by itself, whatever its kind. */
const char record_keys_of_campaigns[] = "launch_index block_position campaign_s session_index chain_sha256 ";
/* Of loads, made_for and planned_memory. */
const char record_keys_of_objects[] = "index busy_s bytes cluster_sha256 profile_sha256 threads_count available_bytes "
                                      "host_bytes params_bytes exchange_bytes server_bytes activations_bytes ";

const struct record_kind record_kinds[] = {
    { "manifest", "What ran, on which machine",
      "options for_lessons_without params_count running_means_and_variances_count flops_per_sample_count dataset "
      "train_samples_count test_samples_count planned_memory profile cluster input_sha256 verb type ranks_count "
      "messages_sum_ns hosts_count last_level_cache_bytes rotated_host_bytes pages ended " KEYS_BUILD KEYS_MACHINE, NONE },
    { "step", "A step of a training",
      "step_index samples_count learning_rate loss wall_s virtual_s exposed_comm_s hidden_comm_s input_wait_s ", NONE },
    { "rank", "A rank of a training",
      "rank role worker_index stage_index shard_index host own_cores_count device mpi_thread_level exchange_memory "
      "exchange_pages exchange_shared_by exchange_shared_reason " KEYS_DISTURBANCE "part_samples_count "
      "part_batch_count " KEYS_PARTS "stage_wait_s shard_wait_s input_wait_s exchange_s sent_bytes_per_step "
      "sent_ratio steps_count push_steps_count pull_steps_count staleness_mean_count late_gradients_count "
      "lead_max_count refused_count refused staleness_from_count staleness_pushes_count ", NONE },
    { "staleness", "How old pushed gradients were, in a training", "last_bin_and_above_count pushes_count ", NONE },
    { "loss", "A rank that a training lost", "rank phase step_index why ", NONE },
    { "change", "A worker that came or left", "what worker batches_done_count own_batches_count ", NONE },
    { "corruption", "Replicas that should be equal and are not",
      "ranks rank step_index step segment_index segment text ", NONE },
    { "shard", "A shard of the dense layers",
      "shard stage shards_count params_count dense_params_count gathered_bytes_per_step scattered_bytes_per_step "
      "waited_ratio ", NONE },
    { "stage", "A stage of a pipeline; of accept: a stage of the test",
      "stage first_node end_node params_count planned_held_micro_batches_count held_micro_batches_count "
      "activations_bytes memory_bytes flops_ratio cost_ratio waited_ratio passed_bytes pass_s exchange_s "
      "sent_bytes_per_step outcome was_run took_s why ", NONE },
    { "summary", "The result of a training",
      "mode world model task reducer reducer_reason overlap priority overlap_reason transport encryption "
      "workers_count servers_count scaling batch_per_worker_count global_batch_count steps_count for_lessons_without "
      "stopped_by saves_count failed_saves_count saving_s restarts_count restarted_from_steps stages_count schedule "
      "stage_imbalance_ratio bubble_ratio pipeline_bound_s pipeline_bound_by layout hosts_count micro_batches_count "
      "activations_bytes_per_step gradients_bytes_per_step layout_waited_ratio integrity_checks_count "
      "integrity_checks_s corruptions_count lost_ranks left_ranks compute precision workers_per_device_max_count "
      "threads_per_worker_count wait_policy image_size_px classes_count params_count dataset planned_memory_bytes "
      "worker_memory_bytes peak_resident_bytes data_wait_s throughput_samples_per_s throughput_low_samples_per_s "
      "throughput_high_samples_per_s efficiency_ratio bound_ratio bound_low_ratio bound_high_ratio bound_failed "
      "loss_first loss_last loss_test accuracy_ratio params_sha256 staleness_mean_count staleness_max_count wall_s "
      "virtual_s compression sent_bytes_per_step sent_ratio alternating_turn_steps_count alternating_pairs_count "
      "exchange_keeps_ratio exchange_keeps_low_ratio exchange_keeps_high_ratio exchange_keeps_robust_ratio "
      "servers_beside_workers placement hot_server_index hot_server_bytes imbalance_ratio hot_tensor "
      "hot_tensor_bytes consistency lr_staleness late_gradients_count lead_max_count refused_count refused "
      "replicas_count servers_replaced_count servers_without_replica_count replicas_copied_count "
      "replicas_copied_bytes replicate_mean_s pieces_in_flight_count piece_max_bytes batches_count batches_applied_count "
      "batches_again_count repeated_parts_count guest_batches_count samples_lost_count push_steps_count slope offset "
      "seconds_to_target_loss_s samples_to_target_loss_count learned learned_reason not_learned_advice step_p50_s "
      "step_p95_s step_p99_s step_min_s step_max_s " KEYS_PARTS "limit_compute_s limit_wire_s limit_server_s "
      "limit_compute_before_s limit_wire_before_s limit_server_before_s limit_compute_after_s limit_wire_after_s "
      "limit_server_after_s bound_samples_per_s baseline_samples_per_s steady_state_rule steady_state "
      "warmup_rounds_count speed_switch_round_index speed_switch_ratio rounds_count effective_rounds_count "
      KEYS_DISTURBANCE, NONE },
    { "autotune_trial", "A trial of --autotune",
      "option value settings is_in_use round steps_count step_s ratio ratio_low ratio_high outcome left_s ", NONE },
    { "autotune", "What --autotune chose", "version made_for " KEYS_CHOICE "is_stopped budget_s spent_s ", NONE },
    { "sim_cost", "What a simulation cost", "messages_count real_ns messages_per_s network_bytes loads ", NONE },
    { "campaign", "Manifest of a comparison",
      "options points_count launches_per_point_count launcher is_complete continued_count continued_despite "
      "runs_chain_sha256 plan " KEYS_BUILD KEYS_MACHINE, NONE },
    { "plan", "What --continue compares",
      "arguments ranks_count input_sha256 program_fingerprint environment environment_left_out_count points "
      "steps_count ", NONE },
    { "options", "The options of a command", "", RECORD_OPTIONS },
    { "tuning", "A trial of --tune-lr",
      "learning_rate seed steps_count loss_last did_not_learn has_failed is_chosen ", RECORD_OPTIONS },
    { "verdict", "A comparison of two settings",
      "model quantity a a_mode a_workers_count a_servers_count a_cores_count a_layout b b_mode b_workers_count "
      "b_servers_count b_cores_count b_layout ratio low_ratio high_ratio p_value pairs_count disturbed_pairs_count "
      "unsteady_pairs_count result withheld withheld_reason ", RECORD_OPTIONS_OF_SIDES },
    { "failure", "A run or simulation that failed",
      "model gpus_count " KEYS_WAY "threads_per_worker_count table line_index message is_given_up ", RECORD_OPTIONS },
    { "pair", "A setting of two campaigns",
      "point b_is a_samples_per_s b_samples_per_s b_over_a_ratio b_over_a_low_ratio b_over_a_high_ratio "
      "a_launches_count b_launches_count differs ", NONE },
    { "diff", "Two campaigns, or two acceptance tests",
      "a b better_count worse_count no_difference_count not_compared_count a_outcome b_outcome ", NONE },
    { "prediction", "A predicted setting of simulate, reproduce or predict", KEYS_PREDICTED KEYS_STEPS, NONE },
    { "size", "A measured number of workers, of predict", KEYS_SIZE, NONE },
    { "check", "A number of workers that was measured and predicted", KEYS_SIZE, NONE },
    { "system", "A known system, simulated",
      "system model gpus_count " KEYS_WAY "predicted_ratio predicted_images_per_s network_bytes_per_gpu "
      "network_ratio staleness_mean_count slow_link_throughput_ratio ", NONE },
    { "what_if", "Throughput if a part of the cluster were faster", KEYS_CHANGED, NONE },
    { "assumption", "Throughput if an assumed value were another one", KEYS_CHANGED, NONE },
    { "calibrated", "Throughput if a calibrated value were at an end of its interval", KEYS_CHANGED, NONE },
    { "cluster", "A cluster; in a manifest: its values themselves",
      "cluster transport values assumed system bucket_bytes overlap ", RECORD_CLUSTER_KEYS },
    { "errors", "Errors of the predictions of reproduce",
      "of rows_count mean_absolute_error_ratio worst_absolute_error_ratio mean_throughput_factor "
      "bands_count rows_in_band_count ", NONE },
    { "fit", "What reproduce --fit found",
      "rows keys values as_well_low as_well_high range_low range_high left_out_tables_count " KEYS_FIT("fitted")
      KEYS_FIT("unseen") KEYS_FIT("left_out"), NONE },
    { "stopped", "A signal that ended reproduce", "stopped_by rows_count finished_rows_count ", NONE },
    { "layout", "A parallel layout that simulate --layouts compares",
      "model cluster layout workers_count stages_count shards_count global_batch_count micro_batches_count step_s "
      "formula_step_s throughput_samples_per_s bubble_ratio stage_imbalance_ratio activations_bytes gradients_bytes "
      "memory_bytes is_best ", NONE },
    { "simulation", "A finished simulation, for --continue",
      "options step_s step_mean_s compute_s exposed_s hot_tensor imbalance_ratio hot_server_index "
      "staleness_mean_count network_bytes loads ", NONE },
    { "simulate", "Manifest of simulate", KEYS_CONTINUED KEYS_BUILD KEYS_MACHINE, NONE },
    { "predict", "Manifest of predict", KEYS_CONTINUED KEYS_BUILD KEYS_MACHINE, NONE },
    { "reproduce", "Manifest of reproduce", KEYS_CONTINUED KEYS_BUILD KEYS_MACHINE, NONE },
    { "row", "A message size of comm",
      KEYS_COMM "out_of_place_time_s out_of_place_time_low_s out_of_place_time_high_s "
      "out_of_place_algbw_bytes_per_s out_of_place_busbw_bytes_per_s out_of_place_busbw_low_bytes_per_s "
      "out_of_place_busbw_high_bytes_per_s out_of_place_repeats_count out_of_place_wrong_count "
      "ceiling_busbw_bytes_per_s of_ceiling_ratio bound_goodput_bytes_per_s of_bound_ratio ", NONE },
    { "ceiling", "The ceiling of a message size of comm", KEYS_COMM, NONE },
    { "bound", "The bound of a message size of comm ps", KEYS_COMM, NONE },
    { "accept", "Manifest of an acceptance test",
      "criteria_file injected options " KEYS_BUILD KEYS_MACHINE, NONE },
    { "acceptance", "An acceptance test",
      "cluster world transport compute is_virtual nodes_count ranks_count tournament_repeats_count "
      "integrity_checks_count integrity_every_steps_count outcome stop_signal lost_rank injected ", NONE },
    { "partial", "The test is running, or ended early", "", NONE },
    { "node", "A node of the test", "name kernel first_rank ranks_count ", NONE },
    { "ranks", "Where ranks are", "node_of_rank ", NONE },
    { "preflight", "A fact that should be equal on all nodes", "what outcome value node other ", NONE },
    { "difference", "A node that differs in such a fact", "fact node has ", NONE },
    { "metric", "A measured quantity of a rank",
      "metric rank flops_per_s memory_bytes_per_s detour_ratio longest_detour_s step_compute_s step_wait_s ", NONE },
    { "pairs", "Rates from one node to each other node",
      "repeat from bytes_per_s latency_s late_ratio rounds_count ", NONE },
    { "collective", "Rate of a collective", KEYS_RATE, NONE },
    { "push_and_pull", "Rate of push and pull", KEYS_RATE, NONE },
    { "sums", "Sums that were checked", "checks_count pull_checks_count ", NONE },
    { "wrong_sum", "A wrong sum", "stage message_bytes rank wrong_count element value expected ", NONE },
    { "rank_order", "An order of ranks in the ring",
      "order ranks same_as message_bytes bytes_per_s low_bytes_per_s high_bytes_per_s ratio low_ratio high_ratio "
      "repeats_count is_best why ", NONE },
    { "trained_order", "Training in the best order of ranks",
      "order repeats_count steps_count launcher_samples_per_s low_launcher_samples_per_s high_launcher_samples_per_s "
      "samples_per_s low_samples_per_s high_samples_per_s ratio low_ratio high_ratio why ", NONE },
    { "training", "Training on a number of nodes",
      "nodes_count ranks_count samples_per_s low_samples_per_s high_samples_per_s efficiency_ratio "
      "low_efficiency_ratio high_efficiency_ratio exposed_ratio steps_count measured_steps_count ", NONE },
    { "soak", "A long training", "minutes drift_ratio worst_ratio steps_count parts_count ", NONE },
    { "finding", "What is slow or wrong",
      "stage subject a b both_ways metric unit measured expected q_value text found_in ", NONE },
    { "criterion", "A row of the verdict; in a diff: one that differs",
      "stage name outcome measured low high limit at_least unit samples_count text criterion a_outcome b_outcome "
      "a_measured b_measured b_is ", NONE },
    { "figure", "A value of two acceptance tests",
      "what of a b unit b_over_a_ratio b_over_a_low_ratio b_over_a_high_ratio ", NONE },
    { "end", "The end of an acceptance test's records", "sha256 ", NONE },
    { "trial", "A trial of accept --self-test",
      "trial_index seed injected faults_count found_count false_count found_after_s could_test failed ", NONE },
    { "self_test", "All trials of accept --self-test",
      "trials_count slow_rank_injected_count slow_rank_found_count slow_node_injected_count slow_node_found_count "
      "slow_link_injected_count slow_link_found_count stalled_rank_injected_count stalled_rank_found_count "
      "killed_rank_injected_count killed_rank_found_count flipped_bit_injected_count flipped_bit_found_count "
      "lossy_node_injected_count lossy_node_found_count false_count healthy_subjects_count healthy_trials_count "
      "alarmed_trials_count untested_count ", NONE },
    { "lab", "A lab", "name summary folder found tables " KEYS_CONTINUED KEYS_BUILD KEYS_MACHINE, NONE },
    { "exercise", "An exercise", "name summary ", NONE },
    { "pack", "Packed images",
      "data out train_images_count test_images_count channels_count height width classes_count shards_count "
      "shards_bytes broken_files_count other_files_count ", NONE },
    { "keys", "A file of keys", "file public_key ", NONE },
    { "published_rate", "A published rate of one GPU",
      "model gpu batch precision data images_per_s framework source ", NONE },
    { "build", "What this program is, on which machine", KEYS_BUILD KEYS_MACHINE, NONE },
    { NULL, NULL, NULL, NONE },
};
/* clang-format on */

const struct record_kind *record_kind_find(const char *name)
{
    for (const struct record_kind *kind = record_kinds; kind->name; kind++)
        if (strcmp(kind->name, name) == 0)
            return kind;
    return NULL;
}

static int by_name(const void *name, const void *key)
{
    return strcmp(name, ((const struct record_key *)key)->name);
}

const struct record_key *record_key_find(const char *name)
{
    return bsearch(name, record_keys, sizeof record_keys / sizeof *record_keys - 1, sizeof *record_keys, by_name);
}

const char *record_key_unit(const char *name)
{
    static const struct {
        const char *end, *unit;
    } units[] = { { "bytes_per_step", "bytes/step" },
                  { "bytes_per_gpu", "bytes" },
                  { "bytes_per_s", "bytes/s" },
                  { "flops_per_s", "flop/s" },
                  { "images_per_s", "images/s" },
                  { "messages_per_s", "messages/s" },
                  { "samples_per_s", "samples/s" },
                  { "_hz", "Hz" },
                  { "_px", "pixels" },
                  { "_ns", "ns" },
                  { "_s", "s" },
                  { "bytes", "bytes" } };
    const size_t n = strlen(name);

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t n_end = strlen(units[i].end);
        if (n >= n_end && strcmp(name + n - n_end, units[i].end) == 0)
            return units[i].unit;
    }
    return "";
}

/* Is it a word of `list`, in which a blank follows each? */
static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);

    for (const char *at = list; *at; at += strcspn(at, " ") + 1)
        if (strncmp(at, word, n) == 0 && at[n] == ' ')
            return true;
    return false;
}

static bool is_option_name(const char *name)
{
    return name[0] && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.")] == '\0';
}

/* Records have link_bits_per_s in bytes. */
static bool is_cluster_key(const char *name)
{
    return key_find(&cluster_key_table, name) >= 0 || strcmp(name, "link_bytes_per_s") == 0;
}

static bool is_other(const struct record_kind *kind, const char *key)
{
    switch (kind->others) {
    case RECORD_NO_OTHERS:
        break;
    case RECORD_OPTIONS:
        return is_option_name(key);
    case RECORD_OPTIONS_OF_SIDES:
        return (key[0] == 'a' || key[0] == 'b') && key[1] == '_' && is_option_name(key + 2);
    case RECORD_CLUSTER_KEYS:
        return is_cluster_key(key);
    }
    return false;
}

bool record_kind_allows(const struct record_kind *kind, const char *key, unsigned type)
{
    const bool is_listed =
        strcmp(key, "kind") == 0 || has_word(kind->keys, key) || has_word(record_keys_of_campaigns, key);
    const struct record_key *k = is_listed ? record_key_find(key) : NULL;

    return (k && (type == 0 || k->types & type)) || is_other(kind, key);
}
