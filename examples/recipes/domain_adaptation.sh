#!/usr/bin/env bash
# Adapts a trained model to a domain: all weights, or low-rank adapters (Hu et al. 2021, arXiv:2106.09685).
#
#   DATA=multi30k TEST=test_2016_flickr MODEL=runs/tiny OWN=train.lc.norm.tok OWN_VALID=val.lc.norm.tok \
#       OWN_TEST=test_2016_flickr.lc.norm.tok examples/recipes/domain_adaptation.sh
#
# OWN, OWN_VALID and OWN_TEST name texts of the domain; TEST is one of the text that the model was trained on,
# to see what it forgets. RANK and ALPHA are those of the adapters, TRAINED_TOKENS is the number of tokens whose
# embeddings are trained beside them, and N_PAIRS the number of pairs. FULL_RATE and ADAPTER_RATE are the peaks of the
# learning rates. ADAPTER_UPDATES and ADAPTER_TOKENS, if set, are the updates of the adapters and the tokens of each.
# Arguments, for example `--seed 2`, go to both trainings.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
MODEL=${MODEL:?set MODEL to a model, or to the folder of a run}
OWN=${OWN:-own} OWN_VALID=${OWN_VALID:-$VALID} OWN_TEST=${OWN_TEST:-$TEST}
RANK=${RANK:-8}
ALPHA=${ALPHA:-$((8 * RANK))}
TRAINED_TOKENS=${TRAINED_TOKENS:-400}
# The models of a trial have small vocabularies.
[ "${SMALL:-0}" = 0 ] || TRAINED_TOKENS=10

own_pairs
for name in "$OWN_VALID" "$OWN_TEST" "$TEST"; do copy "$name"; done

adapt "$MODEL" full "$UPDATES" "${FULL_RATE:-5e-4}" "$@"
# Adapters need a higher peak, and did best with a large `alpha` and many updates of few tokens.
adapt "$MODEL" adapters "${ADAPTER_UPDATES:-$UPDATES}" "${ADAPTER_RATE:-3e-3}" --set adapters.rank="$RANK" \
    --set adapters.alpha="$ALPHA" --set adapters.trained_tokens="$TRAINED_TOKENS" \
    ${ADAPTER_TOKENS:+--set training.tokens_per_batch="$ADAPTER_TOKENS"} "$@"

for text in "$OWN_TEST" "$TEST"; do
    score "before" "$MODEL" "$text"
    score "all weights" "$OUT/full" "$text"
    score "adapters, rank $RANK" "$OUT/adapters" "$text"
done
