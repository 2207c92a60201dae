//! Faults that meet chosen calls.

use serde::{Deserialize, Serialize};

/// One fault and the calls it meets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterFault {
    /// Action, such as `PutParameter`; every action when it is absent.
    #[serde(default)]
    pub action: Option<String>,
    /// What one of the call's names begins with; every name when it is absent.
    #[serde(default)]
    pub name_prefix: Option<String>,
    /// What happens.
    pub kind: ParameterFaultKind,
    /// How many calls it meets; 0: until removed.
    #[serde(default = "one")]
    pub count: u32,
    /// How many matching calls pass unharmed first.
    #[serde(default)]
    pub skip: u32,
    /// Milliseconds of `slow`.
    #[serde(default)]
    pub ms: u64,
    /// Status of `status`: 500 unless it is set.
    #[serde(default)]
    pub status: Option<u16>,
    /// What `corrupt` answers in place of every value.
    #[serde(default)]
    pub value: String,
}

fn one() -> u32 {
    1
}

impl ParameterFault {
    /// A fault for every call of `action`, until it is removed.
    pub fn lasting(kind: ParameterFaultKind, action: &str) -> Self {
        Self {
            action: Some(action.to_owned()),
            name_prefix: None,
            kind,
            count: 0,
            skip: 0,
            ms: 0,
            status: None,
            value: String::new(),
        }
    }

    /// A fault for the next call of `action`.
    pub fn once(kind: ParameterFaultKind, action: &str) -> Self {
        Self {
            count: 1,
            ..Self::lasting(kind, action)
        }
    }

    fn fits(&self, action: &str, names: &[String]) -> bool {
        let prefix = self.name_prefix.as_deref();
        self.action.as_deref().is_none_or(|want| want == action)
            && prefix.is_none_or(|prefix| names.iter().any(|name| name.starts_with(prefix)))
    }
}

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterFaultKind {
    /// The role may not: `AccessDeniedException`.
    Deny,
    /// `ThrottlingException`, whatever the rate.
    Throttle,
    /// It waits `ms` before it is handled.
    Slow,
    /// It is answered with `status`, without effect.
    Status,
    /// It takes effect; half of the answer arrives.
    CutAnswer,
    /// It takes effect; the connection is closed without an answer.
    LostReply,
    /// The connection is closed, without effect.
    Refuse,
    /// Values that are read are `value`.
    Corrupt,
}

#[derive(Debug)]
struct Planned {
    fault: ParameterFault,
    seen: u32,
    met: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Planned>);

impl Faults {
    pub(crate) fn add(&mut self, fault: ParameterFault) {
        let (seen, met) = (0, 0);
        self.0.push(Planned { fault, seen, met });
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn list(&self) -> Vec<ParameterFault> {
        self.0.iter().map(|one| one.fault.clone()).collect()
    }

    /// The first fault that this call meets.
    pub(crate) fn take(&mut self, action: &str, names: &[String]) -> Option<ParameterFault> {
        for one in &mut self.0 {
            let spent = one.fault.count > 0 && one.met >= one.fault.count;
            if spent || !one.fault.fits(action, names) {
                continue;
            }
            one.seen += 1;
            if one.seen > one.fault.skip {
                one.met += 1;
                return Some(one.fault.clone());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_meets_its_action_and_names_as_often_as_it_says() {
        let mut faults = Faults::default();
        faults.add(ParameterFault {
            name_prefix: Some("/a/".into()),
            skip: 1,
            ..ParameterFault::once(ParameterFaultKind::Deny, "PutParameter")
        });
        let mut met = |action: &str, name: &str| faults.take(action, &[name.to_owned()]).is_some();
        assert!(!met("GetParameters", "/a/x"));
        assert!(!met("PutParameter", "/b/x"));
        assert!(!met("PutParameter", "/a/x"));
        assert!(met("PutParameter", "/a/x"));
        assert!(!met("PutParameter", "/a/x"));
    }
}
