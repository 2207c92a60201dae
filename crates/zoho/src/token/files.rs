//! The token in a file, for local runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use url::Url;

use super::{AccessToken, CacheFuture, TokenCache};
use crate::config::parse_base_url;

/// A file longer than this is none of ours.
const LARGEST_FILE: u64 = 16 * 1024;

/// Keeps one file per refresh token in a folder, readable by its owner only. For local runs.
#[derive(Debug)]
pub struct FileTokenCache {
    folder: PathBuf,
    written: AtomicU64,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    access_token: String,
    api_domain: Option<String>,
    refresh_at: Timestamp,
    expires_at: Timestamp,
}

impl FileTokenCache {
    /// A cache in `folder`, which is made when it is missing.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            written: AtomicU64::new(0),
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("token-{key}.json"))
    }

    async fn read(path: &Path) -> io::Result<Option<AccessToken>> {
        let file = tokio::fs::File::open(path).await?;
        let mut text = Vec::new();
        file.take(LARGEST_FILE).read_to_end(&mut text).await?;
        let Ok(stored) = serde_json::from_slice::<Stored>(&text) else {
            return Ok(None);
        };
        let api_domain = stored.api_domain.as_deref();
        Ok(Some(AccessToken {
            token: stored.access_token.into(),
            api_domain: api_domain.and_then(parse_base_url),
            refresh_at: stored.refresh_at,
            expires_at: stored.expires_at,
        }))
    }

    /// Writes a file of its own and renames it, so that a reader sees the old token or the new one.
    async fn write(&self, key: &str, token: &AccessToken) -> io::Result<()> {
        let text = serde_json::to_vec(&Stored {
            access_token: token.token.expose_secret().to_owned(),
            api_domain: token.api_domain.as_ref().map(Url::to_string),
            refresh_at: token.refresh_at,
            expires_at: token.expires_at,
        })?;
        let mut folder = tokio::fs::DirBuilder::new();
        folder.recursive(true);
        #[cfg(unix)]
        folder.mode(0o700);
        folder.create(&self.folder).await?;
        let count = self.written.fetch_add(1, Ordering::Relaxed);
        let name = format!(".token-{key}-{}-{count}", std::process::id());
        let draft = self.folder.join(name);
        let result = Self::write_draft(&draft, &text, &self.path(key)).await;
        if result.is_err() {
            let _ = tokio::fs::remove_file(&draft).await;
        }
        result
    }

    async fn write_draft(draft: &Path, text: &[u8], path: &Path) -> io::Result<()> {
        let mut options = tokio::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600);
        let mut file = options.open(draft).await?;
        file.write_all(text).await?;
        file.sync_all().await?;
        tokio::fs::rename(draft, path).await
    }
}

impl TokenCache for FileTokenCache {
    fn load<'a>(&'a self, key: &'a str) -> CacheFuture<'a, Option<AccessToken>> {
        Box::pin(async move { Self::read(&self.path(key)).await.ok().flatten() })
    }

    fn store<'a>(&'a self, key: &'a str, token: &'a AccessToken) -> CacheFuture<'a, ()> {
        Box::pin(async move {
            if let Err(error) = self.write(key, token).await {
                tracing::warn!(error.kind = ?error.kind(), "the access token could not be cached");
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> AccessToken {
        AccessToken {
            token: text.into(),
            api_domain: parse_base_url("https://www.zohoapis.eu"),
            refresh_at: Timestamp::from_second(100).unwrap(),
            expires_at: Timestamp::from_second(400).unwrap(),
        }
    }

    #[tokio::test]
    async fn what_is_stored_is_loaded_and_another_key_sees_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let cache = FileTokenCache::new(folder.path().join("new"));
        assert!(cache.load("aa").await.is_none());
        cache.store("aa", &token("1000.one")).await;
        cache.store("aa", &token("1000.two")).await;
        let loaded = cache.load("aa").await.unwrap();
        assert_eq!(loaded.token.expose_secret(), "1000.two");
        assert_eq!(loaded.api_domain, token("").api_domain);
        assert_eq!(loaded.expires_at, token("").expires_at);
        assert!(cache.load("bb").await.is_none());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn only_the_owner_can_read_it_and_no_draft_stays() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let cache = FileTokenCache::new(folder.path().join("new"));
        cache.store("aa", &token("1000.one")).await;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&cache.path("aa")), 0o600);
        assert_eq!(mode(&cache.folder), 0o700);
        assert_eq!(std::fs::read_dir(&cache.folder).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_cache_that_fails_keeps_nobody_from_work() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let cache = FileTokenCache::new(file);
        cache.store("aa", &token("1000.one")).await;
        assert!(cache.load("aa").await.is_none());

        let cache = FileTokenCache::new(folder.path().to_owned());
        std::fs::write(cache.path("aa"), "{ cut").unwrap();
        assert!(cache.load("aa").await.is_none());
    }
}
