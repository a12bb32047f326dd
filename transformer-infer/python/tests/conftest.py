"""The model and the program that the tests compare with, from the environment; `cargo xtask wheel --test` sets it."""

import json
import os
import subprocess

import pytest
import transformer_burn

MODEL = os.environ["TRANSFORMER_MODEL"]
LINES = ["one million and seven", "", "twelve", "nine hundred and two", "seven thousand and forty"]


@pytest.fixture(scope="session")
def translator():
    return transformer_burn.Translator(MODEL)


@pytest.fixture
def program():
    def run(*arguments, text=""):
        command = [os.environ["TRANSFORMER_INFER"], *map(str, arguments)]
        return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout

    return run


@pytest.fixture
def translated_by_program(program):
    """Returns the answers of `translate --json`, one for each of the lines."""

    def translate(*flags):
        text = "".join(f"{line}\n" for line in LINES)
        output = program("translate", "--model", MODEL, "--json", "--no-copy", *flags, text=text)
        return [json.loads(line) for line in output.splitlines()]

    return translate
