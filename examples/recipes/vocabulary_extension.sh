#!/usr/bin/env bash
# Adds the words of a domain to the vocabulary of a trained model, and adapts it.
#
#   DATA=multi30k MODEL=runs/tiny OWN=train.lc.norm.tok OWN_VALID=val.lc.norm.tok \
#       OWN_TEST=test_2016_flickr.lc.norm.tok N_WORDS=500 examples/recipes/vocabulary_extension.sh
#
# N_WORDS of the most frequent words of OWN are added, as far as they are no tokens yet.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
MODEL=${MODEL:?set MODEL to a model, or to the folder of a run}
OWN=${OWN:-own} OWN_VALID=${OWN_VALID:-$VALID} OWN_TEST=${OWN_TEST:-$TEST}
N_WORDS=${N_WORDS:-500}

own_pairs
for name in "$OWN_VALID" "$OWN_TEST"; do copy "$name"; done

# 1. The most frequent words of letters, of both sides: the vocabulary is joint.
cat "$OUT/own.$SRC" "$OUT/own.$TGT" | tr -s ' \t' '\n\n' | grep -E '^[[:alpha:]]{3,}$' |
    sort | uniq -c | sort -k1,1nr -k2 | awk -v n="$N_WORDS" 'NR <= n { print $2 }' >"$OUT/words"
# 2. The same model with more tokens. It translates as before where they do not occur.
rm -rf "$OUT/extended"
infer extend-vocabulary --model "$MODEL" --add "$OUT/words" --skip-known --out "$OUT/extended" >"$OUT/tokens"
tail -n 2 "$OUT/tokens" | head -n 1
# 3. Both are adapted in the same way.
adapt "$MODEL" old-vocabulary "$UPDATES" "${RATE:-5e-4}"
adapt "$OUT/extended" new-vocabulary "$UPDATES" "${RATE:-5e-4}"

score "before" "$MODEL" "$OWN_TEST"
score "adapted" "$OUT/old-vocabulary" "$OWN_TEST"
score "extended and adapted" "$OUT/new-vocabulary" "$OWN_TEST"
