#!/usr/bin/env bash
# Back-translation (Sennrich et al. 2016, arXiv:1511.06709) with tags (Caswell et al. 2019, arXiv:1906.06442):
# sentences of the target language alone make a model better.
#
#   DATA=multi30k VALID=val TEST=test_2016_flickr N_PAIRS=10000 examples/recipes/back_translation.sh
#
# N_PAIRS is the number of pairs; the target sentences after them are used without their sources, unless MONO
# is a file of sentences of the target language.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
N_PAIRS=${N_PAIRS:-10000}

text "$TRAIN" "$SRC" | sed -n "1,${N_PAIRS}p" >"$OUT/pairs.$SRC"
text "$TRAIN" "$TGT" | sed -n "1,${N_PAIRS}p" >"$OUT/pairs.$TGT"
if [ -n "${MONO:-}" ]; then gzip -cdf "$MONO"; else text "$TRAIN" "$TGT" | sed "1,${N_PAIRS}d"; fi >"$OUT/mono.$TGT"
copy "$VALID"
copy "$TEST"

# 1. What the pairs give alone.
new baseline --src "$OUT/pairs.$SRC" --tgt "$OUT/pairs.$TGT"
# 2. A model of the other direction translates the sentences.
train --preset "${PRESET:-tiny}" "${small_model[@]}" --updates "$UPDATES" --out "$OUT/reverse" \
    --src "$OUT/pairs.$TGT" --tgt "$OUT/pairs.$SRC" \
    --valid-src "$OUT/$VALID.$TGT" --valid-tgt "$OUT/$VALID.$SRC"
infer translate --quiet --model "$OUT/reverse" --beam 1 <"$OUT/mono.$TGT" >"$OUT/mono.$SRC"
# 3. A tag tells the model which sources a machine wrote.
sed 's/^/<BT> /' "$OUT/mono.$SRC" >"$OUT/tagged.$SRC"
cat "$OUT/pairs.$SRC" "$OUT/tagged.$SRC" >"$OUT/all.$SRC"
cat "$OUT/pairs.$TGT" "$OUT/mono.$TGT" >"$OUT/all.$TGT"
# 4. As many updates on both; the tag is one token.
new back-translated --set 'tokenizer.user_symbols=["<BT>"]' --src "$OUT/all.$SRC" --tgt "$OUT/all.$TGT"

score "pairs alone" "$OUT/baseline" "$TEST"
score "and back-translations" "$OUT/back-translated" "$TEST"
