//! The keys of the configuration, for comparing documentation with the code.

use std::collections::BTreeSet;
use std::path::Path;

use sendtrail_core::settings::{Asked, Mistakes, Section};

use crate::environment::Environment;
use crate::read::read;

/// A complete configuration file with every default, which is also the one to start from.
pub const SAMPLE: &str = include_str!("../../../infra/config/sendtrail.toml");

/// Every key the code asks for when it reads [`SAMPLE`], sorted; `secrets.NAME` stands for all secrets.
///
/// # Errors
/// Every mistake of the sample.
pub fn asked_keys<C>(
    read_crm: impl FnOnce(&Section<'_, '_>) -> Option<C>,
) -> Result<Vec<Asked>, Mistakes> {
    let file = Path::new("sendtrail.toml");
    read(file, SAMPLE, &Environment::default(), read_crm).map(|(_, asked)| asked)
}

/// How a table of keys differs from `asked`; empty when it does not. The table is Markdown with the columns
/// key, kind and default first: `` | `poller.page_rows` | integer | `200` | … ``, and `required` or `none`
/// where there is no default.
pub fn table_differences(markdown: &str, asked: &[Asked]) -> Vec<String> {
    let kinds = ["text", "secret", "duration", "integer", "boolean", "list"];
    let wanted: BTreeSet<String> = asked.iter().map(row).collect();
    let written: BTreeSet<String> = markdown
        .lines()
        .filter_map(|line| {
            let cells: Vec<_> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
            let [key, kind, default, ..] = cells[..] else {
                return None;
            };
            let is_row = key.starts_with('`') && kinds.contains(&kind);
            is_row.then(|| format!("| {key} | {kind} | {default} |"))
        })
        .collect();
    let missing = wanted.difference(&written);
    let excess = written.difference(&wanted);
    missing
        .map(|row| format!("missing: {row}"))
        .chain(excess.map(|row| format!("not in the code: {row}")))
        .collect()
}

fn row(asked: &Asked) -> String {
    let default = match asked.default.as_deref() {
        None => "required".to_owned(),
        Some("") => "none".to_owned(),
        Some(text) => format!("`{text}`"),
    };
    format!("| `{}` | {} | {default} |", asked.key, asked.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Vec<Asked> {
        asked_keys(crate::read::tests::any_crm).unwrap()
    }

    #[test]
    fn the_table_in_the_readme_is_what_the_code_reads() {
        let differences = table_differences(include_str!("../README.md"), &ours());
        assert_eq!(differences, Vec::<String>::new());
    }

    #[test]
    fn a_missing_and_an_excess_row_are_both_told() {
        let asked = [Asked {
            key: "a.b".into(),
            kind: "duration",
            default: Some("10s".into()),
        }];
        assert!(table_differences("| `a.b` | duration | `10s` | text |", &asked).is_empty());
        assert_eq!(
            table_differences(
                "| key | kind | default |\n| `a.b` | duration | `9s` | x |",
                &asked
            ),
            [
                "missing: | `a.b` | duration | `10s` |",
                "not in the code: | `a.b` | duration | `9s` |"
            ]
        );
    }
}
