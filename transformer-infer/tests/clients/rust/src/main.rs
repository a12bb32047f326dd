//! Translates with the crate libretranslate: `client URL`, of a server whose model writes all letters large.

use libretranslate::{Language, translate_url};

fn main() {
    let url = std::env::args().nth(1).expect("the address of a server");
    let translate = |source, target, text: &str| {
        async_std::task::block_on(translate_url(source, target, text, &url, None))
    };

    let found = translate(Language::English, Language::German, "A dog & a cat.\nTwo.");
    let found = found.expect("the server has this pair");
    assert_eq!(found.output, "A DOG & A CAT.\nTWO.");
    println!("ok libretranslate: translate");

    let detected = translate(Language::Detect, Language::German, "How are you today?");
    assert_eq!(
        detected.expect("it is English").output,
        "HOW ARE YOU TODAY?"
    );
    println!("ok libretranslate: detect and translate");

    let error = translate(Language::English, Language::Polish, "A dog.");
    let error = error.expect_err("the server has no Polish").to_string();
    assert!(error.contains("pl is not supported"), "{error}");
    println!("ok libretranslate: an unknown language");
}
