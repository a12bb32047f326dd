//! Damaged and hostile files: reading ends soon with a value or an error, in little memory.

use std::fs;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use transformer_core::TransformerConfig;
use transformer_core::import::StateDict;
use transformer_core::import::ctranslate2;
use transformer_core::import::marian::binary::read_container;
use transformer_core::json;
use transformer_core::lines::LineReader;
use transformer_core::text::sentencepiece::SentencePiece;
use transformer_core::text::{Tokenizer, TokenizerConfig, TokenizerKind};

/// Time of a processor within which any of these small files must be read: on a busy machine it takes longer, and is
/// not more.
const SOON: Duration = Duration::from_secs(10);

/// Address space that reading them may add: a length in a file must not be allocated unchecked. Other tests run at the
/// same time.
const MAX_ADDED_KIB: u64 = 8 << 20;

/// Text that tokenizers encode after they were read.
const LINE: &str = " A dog ▁runs\u{0} </s> ½ ﬁ 犬 ";

/// A change of a file.
#[derive(Clone, Debug)]
enum Change {
    Replace(Index, u8),
    Remove(Index, usize),
    Insert(Index, Vec<u8>),
    Repeat(Index, usize),
    Truncate(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<Index>;
    prop_oneof![
        4 => (index(), any::<u8>()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        1 => (index(), 1_usize..40).prop_map(|(at, n)| Change::Remove(at, n)),
        1 => (index(), proptest::collection::vec(any::<u8>(), 1..12))
            .prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        // A length of all ones, as a varint or as an integer.
        1 => index().prop_map(|at| Change::Insert(at, vec![0xff; 9])),
        1 => (index(), 1_usize..40).prop_map(|(at, n)| Change::Repeat(at, n)),
        1 => index().prop_map(Change::Truncate),
    ]
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    proptest::collection::vec(change(), 1..5)
}

fn changed(valid: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    for change in changes {
        if bytes.is_empty() {
            break;
        }
        let len = bytes.len();
        match change {
            Change::Replace(at, byte) => bytes[at.index(len)] = *byte,
            Change::Remove(at, n) => {
                let start = at.index(len);
                bytes.drain(start..(start + n).min(len));
            }
            Change::Insert(at, inserted) => {
                let start = at.index(len);
                bytes.splice(start..start, inserted.iter().copied());
            }
            Change::Repeat(at, n) => {
                let start = at.index(len);
                let repeated = bytes[start..(start + n).min(len)].to_vec();
                bytes.splice(start..start, repeated);
            }
            Change::Truncate(at) => bytes.truncate(at.index(len)),
        }
    }
    bytes
}

/// Reads, and checks that it took neither long nor much address space.
fn soon<T>(read: impl FnOnce() -> T) -> T {
    let (start, before) = (cpu_time(), peak_kib());
    let value = read();
    let time = cpu_time() - start;
    assert!(time < SOON, "{time:?}");
    assert!(
        peak_kib() - before < MAX_ADDED_KIB,
        "{before} {}",
        peak_kib()
    );
    value
}

/// Returns the time that this thread has run on a processor; 0 where the system does not tell.
fn cpu_time() -> Duration {
    let times = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = times.split(' ').next().and_then(|it| it.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// Returns the largest address space that the process has had, in KiB; 0 where the system does not tell.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let peak = lines.find_map(|line| line.strip_prefix("VmPeak:"));
    let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
    peak.and_then(|peak| peak.parse().ok()).unwrap_or(0)
}

fn fixture(name: &str) -> Vec<u8> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let bytes = fs::read(fixtures.join(name)).expect("the fixtures are there");
    if !name.ends_with(".gz") {
        return bytes;
    }
    let mut unpacked = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut unpacked)
        .expect("the generator packed it");
    unpacked
}

fn read_state_dict(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("the system has temporary directories");
    let path = folder.path().join("weights");
    fs::write(&path, bytes).expect("the folder is writable");
    let dict = soon(|| StateDict::read(&path));
    let Ok(dict) = dict else { return };
    for name in dict.names() {
        let tensor = dict.tensor(name).expect("the name is the file's");
        assert_eq!(tensor.iter::<f32>().count(), tensor.num_elements());
    }
}

fn read_pieces(bytes: &[u8]) {
    if let Ok(model) = soon(|| SentencePiece::parse(bytes)) {
        let pieces = soon(|| model.split(LINE));
        let pieces: Vec<String> = pieces.into_iter().map(|it| it.piece).collect();
        soon(|| model.join(&pieces));
    }
}

fn read_ctranslate2(bytes: &[u8]) {
    if let Ok(dict) = soon(|| ctranslate2::read_container(bytes)) {
        let tensors = dict.names().filter_map(|name| dict.tensor(name));
        let n_values: usize = tensors.map(|tensor| tensor.num_elements()).sum();
        assert!(n_values <= bytes.len());
    }
}

#[test]
fn a_model_of_ctranslate2_that_is_cut_anywhere_is_refused() {
    let valid = fixture("ctranslate2/imports/opennmt_i8/model.bin");
    assert!(ctranslate2::read_container(&valid).is_ok());
    for len in 0..valid.len() {
        assert!(
            ctranslate2::read_container(&valid[..len]).is_err(),
            "{len} bytes"
        );
    }
}

fn read_binary(bytes: &[u8]) {
    if let Ok((dict, _)) = soon(|| read_container(bytes)) {
        let n_values = dict.names().filter_map(|name| dict.tensor(name));
        let n_values: usize = n_values.map(|tensor| tensor.num_elements()).sum();
        assert!(n_values <= bytes.len());
    }
}

fn read_tokenizer(json: &str) {
    if let Ok(tokenizer) = soon(|| Tokenizer::from_json(json)) {
        let ids = soon(|| tokenizer.encode(LINE));
        soon(|| tokenizer.decode(&ids));
    }
}

fn tokenizer(kind: TokenizerKind) -> String {
    let config = TokenizerConfig {
        kind,
        vocab_size: 40,
        ..TokenizerConfig::default()
    };
    let lines = ["a dog runs", "a cat and a dog", "the dogs ran."];
    let tokenizer = Tokenizer::train(&config, lines);
    tokenizer.expect("the lines are not blank").to_json()
}

fn read_lines(bytes: &[u8]) {
    soon(|| {
        let Ok(mut lines) = LineReader::new("file", bytes) else {
            return;
        };
        for _ in 0..=bytes.len() * 2000 {
            match lines.next_line() {
                Ok(None) => return,
                Ok(Some(_)) => {}
                // Reading may go on after some errors; after others it would repeat them.
                Err(_) => return,
            }
        }
        panic!("there are more lines than bytes");
    });
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, text).expect("memory is writable");
    gzip.finish().expect("memory is writable")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_bytes_are_no_weights(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        read_state_dict(&bytes);
        // The length of a header, and a brace.
        let len = (bytes.len() as u64).to_le_bytes();
        read_state_dict(&[&len[..], b"{", &bytes].concat());
        // The start of a zip archive, and of a pickle.
        read_state_dict(&[b"PK\x03\x04", &bytes[..]].concat());
        read_state_dict(&[b"\x80\x02}", &bytes[..]].concat());
    }

