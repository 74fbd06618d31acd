# SPDX-License-Identifier: Apache-2.0
# path.gp - paths through slope and offset over the contour of a loss that is a quadratic form of them, and its least point.
#
# Data, those of a line together and in their order:
#   line  part  slope  offset
# part: begin (a line, with a point for each step) or rest (points alone).
# Variables: heading; mean_x, mean_xx: means of x and x^2 over the data, which shape the loss mean((slope x + offset - y)^2);
# least_slope, least_offset: its least point, a red cross; on_top: 'last': paths that may be one are drawn each narrower than
# the one before and on it, so that all are seen; else the first is on top.
# In letters: a letter for each step of a path, its own; of the later steps every 12th; points for equal loss.

slide = 1
rounded = 1
load share.'/style.gp'
if (!exists("on_top")) { on_top = 'first' }
if (!exists("heading")) { heading = model }
n_places = 0
left = 0.0
right = 4.0
low = -0.5
high = 0.5
see_place(s, o) = is_number(s) && is_number(o) ? (n_places = n_places + 1, left = s < left ? s : left, right = s > right ? s : right, \
    low = o < low ? o : low, high = o > high ? o : high, 0) : 0
stats data using (see_mode(strcol(1)), see_place(cell(3), cell(4)), 0) nooutput
if (!exists("STATS_records") || n_places == 0) {
    print data.': no row has line, part, slope and offset'
    exit status 1
}
n_lines = words(modes)
m_x = real(mean_x)
m_xx = real(mean_xx)

set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 format eq 'dumb' ? '' : 'line: first steps  ·  points: later ones  ·  grey: equal loss above the minimum  ·  cross: minimum, by least squares' \
    at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
set xlabel 'slope'
set ylabel 'offset' offset 0, 0
# Whole paths, and at least what the course shows.
set xrange [left < 0 ? left - 0.05 : left : right > 4 ? right + 0.05 : right]
set yrange [low < -0.5 ? low - 0.05 : low : high > 0.5 ? high + 0.05 : high]
set grid x y lt 1 lc rgb '#ececec' lw 0.8
if (format eq 'dumb') { unset grid }
line_colours = '#0072B2 #D55E00 #009E73 #CC79A7 #56B4E9 #E69F00'
line_points = '7 9 5 13 11 15'
line_dashes = '1 13 12 14 15 16'
of_line(list, i) = word(list, (i - 1) % 6 + 1)
entry_names = modes
entry_colours = ''
entry_points = ''
entry_lines = ''
entry_boxes = ''
entry_widths = '' # as the lines below
entry_sizes = ''
entry_letters = ''
beneath(i) = on_top eq 'last' ? 1.4 * (n_lines - i) / (n_lines > 1 ? n_lines - 1.0 : 1.0) : 0 # 0: on top
begin_width(i) = (on_top eq 'last' ? 2.0 : 2.2) + 5.0 * beneath(i)
begin_size(i) = 0.5 + 0.5 * beneath(i)
letters = 'o x + = % &'
letter_of(i) = word(letters, (i - 1) % 6 + 1)
do for [i = 1:n_lines] {
    entry_colours = entry_colours.' '.of_line(line_colours, i)
    entry_points = entry_points.' '.of_line(line_points, i)
    entry_lines = entry_lines.' '.of_line(line_dashes, i)
    entry_boxes = entry_boxes.' 0'
    entry_letters = entry_letters.' '.letter_of(i)
    entry_widths = entry_widths.sprintf(' %g', begin_width(i))
    entry_sizes = entry_sizes.sprintf(' %g', begin_size(i) + 0.25) # alone, a mark may be larger
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
    if (format ne 'dumb' && h >= least_named && slope_of(h, 0) < 4) {
        set label 300 + k word(above, k) at slope_of(h, -0.3) + 0.02, offset_of(h, -0.3) left tc rgb '#505050' front
    }
}

if (is_text) { set label 400 'X' at real(least_slope), real(least_offset) center front }
arm_x = is_text ? 0 : 0.0125 * (right - left)
arm_y = is_text ? 0 : 0.02 * (high - low)
do for [k = -1:1:2] {
    set arrow 402 + k from real(least_slope) - arm_x, real(least_offset) - k * arm_y to real(least_slope) + arm_x, \
        real(least_offset) + k * arm_y nohead front lw 5 lc rgb '#FF0000'
}

# --- first what is far from the least point, then the paths' beginnings, the smoothest on top ---
of(i, part) = strcol(1) eq word(modes, i) && strcol(2) eq part ? column(4) : NaN
set datafile missing NaN
if (is_text) {
    plot for [k = 3:6] [t = 0:2 * pi] '+' using (slope_of(real(word(above, k)), $1)):(offset_of(real(word(above, k)), $1)) \
            with points pt '.' notitle, \
        for [i = n_lines:1:-1] data every 12 using 3:(of(i, 'rest')) with points pt letter_of(i) notitle, \
        for [i = n_lines:1:-1] data using 3:(of(i, 'begin')) with points pt letter_of(i) notitle
    exit
}
contour = "for [k = 1:words(above)] [t = 0:2 * pi] '+' using (slope_of(real(word(above, k)), $1)):(offset_of(real(word(above, k)), $1)) \
    with lines lc rgb '#a0a0a0' lw 1 notitle"
if (on_top eq 'last') {
    halo = n_lines < 4 ? 4.6 : 0 # white, between a line and the wider ones beneath
    plot @contour, \
        for [i = 1:n_lines] data using 3:(of(i, 'rest')) with points pt 7 ps (0.22 + 0.25 * beneath(i)) * dot lc rgb of_line(line_colours, i) notitle, \
        for [k = 2:2 * n_lines + 1] data using 3:(of(k / 2, 'begin')) with lines \
            lc rgb k % 2 ? of_line(line_colours, k / 2) : '#ffffff' lw k % 2 || k == 2 ? (k == 2 ? 0.1 : begin_width(k / 2)) : halo + 5.0 * beneath(k / 2) \
            dt k % 2 ? int(of_line(line_dashes, k / 2)) : 1 notitle, \
        for [i = 1:n_lines] data using 3:(of(i, 'begin')) with points lc rgb of_line(line_colours, i) pt int(of_line(line_points, i)) \
            ps begin_size(i) * dot notitle
    set output
    exit
}
plot @contour, \
    for [i = n_lines:1:-1] data using 3:(of(i, 'rest')) with points pt 7 ps 0.22 * dot lc rgb of_line(line_colours, i) notitle, \
    for [i = n_lines:1:-1] data using 3:(of(i, 'begin')) with lines lc rgb '#ffffff' lw 4.5 notitle, \
    for [i = n_lines:1:-1] data using 3:(of(i, 'begin')) with linespoints lc rgb of_line(line_colours, i) lw begin_width(i) \
        dt int(of_line(line_dashes, i)) pt int(of_line(line_points, i)) ps begin_size(i) * dot notitle
set output
