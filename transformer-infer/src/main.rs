//! The command `transformer-infer`: inference with models of `transformer-train`.

mod commands;

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use transformer_infer::{allocator, one_line};
use transformer_program::{check_output, parse_arguments_of, start_global_pool};

#[cfg(feature = "serve")]
use crate::commands::Serve;
use crate::commands::{
    AttentionCommand, BleuCommand, CommandError, Compare, Evaluate, Export, ExtendVocabulary,
    Import, Inspect, Quantize, Score, ShortlistCommand, Translate,
};

/// Translates, scores and evaluates with Transformers that transformer-train trained.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Translate(Box<Translate>),
    Score(Score),
    Evaluate(Evaluate),
    Bleu(BleuCommand),
    Compare(Compare),
    Attention(AttentionCommand),
    Inspect(Inspect),
    Quantize(Quantize),
    Import(Import),
    Export(Export),
    ExtendVocabulary(ExtendVocabulary),
    Shortlist(ShortlistCommand),
    #[cfg(feature = "serve")]
    Serve(Box<Serve>),
}

fn main() -> ExitCode {
    allocator::return_freed_memory();
    let program = Cli::command();
    #[cfg(feature = "serve")]
    let program = match Serve::with_settings(program) {
        Ok(program) => program,
        Err(error) => return failed(&error),
    };
    let cli: Cli = match parse_arguments_of(program.clone()) {
        Ok(cli) => cli,
        Err(exit_code) => return exit_code,
    };
    let result = match cli.command {
        #[cfg(feature = "serve")]
        Command::Serve(serve) if serve.print_config => Serve::print_config(&program),
        command => run(command),
    };
    match result.and_then(|()| Ok(check_output()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &CommandError) -> ExitCode {
    // If standard error is closed, the error cannot be reported.
    let _ = writeln!(io::stderr(), "error: {}", one_line(error));
    error.exit_code()
}

fn run(command: Command) -> Result<(), CommandError> {
    match &command {
        Command::Bleu(_) | Command::Compare(_) | Command::Inspect(_) => {}
        // A separate thread reads standard input. All other threads are optional.
        _ => start_global_pool(1)?,
    }
    let backend = env::var("BURN_DEVICE").ok();
    match command {
        Command::Translate(translate) => translate.run(backend.as_deref()),
        Command::Score(score) => score.run(backend.as_deref()),
        Command::Evaluate(evaluate) => evaluate.run(backend.as_deref()),
        Command::Bleu(bleu) => bleu.run(),
        Command::Compare(compare) => compare.run(),
        Command::Attention(attention) => attention.run(backend.as_deref()),
        Command::Inspect(inspect) => inspect.run(),
        Command::Quantize(quantize) => quantize.run(),
        Command::Import(import) => import.run(backend.as_deref()),
        Command::Export(export) => export.run(backend.as_deref()),
        Command::ExtendVocabulary(extend) => extend.run(),
        Command::Shortlist(shortlist) => shortlist.run(),
        #[cfg(feature = "serve")]
        Command::Serve(serve) => serve.run(backend.as_deref()),
    }
}
