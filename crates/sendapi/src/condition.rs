//! What must be found in a body for a rule to hold: one word at one place, or several at once.

use serde_json::Value;

use crate::pointer::{Word, WordAt};

/// One word at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) at: WordAt,
    pub(crate) equals: Word,
}

impl Condition {
    pub(crate) fn holds(&self, body: &Value) -> bool {
        self.at.read(body).as_ref() == Some(&self.equals)
    }
}

/// Conditions that must all hold. None at all always holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Conditions(pub(crate) Vec<Condition>);

impl Conditions {
    pub(crate) fn holds(&self, body: &Value) -> bool {
        self.0.iter().all(|condition| condition.holds(body))
    }

    /// Whether these hold wherever `other` holds, so that a later rule with `other` is never reached.
    pub(crate) fn cover(&self, other: &Self) -> bool {
        self.0.iter().all(|one| other.0.contains(one))
    }

    /// Whether they ask for two words at one place.
    pub(crate) fn contradict(&self) -> bool {
        self.0.iter().enumerate().any(|(index, one)| {
            let mut before = self.0.iter().take(index);
            before.any(|other| other.at == one.at && other.equals != one.equals)
        })
    }

    /// The words, for messages.
    pub(crate) fn words(&self) -> String {
        let words: Vec<_> = self.0.iter().map(|one| one.equals.to_string()).collect();
        words.join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pointer::Pointer;
    use serde_json::json;

    fn one(at: &str, equals: Word) -> Condition {
        Condition {
            at: WordAt {
                at: Pointer::parse(at).unwrap(),
                last: None,
            },
            equals,
        }
    }

    #[test]
    fn all_conditions_must_hold() {
        let both = Conditions(vec![
            one("/status", Word::Integer(2)),
            one("/done", Word::Boolean(true)),
        ]);
        assert!(both.holds(&json!({"status": 2, "done": true})));
        assert!(!both.holds(&json!({"status": 2, "done": false})));
        assert!(!both.holds(&json!({"status": 2})));
        assert!(!both.holds(&json!({"status": "2", "done": true})));
        assert!(Conditions::default().holds(&json!(null)));
    }

    #[test]
    fn fewer_conditions_cover_more() {
        let (a, b) = (one("/a", Word::Integer(1)), one("/b", Word::Integer(1)));
        let few = Conditions(vec![a.clone()]);
        let many = Conditions(vec![b, a]);
        assert!(few.cover(&many) && few.cover(&few));
        assert!(!many.cover(&few));
        let split = Conditions(vec![
            one("/a", Word::Integer(1)),
            one("/a", Word::Integer(2)),
        ]);
        assert!(split.contradict() && !many.contradict());
    }
}
