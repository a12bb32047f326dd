#!/usr/bin/env python3
"""Divides Multi30k into a general text and a domain, so that adaptation to new content can be measured.

    python domain.py DATA FOLDER        # DATA has train, val and test_2016_flickr, as .en.gz and .de.gz

The domain is sport: pairs whose English has a word of the list below. FOLDER then has

- `base`, the training pairs without those words, for the model that is adapted; `base_valid`, the first 500 such pairs of
  the validation set; `base_test`, those of the test set;
- `sport`, the training pairs about sport but the last 800; `sport_valid`, the first 300 of these 800, by which rates and
  ranks are chosen; `sport_test`, the other 500, and the pairs about sport of test and validation set.
"""

import gzip
import re
import sys
from pathlib import Path

WORDS = """
ball balls game games court stadium jersey jerseys
soccer football baseball basketball volleyball hockey tennis rugby lacrosse cricket golf golfer softball badminton
player players goalie goalkeeper pitcher batter catcher referee umpire quarterback team teams teammate teammates
tackle tackles tackled tackling dunk dunking dribbles dribbling goal goals scoring touchdown inning helmet
racing racer racers race races marathon runner runners sprint hurdle hurdles athlete athletes gymnast gymnastics
wrestlers wrestling boxer boxing karate surfer surfing skateboarder skateboarding skier skiing snowboarder
""".split()


def read(data, part):
    sides = []
    for side in ["en", "de"]:
        with gzip.open(data / f"{part}.{side}.gz", "rt", encoding="utf-8", newline="\n") as file:
            sides.append(file.read().removesuffix("\n").split("\n"))
    return list(zip(*sides, strict=True))


def is_of_domain(pair):
    return not set(re.findall(r"\w+", pair[0].lower())).isdisjoint(WORDS)


def write(folder, name, pairs):
    for side, language in enumerate(["en", "de"]):
        text = "".join(pair[side] + "\n" for pair in pairs)
        (folder / f"{name}.{language}").write_text(text, encoding="utf-8", newline="\n")
    print(f"{name}: {len(pairs)} pairs")


def main(data, folder):
    data, folder = Path(data), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    train, valid, test = (read(data, part) for part in ["train", "val", "test_2016_flickr"])

    def split(pairs):
        return [pair for pair in pairs if not is_of_domain(pair)], [pair for pair in pairs if is_of_domain(pair)]

    (base, sport), (base_valid, sport_of_valid), (base_test, sport_of_test) = split(train), split(valid), split(test)
    write(folder, "base", base)
    write(folder, "base_valid", base_valid[:500])
    write(folder, "base_test", base_test)
    write(folder, "sport", sport[:-800])
    write(folder, "sport_valid", sport[-800:-500])
    write(folder, "sport_test", sport[-500:] + sport_of_test + sport_of_valid)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
