# SPDX-License-Identifier: Apache-2.0
# lesson.gp - curves of a lesson, one for each line.
#
# Data, those of a line together and in their order:
#   line  x  y  high
# high: nan, or of a band from y to high, which has no line. y may be "never": the line has no point at x, and the picture says so.
# Variables: heading, xtitle, ytitle; axes: "plain", else both are logarithmic; marks: "1": a mark at every point;
# machine (style.gp): a note below the heading; on_top: "last": of lines that cover each other
# the last is seen, else the first; ends: "1": each line's name at its last point, too, with a mark.
# In letters: a letter for each point of a line, its own.

slide = 1
load share.'/style.gp'
if (!exists("heading")) { heading = model }
if (!exists("axes")) { axes = 'logarithmic' }
if (!exists("marks")) { marks = '' }
if (!exists("ends")) { ends = '' }
if (!exists("on_top")) { on_top = 'first' }
never_at = '' # x and line, in turn
bands = ''
is_log = axes ne 'plain'
most = -1e300
least = 1e300
first = 1e300
last = -1e300
is_shown(x, y) = is_number(y) && (!is_log || (x > 0 && y > 0))
see_range(y) = (most = y > most ? y : most, least = y < least ? y : least, 0)
xs = '' # where the data are
see_x(x) = (strstrt(xs.' ', sprintf(' %g ', x)) ? 0 : (xs = xs.sprintf(' %g', x), 0), first = x < first ? x : first, last = x > last ? x : last, 0)
see_band(l) = strstrt(bands, '"'.l.'"') ? 0 : (bands = bands.' "'.l.'"', 0)
see(l, x, y, high) = (see_mode(l), is_shown(x, high) ? (see_range(high), see_band(l)) : 0, is_shown(x, y) ? (see_range(y), see_x(x), 1) : 0)
see_never(l, x) = (see_mode(l), see_x(x), never_at = never_at.sprintf(' %g "%s"', x, l), 0)
number(k) = strcol(k) eq 'never' ? NaN : cell(k)
stats data using (strcol(3) eq 'never' ? see_never(strcol(1), cell(2)) : see(strcol(1), cell(2), number(3), cell(4))) nooutput
if (!exists("STATS_records") || STATS_records == 0 || last < first) {
    print data.': no row has line, x and y'.(is_log ? ' above 0' : '')
    exit status 1
}
n_lines = words(modes)
end_xs = ''
end_ys = ''
see_end(x, y) = is_shown(x, y) ? (end_x = x, end_y = y, 0) : 0
do for [i = 1:n_lines] {
    end_x = NaN
    end_y = NaN
    stats data using (strcol(1) eq word(modes, i) ? see_end(cell(2), number(3)) : 0) nooutput
    end_xs = end_xs.sprintf(' %.9g', end_x)
    end_ys = end_ys.sprintf(' %.9g', end_y)
}
set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
set label 2 format eq 'dumb' ? 'upwards: '.ytitle : note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
set xlabel xtitle
set ylabel ytitle offset 0, 0
if (format eq 'dumb') { unset ylabel } # not turned there
if (is_log) {
    set logscale xy 10
    least = least < most * 1e-13 ? most * 1e-13 : least
    y_from = least / 2
    y_to = most * 2
    room = (last / first) ** 0.02
    x_from = marks eq '1' ? first / room : first
    x_to = (last > first ? last : 2 * first) * room
    if (last < 300 * first) { # few decades: more numbers on the axis
        set xtics ()
        do for [decade = int(floor(log10(first))):int(ceil(log10(last)))] {
            do for [digit in '1 2 5'] { set xtics add (sprintf('%g', digit * 10.0 ** decade) digit * 10.0 ** decade) }
        }
    } else { if (has_powers(first, last)) {
        set xtics ()
        do for [decade = int(floor(log10(first))):int(ceil(log10(last)))] { set xtics add (power_of_ten(decade) 10.0 ** decade) }
    } }
    if (most < 100 * least) {
        set ytics ()
        do for [decade = int(floor(log10(least))):int(ceil(log10(most)))] {
            do for [digit in '1 2 5'] { set ytics add (sprintf('%g', digit * 10.0 ** decade) digit * 10.0 ** decade) }
        }
    } else { if (has_powers(least, most)) {
        every = log10(most / least) > 8 ? 2 : 1
        set ytics ()
        do for [decade = int(ceil(log10(most))):int(floor(log10(least))):-every] { set ytics add (power_of_ten(decade) 10.0 ** decade) }
    } }
} else {
    margin = most > least ? 0.05 * (most - least) : 1
    y_from = least - margin
    y_to = most + margin
    room = marks eq '1' ? 0.02 * (last - first) : 0
    x_from = first - room
    x_to = last > first ? last + room : first + 1
}
set xrange [x_from : x_to]
set yrange [y_from : y_to]
set format y '%g'
set format x '%g'
if (marks eq '1' && words(xs) < 9) { # few: the axis names them
    set xtics ()
    do for [x in xs] { set xtics add (x real(x)) }
}
set grid x y lt 1 lc rgb '#dcdcdc' lw 0.8
line_colours = '#0072B2 #D55E00 #009E73 #CC79A7 #56B4E9 #E69F00'
line_dashes = '1 13 12 14 15 16'
line_points = '7 9 5 13 11 15'
of_line(list, i) = word(list, (int(i) - 1) % 6 + 1)
entry_names = modes
entry_colours = ''
entry_points = ''
entry_lines = ''
entry_boxes = ''
entry_letters = ''
letters = 'o x + = % &'
has_band(i) = strstrt(bands, '"'.word(modes, i).'"') > 0
band_lines = ''
plain_lines = '' # the one on top last
do for [k = n_lines:1:-1] {
    i = on_top eq 'last' ? n_lines + 1 - k : k
    if (has_band(i)) { band_lines = band_lines.' '.i } else { plain_lines = plain_lines.' '.i }
}
do for [i = 1:n_lines] {
    entry_colours = entry_colours.' '.of_line(line_colours, i)
    entry_points = entry_points.' '.(marks eq '1' && !has_band(i) ? of_line(line_points, i) : '0')
    entry_lines = entry_lines.' '.(has_band(i) ? '0' : of_line(line_dashes, i))
    entry_boxes = entry_boxes.' '.(has_band(i) ? '1' : '0')
    entry_letters = entry_letters.' '.(has_band(i) ? '.' : of_line(letters, i))
}
load share.'/legend.gp'
set datafile missing NaN
band_colour = '#d4d4d4'
do for [i = 1:n_lines] {
    if (has_band(i) && !is_text) { set object i fc rgb band_colour }
}
# --- what never came is named where it would be, at the upper edge ---
do for [k = 1:words(never_at) / 2] {
    set label 300 + k 'never: '.word(never_at, 2 * k) at first real(word(never_at, 2 * k - 1)), graph 1.0 - 0.045 * k right front
    if (is_log && real(word(never_at, 2 * k - 1)) < first * (last / first) ** 0.3) { set label 300 + k left }
}
line_of(i) = strcol(1) eq word(modes, int(i))
x_of(i) = line_of(i) ? $2 : NaN
y_of(i) = line_of(i) && is_shown($2, number(3)) ? number(3) : NaN
# Macros, which are replaced before a block is run. In letters a band is its two edges.
dotted_bands = band_lines eq '' ? '' : "for [i in band_lines] data using (x_of(i)):(line_of(i) ? number(3) : NaN) with points pt '.' notitle, \
    for [i in band_lines] data using (x_of(i)):(line_of(i) ? number(4) : NaN) with points pt '.' notitle,"
