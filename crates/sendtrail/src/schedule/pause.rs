//! Why the schedule is paused: a note at the end of its description, so that whoever finds it paused finds the
//! reason with it.

use jiff::Timestamp;

use crate::failure::{Failure, Kind};

const BEGIN: &str = "[paused ";
const END: char = ']';
/// What the scheduler takes.
const MOST: usize = 512;

/// Since when, by whom and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pause {
    pub(super) since: Timestamp,
    pub(super) by: String,
    pub(super) reason: String,
}

impl Pause {
    /// A pause with its note; brackets, which end a note, become parentheses.
    ///
    /// # Errors
    /// [`Kind::Usage`] where something is empty.
    pub(super) fn new(since: Timestamp, by: &str, reason: &str) -> Result<Self, Failure> {
        let (by, reason) = (one_line(by).replace(':', " "), one_line(reason));
        if by.is_empty() || reason.is_empty() {
            let what =
                "--reason and --by must not be empty: they are kept in the schedule's description";
            return Err(Failure::new(Kind::Usage, what));
        }
        let since = Timestamp::from_second(since.as_second()).unwrap_or(since);
        Ok(Self { since, by, reason })
    }

    /// The description with the note behind it.
    ///
    /// # Errors
    /// [`Kind::Usage`] where both are more than the scheduler takes.
    pub(super) fn noted(&self, description: &str) -> Result<String, Failure> {
        let Self { since, by, reason } = self;
        let note = format!("{BEGIN}{since} by {by}: {reason}{END}");
        let noted = format!("{description} {note}").trim_start().to_owned();
        let length = noted.chars().count();
        if length > MOST {
            let what = format!(
                "--reason is {} characters too long for the schedule's description",
                length - MOST
            );
            return Err(Failure::new(Kind::Usage, what));
        }
        Ok(noted)
    }

    /// The description without its note, and the note, where there is one that can be read.
    pub(super) fn read(noted: &str) -> (String, Option<Self>) {
        let Some((description, note)) = noted
            .strip_suffix(END)
            .and_then(|rest| rest.rsplit_once(BEGIN))
        else {
            return (noted.to_owned(), None);
        };
        let pause = note.split_once(" by ").and_then(|(since, rest)| {
            let (by, reason) = rest.split_once(": ")?;
            Some(Self {
                since: since.parse().ok()?,
                by: by.to_owned(),
                reason: reason.to_owned(),
            })
        });
        match pause {
            Some(pause) => (description.trim_end().to_owned(), Some(pause)),
            None => (noted.to_owned(), None),
        }
    }
}

fn one_line(text: &str) -> String {
    let kept = text.chars().map(|c| match c {
        '[' => '(',
        ']' => ')',
        c if c.is_control() => ' ',
        c => c,
    });
    kept.collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at() -> Timestamp {
        "2026-11-30T22:00:00.5Z".parse().unwrap()
    }

    #[test]
    fn a_note_is_read_back_and_the_description_is_as_it_was() {
        let pause = Pause::new(at(), "Jo", "the CRM is [being] moved\nsee 4711").unwrap();
        let noted = pause.noted("Sendtrail's tick").unwrap();
        assert_eq!(
            noted,
            "Sendtrail's tick [paused 2026-11-30T22:00:00Z by Jo: the CRM is (being) moved see 4711]"
        );
        assert_eq!(
            Pause::read(&noted),
            ("Sendtrail's tick".to_owned(), Some(pause))
        );
    }

    #[test]
    fn what_is_no_note_stays_in_the_description() {
        for text in [
            "",
            "Sendtrail's tick",
            "a list [1, 2]",
            "[paused yesterday by Jo: x]",
            "[paused 2026-11-30T22:00:00Z]",
            "[paused 2026-11-30T22:00:00Z by Jo: x] and more",
        ] {
            assert_eq!(Pause::read(text), (text.to_owned(), None));
        }
    }

    #[test]
    fn nothing_is_cut_and_nothing_is_empty() {
        for (by, reason) in [("", "x"), ("jo", " "), ("\n", "x")] {
            assert!(Pause::new(at(), by, reason).is_err());
        }
        let most = MOST - "[paused 2026-11-30T22:00:00Z by jo: ]".len();
        let fits = Pause::new(at(), "jo", &"é".repeat(most)).unwrap();
        assert!(fits.noted("").is_ok());
        let failure = fits.noted("tick").unwrap_err();
        assert!(failure.message.contains("5 characters"), "{failure:?}");
    }

    proptest! {
        #[test]
        fn whatever_a_person_writes_the_description_comes_back(
            description in "[ -~é]{0,40}", by in ".{1,30}", reason in ".{1,60}",
        ) {
            let description = description.trim().to_owned();
            prop_assume!(Pause::read(&description).1.is_none());
            if let Ok(pause) = Pause::new(at(), &by, &reason) {
                let noted = pause.noted(&description).unwrap();
                let (back, read) = Pause::read(&noted);
                prop_assert_eq!(back, description);
                prop_assert_eq!(read.unwrap().reason, pause.reason);
            }
        }
    }
}
