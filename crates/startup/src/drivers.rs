//! The driver files next to the configuration file. What is in them is `sendapi`'s business.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use sendtrail_core::ids::DriverId;

use crate::error::StartError;

/// A driver file is a page or two of text.
const MAX_FILE: u64 = 1024 * 1024;

/// One driver file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverFile {
    /// Its name without `.toml`.
    pub id: DriverId,
    /// Its path, for messages.
    pub path: String,
    /// Its text.
    pub text: String,
}

fn bad(path: &Path, reason: &dyn Display) -> StartError {
    StartError::DriverFolder {
        path: path.display().to_string(),
        reason: reason.to_string(),
    }
}

/// The `*.toml` files of `folder`, by name.
fn list(folder: &Path) -> Result<Vec<(DriverId, PathBuf)>, StartError> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| bad(folder, &error))? {
        let path = entry.map_err(|error| bad(folder, &error))?.path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let id = DriverId::parse(stem.unwrap_or_default())
            .map_err(|error| bad(&path, &format!("the file's name is no {error}")))?;
        files.push((id, path));
    }
    if files.is_empty() {
        return Err(bad(
            folder,
            &"there is no driver file, such as lob-letter.toml",
        ));
    }
    files.sort();
    Ok(files)
}

/// The ids of the drivers in `folder`, sorted.
pub(crate) fn ids(folder: &Path) -> Result<Vec<DriverId>, StartError> {
    Ok(list(folder)?.into_iter().map(|(id, _)| id).collect())
}

/// The driver files in `folder`, sorted by id.
pub(crate) fn files(folder: &Path) -> Result<Vec<DriverFile>, StartError> {
    let read = |(id, path): (DriverId, PathBuf)| {
        let size = std::fs::metadata(&path).map_err(|error| bad(&path, &error))?;
        if size.len() > MAX_FILE {
            return Err(bad(&path, &"the file is larger than 1 MiB"));
        }
        let text = std::fs::read_to_string(&path).map_err(|error| bad(&path, &error))?;
        Ok(DriverFile {
            id,
            path: path.display().to_string(),
            text,
        })
    };
    list(folder)?.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in files {
            std::fs::write(folder.path().join(name), format!("# {name}")).unwrap();
        }
        folder
    }

    #[test]
    fn driver_files_are_sorted_and_other_files_are_left_alone() {
        let folder = folder(&["b.toml", "a-1.toml", "notes.md"]);
        let files = files(folder.path()).unwrap();
        let found: Vec<_> = files
            .iter()
            .map(|f| (f.id.as_str(), f.text.as_str()))
            .collect();
        assert_eq!(found, [("a-1", "# a-1.toml"), ("b", "# b.toml")]);
        assert!(files[1].path.ends_with("b.toml"));
        let ids = ids(folder.path()).unwrap();
        assert_eq!(
            ids.iter().map(DriverId::as_str).collect::<Vec<_>>(),
            ["a-1", "b"]
        );
    }

    #[test]
    fn a_folder_without_drivers_and_a_name_that_is_no_id_are_mistakes() {
        let empty = folder(&["readme.txt"]);
        assert!(ids(empty.path()).is_err());
        assert!(ids(&empty.path().join("none")).is_err());
        let odd = folder(&["Bad Name.toml"]);
        let text = files(odd.path()).unwrap_err().to_string();
        assert!(
            text.contains("Bad Name.toml") && text.contains("lower-case"),
            "{text}"
        );
    }
}
