"""Translates with the unmodified clients from PyPI, and checks what they make of the replies.

    python clients.py URL URL_WITH_KEYS KEY

Both servers translate English to German with a model that writes all letters large: every translation is known.
Prints a line for each check that passed.
"""

import io
import sys
import tempfile
import urllib.error
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import deepl
import openai
import requests
from azure.ai.translation.text import TextTranslationClient
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError
from deepl.api_data import MultilingualGlossaryDictionaryEntries
from deep_translator import LibreTranslator, MicrosoftTranslator
from deep_translator.exceptions import AuthorizationException, MicrosoftAPIerror, ServerException
from deeplx_tr.deeplx_client import deeplx_client
from google.api_core.exceptions import Forbidden
from google.auth.credentials import AnonymousCredentials
from google.cloud import translate_v2
from libretranslatepy import LibreTranslateAPI

URL, URL_WITH_KEYS, KEY = sys.argv[1:]

# What forms, query strings and JSON write otherwise than it is.
TEXT = "A dog & a cat: 50% + 1 = \"two\"?\nHe said: Zoë's über-cool.\n\nThe end."


def check(name, found, expected):
    assert found == expected, f"{name}: {found!r}, expected {expected!r}"
    print(f"ok {name}", flush=True)


def error_of(call, *kinds):
    try:
        found = call()
    except kinds as error:
        return error
    raise AssertionError(f"{found!r}, expected an error")


def libretranslatepy():
    api = LibreTranslateAPI(URL)
    check("libretranslatepy: translate", api.translate(TEXT, "en", "de"), TEXT.upper())
    check("libretranslatepy: source auto", api.translate("How are you today?", "auto", "de"), "HOW ARE YOU TODAY?")
    languages = {language["code"]: language for language in api.languages()}
    check("libretranslatepy: languages", languages["en"]["name"], "English")
    check("libretranslatepy: targets", "de" in languages["en"]["targets"], True)
    found = api.detect("Where is the next railway station, please?")
    check("libretranslatepy: detect", found[0]["language"], "en")
    check("libretranslatepy: confidence", 50 <= found[0]["confidence"] <= 100, True)
    error = error_of(lambda: api.translate("A dog.", "en", "zz"), urllib.error.HTTPError)
    check("libretranslatepy: an unknown language", error.code, 400)
    check("libretranslatepy: its error", "zz is not supported" in error.read().decode(), True)
    with_key = LibreTranslateAPI(URL_WITH_KEYS, KEY)
    check("libretranslatepy: a key", with_key.translate("A dog.", "en", "de"), "A DOG.")
    check("libretranslatepy: languages with a key", len(with_key.languages()), 2)
    wrong = LibreTranslateAPI(URL_WITH_KEYS, "wrong")
    error = error_of(lambda: wrong.translate("A dog.", "en", "de"), urllib.error.HTTPError)
    check("libretranslatepy: a wrong key", error.code, 403)
    error = error_of(lambda: LibreTranslateAPI(URL_WITH_KEYS).translate("A dog.", "en", "de"), urllib.error.HTTPError)
    check("libretranslatepy: no key", error.code, 400)


def deep_translator():
    def translator(url, key="any", **languages):
        languages = {"source": "en", "target": "de"} | languages
        return LibreTranslator(api_key=key, custom_url=url + "/", **languages)

    check("deep-translator: translate", translator(URL).translate(TEXT), TEXT.upper())
    check("deep-translator: translate_batch", translator(URL).translate_batch(["One.", "Two."]), ["ONE.", "TWO."])
    named = translator(URL, source="English", target="German")
    check("deep-translator: names of languages", named.translate("A dog."), "A DOG.")
    check("deep-translator: a key", translator(URL_WITH_KEYS, KEY).translate("A dog."), "A DOG.")
    error_of(lambda: translator(URL_WITH_KEYS, "wrong").translate("A dog."), AuthorizationException)
    check("deep-translator: a wrong key", True, True)
    error_of(lambda: translator(URL, target="pl").translate("A dog."), ServerException)
    check("deep-translator: an unknown language", True, True)


