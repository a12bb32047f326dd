//! The token store on disk: built once, reused, checked, and equivalent to the one in memory.

use std::fs;
use std::path::PathBuf;

use crate::workplace::{Ended, Workplace};

const ON_DISK: [&str; 2] = ["--set", "data.store=disk"];

/// Returns the stores in a folder of a workplace.
fn stores(workplace: &Workplace, folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(workplace.path(folder)).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    paths.filter(|path| path.is_dir()).collect()
}

/// Whether the program printed a line that starts with this text.
fn prints(ended: &Ended, start: &str) -> bool {
    ended.lines().iter().any(|line| line.starts_with(start))
}

#[test]
fn a_store_on_disk_trains_the_same_model_as_one_in_memory() {
    let workplace = Workplace::new();
    workplace.train("memory", &[]).lines();
    workplace.train("disk", &ON_DISK).lines();
    assert_eq!(stores(&workplace, "disk/store").len(), 1);
    assert!(workplace.weights("disk") == workplace.weights("memory"));
}

#[test]
fn a_store_is_built_once_and_reused() {
    let workplace = Workplace::new();
    let shared = [&ON_DISK[..], &["--set", "data.store_folder=cache"]].concat();
    let first = workplace.train("one", &shared);
    assert!(prints(&first, "store       building cache"));
    let second = workplace.train("two", &shared);
    assert!(!prints(&second, "store       building"));
    assert!(prints(&second, "store       cache"));
    assert!(workplace.weights("one") == workplace.weights("two"));
    // The second run prints the same counts without reading the text.
    let data = |ended: &Ended| {
        let lines = ended.lines();
        let mut data = lines.iter().filter(|line| line.starts_with("data  "));
        data.next().map(ToString::to_string)
    };
    assert!(data(&first).is_some());
    assert_eq!(data(&first), data(&second));
}

#[test]
fn a_run_keeps_only_the_store_of_its_current_text() {
    let workplace = Workplace::new();
    workplace.train("run", &ON_DISK).lines();
    let before = stores(&workplace, "run/store");
    workplace.write("a.src", workplace.read("a.src") + "11\n");
    workplace.write("b.tgt", workplace.read("b.tgt") + "3\n");
    let replaced = [&ON_DISK[..], &["--overwrite"]].concat();
    workplace.train("run", &replaced).lines();
    let after = stores(&workplace, "run/store");
    assert_eq!(after.len(), 1, "{after:?}");
    assert_ne!(after, before);
}

#[test]
fn different_text_or_settings_have_different_stores() {
    let workplace = Workplace::new();
    let shared = [&ON_DISK[..], &["--set", "data.store_folder=cache"]].concat();
    workplace.train("one", &shared).lines();
    let shorter = [&shared[..], &["--set", "data.max_len=12"]].concat();
    workplace.train("two", &shorter).lines();
    workplace.write("a.src", workplace.read("a.src") + "11\n");
    workplace.write("b.tgt", workplace.read("b.tgt") + "3\n");
    workplace.train("three", &shared).lines();
    assert_eq!(stores(&workplace, "cache").len(), 3);
}

#[test]
fn text_that_was_edited_under_its_old_size_and_time_has_another_store() {
    let workplace = Workplace::new();
    let shared = [&ON_DISK[..], &["--set", "data.store_folder=cache"]].concat();
    workplace.train("one", &shared).lines();
    let path = workplace.path("a.src");
    let modified = fs::metadata(&path).and_then(|it| it.modified());
    let modified = modified.expect("the file was written");
    let text = workplace.read("a.src");
    let edited = text.replacen('1', "2", 1);
    assert_ne!(edited, text);
    workplace.write("a.src", edited);
    let file = fs::File::options().append(true).open(&path);
    let restored = file.and_then(|file| file.set_modified(modified));
    restored.expect("the file is ours");
    workplace.train("two", &shared).lines();
    assert_eq!(stores(&workplace, "cache").len(), 2);
}

