//! Small documents of every format, from which those of the class `documents` are made.

/// A document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seed {
    /// The extension of its format.
    pub(super) extension: &'static str,
    pub(super) text: &'static str,
}

/// The documents, with what readers treat in a way of its own.
pub(super) const SEEDS: [Seed; 9] = [
    Seed {
        extension: "txt",
        text: "\u{feff}Title 10\n\n  101 7 {name}. 110, %s! (11)\r\n\t10 www.a.b/c 3.5\nno end 1",
    },
    Seed {
        extension: "md",
        text: "---\nkey: 1\n---\n# 101 *7* `x`\n\n> - 110 [1](a.b \"t\") ![2][r] <b>3</b>\n>   \\* 4  \n>   5\n\n\
               | 1 | a\\|b |\n|--:|:--|\n| 10 | **11** |\n\n```rs\n1\n```\n\n[r]: c.d\n1. [ ] 7 ~~8~~[^n]\n\n[^n]: 9\n",
    },
    Seed {
        extension: "html",
        text: "<!DOCTYPE html><html><head><title>10</title><style>p{}</style></head><body>\n<p class=\"a\" \
               title='7'>101 <b>7 <i>110</b> 1</i> &amp; &#49;<br>\n<ul><li>1<li>2</ul><pre>1\n 2</pre>\
               <script>if (a<b) {}</script><!-- 1 --><table><tr><td>3</table><img alt=4></body>",
    },
    Seed {
        extension: "srt",
        text: "1\n00:00:01,000 --> 00:00:02,500\n101 <i>7\n110</i>,\n\n2\r\n00:00:02,600 --> 00:00:03,000 X1:1\r\n\
               {\\an8}- 10.\r\n- 11\r\n\r\n3\n00:01:00,000 --> 00:01:01,000\n1",
    },
    Seed {
        extension: "vtt",
        text: "WEBVTT 1\n\nSTYLE\n::cue {}\n\nNOTE 1\n2\n\nid\n00:01.000 --> 00:02.500 line:0\n<v Ann>101 <b>7</b> \
               &amp;\n110\n\n00:00:03.000 --> 01:00:04.000\n<00:03.500>1 <c.x>2</c>\n",
    },
    Seed {
        extension: "tsv",
        text: "id\ttext 1\r\n1\t101 7\\n110\r\n2\t<b>10</b> 11\n\t\n3\t\"1\"",
    },
    Seed {
        extension: "csv",
        text: "id,text\r\n1,\"101, \"\"7\"\"\n110\"\r\n2,10 {x}\n\"\",\n3,\"11\"",
    },
    Seed {
        extension: "po",
        text: "# 1\nmsgid \"\"\nmsgstr \"\"\n\"Plural-Forms: nplurals=2; plural=(n != 1);\\n\"\n\n#: a.c:1\n\
               #, c-format\nmsgctxt \"m\"\nmsgid \"%d 101 \\\"7\\\"\\n\"\nmsgid_plural \"\"\n\"110 %d\\t\\\\\"\n\
               msgstr[0] \"\"\nmsgstr[1] \"\"\n\n#~ msgid \"1\"\n#~ msgstr \"2\"\n\nmsgid \"10\"\nmsgstr \"11\"\n",
    },
    Seed {
        extension: "json",
        text: "{\n\t\"@@locale\": \"en\", \"a\": [\"101 7\", -1.5e3, null, true, {}],\n \"b\\n\": {\"\": \"\\u0031 \
               \\\"x\\\"\\n\\n110 \\ud83d\\ude00 \\ud800\", \"c\": \"{n, plural, one{1} other{#}}\"}, \"b\": []}\n",
    },
];

/// Returns the document of a format.
pub(super) fn seed(extension: &str) -> Seed {
    let of_format = SEEDS.into_iter().find(|it| it.extension == extension);
    of_format.unwrap_or(SEEDS[0])
}

/// What is repeated to make documents that are long or nested deeply, with what follows as often; each repetition has
/// few letters and digits, which take the time of a translation.
pub(super) const REPEATED: [(&str, &str, &str); 46] = [
    ("txt", "-", ""),
    ("txt", " ", ""),
    ("txt", "\r", ""),
    ("txt", "\n", ""),
    ("txt", "{", "}"),
    ("txt", "{n, plural, ", ""),
    ("txt", "\u{301}", ""),
    ("txt", "\u{1f469}\u{200d}", ""),
    ("txt", "(.\"", ""),
    ("txt", "%", ""),
    ("txt", "@.", ""),
    ("md", "> ", ""),
    ("md", "- ", ""),
    ("md", "*_", ""),
    ("md", "[", "]"),
    ("md", "[](", ")"),
    ("md", "![", "]"),
    ("md", "`", ""),
    ("md", "|", ""),
    ("md", "<b>", "</b>"),
    ("md", "\\", ""),
    ("md", "~", ""),
    ("md", "&", ""),
    ("html", "<div>", ""),
    ("html", "<b><p>", ""),
    ("html", "<a>", "</a>"),
    ("html", "<table>", ""),
    ("html", "<", ""),
    ("html", "&", ""),
    ("html", "<p a=\"", ""),
    ("html", "</b>", ""),
    ("html", "<!--", ""),
    ("html", "<svg>", "</svg>"),
    ("srt", "1\n00:00:01,000 --> 00:00:02,000\n-\n\n", ""),
    ("srt", "<i>", "</i>"),
    ("vtt", "<c>", "</c>"),
    ("tsv", "\t", ""),
    ("tsv", "\\n", ""),
    ("csv", "\"", ""),
    ("csv", ",", ""),
    ("csv", "\"\"", ""),
    ("po", "\"\\n\"\n", ""),
    ("po", "#\n", ""),
    ("json", "[", "]"),
    ("json", "{\"a\":", "}"),
    ("json", "\\\\", ""),
];

/// Flags of documents, of which a few do not suit a format.
pub(super) const FLAGS: [&str; 24] = [
    "",
    "",
    "--split lines",
    "--split none",
    "--lang zz",
    "--lang ja",
    "--max-segment 1",
    "--max-segment 3",
    "--max-segment 18446744073709551615",
    "--protect [0-9]+",
    "--protect (",
    "--protect (a*)*b",
    "--protect-numbers --no-placeholders",
    "--wrapped",
    "--attributes",
    "--columns 2",
    "--columns 1 --no-header",
    "--columns 99999999999999999999",
    "--separator ; --columns 1",
    "--keys a,* --skip-keys b*",
    "--retranslate --fuzzy",
    "--pause 0",
    "--pause 18446744073709551615",
    "--terms terms.tsv",
];

/// A glossary.
pub(super) const TERMS: &str = "# 1\n101 7\t5\n110\t6 6\n10\t2\n\n";
