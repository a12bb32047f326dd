//! [`Merges`]: the merges of a BPE tokenizer, and those that lead to a new piece.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::extended::AddedToken;
use crate::special::byte_token;

pub(super) struct Merges {
    ids: HashMap<String, u32>,
    tokens: HashMap<u32, String>,
    /// For each pair of tokens that is merged: the rank of the merge, lower ranks first, and the merged token.
    of_pair: HashMap<(u32, u32), (usize, u32)>,
    n_before: u32,
    n_merges: usize,
    /// True if a character that is not in the vocabulary is encoded as bytes.
    byte_fallback: bool,
    added: Vec<AddedToken>,
    new_pairs: Vec<(String, String)>,
}

impl Merges {
    /// Reads the model of a `tokenizer.json`; `None` if the crate `tokenizers` did not write it.
    pub(super) fn read(model: &Value) -> Option<Self> {
        let vocabulary = model["vocab"].as_object()?.iter();
        let id = |id: &Value| u32::try_from(id.as_u64()?).ok();
        let ids = vocabulary.map(|(token, value)| Some((token.clone(), id(value)?)));
        let ids: HashMap<String, u32> = ids.collect::<Option<_>>()?;
        let mut of_pair = HashMap::new();
        let merges = model["merges"].as_array()?;
        for (rank, merge) in merges.iter().enumerate() {
            let (left, right) = match merge {
                Value::String(both) => both.split_once(' ')?,
                both => (both[0].as_str()?, both[1].as_str()?),
            };
            let merged = *ids.get(&format!("{left}{right}"))?;
            // Of equal merges the crate uses the last.
            of_pair.insert((*ids.get(left)?, *ids.get(right)?), (rank, merged));
        }
        Some(Self {
            tokens: ids.iter().map(|(token, id)| (*id, token.clone())).collect(),
            n_before: u32::try_from(ids.len()).ok()?,
            byte_fallback: model["byte_fallback"].as_bool().unwrap_or_default(),
            n_merges: merges.len(),
            ids,
            of_pair,
            added: Vec::new(),
            new_pairs: Vec::new(),
        })
    }

    /// Adds merges at the end, so that this word becomes one token. Returns `false` if every pair of neighbors in it
    /// spells an old token: merging them would change other text.
    pub(super) fn add(&mut self, word: &str) -> bool {
        let mut tokens = self.characters(word);
        self.merge(&mut tokens);
        while tokens.len() > 1 {
            let spelled = |pair: &[u32]| self.tokens[&pair[0]].clone() + &self.tokens[&pair[1]];
            let is_old = |token: &str| self.ids.get(token).is_some_and(|id| *id < self.n_before);
            let first = tokens.windows(2).position(|pair| !is_old(&spelled(pair)));
            let Some(index) = first else {
                return false;
            };
            let (left, right) = (tokens[index], tokens[index + 1]);
            let merged = self.add_pair(left, right);
            tokens[index] = merged;
            tokens.remove(index + 1);
        }
        true
    }

    /// Returns the characters of a word, and adds those that are missing to the vocabulary.
    fn characters(&mut self, word: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        for character in word.chars() {
            let spelling = character.to_string();
            let known = self.ids.get(&spelling).copied();
            tokens.push(known.unwrap_or_else(|| {
                let bytes = spelling.bytes().map(byte_token);
                let bytes = bytes.filter_map(|byte| self.ids.get(&byte).copied());
                let parts = match self.byte_fallback {
                    true => bytes.collect(),
                    false => Vec::new(),
                };
                self.add_token(spelling, parts)
            }));
        }
        tokens
    }

    /// Merges the pair of the lowest rank, the leftmost among equal ones, until no pair is left.
    fn merge(&self, tokens: &mut Vec<u32>) {
        loop {
            let pairs = tokens.windows(2).enumerate();
            let ranked = pairs.filter_map(|(index, pair)| {
                let (rank, merged) = self.of_pair.get(&(pair[0], pair[1]))?;
                Some((*rank, index, *merged))
            });
            let Some((_, index, merged)) = ranked.min() else {
                return;
            };
            tokens[index] = merged;
            tokens.remove(index + 1);
        }
    }

    fn add_pair(&mut self, left: u32, right: u32) -> u32 {
        let (first, second) = (self.tokens[&left].clone(), self.tokens[&right].clone());
        let spelling = format!("{first}{second}");
        let merged = match self.ids.get(&spelling) {
            Some(id) => *id,
            None => {
                let parts = [self.old_parts(left), self.old_parts(right)].concat();
                self.add_token(spelling, parts)
            }
        };
        let rank = self.n_merges + self.new_pairs.len();
        self.of_pair.insert((left, right), (rank, merged));
        self.new_pairs.push((first, second));
        merged
    }

    /// Returns the old tokens of a token: itself, or the parts of a new one.
    fn old_parts(&self, id: u32) -> Vec<u32> {
        match id.checked_sub(self.n_before) {
            None => vec![id],
            Some(index) => self.added[index as usize].parts.clone(),
        }
    }

    fn add_token(&mut self, token: String, parts: Vec<u32>) -> u32 {
        let id = self.n_before + self.added.len() as u32;
        self.ids.insert(token.clone(), id);
        self.tokens.insert(id, token.clone());
        self.added.push(AddedToken { token, parts });
        id
    }

    /// Writes the new tokens and merges into the model of the `tokenizer.json`, and returns the tokens.
    pub(super) fn write(self, model: &mut Value) -> Vec<AddedToken> {
        if let Some(vocabulary) = model["vocab"].as_object_mut() {
            for (added, id) in self.added.iter().zip(self.n_before..) {
                vocabulary.insert(added.token.clone(), id.into());
            }
        }
        if let Some(merges) = model["merges"].as_array_mut() {
            let is_text = merges.first().is_some_and(Value::is_string);
            merges.extend(self.new_pairs.iter().map(|(left, right)| match is_text {
                true => json!(format!("{left} {right}")),
                false => json!([left, right]),
            }));
        }
        self.added
    }
}
