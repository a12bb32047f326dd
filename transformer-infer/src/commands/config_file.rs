//! The file of `serve --config`: values for flags that are given neither on the command line nor by the environment.
//!
//! The names and the types of the values are those of the flags, which clap knows.

use std::env::{args_os, var_os};
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};
use toml::{Table, Value};

use super::CommandError;

const OTHERS: [&str; 3] = ["config", "print-config", "help"];

/// Makes the values of the file in `--config`, or in the environment variable, the default values of a command of the
/// program, if the arguments are those of this command.
pub(crate) fn with_config_file(
    program: Command,
    name: &'static str,
    variable: &str,
) -> Result<Command, CommandError> {
    let Some(path) = config_path(&program, name, variable) else {
        return Ok(program);
    };
    let text = fs::read_to_string(&path).map_err(|source| CommandError::ReadConfig {
        path: path.clone(),
        source,
    })?;
    let refused = |problem| CommandError::Config {
        path: path.clone(),
        problem,
    };
    let table = text.parse::<Table>().map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let n_lines = text[..start].matches('\n').count();
        refused(format!("line {}: {}", n_lines + 1, error.message()))
    })?;
    let command = program.find_subcommand(name);
    check(command.cloned().unwrap_or_default(), &table).map_err(refused)?;
    let with_default = |arg: Arg| match arg.get_long().and_then(|flag| table.get(flag)) {
        // clap keeps values as long as the program runs.
        Some(value) => arg.default_values(texts(value).into_iter().map(|it| &*it.leak())),
        None => arg,
    };
    Ok(program.mut_subcommand(name, |command| command.mut_args(with_default)))
}

/// Returns the path in the arguments, whatever else is wrong with them, or else that in the variable.
fn config_path(program: &Command, name: &str, variable: &str) -> Option<PathBuf> {
    let lenient = program.clone().ignore_errors(true);
    let matches = lenient.try_get_matches_from(args_os()).ok()?;
    let matches = matches.subcommand_matches(name)?;
    let given = matches.get_one::<PathBuf>("config").cloned();
    let of_variable = || var_os(variable).filter(|path| !path.is_empty());
    given.or_else(|| Some(of_variable()?.into()))
}

/// Checks the keys and values, as if they were given as flags.
fn check(command: Command, table: &Table) -> Result<(), String> {
    let flags = command.get_arguments().filter_map(Arg::get_long);
    let flags: Vec<String> = flags.map(str::to_owned).collect();
    let mut arguments: Vec<OsString> = Vec::new();
    for (key, value) in table {
        if OTHERS.contains(&key.as_str()) {
            return Err(format!("`{key}` is not a setting; remove it"));
        }
        match value {
            Value::Boolean(_) => arguments.push(format!("--{key}").into()),
            value => {
                let values = texts(value).into_iter();
                arguments.extend(values.map(|value| format!("--{key}={value}").into()));
            }
        }
    }
    let parsed = command.no_binary_name(true).try_get_matches_from(arguments);
    parsed.map_err(|error| problem(&error))?;
    // As an argument, a key such as `model=a` is another flag and a value.
    match table.keys().find(|key| !flags.contains(key)) {
        Some(key) => Err(unknown(key)),
        None => Ok(()),
    }
}

fn problem(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.trim_start_matches("--")),
        _ => None,
    };
    let given =
        text(ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument);
    match (given, text(ContextKind::SuggestedArg)) {
        (Some(given), Some(nearest)) => {
            format!("`{given}` is unknown; did you mean `{nearest}`?")
        }
        (Some(given), None) => unknown(given),
        _ => {
            let message = error.to_string();
            let line = message.lines().next().unwrap_or_default();
            line.trim_start_matches("error: ").to_owned()
        }
    }
}

fn unknown(key: &str) -> String {
    format!("`{key}` is unknown; `serve --print-config` prints the settings")
}

/// Returns the values of a key as flags take them.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::String(text) => vec![text.clone()],
        value => vec![value.to_string()],
    }
}

/// Returns the settings of a command of the program in the format of the file. Those without a value are comments.
pub(crate) fn written(program: &Command, name: &str) -> String {
    let matches = program.clone().get_matches();
    let (command, matches) = (
        program.find_subcommand(name),
        matches.subcommand_matches(name),
    );
    let mut text = String::new();
    let arguments = command.into_iter().flat_map(Command::get_arguments);
    for (arg, matches) in arguments.zip(matches.into_iter().cycle()) {
        let Some(flag) = arg.get_long().filter(|flag| !OTHERS.contains(flag)) else {
            continue;
        };
        let raw = matches.get_raw(arg.get_id().as_str()).into_iter().flatten();
        let mut values = raw.map(|value| value_of(arg, &value.to_string_lossy()));
        let value = match arg.get_action() {
            ArgAction::Append => {
                let all: Vec<Value> = values.collect();
                (!all.is_empty()).then_some(Value::Array(all))
            }
            _ => values.next(),
        };
        // Writing to a string does not fail.
        let _ = match value {
            Some(value) => writeln!(text, "{flag} = {value}"),
            None => writeln!(text, "# {flag} ="),
        };
    }
    text
}

fn value_of(arg: &Arg, text: &str) -> Value {
    match arg.get_action() {
        ArgAction::SetTrue => Value::Boolean(text == "true"),
        _ => match text.parse::<i64>() {
            Ok(number) if number.to_string() == text => Value::Integer(number),
            _ => Value::String(text.to_owned()),
        },
    }
}
