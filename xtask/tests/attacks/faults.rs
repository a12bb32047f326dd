//! Every class finds faults of its kind, tested with scripts that misbehave in place of the programs.

use anyhow::Result;

use super::attack::Attack;
use super::{clocks, disks, documents, imports, kills, models, resumes, runs, settings, texts};

#[test]
fn a_lost_line_is_found() -> Result<()> {
    let script = r#"out=$("$real" "$@") || exit $?; printf '%s\n' "$out" | sed '$d'"#;
    Attack::fault(texts::attack, script, "lines of input gave")
}

#[test]
fn an_accepted_text_that_is_not_utf8_is_found() -> Result<()> {
    let script = r#"[ "$1" = bleu ] || exec "$real" "$@"; "$real" "$@" || exit 0"#;
    Attack::fault(texts::attack, script, "accepted, though")
}

#[test]
fn a_lost_line_of_a_document_is_found() -> Result<()> {
    let script = r#""$real" "$@" || exit $?; sed -i '$d' out"#;
    Attack::fault(
        documents::attack,
        script,
        "the structure was|another translation",
    )
}

#[test]
fn an_unfinished_document_is_found() -> Result<()> {
    let script = r#""$real" "$@" || { echo x > out; exit 1; }"#;
    Attack::fault(
        documents::attack,
        script,
        "it failed, and `out` is another one",
    )
}

#[test]
fn a_panic_on_a_damaged_model_is_found() -> Result<()> {
    let script = r#""$real" "$@" || { echo "thread 'main' panicked at a.rs:1" >&2; exit 101; }"#;
    Attack::fault(models::attack, script, "a panic")
}

#[test]
fn an_accepted_damaged_model_is_found() -> Result<()> {
    let script = r#"[ "$1" = inspect ] || exec "$real" "$@"; "$real" "$@" || exit 0"#;
    Attack::fault(
        models::attack,
        script,
        "accepted, though the file is not that of the manifest",
    )
}

#[test]
fn a_folder_of_a_failed_import_is_found() -> Result<()> {
    let script = r#""$real" "$@" || { mkdir -p out; exit 1; }"#;
    Attack::fault(imports::attack, script, "left a folder")
}

#[test]
fn a_second_error_is_found() -> Result<()> {
    let script = r#""$real" "$@" || { echo "error: more" >&2; exit 1; }"#;
    Attack::fault(settings::attack, script, "several lines with `error: `")
}

#[test]
fn a_setting_without_effect_is_found() -> Result<()> {
    let script =
        r#"case "$*" in *--print-config*) exec "$real" --print-config;; esac; exec "$real" "$@""#;
    Attack::fault(settings::attack, script, "was set to")
}

#[test]
fn a_change_without_a_record_is_found() -> Result<()> {
    let script =
        r#""$real" "$@" || exit $?; sed -i 's/"changed"/"other"/' run/model/manifest.json"#;
    Attack::fault(resumes::attack, script, "other weights, and no record")
}

#[test]
fn a_refusal_without_the_name_of_the_setting_is_found() -> Result<()> {
    let script = r#""$real" "$@" 2>/dev/null || { echo "error: no" >&2; exit 1; }"#;
    Attack::fault(resumes::attack, script, "refused without naming")
}

#[test]
fn other_weights_of_a_resumed_run_are_found() -> Result<()> {
    let script = r#""$real" "$@" || exit $?; file=run/checkpoints/model-40.bpk
        [ ! -e $file ] || printf x | dd of=$file bs=1 conv=notrunc seek=$(($(stat -c %s $file) - 1)) 2>/dev/null"#;
    Attack::fault(runs::attack, script, "other weights")
}

#[test]
fn a_checkpoint_lost_by_a_refused_run_is_found() -> Result<()> {
    let script = r#""$real" "$@" || { rm -f run/checkpoints/state-20.json; exit 1; }"#;
    Attack::fault(runs::attack, script, "a checkpoint or the model is changed")
}

#[test]
fn a_model_that_is_cut_while_it_is_replaced_is_found() -> Result<()> {
    let script = r#"file=disk/out/manifest.json
        [ "$1" = translate ] || [ ! -e $file ] || : > $file
        exec "$real" "$@""#;
    Attack::fault(kills::attack, script, "wrote the model was disturbed")
}

#[test]
fn a_lost_checkpoint_is_found() -> Result<()> {
    let script = r#"case "$*" in *--dry-run*) rm -f "$(ls -t disk/out/checkpoints/state-* | head -n 1)";; esac
        exec "$real" "$@""#;
    Attack::fault(kills::attack, script, "is complete, but not resumed")
}

#[test]
fn another_result_after_an_interruption_is_found() -> Result<()> {
    let script = r#"[ "$1" = translate ] || [ ! -e disk/out/checkpoints ] ||
            set -- "$@" --set training.learning_rate_factor=0.5 --allow-changes
        exec "$real" "$@""#;
    Attack::fault(kills::attack, script, "than without interruption")
}

#[test]
fn output_that_is_lost_silently_is_found() -> Result<()> {
    let script = r#"case "$*" in *disk/out*) exec "$real" "$@";; esac; "$real" "$@" || exit 0"#;
    Attack::fault(disks::attack, script, "its output was lost")
}

#[test]
fn a_file_lost_on_a_full_disk_is_found() -> Result<()> {
    let script = r#"case "$1" in translate | --resume) ;; *) rm -rf disk/out 2>&1 ;; esac
        exec "$real" "$@""#;
    Attack::fault(disks::attack, script, "is lost")
}

#[test]
fn an_effect_of_dates_is_found() -> Result<()> {
    let script = r#""$real" "$@" && [ "$1" = translate ] && stat -c %Y model/manifest.json"#;
    Attack::fault(clocks::attack, script, "another translation")
}
