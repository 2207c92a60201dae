//! What the API does with one recipient's letters, written as a line of text.
//!
//! The clauses are in the README of this crate, section *Scripts*.

use std::num::NonZeroU32;
use std::time::Duration;

/// A parsed script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    pub(crate) refusals: Vec<Repeated<Refusal>>,
    pub(crate) reply: Reply,
    pub(crate) hold_before: Duration,
    pub(crate) hold_after: Duration,
    pub(crate) ending: Ending,
    pub(crate) after: u32,
    pub(crate) look_up_faults: Vec<Repeated<u16>>,
    pub(crate) find_faults: Vec<Repeated<u16>>,
    pub(crate) find_delay: Duration,
    pub(crate) unique: bool,
    pub(crate) keyless: bool,
}

/// Something that happens a number of times; `None` is for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repeated<T> {
    pub(crate) what: T,
    pub(crate) times: Option<NonZeroU32>,
}

/// A POST that is not acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Rejected(u16),
    Throttled { wait: Duration, as_date: bool },
    Down(u16),
    Redirected(u16),
    Reset,
    ResetMidway,
}

/// How an accepted letter is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Normal,
    Lost,
    Cut,
    Garbage,
    WithoutId,
    Status(u16),
}

/// How the letter ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Delivered,
    Undelivered,
    Failed,
    Silence,
    Status(String),
}

impl Default for Script {
    fn default() -> Self {
        Self {
            refusals: Vec::new(),
            reply: Reply::Normal,
            hold_before: Duration::ZERO,
            hold_after: Duration::ZERO,
            ending: Ending::Delivered,
            after: 1,
            look_up_faults: Vec::new(),
            find_faults: Vec::new(),
            find_delay: Duration::ZERO,
            unique: false,
            keyless: false,
        }
    }
}

/// A script that cannot be read: the clause and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{clause}`: {detail}")]
pub struct ScriptError {
    clause: String,
    detail: &'static str,
}

/// What happens at the `earlier + 1`-th time; `None` once all faults are used up.
pub(crate) fn at<T: Copy>(faults: &[Repeated<T>], earlier: u32) -> Option<T> {
    let mut left = earlier;
    for fault in faults {
        match fault.times {
            None => return Some(fault.what),
            Some(times) if left < times.get() => return Some(fault.what),
            Some(times) => left -= times.get(),
        }
    }
    None
}

/// How many of the `so_far` times were faults.
pub(crate) fn used(faults: &[Repeated<u16>], so_far: u32) -> u32 {
    faults.iter().fold(0_u32, |sum, fault| match fault.times {
        None => so_far,
        Some(times) => sum.saturating_add(times.get()).min(so_far),
    })
}

