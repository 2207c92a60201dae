//! The keys of a door, from texts.

use crate::{KeyRing, KeyRingError, Secret, SecretError, ensure_distinct};

/// Why keys are refused at start. No text of a key is repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// A text is no key.
    #[error("key `{name}`: {error}")]
    Secret {
        /// The key's name.
        name: String,
        /// What is wrong with its text.
        error: SecretError,
    },
    /// The keys do not go together.
    #[error(transparent)]
    Ring(#[from] KeyRingError),
}

/// The ring of the signing keys, given by name and text. Their values must differ from each other and from
/// those of `others`, the keys to something else.
///
/// # Errors
/// [`KeysError`], for the first key that is wrong.
pub fn key_ring(
    signing: &[(String, &str)],
    others: &[(&str, &Secret)],
) -> Result<KeyRing, KeysError> {
    let parse = |(name, text): &(String, &str)| match Secret::parse(text) {
        Ok(secret) => Ok((name.clone(), secret)),
        Err(error) => Err(KeysError::Secret {
            name: name.clone(),
            error,
        }),
    };
    let ring = KeyRing::new(signing.iter().map(parse).collect::<Result<_, _>>()?)?;
    let all: Vec<_> = ring.iter().chain(others.iter().copied()).collect();
    ensure_distinct(&all)?;
    Ok(ring)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "a text of a key that is long enough";
    const B: &str = "b text of a key that is long enough";

    fn named<'a>(texts: &[&'a str]) -> Vec<(String, &'a str)> {
        let name = |(n, text): (usize, &&'a str)| (format!("k{n}"), *text);
        texts.iter().enumerate().map(name).collect()
    }

    #[test]
    fn every_signing_key_is_in_the_ring_under_its_name() {
        let ring = key_ring(&named(&[A, B]), &[]).unwrap();
        let names: Vec<_> = ring.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["k0", "k1"]);
    }

    #[test]
    fn a_text_that_is_no_key_is_named_and_not_shown() {
        let error = key_ring(&named(&[A, "short-one"]), &[]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("`k1`") && !text.contains("short-one"),
            "{text}"
        );
        assert_eq!(
            key_ring(&[], &[]).unwrap_err(),
            KeysError::Ring(KeyRingError::NoKey)
        );
    }

    #[test]
    fn a_key_to_something_else_must_not_sign_in_whatever_form_it_is_written() {
        let seal = Secret::parse(&Secret::parse(A).unwrap().to_whsec()).unwrap();
        let error = key_ring(&named(&[B, A]), &[("seal", &seal)]).unwrap_err();
        assert!(matches!(
            error,
            KeysError::Ring(KeyRingError::SameValue { .. })
        ));
        assert!(key_ring(&named(&[B]), &[("seal", &seal)]).is_ok());
    }
}
