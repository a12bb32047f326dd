//! All attention maps of one sentence on a self-contained HTML page.

use serde::Serialize;
use transformer_core::text::escape_xml;

use super::{Attention, Head, Kind, Map, Selection, View};
use crate::TranslatorError;

/// The name of the generator in every page and figure, by which `attention` recognizes its own files.
pub const GENERATOR: &str = "transformer-infer attention";

/// The page, with gaps in braces.
#[doc(hidden)]
pub const TEMPLATE: &str = include_str!("template/page.html");
/// The colors and the font of pages, light and dark.
#[doc(hidden)]
pub const COLORS: &str = include_str!("template/colors.css");
/// The style of the page.
#[doc(hidden)]
pub const STYLE: &str = concat!(
    include_str!("template/colors.css"),
    include_str!("template/page.css")
);
/// The script of the page.
#[doc(hidden)]
pub const SCRIPT: &str = include_str!("template/page.js");

/// The integer for a weight of 1 in the data of the page, which shows four decimals.
const ONE: f32 = 10_000.0;

#[derive(Debug, Serialize)]
struct Data<'a> {
    src: &'a str,
    tgt: &'a str,
    kinds: Vec<KindData>,
    start: Start,
}

#[derive(Debug, Serialize)]
struct KindData {
    name: &'static str,
    rows: Vec<String>,
    columns: Vec<String>,
    /// `[layer][head][row][column]`, in ten-thousandths.
    layers: Vec<Vec<Vec<Vec<u16>>>>,
}

/// The initial state of the page; layers are counted from 0, and head 0 is the mean.
#[derive(Debug, Serialize)]
struct Start {
    kind: &'static str,
    layer: usize,
    head: usize,
    view: &'static str,
    /// True if the lines of each head have their own color.
    by_head: bool,
    scale: &'static str,
}

/// Returns an HTML page with all layers and heads, which needs no network and no other file; `selection` is the initial
/// state.
///
/// All text is escaped: no token can become markup or code.
///
/// # Errors
///
/// Returns a [`TranslatorError`] if the layer or the head does not exist.
///
/// # Panics
///
/// Never panics: the template is constant, and text and numbers can be serialized.
pub fn page(attention: &Attention, selection: Selection) -> Result<String, TranslatorError> {
    let json = page_data(attention, selection)?;
    // The user's text is inserted last, so that nothing in it is replaced.
    let page = TEMPLATE
        .replace("{generator}", GENERATOR)
        .replace("{style}", STYLE)
        .replace("{script}", SCRIPT);
    let head = page.split_once("{title}");
    let (head, rest) = head.expect("the template has a title");
    let (body, end) = rest.split_once("{data}").expect("the template has data");
    let (title, data) = (escape_xml(&attention.src), in_script(&json));
    Ok([head, &title, body, &data, end].concat())
}

/// Returns the data of [`page`] as JSON: `src` and `tgt`, the texts; `kinds`, each with its `name`, the tokens of its
/// `rows` and `columns`, and its `layers`, `[layer][head][row][column]` in ten-thousandths; and `start`, the initial
/// state.
///
/// # Errors
///
/// Returns a [`TranslatorError`] if the layer or the head does not exist.
///
/// # Panics
///
/// Never panics: text and numbers can be serialized.
pub fn page_data(attention: &Attention, selection: Selection) -> Result<String, TranslatorError> {
    let (kind, layer_head, view) = (selection.kind, selection.layer_head, selection.view);
    let start = Start {
        kind: kind.name(),
        layer: layer_head.layer_of(attention, kind)? - 1,
        head: match layer_head.head {
            Head::Mean => 0,
            Head::One(head) => head,
        },
        view: match view {
            View::HeatMap => "map",
            View::Lines | View::HeadLines => "lines",
        },
        by_head: view == View::HeadLines,
        scale: selection.scale.name(),
    };
    let kinds = Kind::ALL.into_iter();
    let kinds = kinds.filter(|kind| !attention.layers(*kind).is_empty());
    let data = Data {
        src: &attention.src,
        tgt: &attention.tgt,
        kinds: kinds.map(|it| kind_data(attention, it)).collect(),
        start,
    };
    Ok(serde_json::to_string(&data).expect("text and numbers can be serialized"))
}