#[test]
fn a_damaged_store_is_reported_and_built_again() {
    let workplace = Workplace::new();
    workplace.train("whole", &[]).lines();
    let shared = [&ON_DISK[..], &["--set", "data.store_folder=cache"]].concat();
    workplace.train("one", &shared).lines();
    let path = stores(&workplace, "cache")[0].join("ids.bin");
    let bytes = fs::read(&path).expect("the store was built");
    fs::write(&path, &bytes[1..]).expect("the temporary directory is writable");
    let ended = workplace.train("two", &shared);
    assert!(prints(&ended, "damaged     `cache"), "{ended:?}");
    assert!(workplace.weights("two") == workplace.weights("whole"));
}

fn is_noticed(ended: &Ended) -> bool {
    let message = "`store.json` is not what was saved; it is built again";
    ended.lines().iter().any(|line| line.ends_with(message))
}

/// Changes the manifest of a store of pairs that are also held out, and returns what a run with it printed.
fn with_changed_manifest(change: impl FnOnce(&str) -> String) -> (Workplace, Ended) {
    let workplace = Workplace::new();
    let shared = [&ON_DISK[..], &["--set", "data.store_folder=cache"]].concat();
    workplace.train("one", &shared).lines();
    let path = stores(&workplace, "cache")[0].join("store.json");
    let text = fs::read_to_string(&path).expect("the store was built");
    let changed = change(&text);
    assert_ne!(changed, text);
    fs::write(&path, changed).expect("the temporary directory is writable");
    let ended = workplace.train("two", &shared);
    (workplace, ended)
}

#[test]
fn a_changed_fingerprint_of_a_store_is_noticed() {
    let (workplace, ended) = with_changed_manifest(|text| {
        let (before, rest) = text.split_once("\"fingerprint\": ").expect("it has one");
        let (number, rest) = rest.split_once(',').expect("other fields follow");
        let other = if number.ends_with('1') { '2' } else { '1' };
        let number = &number[..number.len() - 1];
        format!("{before}\"fingerprint\": {number}{other},{rest}")
    });
    assert!(is_noticed(&ended), "{ended:?}");
    assert!(workplace.weights("two") == workplace.weights("one"));
}

#[test]
fn a_changed_held_out_pair_of_a_store_is_noticed() {
    let (workplace, ended) = with_changed_manifest(|text| {
        let start = text.find("\"held_out\": ").expect("it has some");
        let (before, pairs) = text.split_at(start);
        format!("{before}{}", pairs.replacen('1', "0", 1))
    });
    assert!(is_noticed(&ended), "{ended:?}");
    assert!(workplace.weights("two") == workplace.weights("one"));
}

#[test]
fn a_damaged_pair_stops_the_run_with_an_error_of_one_line() {
    let workplace = Workplace::new();
    let shared = [&ON_DISK[..], &["--set", "data.store_folder=cache"]].concat();
    workplace.train("one", &shared).lines();
    let path = stores(&workplace, "cache")[0].join("ids.bin");
    let mut bytes = fs::read(&path).expect("the store was built");
    bytes[0] ^= 1;
    fs::write(&path, &bytes).expect("the temporary directory is writable");
    let ended = workplace.train("two", &shared);
    let message = ended.failure();
    assert!(message.contains("pair 0 is damaged"), "{message}");
}

#[test]
fn a_resumed_run_with_a_store_on_disk_trains_the_same_model() {
    let workplace = Workplace::new();
    workplace.train("whole", &["--updates", "40"]).lines();
    workplace
        .train("run", &[&ON_DISK[..], &["--updates", "20"]].concat())
        .lines();
    let ended = workplace.run(&["--resume", "run", "--updates", "40"]);
    assert!(prints(&ended, "resumed     after update 20"), "{ended:?}");
    assert!(workplace.weights("run") == workplace.weights("whole"));
}

#[test]
fn a_failed_run_leaves_no_store() {
    let workplace = Workplace::new();
    let ended = workplace.train(
        "run",
        &[&ON_DISK[..], &["--set", "data.max_len=1"]].concat(),
    );
    let message = ended.failure();
    assert!(
        message.starts_with("no pair of `a.src` with `b.tgt` is left"),
        "{message}"
    );
    assert_eq!(stores(&workplace, "run/store"), Vec::<PathBuf>::new());
}
