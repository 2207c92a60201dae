//! What becomes of one request to the CRM.

use jiff::SignedDuration;
use sendtrail_core::ports::StoreError;
use sendtrail_core::testing::SeenClock;

use super::CrmState;
use crate::function::Function;
use crate::sim::{Fault, State, instant, unit::SECOND};

/// From the first byte of a request to the last of its answer, at most: `crm.request_timeout`.
pub(super) const REQUEST_TIMEOUT: i64 = 10 * SECOND;

/// How a request goes, drawn before it is sent.
#[derive(Debug)]
pub(super) struct Fate {
    /// Milliseconds until the CRM serves it.
    pub(super) before: i64,
    /// Milliseconds from there to its answer.
    pub(super) after: i64,
    /// What the answer is.
    pub(super) end: End,
}

#[derive(Debug)]
pub(super) enum End {
    /// It is served and answered.
    Served,
    /// It is refused, and nothing done.
    Refused(StoreError),
    /// No proper answer comes, whether it is served or not.
    Lost { served: bool, detail: &'static str },
    /// The answer is a time-out, and it is served this much after that.
    Late(i64),
}

fn transient(detail: &str) -> StoreError {
    StoreError::Transient {
        detail: detail.to_owned(),
    }
}

impl End {
    /// The error of an answer that is none.
    pub(super) fn error(self) -> Option<StoreError> {
        match self {
            Self::Served => None,
            Self::Refused(error) => Some(error),
            Self::Lost { detail, .. } => Some(transient(detail)),
            Self::Late(_) => Some(transient("no answer within the time-out")),
        }
    }
}

impl State {
    fn crm_latency(&mut self) -> (i64, i64) {
        if self.strikes(Fault::CrmSlow) {
            let (before, after) = (self.rng.between(0, 5_000), self.rng.between(500, 4_900));
            return (before, after);
        }
        (self.rng.around(30).min(900), self.rng.around(40).min(900))
    }

    /// Limits that stand for every request.
    fn crm_refusal(&mut self, now: i64, is_cold: bool) -> Option<StoreError> {
        if is_cold && self.crm.is_throttled(now) {
            return Some(StoreError::TokenThrottled);
        }
        if self.crm.is_exhausted(now) {
            return Some(StoreError::RateLimited { retry_after: None });
        }
        if self.strikes(Fault::CrmLimits) {
            let seconds = self.rng.between(0, 90);
            let retry_after = (seconds > 0).then(|| SignedDuration::from_secs(seconds));
            return Some(StoreError::RateLimited { retry_after });
        }
        None
    }

    pub(super) fn read_fate(&mut self, now: i64, is_cold: bool) -> Fate {
        let (before, after) = self.crm_latency();
        let fate = |end| Fate { before, after, end };
        if let Some(error) = self.crm_refusal(now, is_cold) {
            return fate(End::Refused(error));
        }
        match self.one_of(&[Fault::ReadBroken, Fault::CrmHangs]) {
            Some(Fault::CrmHangs) => Fate {
                before: REQUEST_TIMEOUT,
                after: 0,
                end: End::Late(0),
            },
            Some(_) => fate(End::Lost {
                served: false,
                detail: "status 503",
            }),
            None => fate(End::Served),
        }
    }

    pub(super) fn write_fate(&mut self, now: i64, is_cold: bool) -> Fate {
        let (before, after) = self.crm_latency();
        let fate = |end| Fate { before, after, end };
        if let Some(error) = self.crm_refusal(now, is_cold) {
            return fate(End::Refused(error));
        }
        let kinds = [
            Fault::WriteReplyLost,
            Fault::WriteLost,
            Fault::WriteLate,
            Fault::WriteBroken,
            Fault::CrmHangs,
        ];
        let lost = |served| End::Lost {
            served,
            detail: "connection reset",
        };
        match self.one_of(&kinds) {
            None => fate(End::Served),
            Some(Fault::WriteReplyLost) => fate(lost(true)),
            Some(Fault::WriteLost) => fate(lost(false)),
            Some(Fault::WriteLate) => {
                let seconds = [1, 3, 10, 30, 120, 900, 7_200];
                let most = self.rng.pick(&seconds).unwrap_or(1) * SECOND;
                fate(End::Late(self.rng.between(0, most)))
            }
            Some(Fault::WriteBroken) => {
                let served = self.rng.chance(500_000);
                fate(End::Lost {
                    served,
                    detail: "status 500",
                })
            }
            Some(_) => {
                let served = self.rng.chance(500_000);
                let before = self.rng.between(0, REQUEST_TIMEOUT);
                Fate {
                    before,
                    after: REQUEST_TIMEOUT - before,
                    end: End::Lost {
                        served,
                        detail: "no answer within the time-out",
                    },
                }
            }
        }
    }
}

impl CrmState {
    /// What the reader of an answer knows of the CRM's clock.
    pub(super) fn seen(&self, function: &Function, made: i64, answered: i64) -> SeenClock {
        let at = if self.dates_at_end { answered } else { made };
        SeenClock {
            // A `Date` has whole seconds.
            date: instant(at.saturating_add(self.offset).div_euclid(SECOND) * SECOND),
            before: function.known_date(),
        }
    }
}
