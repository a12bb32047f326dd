// Recorded by a program of examples/book; search.
(globalThis.bookData ??= {}).search = {"beam_size": 2,
"nodes": [
{"fate":"kept","log_prob":0.0,"parent":0,"step":0,"text":"<s>"},
{"fate":"kept","log_prob":-0.5108,"parent":0,"step":1,"text":"ein"},
{"fate":"kept","log_prob":-0.9163,"parent":0,"step":1,"text":"der"},
{"fate":"kept","log_prob":-1.0217,"parent":2,"step":2,"text":"Hund"},
{"fate":"kept","log_prob":-1.5325,"parent":1,"step":2,"text":"Hund"},
{"fate":"dropped","log_prob":-1.5896,"parent":1,"step":2,"text":"Katze"},
{"fate":"dropped","log_prob":-1.7148,"parent":1,"step":2,"text":"</s>"},
{"fate":"finished","log_prob":-1.0217,"parent":3,"step":3,"text":"</s>"},
{"fate":"finished","log_prob":-1.5325,"parent":4,"step":3,"text":"</s>"}],
"found": [
{"node":7,"score":-1.0217},
{"node":8,"score":-1.5325}]};
