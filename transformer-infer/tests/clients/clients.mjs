// Translates with the unmodified clients from npm: node clients.mjs URL URL_WITH_KEYS KEY, as clients.py does.

import assert from "node:assert/strict";
import * as deepl from "deepl-node";
import translate from "translate";

const [url, urlWithKeys, key] = process.argv.slice(2);

const text = "A dog & a cat: 50% + 1.\nZoë's end.";

function passed(name) {
    console.log(`ok ${name}`);
}

translate.engine = "libre";
translate.url = `${url}/translate`;
assert.equal(await translate(text, { from: "en", to: "de" }), text.toUpperCase());
passed("translate: a text");
assert.equal(await translate("A dog.", { from: "english", to: "german" }), "A DOG.");
passed("translate: names of languages");
await assert.rejects(translate("A dog.", { from: "en", to: "pl" }), /pl is not supported/);
passed("translate: an unknown language");
translate.url = `${urlWithKeys}/translate`;
translate.key = key;
assert.equal(await translate("A cat.", { from: "en", to: "de" }), "A CAT.");
passed("translate: a key");
translate.key = "wrong";
await assert.rejects(translate("Two cats.", { from: "en", to: "de" }), /Invalid API key/);
passed("translate: a wrong key");

const client = new deepl.DeepLClient(key, { serverUrl: urlWithKeys });
const found = await client.translateText([text, "How are you today?"], null, "de");
assert.deepEqual(found.map((it) => it.text), [text.toUpperCase(), "HOW ARE YOU TODAY?"]);
assert.equal(found[1].detectedSourceLang, "en");
assert.equal(found[1].billedCharacters, 18);
passed("deepl-node: several texts");
const options = { tagHandling: "xml", ignoreTags: ["x"] };
const tagged = await client.translateText('See <x id="7">it</x> now.', "en", "de", options);
assert.equal(tagged.text, 'SEE <x id="7">it</x> NOW.');
passed("deepl-node: xml");
assert.deepEqual((await client.getTargetLanguages()).map((it) => it.code), ["de"]);
passed("deepl-node: languages");
assert.ok((await client.getUsage()).character.count > 0);
passed("deepl-node: usage");
const wrong = new deepl.DeepLClient("wrong", { serverUrl: urlWithKeys });
await assert.rejects(wrong.translateText("A dog.", "en", "de"), deepl.AuthorizationError);
passed("deepl-node: a wrong key");