fn kind_data(attention: &Attention, kind: Kind) -> KindData {
    let texts = |tokens: Vec<super::Token>| tokens.into_iter().map(|token| token.text).collect();
    let layers = attention.layers(kind).iter();
    KindData {
        name: kind.name(),
        rows: texts(attention.rows(kind)),
        columns: texts(attention.columns(kind)),
        layers: layers
            .map(|heads| heads.iter().map(quantized).collect())
            .collect(),
    }
}

fn quantized(map: &Map) -> Vec<Vec<u16>> {
    let integer = |weight: &f32| (weight * ONE).round() as u16; // the cast saturates
    let row = |row: &Vec<f32>| row.iter().map(integer).collect();
    map.iter().map(row).collect()
}

/// Escapes JSON so that nothing in it ends the `script` element.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::{ColorScale, LayerHead, Token};

    const NASTY: &str =
        "</script><!-- <img src=x onerror=alert(1)> {data} {script} &amp; \" \u{2028} \0";

    fn attention(word: &str) -> Attention {
        let tokens = vec![Token {
            text: word.to_owned(),
            id: 4,
            word: Some(0),
        }];
        let maps = |weight| vec![vec![vec![vec![weight]]]];
        Attention {
            src: word.to_owned(),
            tgt: word.to_owned(),
            src_tokens: tokens.clone(),
            tgt_tokens: tokens,
            encoder: maps(1.0),
            decoder: maps(0.123_46),
            cross: maps(0.0),
        }
    }

    /// Returns the text between two others.
    fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
        let (_, rest) = text.split_once(start).expect("the start is there");
        rest.split_once(end).expect("the end is there").0
    }

    fn data(page: &str) -> serde_json::Value {
        let json = between(
            page,
            "<script type=\"application/json\" id=\"data\">",
            "</script>",
        );
        serde_json::from_str(json).expect("the data is JSON")
    }

    #[test]
    fn tokens_that_look_like_markup_stay_text() {
        let page = page(&attention(NASTY), Selection::default()).expect("there is one layer");
        let data = data(&page);
        assert_eq!(data["src"], NASTY);
        assert_eq!(data["kinds"][0]["rows"][0], NASTY);
        let plain = super::page(&attention("a"), Selection::default()).expect("there is one layer");
        assert_eq!(page.matches('<').count(), plain.matches('<').count());
    }

    #[test]
    fn a_title_that_looks_like_markup_stays_text() {
        let page =
            page(&attention("</title>&<b>"), Selection::default()).expect("there is one layer");
        let title = between(&page, "<title>", "</title>");
        assert!(title.contains("&lt;/title&gt;&amp;&lt;b&gt;"), "{title}");
    }

    #[test]
    fn weights_are_written_in_ten_thousandths() {
        let page = page(&attention("a"), Selection::default()).expect("there is one layer");
        let data = data(&page);
        let weight = |kind: usize| &data["kinds"][kind]["layers"][0][0][0][0];
        assert_eq!((weight(0), weight(1)), (&0.into(), &10_000.into()));
        assert_eq!(weight(2), 1235);
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = page(&attention("a"), Selection::default()).expect("there is one layer");
        for address in ["https://", "src=", "href", "@import", "url(", "fetch("] {
            assert!(!page.contains(address), "{address}");
        }
        // The name of a namespace, which no browser loads.
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains("http://"));
    }

    #[test]
    fn the_page_shows_the_selection_first() {
        let selection = Selection {
            kind: Kind::Decoder,
            layer_head: LayerHead {
                layer: Some(1),
                head: Head::One(1),
            },
            view: View::HeadLines,
            scale: ColorScale::Linear,
        };
        let page = page(&attention("a"), selection).expect("there is one head");
        let expected = serde_json::json!({
            "kind": "decoder", "layer": 0, "head": 1, "view": "lines", "by_head": true, "scale": "linear",
        });
        assert_eq!(data(&page)["start"], expected);
    }
}
