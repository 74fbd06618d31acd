/* SPDX-License-Identifier: Apache-2.0 */
/* options_record.h - the options of a run as a manifest has them, with ' for ": for tests of records. */
#ifndef HARNESS_TRAIN_SUITE_OPTIONS_RECORD_H
#define HARNESS_TRAIN_SUITE_OPTIONS_RECORD_H

/* What is not given in SETTINGS is an option's default. */
#define OPTIONS(settings)                                                                                              \
    "{'kind': 'options', " settings ", 'save': '', 'save-every': null, 'restarts': null, 'inject': '', "               \
    "'timeline': '', 'trajectory': '', 'cluster': '', 'cluster-set': '', "                                             \
    ""                                                                                                                 \
    "'share-device': false, 'colocate': false, 'threads': null, 'interface': '', 'insecure': false, 'secure': false, " \
    "'bucket-bytes': null, 'partition-bytes': null, 'in-flight': null, 'priority': 'auto', 'overlap': 'auto', "        \
    "'precision': 'fp32', 'global-batch': null, 'bind': true, 'wait': "                                                \
    "'auto', 'aux': false, 'width-divisor': 1, 'data': '', 'input': 'direct', "                                        \
    "'eval-samples': null, 'profile': '', 'lr-scaling': 'none', 'lr-staleness': 'none', 'optimizer': 'auto', "         \
    "'push-every': 1, 'pull-every': 1, 'stop-at-step': null, 'replicas': 0, "                                          \
    "'weight-decay': 0, 'seed': 1, 'stall-abort-s': 120, 'omit': '', 'split': 'iid', "                                 \
    "'average-every': null, 'on-loss': 'abort', 'messages': "                                                          \
    "'', "                                                                                                             \
    "'accumulate': 1, 'stages': 1, 'schedule': '1f1b', 'recompute': false, 'memory-limit': null, "                     \
    "'shard-dense': 1, 'target-samples': null, 'verify-every': null, 'alternate-exchange': null, 'elastic': false, "   \
    "'most-workers': null}, "                                                                                          \
    "'for_lessons_without': null"

#endif
