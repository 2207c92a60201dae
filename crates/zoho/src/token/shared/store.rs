//! Storing a token, and deleting the locks of earlier ones.

use jiff::Timestamp;
use sendtrail_aws::AwsError;
use tokio::time::sleep;

use super::entry::{encode, encode_mark};
use super::lock::{Lock, marks};
use super::turn::holders_pause;
use super::{AccessToken, ParameterTokenCache, random};

impl ParameterTokenCache {
    /// Stores the token, then deletes what is left of earlier refreshes.
    pub(super) async fn write(&self, key: &str, token: &AccessToken) {
        let (held, old) = {
            let state = self.state();
            let seen = state.seen.iter().flat_map(|seen| seen.locks.clone());
            let old: Vec<Lock> = state.left.iter().cloned().chain(seen).collect();
            (state.held.clone(), old)
        };
        let named: Vec<Lock> = held.iter().chain(&old).cloned().collect();
        let Some(text) = encode(token, key, &named) else {
            self.warnings.too_large();
            return;
        };
        // Those who lost the lock have just tried to make theirs, and AWS takes few writes in a second.
        loop {
            let Err(error) = self.store.put(&self.parameter, &text).await else {
                // The entry names it now.
                self.state().held = None;
                break;
            };
            self.warnings.aws(&error);
            if matches!(error, AwsError::Denied { .. }) {
                return;
            }
            sleep(holders_pause(random())).await;
        }
        self.clean(key, held.as_ref(), &old).await;
    }

    /// Deletes old locks, and marks whose time is over.
    async fn clean(&self, key: &str, held: Option<&Lock>, old: &[Lock]) {
        // A token was given: a refusal of the period before is over.
        let [_, before, earlier, first] = marks(&self.parameter, key, Timestamp::now());
        let guessed = held
            .iter()
            .flat_map(|held| held.earlier())
            .collect::<Vec<_>>();
        let mut locks: Vec<&Lock> = old
            .iter()
            .chain(&guessed)
            .filter(|lock| Some(*lock) != held)
            .collect();
        locks.sort();
        locks.dedup();
        let names = locks.iter().map(|lock| lock.parameter(&self.parameter));
        // One call takes ten names.
        let names: Vec<String> = [before, earlier, first]
            .into_iter()
            .chain(names)
            .take(10)
            .collect();
        let deleted = self.store.delete(names).await;
        if deleted.is_ok() {
            self.state().left.clear();
        }
        self.warn_of(deleted);
    }

    /// Tells everybody that the token endpoint refused for too many tokens.
    pub(super) async fn mark(&self, key: &str) {
        let now = Timestamp::now();
        let [mark, ..] = marks(&self.parameter, key, now);
        let text = encode_mark(key, now);
        while let Err(error) = self.store.create(&mark, &text).await {
            self.warnings.aws(&error);
            if matches!(error, AwsError::Denied { .. }) {
                return;
            }
            sleep(holders_pause(random())).await;
        }
    }
}
