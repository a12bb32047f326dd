//! `transformer-infer serve`: translates over HTTP.

use std::env::var_os;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

use clap::{ArgAction, Args, Command, ValueEnum};
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::fmt;
use transformer_core::device;
use transformer_core::text::LanguageCode;
use transformer_infer::serve::{Limits, Network, ServeError, ServeOptions, Server, os_signals};

use crate::commands::config_file::{self, with_config_file};
use crate::commands::{CommandError, SpeedFlags, at_least_one};

/// Maximum number of threads that answer requests; they wait for the threads that translate.
const MAX_THREADS: usize = 4;

/// Serves models over HTTP.
///
/// The server listens at once, and answers 503 to everything until the models are loaded. A model has the name of its
/// folder, or of the link to it, and the languages of its manifest. SIGHUP reloads the models and the API keys. SIGTERM
/// and SIGINT end the server after the requests that have arrived are answered; a second signal ends it at once.
/// Environment variables set flags that are not given: `TRANSFORMER_SERVE_MAX_CHARS` sets `--max-chars`. The values of
/// a repeated flag are separated by commas. A file in TOML sets the others (`--config`). docs/serving.md describes the interfaces.
#[derive(Debug, Args)]
#[command(name = "serve")]
pub(crate) struct Serve {
    /// File in TOML with values for flags that are not given, such as `max-chars = 5000` [default: none].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print all settings in the format of --config, and end.
    #[arg(long)]
    pub(crate) print_config: bool,
    /// Directory of a model, or of the training run that trained it; for several models, give it several times.
    #[arg(long, value_name = "DIR")]
    model: Vec<PathBuf>,
    /// Folder of further models, each in a folder of its own. Each is loaded when a request needs it.
    #[arg(long, value_name = "DIR")]
    models_dir: Option<PathBuf>,
    /// Maximum number of models of --models-dir in memory; for another one, the least recently used without requests is
    /// dropped [default: no limit].
    #[arg(long, value_name = "N")]
    keep: Option<NonZeroUsize>,
    /// IP address to listen on; 0.0.0.0 means all addresses of this machine.
    #[arg(long, value_name = "ADDRESS", default_value_t = Ipv4Addr::LOCALHOST.into())]
    host: IpAddr,
    /// Port to listen on; 0 lets the system choose. The address is printed.
    #[arg(long, value_name = "PORT", default_value_t = 5000)]
    port: u16,
    /// Third language, such as `en`, through which to translate if no model translates between the two of a request.
    #[arg(long, value_name = "CODE")]
    pivot: Option<LanguageCode>,
    /// Do not check translations, which are translated again if they lack numbers, placeholders, URLs or e-mail addresses
    /// of their source, repeat themselves, or have an odd length or script. Placeholders and the digits of numbers are
    /// kept even so.
    #[arg(long)]
    no_check: bool,
    /// File with the accepted API keys, one per line [default: none is required].
    #[arg(long, value_name = "FILE")]
    api_keys: Option<PathBuf>,
    /// Folder in which clients of DeepL's interface store glossaries; it is made if it is missing [default: they cannot].
    #[arg(long, value_name = "DIR")]
    glossaries: Option<PathBuf>,
    /// Origin of pages that may call this server, such as https://example.org or chrome-extension://ID, or `*`; repeat
    /// the flag for several [default: only the server's own page].
    #[arg(long, value_name = "ORIGIN")]
    cors_origin: Vec<String>,
    /// Name of this server that requests may use on a loopback address, besides localhost; repeat the flag for several.
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Address, or range such as 10.0.0.0/8, of a proxy with a trusted `X-Forwarded-For` header; repeat the flag for
    /// several.
    #[arg(long, value_name = "NETWORK")]
    trust_forwarded_from: Vec<Network>,
    /// Format of the log, on standard error.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Plain)]
    log_format: LogFormat,
    /// Level of the log, which never contains texts.
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = LogLevel::Info)]
    log_level: LogLevel,
    #[command(flatten)]
    speed: SpeedFlags,
    #[command(flatten)]
    limits: LimitFlags,
}

