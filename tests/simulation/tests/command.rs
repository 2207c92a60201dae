//! What the command refuses, and in which words.

use std::process::Command;

/// What it says on standard error as it refuses these arguments.
fn refuses(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_sendtrail-simulation"))
        .args(arguments)
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn seeds_beyond_the_last_one_are_refused() {
    let words = refuses(&["--from", "18446744073709551615", "--seeds", "2"]);
    assert!(words.contains("beyond the last seed"), "{words}");
}

#[test]
fn more_threads_or_sends_than_make_sense_are_refused() {
    let words = refuses(&["--jobs", "1025"]);
    assert!(words.contains("1025 is not in 1..=1024"), "{words}");
    let words = refuses(&["--sends", "10000001"]);
    assert!(words.contains("is not in 1..=10000000"), "{words}");
}
