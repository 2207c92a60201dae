//! Faults that meet chosen requests.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::lock;

/// One fault and the requests it meets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Which requests.
    #[serde(default, rename = "match")]
    pub matching: FaultMatch,
    /// What happens to them.
    pub kind: FaultKind,
    /// How many requests it meets; 0: until removed.
    #[serde(default = "one")]
    pub count: u32,
    /// How many matching requests pass unharmed first.
    #[serde(default)]
    pub skip: u32,
    /// Milliseconds, for `applied_late` and `delay`.
    #[serde(default)]
    pub ms: u64,
    /// Status of `status`; 503 by default.
    #[serde(default)]
    pub status: Option<u16>,
    /// `Retry-After` of `status`, as it goes out.
    #[serde(default)]
    pub retry_after: Option<String>,
    /// Body of `status`; an HTML page by default.
    #[serde(default)]
    pub body: Option<String>,
    /// Whether the request takes effect under `status`, `truncated_json` and `empty_200`. By default only
    /// `truncated_json` does.
    #[serde(default)]
    pub apply: Option<bool>,
}

fn one() -> u32 {
    1
}

impl Fault {
    /// One fault of `kind` for the next request that `matching` fits.
    pub fn new(kind: FaultKind, matching: FaultMatch) -> Self {
        Self {
            matching,
            kind,
            count: 1,
            skip: 0,
            ms: 0,
            status: None,
            retry_after: None,
            body: None,
            apply: None,
        }
    }
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// It takes effect, then the connection is closed without an answer.
    LostReply,
    /// The connection is closed at once; it takes effect `ms` later.
    AppliedLate,
    /// It is answered with `status` and an HTML body.
    Status,
    /// Half of the answer's JSON arrives.
    TruncatedJson,
    /// 200 without a body.
    #[serde(rename = "empty_200")]
    Empty200,
    /// It waits `ms` before it is handled.
    #[serde(rename = "delay_ms", alias = "delay")]
    Delay,
    /// It is handled at once, its answer waits `ms`.
    LateReply,
    /// The connection is closed and nothing takes effect.
    Refuse,
}

impl FaultKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::LostReply => "lost_reply",
            Self::AppliedLate => "applied_late",
            Self::Status => "status",
            Self::TruncatedJson => "truncated_json",
            Self::Empty200 => "empty_200",
            Self::Delay => "delay_ms",
            Self::LateReply => "late_reply",
            Self::Refuse => "refuse",
        }
    }
}

/// Which requests a fault meets; what is absent fits all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FaultMatch {
    /// Method.
    pub method: Option<String>,
    /// Path without query; `*` stands for any run of characters.
    pub path: Option<String>,
    /// Module, as the path's word after `/crm/v8/`.
    pub module: Option<String>,
    /// Text that the body must hold.
    pub body_contains: Option<String>,
}

impl FaultMatch {
    fn fits(&self, method: &str, path: &str, body: &[u8]) -> bool {
        let module = path
            .strip_prefix("/crm/v8/")
            .and_then(|rest| rest.split('/').next());
        self.method
            .as_deref()
            .is_none_or(|want| want.eq_ignore_ascii_case(method))
            && self
                .path
                .as_deref()
                .is_none_or(|want| glob(want.as_bytes(), path.as_bytes()))
            && self
                .module
                .as_deref()
                .is_none_or(|want| Some(want) == module)
            && self
                .body_contains
                .as_deref()
                .is_none_or(|want| contains(body, want.as_bytes()))
    }
}

fn contains(body: &[u8], part: &[u8]) -> bool {
    part.is_empty() || body.windows(part.len()).any(|window| window == part)
}

fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let mut parts = pattern.split(|byte| *byte == b'*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let middle: Vec<&[u8]> = parts.collect();
    let Some((last, between)) = middle.split_last() else {
        return rest.is_empty();
    };
    for part in between {
        let found = (0..=rest.len()).find(|at| rest[*at..].starts_with(part));
        let Some(at) = found else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[derive(Debug)]
struct Planned {
    id: u64,
    fault: Fault,
    seen: u32,
    met: u32,
}

/// The faults that are set.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    planned: Mutex<(u64, Vec<Planned>)>,
}

/// A fault as the control API lists it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ListedFault {
    id: u64,
    met: u32,
    fault: Fault,
}

impl Faults {
    pub(crate) fn add(&self, fault: Fault) -> u64 {
        let mut planned = lock(&self.planned);
        planned.0 += 1;
        let id = planned.0;
        planned.1.push(Planned {
            id,
            fault,
            seen: 0,
            met: 0,
        });
        id
    }

    pub(crate) fn clear(&self) {
        lock(&self.planned).1.clear();
    }

    pub(crate) fn remove(&self, id: u64) {
        lock(&self.planned).1.retain(|planned| planned.id != id);
    }

    pub(crate) fn met(&self, id: u64) -> u32 {
        let planned = lock(&self.planned);
        let found = planned.1.iter().find(|planned| planned.id == id);
        found.map_or(0, |planned| planned.met)
    }

    pub(crate) fn any(&self) -> bool {
        !lock(&self.planned).1.is_empty()
    }

    pub(crate) fn list(&self) -> Vec<ListedFault> {
        let planned = lock(&self.planned);
        let listed = |one: &Planned| ListedFault {
            id: one.id,
            met: one.met,
            fault: one.fault.clone(),
        };
        planned.1.iter().map(listed).collect()
    }

    /// The first fault that this request meets.
    pub(crate) fn take(&self, method: &str, path: &str, body: &[u8]) -> Option<Fault> {
        let mut planned = lock(&self.planned);
        for one in &mut planned.1 {
            let spent = one.fault.count > 0 && one.met >= one.fault.count;
            if spent || !one.fault.matching.fits(method, path, body) {
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
    fn a_star_stands_for_any_run_and_nothing_else_does() {
        for (pattern, text, fits) in [
            ("/a/*", "/a/b/c", true),
            ("/a/*/c", "/a/b/c", true),
            ("/a", "/a/b", false),
            ("*", "", true),
            ("/a*b*", "/axxb", true),
            ("/a.b", "/axb", false),
            ("/a*b", "/ab/c", false),
        ] {
            assert_eq!(
                glob(pattern.as_bytes(), text.as_bytes()),
                fits,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn a_fault_meets_as_many_requests_as_it_says_after_those_it_skips() {
        let faults = Faults::default();
        faults.add(Fault {
            skip: 1,
            count: 2,
            ..Fault::new(FaultKind::Refuse, FaultMatch::default())
        });
        let met: Vec<bool> = (0..5)
            .map(|_| faults.take("GET", "/", b"").is_some())
            .collect();
        assert_eq!(met, [false, true, true, false, false]);
    }

    #[test]
    fn module_and_body_narrow_a_fault() {
        let matching = FaultMatch {
            module: Some("Deals".into()),
            body_contains: Some("claim".into()),
            ..FaultMatch::default()
        };
        assert!(matching.fits("PUT", "/crm/v8/Deals/1", b"a claim"));
        assert!(!matching.fits("PUT", "/crm/v8/Deals/1", b"none"));
        assert!(!matching.fits("PUT", "/crm/v8/Dealsx/1", b"a claim"));
    }
}
