//! The secrets of a local stack: made once, kept in files that only their owner reads.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use sendtrail_core::ports::Random as _;
use sendtrail_startup::OsRandom;

/// Every secret of a local stack, by the name in `[secrets]`.
pub(super) const NAMES: [&str; 10] = [
    "crm-client-secret",
    "crm-refresh-intake",
    "crm-refresh-side-effect",
    "crm-refresh-poller",
    "crm-refresh-operator",
    "token-key",
    "seal-key",
    "intake-k1",
    "side-effect-k1",
    "lob-key",
];

/// Reads the secrets in this folder, and makes those that are missing.
pub(super) fn ensure(folder: &Path) -> std::io::Result<BTreeMap<&'static str, String>> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    NAMES
        .into_iter()
        .map(|name| Ok((name, ensure_one(&folder.join(name))?)))
        .collect()
}

fn ensure_one(path: &Path) -> std::io::Result<String> {
    match fs::read_to_string(path) {
        Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let text = format!("{:032x}{:032x}", OsRandom.bits(), OsRandom.bits());
    let mut file = fs::OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_made_once_and_kept_from_others() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets");
        let first = ensure(&path).unwrap();
        assert_eq!(first, ensure(&path).unwrap());
        let distinct: std::collections::BTreeSet<_> = first.values().collect();
        assert_eq!(distinct.len(), NAMES.len());
        let mode = fs::metadata(path.join("seal-key"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
