/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_device.h - a backend whose memory the host cannot reach, like a GPU's: cpu, with array addresses shifted by
 * 2^62 bytes, where no address is valid, so that a host access to one ends the test at once. Tests only.
 */
#ifndef HARNESS_COMPUTE_SUITE_FAKE_DEVICE_H
#define HARNESS_COMPUTE_SUITE_FAKE_DEVICE_H

#include "harness/compute/compute.h"

extern const struct compute_backend compute_fake_device;

#endif
