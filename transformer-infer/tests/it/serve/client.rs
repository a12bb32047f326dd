//! A client of HTTP/1.1 that sends exactly what a test writes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long the client waits for bytes before the test fails: far longer than on any busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// A reply.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// The headers, by their names in lower case.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: String,
}

/// A connection that stays open.
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        let parsed = serde_json::from_str(&self.body);
        parsed.unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the text of an error.
    pub(super) fn error(&self) -> String {
        let error = self.json()["error"].as_str().map(str::to_owned);
        error.unwrap_or_else(|| panic!("there is no error: {self:?}"))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// Sends a request on a connection of its own, and returns the reply.
pub(super) fn call(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let mut connection = Connection::open(address);
    connection.send(method, path, headers, body);
    connection.reply()
}

/// Sends JSON.
pub(super) fn post(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Reply {
    let json = [("content-type", "application/json")];
    let headers = [headers, &json].concat();
    call(address, "POST", path, &headers, &body.to_string())
}

impl Connection {
    pub(super) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        let set = stream.set_read_timeout(Some(PATIENCE));
        set.expect("the system has timeouts");
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// Connects from another address of this machine.
    #[cfg(target_os = "linux")]
    pub(super) fn open_from(source: [u8; 4], address: SocketAddr) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
        let connected = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4()?;
            socket.bind((source, 0).into())?;
            let stream = socket.connect(address).await?.into_std()?;
            stream.set_nonblocking(false)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            Ok::<_, std::io::Error>(stream)
        });
        Self {
            stream: BufReader::new(connected.expect("the server listens")),
        }
    }

    /// Sends a request.
    pub(super) fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) {
        let mut request = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            request.push_str("host: localhost\r\n");
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        self.write(request.as_bytes());
    }

    /// Sends bytes; the server may have hung up.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let _ = self.stream.get_mut().write_all(bytes);
    }

    /// Sends bytes, and returns whether the server still takes them.
    pub(super) fn takes(&mut self, bytes: &[u8]) -> bool {
        self.stream.get_mut().write_all(bytes).is_ok()
    }

    /// Returns a line of the reply, without its end; `None` if the server hung up.
    pub(super) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(1..) => Some(line.trim_end().to_owned()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("the server neither replies nor hangs up")
            }
            _ => None,
        }
    }

    /// Reads a reply.
    pub(super) fn reply(&mut self) -> Reply {
        self.try_reply().expect("the server replies")
    }

    /// Reads a reply; `None` if the server hung up.
    pub(super) fn try_reply(&mut self) -> Option<Reply> {
        let (status, headers) = self.head()?;
        let body = match headers.get("content-length") {
            Some(n_bytes) => {
                let n_bytes = n_bytes.parse().expect("a length is a number");
                let mut body = vec![0; n_bytes];
                self.stream.read_exact(&mut body).ok()?;
                body
            }
            None => self.chunks()?,
        };
        Some(Reply {
            status,
            headers,
            body: String::from_utf8(body).expect("replies are UTF-8"),
        })
    }

    /// Reads the head of a reply.
    pub(super) fn head(&mut self) -> Option<(u16, BTreeMap<String, String>)> {
        let line = self.line()?;
        let status = line.split(' ').nth(1).and_then(|it| it.parse().ok());
        let status = status.unwrap_or_else(|| panic!("`{line}` has no status"));
        let mut headers = BTreeMap::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else {
                return Some((status, headers));
            };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
    }

    fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Some(body);
            }
            body.extend(chunk);
        }
    }

    /// Reads a chunk of a body; the last one is empty.
    pub(super) fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = self.line()?;
        let n_bytes = usize::from_str_radix(&line, 16).expect("a chunk has a length");
        let mut chunk = vec![0; n_bytes];
        self.stream.read_exact(&mut chunk).ok()?;
        self.line()?;
        Some(chunk)
    }
}
