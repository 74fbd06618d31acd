# SPDX-License-Identifier: Apache-2.0
# pipeline-memory.gp - memory beside time: a point for each number of micro-batches, named by it, those of a way joined by a line.
#
# Data, those of a way together and in their order:
#   way  micro_batches  step_ms  megabytes
# Variables: heading; machine (style.gp): a note below the heading.

slide = 1
load share.'/style.gp'
if (!exists("heading")) { heading = model }
most_ms = 0.0
most_mb = 0.0
n_seen = 0
least_ms = 1e300
see(w, x, y) = (see_mode(w), is_number(x) && is_number(y) ? (most_ms = x > most_ms ? x : most_ms, least_ms = x < least_ms ? x : least_ms, \
    most_mb = y > most_mb ? y : most_mb, n_seen = n_seen + 1, 0) : 0)
stats data using (see(strcol(1), cell(3), cell(4))) nooutput
if (!exists("STATS_records") || n_seen == 0) {
    print data.': no row has way, micro_batches, step_ms and megabytes'
    exit status 1
}
n_ways = words(modes)
set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 format eq 'dumb' ? 'upwards: MB of activations' : 'at each point: the number of micro-batches' at screen 0.02, 0.905 left \
    font small_font(note) tc rgb '#505050'
set xlabel 'time of a step (ms)'
set ylabel 'activations of the stage that holds most (MB)' offset 0, 0
if (format eq 'dumb') { unset ylabel } # not turned there
set format '%g'
set grid x y lt 1 lc rgb '#dcdcdc' lw 0.8
room = most_ms > least_ms ? 0.1 * (most_ms - least_ms) : 1
set xrange [least_ms - room : most_ms + room]
set yrange [0 : most_mb * 1.12]
line_colours = '#0072B2 #D55E00 #009E73 #CC79A7'
line_dashes = '1 13 12 14'
line_points = '7 9 5 13'
of_line(list, i) = word(list, (i - 1) % 4 + 1)
entry_names = modes
entry_colours = line_colours
entry_points = line_points
entry_lines = line_dashes
entry_boxes = '0 0 0 0'
entry_letters = 'o x + ='
load share.'/legend.gp'
set datafile missing NaN
x_of(i) = strcol(1) eq word(modes, i) ? cell(3) : NaN
letter_of(i) = of_line(entry_letters, i)
if (is_text) {
    unset grid
    plot for [i = n_ways:1:-1] data using (x_of(i)):4 with points pt letter_of(i) notitle
    exit
}
# Of the first two lines the first is above the other, of the next two the second: its numbers are on that side.
plot for [i = n_ways:1:-1] data using (x_of(i)):4 with linespoints lc rgb of_line(line_colours, i) lw 2.5 \
        dt int(of_line(line_dashes, i)) pt int(of_line(line_points, i)) ps 1.0 * dot notitle, \
    for [i = 1:n_ways] data using (x_of(i)):4:(strcol(2)) with labels offset 0, ((i - 1) % 4 == 0 || (i - 1) % 4 == 3 ? 1.0 : -1.1) \
        tc rgb of_line(line_colours, i) notitle
set output
