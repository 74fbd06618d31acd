# SPDX-License-Identifier: Apache-2.0
# ring-steps.gp - an allreduce around a ring: whose addends each worker's chunks hold, and who sends which of them.
#
# Data, of every step the state behind it; step 0: before the first one:
#   step  kind  worker  peer  chunk  addend  text
# kind: title (text); slot (an addend that a chunk can hold, in every step); has (an addend that it holds); whole (a chunk
# that holds all), part (one that does not); new (a chunk that was received in this step); send (worker to peer; text: what).
# Variables: workers; step: the one that is drawn, as text. In a moving picture all are drawn: each with what it sends, on
# what was there before, then with what has come.

slide = 1
load share.'/style.gp'
n_workers = int(workers)
is_text = format eq 'dumb'
last_step = 0
n_rows = 0
stats data using (last_step = int(cell(1)) > last_step ? int(cell(1)) : last_step, n_rows = n_rows + (strcol(2) eq 'send'), 0) nooutput
if (!exists("STATS_records") || n_rows == 0) {
    print data.': no row has step, kind, worker, peer, chunk, addend and text of a message'
    exit status 1
}
title_text = ''
find_title(s) = (strcol(2) eq 'title' && int(cell(1)) == s ? (title_text = strcol(7), 0) : 0)

# --- workers on an ellipse, the first at the top left, going round by the clock; each a panel of chunks ---
angle(w) = pi * (0.75 - 2.0 * w / n_workers) + (n_workers == 4 ? 0 : pi * 0.25)
cx(w) = 1.33 * cos(angle(w))
cy(w) = 0.82 * sin(angle(w)) - 0.03
half_x = n_workers > 4 ? 0.3 : 0.43
half_y = n_workers > 4 ? 0.25 : 0.40
row_y(w, c) = cy(w) + half_y * (0.44 - 1.22 * c / (n_workers - 1.0))
row_half = half_y * 0.5 / (n_workers - 1.0) > half_y * 0.19 ? half_y * 0.19 : half_y * 0.5 / (n_workers - 1.0)
slot_half = half_x * 0.59 / n_workers
slot_x(w, i) = cx(w) - half_x * 0.22 + slot_half * (2 * i + 1)
# from the edge of a panel to the edge of the next one
dx(w, p) = cx(p) - cx(w)
dy(w, p) = cy(p) - cy(w)
edge(w, p) = (half_x + 0.03) / (abs(dx(w, p)) + 1e-9) < (half_y + 0.03) / (abs(dy(w, p)) + 1e-9) ? \
    (half_x + 0.03) / (abs(dx(w, p)) + 1e-9) : (half_y + 0.03) / (abs(dy(w, p)) + 1e-9)
is_level(w, p) = abs(dy(w, p)) < 0.3
middle_x(w, p) = (cx(w) + cx(p)) / 2 + (is_level(w, p) ? 0 : (cx(w) > 0 ? -0.05 : 0.05))
middle_y(w, p) = (cy(w) + cy(p)) / 2 + (is_level(w, p) ? 0.07 : 0)

unset border
unset tics
unset grid
set lmargin at screen 0.01
set rmargin at screen 0.99
set bmargin at screen 0.02
set tmargin at screen 0.86
set xrange [-1.9 : 1.9]
set yrange [-1.15 : 1.1]
part_colours = '#56B4E9 #E69F00 #009E73 #CC79A7 #F0E442 #0072B2 #D55E00 #999999'
of_part(i) = word(part_colours, i % 8 + 1)
is(kind, s) = strcol(2) eq kind && int(cell(1)) == s
set datafile missing NaN
sending = is_text ? 0 : 1

set label 2 'row: a chunk of the gradient; box: the addend of that worker; thick frame: just received; bold: the whole sum' \
    at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
if (is_text) { unset label 2 }