impl Serve {
    /// Lets the file of `--config` and environment variables set the flags of the command in a program.
    pub(crate) fn with_settings(program: Command) -> Result<Command, CommandError> {
        let program = with_config_file(program, "serve", "TRANSFORMER_SERVE_CONFIG")?;
        Ok(program.mut_subcommand("serve", Self::with_environment))
    }

    fn with_environment(command: Command) -> Command {
        command.mut_args(|arg| {
            let Some(flag) = arg.get_long().filter(|flag| *flag != "print-config") else {
                return arg;
            };
            let name = format!("TRANSFORMER_SERVE_{}", flag.replace('-', "_")).to_uppercase();
            let is_list = matches!(arg.get_action(), ArgAction::Append) && var_os(&name).is_some();
            // clap keeps names as long as the program runs.
            let arg = arg.env(&*name.leak()).hide_env(true);
            match is_list {
                true => arg.value_delimiter(','),
                false => arg,
            }
        })
    }

    /// Prints the settings of the command in a program that has parsed its arguments.
    pub(crate) fn print_config(program: &Command) -> Result<(), CommandError> {
        let settings = config_file::written(program, "serve");
        write!(io::stdout(), "{settings}").map_err(CommandError::output)
    }

    pub(crate) fn run(&self, backend: Option<&str>) -> Result<(), CommandError> {
        start(self.log_format, self.log_level);
        let (backend, device) = device::choose(backend)?;
        let runtime = runtime()?;
        let served = runtime.block_on(async {
            let signals = os_signals().map_err(ServeError::Start)?;
            let server = Server::bind(self.options(), device).await?;
            let address = server.local_addr().map_err(ServeError::Start)?;
            tracing::info!(%backend, "listening on http://{address}");
            writeln!(io::stdout(), "http://{address}").map_err(CommandError::output)?;
            Ok(server.run(signals).await?)
        });
        // After a second signal, some threads may still be waiting.
        runtime.shutdown_background();
        served
    }

    fn options(&self) -> ServeOptions {
        ServeOptions {
            models: self.model.clone(),
            models_dir: self.models_dir.clone(),
            keep: self.keep,
            open: self.speed.options(),
            check: !self.no_check,
            pivot: self.pivot.clone(),
            host: self.host,
            port: self.port,
            api_keys: self.api_keys.clone(),
            glossaries: self.glossaries.clone(),
            cors_origins: self.cors_origin.clone(),
            allowed_hosts: self.allow_host.clone(),
            trusted_proxies: self.trust_forwarded_from.clone(),
            limits: self.limits.limits(),
        }
    }
}

fn runtime() -> Result<Runtime, ServeError> {
    let n_cores = available_parallelism().map_or(1, usize::from);
    Builder::new_multi_thread()
        .worker_threads(n_cores.min(MAX_THREADS))
        .enable_all()
        .build()
        .map_err(ServeError::Start)
}

