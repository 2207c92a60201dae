//! Where the built binaries are.

use std::path::{Path, PathBuf};

/// The folder with `sendtrail` and the functions.
pub(crate) fn folder() -> PathBuf {
    let own = || {
        // target/debug/deps/suite-… -> target/debug
        let own = std::env::current_exe().unwrap();
        own.parent().and_then(Path::parent).unwrap().to_owned()
    };
    let named = std::env::var_os("SENDTRAIL_TEST_FUNCTIONS");
    let folder = named.map_or_else(own, PathBuf::from);
    for binary in ["sendtrail", "intake", "side-effect", "poller"] {
        let path = folder.join(binary);
        assert!(
            path.is_file(),
            "{} is not built: run `cargo xtask test`",
            path.display()
        );
    }
    folder
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}
