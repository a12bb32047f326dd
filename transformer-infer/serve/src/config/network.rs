//! [`Network`]: an address, or all addresses with the same beginning.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An IP address, or a range of addresses in CIDR notation, such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// Number of leading bits that are compared.
    n_bits: u32,
}

/// A text is neither an address nor a range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is neither an IP address nor a range of them; give one such as 127.0.0.1, ::1 or 10.0.0.0/8"
)]
pub struct NetworkError {
    given: String,
}

impl Network {
    /// Returns whether an address is in the range. An IPv4 address mapped to IPv6 (`::ffff:1.2.3.4`) counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let ((network, n_all), (address, n_bits)) = (
            number(self.address.to_canonical()),
            number(address.to_canonical()),
        );
        let shift = n_all - self.n_bits;
        n_all == n_bits && (shift == n_all || network >> shift == address >> shift)
    }
}

/// Returns an address as a number, and its length in bits.
fn number(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let refused = || NetworkError {
            given: text.chars().take(60).collect(),
        };
        let (address, n_bits) = match text.split_once('/') {
            None => (text, None),
            Some((address, n_bits)) => (address, Some(n_bits)),
        };
        let address: IpAddr = address.parse().map_err(|_| refused())?;
        let (_, most) = number(address.to_canonical());
        let n_bits = match n_bits {
            None => most,
            Some(n_bits) => n_bits.parse().map_err(|_| refused())?,
        };
        if n_bits > most {
            return Err(refused());
        }
        Ok(Self { address, n_bits })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.n_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(network: &str, address: &str) -> bool {
        let network: Network = network.parse().expect("it is a range");
        network.contains(address.parse().expect("it is an address"))
    }

    #[test]
    fn a_range_contains_the_addresses_that_begin_as_it_does() {
        assert!(contains("10.0.0.0/8", "10.255.1.2"));
        assert!(!contains("10.0.0.0/8", "11.0.0.0"));
        assert!(contains("2001:db8::/33", "2001:db8:7fff::1"));
        assert!(!contains("2001:db8::/33", "2001:db8:8000::1"));
    }

    #[test]
    fn an_address_alone_contains_itself() {
        assert!(contains("127.0.0.1", "127.0.0.1"));
        assert!(!contains("127.0.0.1", "127.0.0.2"));
    }

    #[test]
    fn zero_bits_contain_every_address_of_the_version() {
        assert!(contains("0.0.0.0/0", "255.1.2.3"));
        assert!(!contains("0.0.0.0/0", "::1"));
    }

    #[test]
    fn an_ipv4_address_may_be_written_as_ipv6() {
        assert!(contains("127.0.0.1", "::ffff:127.0.0.1"));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "",
            "localhost",
            "1.2.3.4/33",
            "::/129",
            "1.2.3.4/",
            "1.2.3/8",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
