# SPDX-License-Identifier: Apache-2.0
# throughput.gp - samples per second against workers on logarithmic axes, one line per mode, with the ideal line:
# single x workers.
#
# Data, one row per mode and worker count, sorted by workers:
#   mode  workers  mean  low  high  oversubscribed  cores  launch_0  launch_1  ...
# mean low high: samples/s, the geometric mean of the launches and its 95 % interval (nan: none); oversubscribed: 1 when
# there were more workers than cores (drawn hollow), else 0; cores: of its workers, one for each thread, and one for each
# server (not drawn); launch_i: samples/s of launch i, a dot (nan: none). There may be no column of cores, and none of
# launches. The ideal line needs a row `single  1`.

load share.'/style.gp'
quantity = 'throughput'
unit_name = 'samples/s'
reference = 'ideal'
mean_of = 'launches'
dot_name = 'dots: launches'
load share.'/scaling.gp'