/// The flags of limits.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
struct LimitFlags {
    /// Maximum number of characters (Unicode code points) of all texts of a request; beyond it, the reply is 413.
    #[arg(long, value_name = "N", value_parser = at_least_one(), default_value_t = Limits::default().max_chars)]
    max_chars: usize,
    /// Maximum number of texts of a request; beyond it, the reply is 413.
    #[arg(long, value_name = "N", value_parser = at_least_one(), default_value_t = Limits::default().max_texts)]
    max_texts: usize,
    /// Maximum number of bytes of the body of a request; beyond it, the reply is 413.
    #[arg(long, value_name = "BYTES", value_parser = at_least_one(), default_value_t = Limits::default().max_body_bytes)]
    max_body_bytes: usize,
    /// Maximum number of bytes of all bodies in memory at a time; beyond it, or a caller's share of it, the reply is 429.
    #[arg(long, value_name = "BYTES", value_parser = at_least_one(), default_value_t = Limits::default().max_buffered_bytes)]
    max_buffered_bytes: usize,
    /// Maximum number of requests that are answered at a time; beyond it, or a caller's share of it, the reply is 429.
    #[arg(long, value_name = "N", value_parser = at_least_one(), default_value_t = Limits::default().max_in_flight)]
    max_in_flight: usize,
    /// Maximum number of source tokens that wait for a model, except those of files; beyond it, callers with more than an
    /// equal part of it get the reply 429, with the seconds to wait in `Retry-After`.
    #[arg(long, value_name = "TOKENS", value_parser = at_least_one(), default_value_t = Limits::default().max_queue_tokens)]
    max_queue_tokens: usize,
    /// Maximum number of connections; beyond it, one of the address with the most is closed, or the new one gets the reply
    /// 503.
    #[arg(long, value_name = "N", value_parser = at_least_one(), default_value_t = Limits::default().max_connections)]
    max_connections: usize,
    /// Maximum number of requests per minute for each API key, or for each address without keys; beyond it, the reply
    /// is 429 [default: no limit].
    #[arg(long, value_name = "N")]
    req_limit: Option<NonZeroU32>,
    /// Maximum time to answer a request; beyond it, the reply is 503.
    #[arg(long, value_name = "SECONDS", value_parser = seconds(), default_value_t = Limits::default().request_time.as_secs())]
    request_time: u64,
    /// Maximum time in which the head of a request arrives, from its first byte; then the connection is closed.
    #[arg(long, value_name = "SECONDS", value_parser = seconds(), default_value_t = Limits::default().header_time.as_secs())]
    header_time: u64,
    /// Maximum time in which the body of a request arrives, after a sixth of it at 1 KiB a second or faster on average;
    /// beyond it, the reply is 408.
    #[arg(long, value_name = "SECONDS", value_parser = seconds(), default_value_t = Limits::default().body_time.as_secs())]
    body_time: u64,
    /// Maximum time that a connection may stay open without a request.
    #[arg(long, value_name = "SECONDS", value_parser = seconds(), default_value_t = Limits::default().idle_time.as_secs())]
    idle_time: u64,
    /// Maximum time in which a client takes no bytes of its reply; then the connection is closed.
    #[arg(long, value_name = "SECONDS", value_parser = seconds(), default_value_t = Limits::default().write_time.as_secs())]
    write_time: u64,
}

fn seconds() -> clap::builder::RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(1..=86_400)
}

impl LimitFlags {
    fn limits(&self) -> Limits {
        Limits {
            max_chars: self.max_chars,
            max_texts: self.max_texts,
            max_body_bytes: self.max_body_bytes,
            max_buffered_bytes: self.max_buffered_bytes,
            max_in_flight: self.max_in_flight,
            max_queue_tokens: self.max_queue_tokens,
            max_connections: self.max_connections,
            requests_per_minute: self.req_limit,
            request_time: Duration::from_secs(self.request_time),
            header_time: Duration::from_secs(self.header_time),
            body_time: Duration::from_secs(self.body_time),
            idle_time: Duration::from_secs(self.idle_time),
            write_time: Duration::from_secs(self.write_time),
        }
    }
}

/// The format of the log.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    /// A line of text for each event.
    Plain,
    /// A line of JSON for each event.
    Json,
}

/// The events that are logged.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogLevel {
    /// Errors that need attention.
    Error,
    /// Also events that may become a problem.
    Warn,
    /// Also every request, without its text.
    Info,
}

fn start(format: LogFormat, level: LogLevel) {
    let level = match level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
    };
    let log = fmt()
        .with_max_level(level)
        .with_target(false)
        .with_ansi(false)
        .with_writer(io::stderr);
    match format {
        LogFormat::Plain => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}
