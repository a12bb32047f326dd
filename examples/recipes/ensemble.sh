#!/usr/bin/env bash
# Compares the last checkpoints of a run: the last one, their mean (§6.1), and their ensemble.
#
#   DATA=multi30k TEST=test_2016_flickr RUN=runs/tiny UPDATES_OF=2500,2750,3000 examples/recipes/ensemble.sh
#
# UPDATES_OF lists checkpoints that the run has kept (training.keep_last).
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
RUN=${RUN:?set RUN to the folder of a run}
UPDATES_OF=${UPDATES_OF:?set UPDATES_OF to the updates of its checkpoints, for example 2500,2750,3000}
copy "$TEST"

average() {
    rm -rf "$OUT/$1"
    if command -v transformer-train >/dev/null; then
        transformer-train average --run "$RUN" --updates "$2" --out "$OUT/$1"
    else
        cargo run -q -p transformer-train -- average --run "$RUN" --updates "$2" --out "$OUT/$1"
    fi
}

# The time of a system, and its scores.
measure() {
    local name=$1 begin=$EPOCHREALTIME
    shift
    infer translate --quiet "$@" <"$OUT/$TEST.$SRC" >"$OUT/hypotheses"
    local end=$EPOCHREALTIME
    printf '%-24s %-12s ' "$name" "$TEST"
    infer bleu --ref "$OUT/$TEST.$TGT" --hyp "$OUT/hypotheses" | short | tr -d '\n'
    awk -v begin="$begin" -v end="$end" 'BEGIN { printf "%.1f s\n", end - begin }'
}

models=()
for updates in ${UPDATES_OF//,/ }; do
    average "checkpoint-$updates" "$updates"
    models+=(--model "$OUT/checkpoint-$updates")
done
average mean "$UPDATES_OF"
measure "the last checkpoint" --model "$OUT/checkpoint-${UPDATES_OF##*,}"
measure "their mean" --model "$OUT/mean"
measure "their ensemble" "${models[@]}"
