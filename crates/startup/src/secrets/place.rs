//! Where one secret is kept, as the configuration writes it.

use std::path::{Path, PathBuf};

use crate::function::Function;

/// The longest stage there is.
const LONGEST_STAGE: usize = 20;
/// The longest name of a parameter, in characters, and the most levels in it.
const PARAMETER: usize = 1011;
const LEVELS: usize = 15;
/// The longest name in Secrets Manager.
const SECRET: usize = 512;

const FORMS: &str =
    "must be env:VARIABLE, file:/path, ssm:/parameter/name or secretsmanager:secret/name";

/// Where one secret is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Variable(String),
    File(PathBuf),
    /// Parameter Store.
    Parameter(Pattern),
    /// Secrets Manager.
    Secret(Pattern),
}

impl Place {
    /// Reads a place; a relative path is taken from `folder`. What is wrong is told without the text, which may
    /// be the secret itself.
    pub(crate) fn parse(text: &str, folder: &Path) -> Result<Self, &'static str> {
        let (kind, rest) = text.split_once(':').ok_or(FORMS)?;
        match kind {
            "env" => {
                let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
                let is_name = !rest.is_empty() && rest.bytes().all(word);
                is_name
                    .then(|| Self::Variable(rest.to_owned()))
                    .ok_or(FORMS)
            }
            "file" if !rest.is_empty() => Ok(Self::File(folder.join(rest))),
            "ssm" => Pattern::of_parameter(rest).map(Self::Parameter),
            "secretsmanager" => Pattern::of_secret(rest).map(Self::Secret),
            _ => Err(FORMS),
        }
    }
}

/// A name in which `{stage}` and `{function}` stand for what a function is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern(String);

impl Pattern {
    /// The name, as this function of this stage asks for it.
    pub(crate) fn expand(&self, stage: &str, function: Function) -> String {
        let named = self.0.replace("{stage}", stage);
        named.replace("{function}", function.as_str())
    }

    fn of_parameter(name: &str) -> Result<Self, &'static str> {
        let longest = longest(name)?;
        let Some(levels) = longest.strip_prefix('/') else {
            return Err("must be ssm:/NAME: the name of a parameter begins with /");
        };
        let of_form = |b: u8| b.is_ascii_alphanumeric() || b"_.-/".contains(&b);
        if !longest.bytes().all(of_form) {
            return Err("must be ssm:/NAME with a NAME of letters, digits and _.-/");
        }
        let mut parts = levels.split('/');
        if parts.clone().any(str::is_empty) {
            return Err("must be ssm:/NAME without an empty part between two / or at the end");
        }
        let first = parts.next().unwrap_or_default().to_ascii_lowercase();
        if first.starts_with("aws") || first.starts_with("ssm") {
            return Err(
                "must be ssm:/NAME; names that begin with aws or ssm are not yours to make",
            );
        }
        if longest.len() > PARAMETER || levels.split('/').count() > LEVELS {
            return Err("is too long for a parameter: 1011 characters and 15 levels");
        }
        Ok(Self(name.to_owned()))
    }

    fn of_secret(name: &str) -> Result<Self, &'static str> {
        let longest = longest(name)?;
        let of_form = |b: u8| b.is_ascii_alphanumeric() || b"/_+=.@-".contains(&b);
        if longest.is_empty() || !longest.bytes().all(of_form) {
            return Err("must be secretsmanager:NAME with a NAME of letters, digits and /_+=.@-");
        }
        if longest.len() > SECRET {
            return Err("is too long for the name of a secret: 512 characters");
        }
        Ok(Self(name.to_owned()))
    }
}

/// The name at its longest; a placeholder that is none of ours is a mistake.
fn longest(name: &str) -> Result<String, &'static str> {
    let filled = name
        .replace("{stage}", &"s".repeat(LONGEST_STAGE))
        .replace("{function}", Function::LONGEST.as_str());
    if filled.contains(['{', '}']) {
        return Err("has a placeholder that is neither {stage} nor {function}");
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Place, &'static str> {
        Place::parse(text, Path::new("/etc"))
    }

    fn name(text: &str) -> String {
        match parse(text) {
            Ok(Place::Parameter(pattern) | Place::Secret(pattern)) => {
                pattern.expand("prod", Function::SideEffect)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_form_is_read() {
        assert_eq!(parse("env:A_1"), Ok(Place::Variable("A_1".into())));
        assert_eq!(parse("file:a:b"), Ok(Place::File("/etc/a:b".into())));
        assert_eq!(
            name("ssm:/a/{stage}/{function}/k.1_-"),
            "/a/prod/side-effect/k.1_-"
        );
        assert_eq!(
            name("ssm:/{function}-{stage}-{stage}"),
            "/side-effect-prod-prod"
        );
        assert_eq!(name("secretsmanager:a/{stage}+=.@-_"), "a/prod+=.@-_");
    }

    #[test]
    fn what_is_none_of_them_is_refused_and_not_repeated() {
        let long = format!("ssm:/{}{{function}}", "a".repeat(1000));
        let secret = format!("secretsmanager:{}{{stage}}", "a".repeat(493));
        let deep = format!("ssm:{}", "/a".repeat(16));
        for (text, told) in [
            ("hidden", "must be env:"),
            ("", "must be env:"),
            ("env:", "must be env:"),
            ("env:A-B", "must be env:"),
            ("file:", "must be env:"),
            ("vault:hidden", "must be env:"),
            ("SSM:/hidden", "must be env:"),
            ("ssm:hidden", "begins with /"),
            ("ssm:", "begins with /"),
            ("ssm:/", "empty part"),
            ("ssm:/hidden/", "empty part"),
            ("ssm://hidden", "empty part"),
            ("ssm:/hid den", "letters, digits"),
            ("ssm:/hidden:3", "letters, digits"),
            ("ssm:/hidd\u{e9}n", "letters, digits"),
            ("ssm:/aws/hidden", "not yours"),
            ("ssm:/Ssm-hidden", "not yours"),
            ("ssm:/{hidden}/a", "neither {stage} nor {function}"),
            ("ssm:/{stage/a", "neither {stage} nor {function}"),
            ("ssm:/{Stage}/a", "neither {stage} nor {function}"),
            (&long, "too long"),
            (&deep, "too long"),
            ("secretsmanager:", "letters, digits"),
            ("secretsmanager:hid den", "letters, digits"),
            ("secretsmanager:arn:hidden", "letters, digits"),
            ("secretsmanager:{hidden}", "neither {stage} nor {function}"),
            (&secret, "too long"),
        ] {
            let mistake = parse(text).unwrap_err();
            assert!(mistake.contains(told), "{text}: {mistake}");
            assert!(!mistake.contains("hidden"), "{mistake}");
        }
    }

    #[test]
    fn a_name_at_its_longest_is_taken() {
        // With `{stage}` at its longest, 20 characters, and `{function}` at 11.
        assert!(parse(&format!("ssm:/{}{{function}}", "a".repeat(999))).is_ok());
        assert!(parse(&format!("ssm:{}", "/a".repeat(15))).is_ok());
        assert!(parse(&format!("secretsmanager:{}{{stage}}", "a".repeat(492))).is_ok());
    }
}