    #[test]
    fn changed_files_of_torch_save_are_read_or_refused(changes in changes()) {
        read_state_dict(&changed(&fixture("imports/dtypes.pt"), &changes));
        read_state_dict(&changed(&fixture("imports/expanded.pt"), &changes));
    }

    #[test]
    fn changed_safetensors_are_read_or_refused(changes in changes()) {
        let valid = fixture("imports/pytorch.safetensors");
        read_state_dict(&changed(&valid, &changes));
        // Most changes of the whole file are in the values; these are in the header.
        let header_len = u64::from_le_bytes(*valid.first_chunk().expect("it has a header"));
        let (header, values) = valid.split_at(8 + header_len as usize);
        read_state_dict(&[&changed(header, &changes), values].concat());
    }

    #[test]
    fn changed_models_of_ctranslate2_are_read_or_refused(changes in changes()) {
        let valid = fixture("ctranslate2/imports/opennmt_i8/model.bin");
        read_ctranslate2(&changed(&valid, &changes));
        // Most changes of the whole file are in the values; these are in the names, shapes and sizes, or in the
        // aliases.
        let (start, rest) = valid.split_at(256);
        read_ctranslate2(&[&changed(start, &changes), rest].concat());
        let (rest, end) = valid.split_at(valid.len() - 256);
        read_ctranslate2(&[rest, &changed(end, &changes)].concat());
    }

    #[test]
    fn arbitrary_bytes_are_no_binary_model(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        read_binary(&bytes);
        read_binary(&[&1_u64.to_le_bytes()[..], &bytes].concat());
    }

    #[test]
    fn changed_binary_models_are_read_or_refused(changes in changes()) {
        for name in ["binary/model.ende.intgemm.alphas.bin", "binary_separate/model.ende.bin"] {
            let valid = fixture(&format!("marian/{name}.gz"));
            read_binary(&changed(&valid, &changes));
            // Most changes of the whole file are in the values; these are in the sizes, names and shapes.
            let (header, values) = valid.split_at(4096);
            read_binary(&[&changed(header, &changes), values].concat());
        }
    }

    #[test]
    fn arbitrary_bytes_are_no_sentencepiece_model(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        read_pieces(&bytes);
    }

    #[test]
    fn changed_sentencepiece_models_are_read_or_refused(changes in changes()) {
        let valid = fixture("marian/shared/source.spm.gz");
        read_pieces(&changed(&valid, &changes));
    }

    #[test]
    fn changed_tokenizers_are_read_or_refused(changes in changes(), text in ".{0,200}") {
        for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram, TokenizerKind::Word, TokenizerKind::Char] {
            let bytes = changed(tokenizer(kind).as_bytes(), &changes);
            read_tokenizer(&String::from_utf8_lossy(&bytes));
        }
        read_tokenizer(&text);
    }

    #[test]
    fn changed_configs_are_read_or_refused(changes in changes()) {
        let valid = serde_json::to_vec(&TransformerConfig::base(50, 60)).expect("a config is JSON");
        let bytes = changed(&valid, &changes);
        if let Ok(config) = soon(|| json::from_slice::<TransformerConfig>(&bytes)) {
            let _ = soon(|| config.validate());
        }
    }

    #[test]
    fn arbitrary_bytes_and_changed_gzip_end_as_lines(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        changes in changes(),
    ) {
        read_lines(&bytes);
        read_lines(&[&[0x1f, 0x8b][..], &bytes].concat());
        let valid = gzip("ein Haus\n\u{feff}zwei\r\n\n".repeat(30).as_bytes());
        read_lines(&changed(&[valid.clone(), valid].concat(), &changes));
    }
}

#[test]
fn deeply_nested_json_is_refused_without_a_stack_overflow() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        assert!(json::parse(nested.as_bytes()).is_err());
        read_tokenizer(&nested);
    }
}
