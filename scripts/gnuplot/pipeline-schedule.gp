# SPDX-License-Identifier: Apache-2.0
# pipeline-schedule.gp - one step of a pipeline: a row for each stage, a box for each forward and backward, with the number of
# its micro-batch. What is white between them is the bubble. One schedule above the other.
#
# Data:
#   micro_batches  schedule  stage  kind  micro_batch  start_ms  end_ms
# kind: forward, backward; step (a row for each schedule, before the others: start_ms is its bubble in %, end_ms how long it is).
# Variables: micro_batches: those that are drawn, as text; machine (style.gp): a note below the heading. In a moving picture all are drawn, one after the other.

slide = 1
load share.'/style.gp'
is_text = format eq 'dumb'
last_stage = 0
all_counts = ''
see_of(m) = (strstrt(all_counts.' ', ' '.m.' ') ? 0 : (all_counts = all_counts.' '.m, 0))
n_boxes = 0
see_row(m) = (see_of(m), see_mode(strcol(2)), last_stage = cell(3) > last_stage ? int(cell(3)) : last_stage, \
    n_boxes = n_boxes + (strcol(4) ne 'step'), 0)
stats data using (see_row(strcol(1))) nooutput
if (!exists("STATS_records") || n_boxes == 0) {
    print data.': no row has micro_batches, schedule, stage, kind, micro_batch, start_ms and end_ms of a box'
    exit status 1
}
n_stages = last_stage + 1
n_schedules = words(modes)
number(m) = sum [i = 1:n_schedules] (word(modes, i) eq m ? i : 0)
# The first stage is the upper row; between two schedules is room for the text of the next one.
row_of(schedule, stage) = (n_schedules - number(schedule)) * (n_stages + 1.15) + n_stages - stage
top_of(i) = (n_schedules - i) * (n_stages + 1.15) + n_stages + 0.78
half = 0.44

forward_colour = '#B7DDF4'
backward_colour = '#D55E00'
entry_names = '"forward of a micro-batch" "backward" "bubble: the stage waits"'
entry_colours = forward_colour.' '.backward_colour.' #ffffff'
entry_points = '0 0 0'
entry_lines = '0 0 0'
entry_boxes = '1 1 1'
entry_letters = '0 # .'
shown_count = micro_batches
set xlabel 'time since the start of the step (ms)'
unset grid
set border 1
set ytics () nomirror scale 0
do for [i = 1:n_schedules] {
    do for [s = 0:last_stage] { set ytics add (sprintf('stage %d', s) row_of(word(modes, i), s)) }
}
set label 1 '' at screen 0.02, 0.955
set label 2 note at screen 0.02, 0.905 left font small_font(note) tc rgb '#505050'
load share.'/legend.gp'
if (!is_text) { set object 3 fs solid 0 border lc rgb '#606060' }
set yrange [0.4 : top_of(1) + 0.45]
set datafile missing NaN
is_of(kind) = strcol(1) eq shown_count && strcol(4) eq kind
middle(kind) = is_of(kind) ? (cell(6) + cell(7)) / 2 : NaN
most_ms = 0.0
title_row(i) = strcol(1) eq shown_count && strcol(2) eq word(modes, i) && strcol(4) eq 'step'
see_step(i) = (title_row(i) ? (bubble = cell(6), step_ms = cell(7), most_ms = cell(7) > most_ms ? cell(7) : most_ms, 1) : 1)

n_pictures = format eq 'gif' ? words(all_counts) : 1
do for [picture = 1:n_pictures] {
    if (format eq 'gif') { shown_count = word(all_counts, picture) }
    most_ms = 0.0
    do for [i = 1:n_schedules] {
        stats data using (see_step(i)) nooutput
        set label 400 + i sprintf('%s: %.4g ms, of it %.1f %% bubble', word(modes, i), step_ms, bubble) at first 0, first top_of(i) left
    }
    heading = sprintf('Schedule of %d stages and %s micro-batches: GPipe above, 1F1B below', n_stages, shown_count)
    set label 1 heading at screen 0.02, 0.955 left font big_font(heading)
    set xrange [0 : most_ms * 1.005]
    # A number has as much room as the shortest of its boxes.
    box_px = 1376.0 / (3.0 * (int(shown_count) + n_stages - 1))
    number_px = 1.33 * box_px / (int(shown_count) > 10 ? 2 : 1)
    number_px = number_px > 24 ? 24 : number_px
    number_points = number_px * (format eq 'svg' ? 1.0 : format eq 'gif' ? 0.6 : 0.75)
    number_font = sprintf(',%.3g', number_points)
    if (is_text) {
        plot data using (middle('backward')):(row_of(strcol(2), cell(3))):(sprintf('#%d', int(cell(5)))) with labels notitle, \
            data using (middle('forward')):(row_of(strcol(2), cell(3))):(sprintf('%d', int(cell(5)))) with labels notitle
    } else {
        plot data using (middle('forward')):(row_of(strcol(2), cell(3))):((cell(7) - cell(6)) / 2):(half) with boxxyerror \
                fs solid 1 border lc rgb '#404040' fc rgb forward_colour lw 0.6 notitle, \
            data using (middle('backward')):(row_of(strcol(2), cell(3))):((cell(7) - cell(6)) / 2):(half) with boxxyerror \
                fs solid 1 border lc rgb '#404040' fc rgb backward_colour lw 0.6 notitle, \
            data using (middle('forward')):(row_of(strcol(2), cell(3))):(sprintf('%d', int(cell(5)))) with labels center \
                font number_font tc rgb '#000000' notitle, \
            data using (middle('backward')):(row_of(strcol(2), cell(3))):(sprintf('%d', int(cell(5)))) with labels center \
                font number_font tc rgb '#ffffff' notitle
    }
}
set output