impl Script {
    /// Reads a script. The error names the clause.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let mut script = Self::default();
        for clause in text
            .split(',')
            .map(str::trim)
            .filter(|clause| !clause.is_empty())
        {
            let words: Vec<&str> = clause.split_whitespace().collect();
            let error = |detail| ScriptError {
                clause: clause.to_owned(),
                detail,
            };
            script.clause(&words).map_err(error)?;
        }
        Ok(script)
    }

    /// The script in a recipient's name: the whole name, or what stands in round brackets. A name that is no
    /// script is an ordinary person's.
    pub fn from_name(name: &str) -> Self {
        let inner = name
            .split_once('(')
            .and_then(|(_, rest)| rest.split_once(')'))
            .map(|(inner, _)| inner);
        Self::parse(inner.unwrap_or(name)).unwrap_or_default()
    }

    fn clause(&mut self, words: &[&str]) -> Result<(), &'static str> {
        match words {
            ["silence"] => self.end(Ending::Silence, &[])?,
            ["delivered", rest @ ..] => self.end(Ending::Delivered, rest)?,
            ["undelivered", rest @ ..] => self.end(Ending::Undelivered, rest)?,
            ["failed", rest @ ..] => self.end(Ending::Failed, rest)?,
            ["status", text, rest @ ..] => self.end(Ending::Status((*text).to_owned()), rest)?,
            ["rejected", rest @ ..] => self.refuse(rest, 422, 400..=499, Refusal::Rejected)?,
            ["down", rest @ ..] => self.refuse(rest, 503, 500..=599, Refusal::Down)?,
            ["redirected", rest @ ..] => self.refuse(rest, 307, 300..=399, Refusal::Redirected)?,
            ["throttled", rest @ ..] => self.throttle(rest)?,
            ["reset", "midway", rest @ ..] => self.push(Refusal::ResetMidway, rest)?,
            ["reset", rest @ ..] => self.push(Refusal::Reset, rest)?,
            ["reply", "lost"] => self.reply = Reply::Lost,
            ["reply", "cut"] => self.reply = Reply::Cut,
            ["reply", "garbage"] => self.reply = Reply::Garbage,
            ["reply", "without", "id"] => self.reply = Reply::WithoutId,
            ["reply", code] => self.reply = Reply::Status(status(code, 200..=599)?),
            ["hold", wait, "before"] => self.hold_before = duration(wait)?,
            ["hold", wait] | ["hold", wait, "after"] => self.hold_after = duration(wait)?,
            ["look-up", code, rest @ ..] => self.look_up_faults.push(fault(code, rest)?),
            ["find", "delay", wait] => self.find_delay = duration(wait)?,
            ["find", code, rest @ ..] => self.find_faults.push(fault(code, rest)?),
            ["unique"] => self.unique = true,
            ["keyless"] => self.keyless = true,
            _ => return Err("no such clause"),
        }
        Ok(())
    }

    fn end(&mut self, ending: Ending, rest: &[&str]) -> Result<(), &'static str> {
        self.after = match rest {
            [] => 1,
            ["after", count] => count.parse().map_err(|_| "the count is no number")?,
            _ => return Err("`after N` is all that can follow"),
        };
        self.ending = ending;
        Ok(())
    }

    fn refuse(
        &mut self,
        rest: &[&str],
        default: u16,
        range: std::ops::RangeInclusive<u16>,
        kind: fn(u16) -> Refusal,
    ) -> Result<(), &'static str> {
        match rest {
            [code, rest @ ..] if *code != "times" => self.push(kind(status(code, range)?), rest),
            _ => self.push(kind(default), rest),
        }
    }

    fn throttle(&mut self, rest: &[&str]) -> Result<(), &'static str> {
        let (wait, rest) = match rest {
            [wait, rest @ ..] if *wait != "times" && *wait != "as" => (duration(wait)?, rest),
            _ => (Duration::from_secs(1), rest),
        };
        let (as_date, rest) = match rest {
            ["as", "date", rest @ ..] => (true, rest),
            _ => (false, rest),
        };
        self.push(Refusal::Throttled { wait, as_date }, rest)
    }

    fn push(&mut self, what: Refusal, rest: &[&str]) -> Result<(), &'static str> {
        self.refusals.push(Repeated {
            what,
            times: times(rest)?,
        });
        Ok(())
    }
}

fn fault(code: &str, rest: &[&str]) -> Result<Repeated<u16>, &'static str> {
    let times = times(rest)?.or(NonZeroU32::new(1));
    Ok(Repeated {
        what: status(code, 400..=599)?,
        times,
    })
}

fn times(rest: &[&str]) -> Result<Option<NonZeroU32>, &'static str> {
    match rest {
        [] => Ok(None),
        ["times", count] => count
            .parse()
            .map(Some)
            .map_err(|_| "the count is no number above zero"),
        _ => Err("`times N` is all that can follow"),
    }
}

fn status(code: &str, range: std::ops::RangeInclusive<u16>) -> Result<u16, &'static str> {
    code.parse()
        .ok()
        .filter(|code| range.contains(code))
        .ok_or("the status code does not fit")
}

