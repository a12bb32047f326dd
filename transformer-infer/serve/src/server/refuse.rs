//! [`refuse`]: tells a client that its connection is beyond the limit.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Maximum wait for the request of such a connection.
const TIME: Duration = Duration::from_secs(1);

const REPLY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    Content-Type: application/json\r\n\
    Content-Length: 66\r\n\
    Retry-After: 2\r\n\
    Connection: close\r\n\
    \r\n\
    {\"error\":\"the server has too many connections; try again in 2 s\"}\n";

/// Sends a refusal, and ends the connection.
pub(super) async fn refuse(mut stream: TcpStream) {
    let _ = timeout(TIME, async {
        let _ = stream.write_all(REPLY).await;
        let _ = stream.shutdown().await;
        // Closing a connection with unread bytes would lose the reply.
        let mut buffer = [0; 4096];
        while matches!(stream.read(&mut buffer).await, Ok(1..)) {}
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_the_refusal_is_right() {
        let text = std::str::from_utf8(REPLY).expect("the reply is text");
        let (head, body) = text.split_once("\r\n\r\n").expect("there is a body");
        assert!(
            head.contains(&format!("Content-Length: {}\r\n", body.len())),
            "{}",
            body.len()
        );
        assert!(serde_json::from_str::<serde_json::Value>(body).is_ok());
    }
}
