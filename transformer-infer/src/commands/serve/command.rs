//! [`Serve`]: the command.

use std::env::var_os;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::thread::available_parallelism;

use clap::{ArgAction, Args, Command};
use tokio::runtime::{Builder, Runtime};
use transformer_core::device;
use transformer_core::text::LanguageCode;
use transformer_infer::serve::{Network, ServeError, ServeOptions, Server, os_signals};

use super::limit_flags::LimitFlags;
use super::log::{LogFormat, LogLevel, start};
use crate::commands::{CommandError, SpeedFlags};

/// Maximum number of threads that answer requests; they wait for the threads that translate.
const MAX_THREADS: usize = 4;

/// Serves models over HTTP.
///
/// The server listens at once, and answers 503 to everything until the models are loaded. A model has the name of its
/// folder, or of the link to it, and the languages of its manifest. SIGHUP reloads the models and the API keys. SIGTERM
/// and SIGINT end the server after the requests that have arrived are answered; a second signal ends it at once.
/// Environment variables set flags that are not given: `TRANSFORMER_SERVE_MAX_CHARS` sets `--max-chars`. The values of
/// a repeated flag are separated by commas. docs/serving.md describes the interfaces.
#[derive(Debug, Args)]
#[command(name = "serve")]
pub(crate) struct Serve {
    /// Directory of a model, or of the training run that trained it; for several models, give it several times.
    #[arg(long, value_name = "DIR", required = true)]
    model: Vec<PathBuf>,
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
    /// of their source, repeat themselves, or have an odd length or script.
    #[arg(long)]
    no_check: bool,
    /// File with the accepted API keys, one per line [default: none is required].
    #[arg(long, value_name = "FILE")]
    api_keys: Option<PathBuf>,
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
    /// Lets environment variables set the flags.
    pub(crate) fn with_environment(command: Command) -> Command {
        command.mut_args(|arg| {
            let Some(flag) = arg.get_long() else {
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

    /// Serves until a signal ends it.
    pub(crate) fn run(&self, backend: Option<&str>) -> Result<(), CommandError> {
        start(self.log_format, self.log_level);
        let (backend, device) = device::choose(backend)?;
        let runtime = runtime()?;
        let served = runtime.block_on(async {
            let signals = os_signals().map_err(ServeError::Start)?;
            let server = Server::bind(self.options(), device).await?;
            let address = server.local_addr().map_err(ServeError::Start)?;
            tracing::info!(%backend, n_models = self.model.len(), "listening on http://{address}");
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
            open: self.speed.options(),
            check: !self.no_check,
            pivot: self.pivot.clone(),
            host: self.host,
            port: self.port,
            api_keys: self.api_keys.clone(),
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
