# SPDX-License-Identifier: Apache-2.0
# path.gp - paths through slope and offset over the contour of a loss that is a quadratic form of them, and its least point.
#
# Data, those of a line together and in their order:
#   line  part  slope  offset
# part: begin (a line, with a point for each step) or rest (points alone).
# Variables: heading; mean_x, mean_xx: means of x and x^2 over the data, which shape the loss mean((slope x + offset - y)^2);
# least_slope, least_offset: its least point, a red cross.

load share.'/style.gp'
if (!exists("heading")) { heading = model }
n_places = 0
stats data using (see_mode(strcol(1)), n_places = n_places + (is_number(cell(3)) && is_number(cell(4))), 0) nooutput
if (!exists("STATS_records") || n_places == 0) {
    print data.': no row has line, part, slope and offset'
    exit status 1
}
n_lines = words(modes)
m_x = real(mean_x)
m_xx = real(mean_xx)

set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 format eq 'dumb' ? '' : 'line: the first steps, points: later ones  ·  grey: equal loss, so far above the least one  ·  cross: least squares' \
    at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
set xlabel 'slope'
set ylabel 'offset' offset 0, 0
set xrange [0 : 4]
set yrange [-0.5 : 0.5]
set grid x y lt 1 lc rgb '#ececec' lw 0.8
line_colours = '#0072B2 #D55E00 #009E73 #CC79A7 #56B4E9 #E69F00'
line_points = '7 9 5 13 11 15'
line_dashes = '1 13 12 14 15 16'
of_line(list, i) = word(list, (i - 1) % 6 + 1)
entry_names = modes
entry_colours = ''
entry_points = ''
entry_lines = ''
entry_boxes = ''
do for [i = 1:n_lines] {
    entry_colours = entry_colours.' '.of_line(line_colours, i)
    entry_points = entry_points.' '.(1000 + int(of_line(line_points, i)))
    entry_lines = entry_lines.' '.of_line(line_dashes, i)
    entry_boxes = entry_boxes.' 0'
}
load share.'/legend.gp'

# --- the contour: with ds, do from the least point, loss - least = (mean_xx - mean_x^2) ds^2 + (do + mean_x ds)^2 ---
above = '0.001 0.003 0.01 0.03 0.1 0.2 0.4'
spread = m_xx - m_x * m_x
slope_of(h, t) = real(least_slope) + sqrt(h / spread) * cos(t)
offset_of(h, t) = real(least_offset) + sqrt(h) * sin(t) - m_x * sqrt(h / spread) * cos(t)
least_named = 0.03 # no room for the names of others
set samples 400
do for [k = 1:words(above)] {
    h = real(word(above, k))
    if (h >= least_named && slope_of(h, 0) < 4) {
        set label 300 + k word(above, k) at slope_of(h, -0.3) + 0.02, offset_of(h, -0.3) left tc rgb '#505050' front
    }
}

if (is_text) { set label 400 'X' at real(least_slope), real(least_offset) center front }
arm = is_text ? 0 : 0.05 # in slope; a unit of offset is 2.5 times as long
do for [k = -1:1:2] {
    set arrow 402 + k from real(least_slope) - arm, real(least_offset) - k * 0.4 * arm to real(least_slope) + arm, \
        real(least_offset) + k * 0.4 * arm nohead front lw 5 lc rgb '#FF0000'
}

# --- first what is far from the least point, then the paths' beginnings, the smoothest on top ---
of(i, part) = strcol(1) eq word(modes, i) && strcol(2) eq part ? column(4) : NaN
set datafile missing NaN
plot for [k = (is_text ? 5 : 1):words(above)] [t = 0:2 * pi] '+' using (slope_of(real(word(above, k)), $1)):(offset_of(real(word(above, k)), $1)) \
        with lines lc rgb '#a0a0a0' lw 1 notitle, \
    for [i = n_lines:1:-1] data using 3:(of(i, 'rest')) with points pt 7 ps 0.22 * dot lc rgb of_line(line_colours, i) notitle, \
    for [i = n_lines:(is_text ? n_lines + 1 : 1):(is_text ? 1 : -1)] data using 3:(of(i, 'begin')) with lines lc rgb '#ffffff' lw 4.5 notitle, \
    for [i = n_lines:1:-1] data using 3:(of(i, 'begin')) with linespoints lc rgb of_line(line_colours, i) lw 2.2 \
        dt int(of_line(line_dashes, i)) pt int(of_line(line_points, i)) ps 0.5 * dot title key_title(i)
set output