bands_first = band_lines eq '' ? '' : "for [i in band_lines] data using (x_of(i)):(line_of(i) ? number(3) : NaN):(line_of(i) ? number(4) : NaN) \
    with filledcurves fc rgb band_colour notitle,"
if (is_text) {
    unset grid
    plot @dotted_bands \
        for [i in plain_lines] data using (x_of(i)):(y_of(i)) with points pt of_line(letters, i) notitle
    exit
}
# --- names at the last points: of eight places around each, and eight farther ones twice, the nearest of those that cross fewest
# lines, marks and names before it ---
if (ends eq '1') {
    share_of(v, from, to) = is_log ? log(v / from) / log(to / from) : (v - from) / (to - from)
    share_x(x) = share_of(x, x_from, x_to)
    share_y(y) = share_of(y, y_from, y_to)
    name_height = 0.045
    apart = 0.015
    name_width(i) = (letter * strlen(word(modes, i)) + 0.004) / 0.86
    right_of = '1 1 1 0.5 0.5 0 0 0' # of a name's width, beside the mark
    above_of = '0.5 1 0 1 0 1 0 0.5'
    side(c) = (c - 1) % 8 + 1
    far(c) = (c - 1) / 8 # 0, 1, 2
    # one that is far above or below begins or ends over the mark
    gap_x(c) = (2 * real(word(right_of, side(c))) - 1) * (far(c) == 0 ? 0.014 : word(above_of, side(c)) eq '0.5' ? 0.014 + 0.008 * far(c) : -0.015)
    gap_y(c) = (2 * real(word(above_of, side(c))) - 1) * (0.018 + 0.035 * far(c))
    box_x(i, c) = share_x(real(word(end_xs, i))) + gap_x(c) - (1 - real(word(right_of, side(c)))) * name_width(i)
    box_y(i, c) = share_y(real(word(end_ys, i))) + gap_y(c) - (1 - real(word(above_of, side(c)))) * name_height
    # other lines keep away, that the name is not taken for theirs
    is_in(u, v) = u > try_x - apart && u < try_x + try_width + apart && v > try_y - apart && v < try_y + name_height + apart
    # of twenty places between two points, those in the box
    n_between(u, v, u2, v2) = sum [k = 0:20] is_in(u + k / 20.0 * (u2 - u), v + k / 20.0 * (v2 - v))
    see_hits(l, u, v) = (apart = l eq word(modes, int(i)) ? 0 : 0.015, n_hits = n_hits + (l eq before_line ? n_between(before_u, before_v, u, v) : is_in(u, v)), before_line = l, before_u = u, \
        before_v = v, 0)
    names_x = ''
    names_y = ''
    names_width = ''
    n_names = 0
    is_over(k) = abs(real(word(names_x, k)) + real(word(names_width, k)) / 2 - try_x - try_width / 2) < (real(word(names_width, k)) + try_width) / 2 && \
        abs(real(word(names_y, k)) - try_y) < name_height
    do for [i = 1:n_lines] {
        if (word(end_xs, i) ne 'nan') {
            try_width = name_width(i)
            least_hits = 1e9
            do for [c = 1:24] {
                try_x = box_x(i, c)
                try_y = box_y(i, c)
                n_hits = (try_x < 0 || try_x + try_width > 1.015 || try_y < 0 || try_y + name_height > 1) ? 1000 : 0
                n_hits = n_hits + (n_names ? sum [k = 1:n_names] (is_over(k) ? 100 : 0) : 0)
                do for [k = 1:n_lines] {
                    if (k != i && word(end_xs, k) ne 'nan' && is_in(share_x(real(word(end_xs, k))), share_y(real(word(end_ys, k))))) { n_hits = n_hits + 50 }
                }
                before_line = ''
                stats data using (is_shown(cell(2), number(3)) ? see_hits(strcol(1), share_x(cell(2)), share_y(number(3))) : 0) nooutput
                if (n_hits < least_hits) {
                    least_hits = n_hits
                    best_x = try_x
                    best_y = try_y
                }
            }
            names_x = names_x.sprintf(' %.9g', best_x)
            names_y = names_y.sprintf(' %.9g', best_y)
            names_width = names_width.sprintf(' %.9g', try_width)
            n_names = n_names + 1
            set label 400 + i word(modes, i) at graph best_x, graph best_y + name_height / 2 left front
            set label 500 + i '' at first real(word(end_xs, i)), first real(word(end_ys, i)) front point pt int(of_line(line_points, i)) \
                ps 1.1 * dot lc rgb of_line(line_colours, i)
        }
    }
}
# Marks of size 0 would be ones that some viewers of SVG refuse.
if (marks eq '1') {
    plot @bands_first \
        for [i in plain_lines] data using (x_of(i)):(y_of(i)) with linespoints lc rgb of_line(line_colours, i) lw 2.5 \
            dt int(of_line(line_dashes, i)) pt int(of_line(line_points, i)) ps 0.9 * dot notitle
} else {
    plot @bands_first \
        for [i in plain_lines] data using (x_of(i)):(y_of(i)) with lines lc rgb of_line(line_colours, i) lw 2.5 \
            dt int(of_line(line_dashes, i)) notitle
}
set output