def deepl_client():
    translator = deepl.DeepLClient(KEY, server_url=URL_WITH_KEYS)
    found = translator.translate_text(TEXT, target_lang="DE", source_lang="EN")
    check("deepl: translate_text", found.text, TEXT.upper())
    check("deepl: billed characters", found.billed_characters, len(TEXT))
    found = translator.translate_text(["How are you today?", "Where is the station?"], target_lang="DE")
    check("deepl: several texts", [it.text for it in found], ["HOW ARE YOU TODAY?", "WHERE IS THE STATION?"])
    check("deepl: detected language", {it.detected_source_lang for it in found}, {"EN"})
    same = translator.translate_text("How are you?", target_lang="EN-US", source_lang="EN")
    check("deepl: a regional variant of the source", same.text, "How are you?")

    page = "<p>A <b>red</b> dog.</p><p>Two &amp; <a href=\"/x\">three</a>.</p>"
    found = translator.translate_text(page, target_lang="DE", source_lang="EN", tag_handling="html")
    check("deepl: html", found.text, "<p>A <b>RED</b> DOG.</p><p>TWO &amp; <a href=\"/x\">THREE</a>.</p>")
    text = "Press <key>Enter</key> &amp; see <x id=\"7\">%s</x> now."
    found = translator.translate_text(
        text, target_lang="DE", source_lang="EN", tag_handling="xml", ignore_tags=["x"]
    )
    check("deepl: xml", found.text, "PRESS <key>ENTER</key> &amp; SEE <x id=\"7\">%s</x> NOW.")
    ElementTree.fromstring(f"<root>{found.text}</root>")
    document = "<d><t>One</t><p>Two <i>three</i></p></d>"
    found = translator.translate_text(document, target_lang="DE", source_lang="EN", tag_handling="xml")
    check("deepl: xml with an outline", found.text, "<d><t>ONE</t><p>TWO <i>THREE</i></p></d>")
    options = {
        "formality": "prefer_more", "split_sentences": "nonewlines", "preserve_formatting": True,
        "context": "an animal", "model_type": "latency_optimized",
    }
    found = translator.translate_text("A dog.", target_lang="DE", source_lang="EN", **options)
    check("deepl: options that change nothing", found.text, "A DOG.")

    check("deepl: source languages", {it.code for it in translator.get_source_languages()}, {"EN"})
    check("deepl: target languages", {it.code for it in translator.get_target_languages()}, {"DE"})
    usage = translator.get_usage()
    check("deepl: usage", usage.character.count > 0 and not usage.any_limit_reached, True)
    glossary = translator.create_glossary("pets", "EN", "DE", {"dog": "hund", "red cat": "katze"})
    check("deepl: glossaries", [it.glossary_id for it in translator.list_glossaries()], [glossary.glossary_id])
    entries = translator.get_glossary_entries(glossary)
    check("deepl: entries of a glossary", entries, {"dog": "hund", "red cat": "katze"})
    found = translator.translate_text(["dog", "red cat"], source_lang="EN", target_lang="DE", glossary=glossary)
    check("deepl: terms", [it.text for it in found], ["hund", "katze"])
    dictionary = MultilingualGlossaryDictionaryEntries("EN", "DE", {"dog": "dackel"})
    changed = translator.update_multilingual_glossary_dictionary(glossary.glossary_id, dictionary)
    check("deepl: a dictionary is changed", [it.entry_count for it in changed.dictionaries], [2])
    found = translator.translate_text("dog", source_lang="EN", target_lang="DE", glossary=glossary.glossary_id)
    check("deepl: changed terms", found.text, "dackel")
    translator.delete_glossary(glossary)
    check("deepl: no glossaries", translator.list_multilingual_glossaries(), [])

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "a.txt", Path(folder) / "b.txt"
        source.write_text("A dog.\n\nTwo cats.\n")
        status = translator.translate_document_from_filepath(source, target, target_lang="DE", source_lang="EN")
        check("deepl: a document", target.read_text(), "A DOG.\n\nTWO CATS.\n")
        check("deepl: its billed characters", status.billed_characters > 0, True)
    output = io.BytesIO()
    page = b"<!DOCTYPE html><title>A</title><p>One <i>two</i>.</p>"
    translator.translate_document(page, output, filename="a.html", target_lang="DE", source_lang="EN")
    expected = b"<!DOCTYPE html><title>A</title><p>ONE <i>TWO</i>.</p>"
    check("deepl: a page", output.getvalue(), expected)

    error = error_of(lambda: translator.translate_text("A dog.", target_lang="JA"), deepl.DeepLException)
    check("deepl: an unknown language", "target_lang" in str(error), True)
    error = error_of(
        lambda: translator.translate_text("A dog.", target_lang="DE", source_lang="EN", formality="more"),
        deepl.DeepLException,
    )
    check("deepl: formality", "formality" in str(error), True)
    error = error_of(
        lambda: translator.translate_text("A dog.", target_lang="DE", source_lang="EN", glossary="no-such-id"),
        deepl.DeepLException,
    )
    check("deepl: an unknown glossary", "glossar" in str(error).lower(), True)
    wrong = deepl.DeepLClient("wrong", server_url=URL_WITH_KEYS)
    error_of(lambda: wrong.translate_text("A dog.", target_lang="DE"), deepl.AuthorizationException)
    check("deepl: a wrong key", True, True)
    # A server without keys accepts any.
    free = deepl.DeepLClient("any", server_url=URL)
    check("deepl: no keys", free.translate_text("A dog.", target_lang="DE", source_lang="EN").text, "A DOG.")


