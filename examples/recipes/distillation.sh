#!/usr/bin/env bash
# Sequence-level distillation (Kim and Rush 2016, arXiv:1606.07947): a small model learns what a large one
# translates, instead of the references.
#
#   DATA=multi30k VALID=val TEST=test_2016_flickr TEACHER=runs/tiny examples/recipes/distillation.sh
#
# N_BEST translations of the teacher are used for each source, with its reference in addition if KEEP=1.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
TEACHER=${TEACHER:?set TEACHER to a model, or to the folder of a run}
N_BEST=${N_BEST:-1}
student=(--set model.d_model=64 --set model.d_ff=256 --set model.n_heads=4
    --set model.n_encoder_layers=2 --set model.n_decoder_layers=1)
[ "${SMALL:-0}" = 1 ] && student=()

text "$TRAIN" "$SRC" | sed -n "1,${N_PAIRS:-1000000}p" >"$OUT/train.$SRC"
text "$TRAIN" "$TGT" | sed -n "1,${N_PAIRS:-1000000}p" >"$OUT/train.$TGT"
copy "$VALID"
copy "$TEST"

# 1. The student on the references.
new on-references "${student[@]}" --src "$OUT/train.$SRC" --tgt "$OUT/train.$TGT"
# 2. The teacher translates all sources; each is repeated for every translation.
infer translate --quiet --model "$TEACHER" --beam 4 --n-best "$N_BEST" <"$OUT/train.$SRC" >"$OUT/distilled.$TGT"
awk -v n="$N_BEST" '{ for (i = 0; i < n; i++) print }' "$OUT/train.$SRC" >"$OUT/distilled.$SRC"
if [ "${KEEP:-0}" = 1 ]; then
    cat "$OUT/train.$SRC" >>"$OUT/distilled.$SRC"
    cat "$OUT/train.$TGT" >>"$OUT/distilled.$TGT"
fi
# 3. The student on the translations.
new on-translations "${student[@]}" --src "$OUT/distilled.$SRC" --tgt "$OUT/distilled.$TGT"

score "teacher" "$TEACHER" "$TEST"
score "student, references" "$OUT/on-references" "$TEST"
score "student, translations" "$OUT/on-translations" "$TEST"
