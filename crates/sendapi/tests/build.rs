//! Building drivers from their files and secrets.

mod common;

use common::{build, file_text, load_one, timeouts, tls};
use jiff::SignedDuration;
use secrecy::SecretString;
use sendtrail_sendapi::{BuildError, Drivers, Timeouts};

fn with_secret(secret: Option<&str>, text: &str) -> Result<Drivers, BuildError> {
    let secret = secret.map(str::to_owned);
    let give = move |_: &_| secret.clone().map(SecretString::from);
    Drivers::build(load_one(text), give, tls(), timeouts())
}

#[test]
fn a_missing_or_unusable_secret_is_named_and_not_shown() {
    let basic = file_text(9);
    let missing = with_secret(None, &basic).unwrap_err().to_string();
    assert_eq!(
        missing,
        "driver letters: the secret letters-key is not known"
    );
    let bearer = basic.replace(
        "kind = \"basic\"\nuser = \"secret:letters-key\"\npassword = \"\"",
        "kind = \"header\"\nname = \"X-Api-Key\"\nvalue = \"secret:k\"",
    );
    for bad in ["", "  ", "abc\n", "abc\r\nhost: x"] {
        let error = with_secret(Some(bad), &bearer).unwrap_err().to_string();
        assert!(
            error.starts_with("driver letters: the secret k "),
            "{error}"
        );
        assert!(!error.contains("abc"));
        assert!(with_secret(Some(bad), &basic).is_err());
    }
    assert!(with_secret(Some("good"), &bearer).is_ok());
}

#[test]
fn the_connect_time_out_is_far_below_the_others() {
    let give = |_: &_| Some(SecretString::from("x"));
    let ms = SignedDuration::from_millis;
    let good = Timeouts::default();
    for bad in [
        Timeouts {
            connect: ms(0),
            ..good
        },
        Timeouts {
            connect: ms(-1),
            ..good
        },
        Timeouts {
            connect: ms(5_001),
            ..good
        },
        Timeouts {
            submit: ms(9_999),
            ..good
        },
    ] {
        let built = Drivers::build(load_one(&file_text(9)), give, tls(), bad);
        assert!(matches!(built, Err(BuildError::Timeouts)), "{bad:?}");
    }
    assert!(Drivers::build(load_one(&file_text(9)), give, tls(), good).is_ok());
}

#[test]
fn credentials_do_not_show_in_debug_output() {
    let text = format!("{:?}", build(&file_text(9)));
    assert!(
        !text.contains("test_0123456789") && !text.contains("dGVzdF8"),
        "{text}"
    );
    assert_eq!(build(&file_text(9)).ids().collect::<Vec<_>>(), ["letters"]);
}