# shown: the state that is drawn; step_shown: whose messages are drawn; fresh: 1: with what has come
shown = int(step)
step_shown = shown
fresh = 1
n_pictures = format eq 'gif' ? 2 * last_step + 1 : 1
do for [picture = 0:n_pictures - 1] {
    if (format eq 'gif') {
        step_shown = (picture + 1) / 2
        fresh = picture % 2 == 0 ? 1 : 0
        shown = fresh ? step_shown : step_shown - 1
    }
    stats data using (find_title(step_shown)) nooutput
    set label 1 title_text at screen 0.02, 0.955 left font big_font(title_text)
    plot data using (is('slot', 0) && cell(5) == 0 && cell(6) == 0 ? cx(cell(3)) : NaN):(cy(cell(3))):(half_x):(half_y) with boxxyerror \
            fs solid 1 border lc rgb '#a0a0a0' fc rgb '#f6f6f6' notitle, \
        data using (is('slot', 0) ? slot_x(cell(3), cell(6)) : NaN):(row_y(cell(3), cell(5))):(slot_half * (is_text ? 0 : 0.93)):(row_half) \
            with boxxyerror fs solid 1 border lc rgb '#c0c0c0' fc rgb '#ffffff' notitle, \
        for [i = 0:(is_text ? -1 : n_workers - 1)] data using (is('has', shown) && cell(6) == i ? slot_x(cell(3), i) : NaN): \
            (row_y(cell(3), cell(5))):(slot_half * 0.93):(row_half) with boxxyerror fs solid 1 border lc rgb '#606060' fc rgb of_part(i) notitle, \
        data using (is('has', shown) ? slot_x(cell(3), cell(6)) : NaN):(row_y(cell(3), cell(5))):(sprintf('%d', int(cell(6)))) \
            with labels center tc rgb '#000000' notitle, \
        data using (is('part', shown) ? cx(cell(3)) - half_x * 0.96 : NaN):(row_y(cell(3), cell(5))):(sprintf('chunk %d', int(cell(5)))) \
            with labels left tc rgb '#303030' notitle, \
        data using (is('whole', shown) ? cx(cell(3)) - half_x * 0.96 : NaN):(row_y(cell(3), cell(5))):(sprintf('chunk %d', int(cell(5)))) \
            with labels left font 'DejaVu Sans:Bold' tc rgb '#000000' notitle, \
        data using (is('new', fresh ? shown : -1) ? slot_x(cell(3), (n_workers - 1) / 2.0) : NaN):(row_y(cell(3), cell(5))): \
            (slot_half * n_workers * 1.02):(row_half * 1.12) with boxxyerror fs empty border lc rgb '#000000' lc rgb '#000000' lw (is_text ? 0 : 3) notitle, \
        data using (is('slot', 0) && cell(5) == 0 && cell(6) == 0 ? cx(cell(3)) : NaN):(cy(cell(3)) + half_y * 0.83): \
            (sprintf('worker %d', int(cell(3)))) with labels center tc rgb '#000000' notitle, \
        data using (is('send', step_shown) ? cx(cell(3)) + edge(cell(3), cell(4)) * dx(cell(3), cell(4)) : NaN): \
            (cy(cell(3)) + edge(cell(3), cell(4)) * dy(cell(3), cell(4))): \
            ((1 - 2 * edge(cell(3), cell(4))) * dx(cell(3), cell(4))):((1 - 2 * edge(cell(3), cell(4))) * dy(cell(3), cell(4))) \
            with vectors head filled size screen 0.014, 20 lw (fresh ? 2 : 4) lc rgb (fresh ? '#808080' : '#000000') notitle, \
        data using (is('send', step_shown) ? middle_x(cell(3), cell(4)) : NaN):(middle_y(cell(3), cell(4))): \
            (is_level(cell(3), cell(4)) ? strcol(7) : '') with labels center tc rgb '#000000' notitle, \
        data using (is('send', step_shown) && !is_level(cell(3), cell(4)) && cx(cell(3)) < 0 ? middle_x(cell(3), cell(4)) : NaN):(middle_y(cell(3), cell(4))): \
            (strcol(7)) with labels left tc rgb '#000000' notitle, \
        data using (is('send', step_shown) && !is_level(cell(3), cell(4)) && cx(cell(3)) > 0 ? middle_x(cell(3), cell(4)) : NaN):(middle_y(cell(3), cell(4))): \
            (strcol(7)) with labels right tc rgb '#000000' notitle
}
set output
