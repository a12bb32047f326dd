# What the recipes share. Sourced by them; docs/recipes.md describes the variables.
set -euo pipefail

DATA=${DATA:?set DATA to the folder with the text: NAME.SRC and NAME.TGT for each of TRAIN, VALID and TEST, plain or .gz}
OUT=${OUT:-recipe}
SRC=${SRC:-en}
TGT=${TGT:-de}
TRAIN=${TRAIN:-train}
VALID=${VALID:-valid}
TEST=${TEST:-test}
UPDATES=${UPDATES:-3000}
# The search of all scores: models differ in the search that their manifests name.
BEAM=${BEAM:-4}
PENALTY=${PENALTY:-power:1}
mkdir -p "$OUT"
if [ "$DATA" -ef "$OUT" ]; then
    echo "OUT is the folder of the text, whose files the recipe would overwrite; choose another" >&2
    exit 1
fi

# The programs: those in PATH, or those of this clone.
infer() {
    if command -v transformer-infer >/dev/null; then transformer-infer "$@"; else
        cargo run -q -p transformer-infer -- "$@"; fi
}
train() {
    local program=(transformer-train)
    command -v transformer-train >/dev/null || program=(cargo run -q -p transformer-train --)
    "${program[@]}" --plain ${THREADS:+--threads "$THREADS"} "${small[@]}" "$@"
}

# SMALL=1 tries a recipe in seconds, with models that learn nothing.
small=() small_model=()
if [ "${SMALL:-0}" = 1 ]; then
    UPDATES=4
    small=(--set training.tokens_per_batch=512 --set training.validation_interval=2
        --set training.warmup_steps=2 --set validation.max_sentences=2
        --set validation.max_extra_len=5)
    small_model=(--set tokenizer.vocab_size=60 --set model.d_model=16 --set model.d_ff=32
        --set model.n_heads=2)
fi

# Prints the lines of a text: `text train en`.
text() {
    local path="$DATA/$1.$2"
    [ -e "$path" ] || path="$path.gz"
    gzip -cdf "$path"
}

# Copies a text into the folder of the recipe: `copy valid`.
copy() {
    text "$1" "$SRC" >"$OUT/$1.$SRC"
    text "$1" "$TGT" >"$OUT/$1.$TGT"
}

# Copies the pairs of the domain, the first N_PAIRS of them: `own_pairs`.
own_pairs() {
    local language
    for language in "$SRC" "$TGT"; do
        text "$OWN" "$language" | sed -n "1,${N_PAIRS:-1000000}p" >"$OUT/own.$language"
    done
}

# Trains a new model of the preset: `new NAME FLAGS…`.
new() {
    local name=$1
    shift
    train --preset "${PRESET:-tiny}" "${small_model[@]}" --updates "$UPDATES" \
        --valid-src "$OUT/$VALID.$SRC" --valid-tgt "$OUT/$VALID.$TGT" --out "$OUT/$name" "$@"
}

# Trains a model further on the pairs of the domain, in a short run whose learning rate rises and then falls linearly:
# `adapt MODEL NAME UPDATES RATE FLAGS…`.
adapt() {
    local model=$1 name=$2 updates=$3 rate=$4
    shift 4
    train --finetune "$model" --src "$OUT/own.$SRC" --tgt "$OUT/own.$TGT" --out "$OUT/$name" \
        --valid-src "$OUT/$OWN_VALID.$SRC" --valid-tgt "$OUT/$OWN_VALID.$TGT" --updates "$updates" \
        --set training.schedule=linear --set training.warmup_steps="$((updates / 10 + 1))" \
        --set training.peak_learning_rate="$rate" --set training.average_last=1 "$@"
}

# Prints BLEU and chrF of a model on a text of the folder: `score NAME MODEL TEXT`.
score() {
    printf '%-24s %-12s ' "$1" "$3"
    infer evaluate --quiet --model "$2" --beam "$BEAM" --length-penalty "$PENALTY" ${TOKENIZE:+--tokenize "$TOKENIZE"} \
        --src "$OUT/$3.$SRC" --ref "$OUT/$3.$TGT" | short
}

# Makes one line of the scores that `evaluate` and `bleu` print.
short() {
    awk '{ sub(/\|[^ ]* = /, " "); printf "%s %s  ", $1, $2 } END { print "" }'
}