def google():
    def client(url):
        return translate_v2.Client(credentials=AnonymousCredentials(), client_options={"api_endpoint": url})

    found = client(URL).translate(["A <b>dog</b>.", "A &amp; B."], target_language="de", source_language="en")
    check("google: HTML", [it["translatedText"] for it in found], ["A <b>DOG</b>.", "A &amp; B."])
    found = client(URL).translate("How are you today?", target_language="de", format_="text")
    check("google: text", (found["translatedText"], found["detectedSourceLanguage"]), ("HOW ARE YOU TODAY?", "en"))
    check("google: languages", [it["name"] for it in client(URL).get_languages()], ["German", "English"])
    found = client(URL).detect_language("Where is the next railway station, please?")
    check("google: detect", found["language"], "en")
    error = error_of(lambda: client(URL_WITH_KEYS).translate("A dog.", target_language="de"), Forbidden)
    check("google: no key", "API key" in error.message, True)


def openai_client():
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key="any", max_retries=0)
    messages = [{"role": "system", "content": "Translate to German."}, {"role": "user", "content": TEXT}]
    found = client.chat.completions.create(model="en-de", messages=messages, temperature=0)
    check("openai: a message", found.choices[0].message.content, TEXT.upper())
    chunks = client.chat.completions.create(model="auto-de", messages=messages, stream=True)
    found = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    check("openai: a stream", found, TEXT.upper())
    check("openai: models", len(client.models.list().data), 1)
    error = error_of(lambda: client.chat.completions.create(model="gpt-4o", messages=messages), openai.NotFoundError)
    check("openai: an unknown model", error.code, "model_not_found")
    wrong = openai.OpenAI(base_url=f"{URL_WITH_KEYS}/v1", api_key="wrong", max_retries=0)
    error_of(lambda: wrong.chat.completions.create(model="en-de", messages=messages), openai.AuthenticationError)
    with_key = openai.OpenAI(base_url=f"{URL_WITH_KEYS}/v1", api_key=KEY, max_retries=0)
    found = with_key.chat.completions.create(model="de", messages=[{"role": "user", "content": "A small dog barks."}])
    check("openai: a key", found.choices[0].message.content, "A SMALL DOG BARKS.")


def azure():
    def client(key):
        return TextTranslationClient(endpoint=f"{URL_WITH_KEYS}/microsoft", credential=AzureKeyCredential(key))

    found = client(KEY).translate(body=["How are you today?", TEXT], to_language=["de"])
    check("azure: translate", [it.translations[0].text for it in found], ["HOW ARE YOU TODAY?", TEXT.upper()])
    check("azure: detected language", found[0].detected_language.language, "en")
    page = "<p>A <b>red</b> dog.</p>"
    found = client(KEY).translate(body=[page], to_language=["de"], from_language="en", text_type="Html")
    check("azure: html", found[0].translations[0].text, "<p>A <b>RED</b> DOG.</p>")
    languages = client(KEY).get_supported_languages().translation
    check("azure: languages", languages["de"].native_name, "Deutsch")
    error = error_of(lambda: client(KEY).translate(body=["a"], to_language=["zz"]), HttpResponseError)
    check("azure: an unknown language", (error.status_code, error.error.code), (400, 400019))
    error = error_of(lambda: client("wrong").translate(body=["a"], to_language=["de"]), HttpResponseError)
    check("azure: a wrong key", error.status_code, 401)


def deep_translator_microsoft():
    """Its address is fixed, so the requests are sent elsewhere."""
    send = requests.Session.request

    def redirected(self, method, url, **options):
        address = url.replace("https://api.cognitive.microsofttranslator.com", f"{URL_WITH_KEYS}/microsoft")
        return send(self, method, address.strip(), **options)

    requests.Session.request = redirected
    try:
        translator = MicrosoftTranslator(api_key=KEY, source="english", target="german")
        check("deep-translator: Microsoft", translator.translate(TEXT), TEXT.upper())
        translator = MicrosoftTranslator(api_key="wrong", source="en", target="de")
        error_of(lambda: translator.translate("A dog."), MicrosoftAPIerror)
        check("deep-translator: a wrong key for Microsoft", True, True)
    finally:
        requests.Session.request = send


def deeplx():
    found = deeplx_client("A dog.", source_lang="en", target_lang="de", url=f"{URL}/deeplx/translate")
    check("deeplx-tr: translate", found, "A DOG.")
    found = deeplx_client("A dog.", source_lang="en", target_lang="de", alternatives=True, url=f"{URL}/deeplx/translate")
    check("deeplx-tr: alternatives", found.startswith("A DOG. / "), True)
    found = deeplx_client("A dog.", source_lang="en", target_lang="de", url=f"{URL_WITH_KEYS}/deeplx/translate?token={KEY}")
    check("deeplx-tr: a key", found, "A DOG.")


libretranslatepy()
deep_translator()
deepl_client()
google()
openai_client()
azure()
deep_translator_microsoft()
deeplx()
