//! [`CueTime`]: the line with the times of a cue.

use std::time::Duration;

use super::text::trimmed;

/// The time during which a cue is displayed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct CueTime {
    pub(super) start: Duration,
    pub(super) end: Duration,
}

impl CueTime {
    /// Parses a line such as `00:00:01,000 --> 00:00:02,500 line:0`; returns `None` for other lines.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (start, rest) = line.split_once("-->")?;
        // Players ignore text after the times.
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_digit() && !":,.".contains(c));
        Some(Self {
            start: parse_time(trimmed(start))?,
            end: parse_time(&rest[..end.unwrap_or(rest.len())])?,
        })
    }
}

/// Parses `hours:minutes:seconds,milliseconds`; hours and milliseconds are optional.
fn parse_time(text: &str) -> Option<Duration> {
    let (clock, millis) = text.split_once([',', '.']).unwrap_or((text, "0"));
    let mut fields = clock.split(':').map(parse_digits);
    let (first, second, third) = (fields.next()??, fields.next()??, fields.next());
    if fields.next().is_some() {
        return None;
    }
    let seconds = match third {
        Some(seconds) => first * 3600 + second * 60 + seconds?,
        None => first * 60 + second,
    };
    Some(Duration::from_secs(seconds) + Duration::from_millis(parse_digits(millis)?))
}

fn parse_digits(text: &str) -> Option<u64> {
    let is_number = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_may_lack_hours_and_have_settings() {
        let time = CueTime::parse("01:02.345 --> 1:00:00.000 align:start").expect("it is valid");
        assert_eq!(time.start, Duration::from_millis(62_345));
        assert_eq!(time.end, Duration::from_secs(3600));
    }

    #[test]
    fn text_behind_the_times_is_ignored() {
        for rest in ["", " A dog", "A dog", " X1:40 X2:600"] {
            let line = format!("00:00:01,000 --> 00:00:02,500{rest}");
            let time = CueTime::parse(&line).expect("it is valid");
            assert_eq!(time.end, Duration::from_millis(2500), "{line}");
        }
    }

    #[test]
    fn an_arrow_between_words_is_not_a_time() {
        assert_eq!(CueTime::parse("in --> out"), None);
        assert_eq!(CueTime::parse("1 --> 2"), None);
    }
}