fn duration(text: &str) -> Result<Duration, &'static str> {
    let bad = "a duration is a number with ms, s or m";
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let count: u64 = text[..digits].parse().map_err(|_| bad)?;
    match &text[digits..] {
        "ms" => Ok(Duration::from_millis(count)),
        "s" => Ok(Duration::from_secs(count)),
        "m" => Ok(Duration::from_secs(count.saturating_mul(60))),
        _ => Err(bad),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Script {
        Script::parse(text).unwrap()
    }

    #[test]
    fn every_clause_is_read() {
        let script = parsed(
            "throttled 2s as date times 2, down, reply lost, hold 5s before, undelivered after 3, \
             look-up 404 times 2, look-up 429, find delay 500ms, find 503 times 3, unique, keyless",
        );
        let throttled = Refusal::Throttled {
            wait: Duration::from_secs(2),
            as_date: true,
        };
        assert_eq!(
            script.refusals[0],
            Repeated {
                what: throttled,
                times: NonZeroU32::new(2)
            }
        );
        assert_eq!(
            script.refusals[1],
            Repeated {
                what: Refusal::Down(503),
                times: None
            }
        );
        assert_eq!(script.reply, Reply::Lost);
        assert_eq!(script.hold_before, Duration::from_secs(5));
        assert_eq!((script.ending, script.after), (Ending::Undelivered, 3));
        assert_eq!(script.look_up_faults.len(), 2);
        assert_eq!(script.look_up_faults[1].times, NonZeroU32::new(1));
        assert_eq!(script.find_delay, Duration::from_millis(500));
        assert_eq!(script.find_faults[0].what, 503);
        assert!(script.unique && script.keyless);
    }

    #[test]
    fn the_short_forms_have_their_defaults() {
        assert_eq!(parsed("rejected").refusals[0].what, Refusal::Rejected(422));
        assert_eq!(
            parsed("rejected 400 times 1").refusals[0].what,
            Refusal::Rejected(400)
        );
        assert_eq!(
            parsed("redirected").refusals[0].what,
            Refusal::Redirected(307)
        );
        assert_eq!(
            parsed("reset midway").refusals[0].what,
            Refusal::ResetMidway
        );
        assert_eq!(parsed("reset times 1").refusals[0].what, Refusal::Reset);
        assert_eq!(parsed("hold 1m").hold_after, Duration::from_mins(1));
        assert_eq!(parsed("delivered").after, 1);
        assert_eq!(
            parsed("status lost_in_space after 2").ending,
            Ending::Status("lost_in_space".into())
        );
        assert_eq!(parsed(""), Script::default());
    }

    #[test]
    fn mistakes_name_their_clause() {
        for bad in [
            "rejected 200",
            "down 404",
            "reply maybe",
            "hold 5",
            "hold x",
            "delivered after x",
            "delivered twice",
            "reset times 0",
            "look-up 200",
            "find delay",
            "silence after 2",
            "nonsense",
        ] {
            let error = Script::parse(&format!("unique, {bad}")).unwrap_err();
            assert!(error.to_string().contains(bad), "{error}");
        }
    }

    #[test]
    fn a_name_is_a_script_whole_or_in_brackets_or_not_at_all() {
        assert_eq!(Script::from_name("silence").ending, Ending::Silence);
        assert_eq!(Script::from_name("Ada (undelivered after 2)").after, 2);
        assert_eq!(Script::from_name("Ada Lovelace"), Script::default());
        assert_eq!(Script::from_name("Ada (Ltd)"), Script::default());
        assert_eq!(Script::from_name(""), Script::default());
    }

    #[test]
    fn faults_follow_each_other_and_end() {
        let faults = parsed("look-up 404 times 2, look-up 429").look_up_faults;
        let seen: Vec<_> = (0..4).map(|earlier| at(&faults, earlier)).collect();
        assert_eq!(seen, [Some(404), Some(404), Some(429), None]);
        assert_eq!(
            [0, 1, 3, 9].map(|so_far| used(&faults, so_far)),
            [0, 1, 3, 3]
        );
        let for_ever = parsed("down").refusals;
        assert_eq!(at(&for_ever, u32::MAX), Some(Refusal::Down(503)));
    }
}
