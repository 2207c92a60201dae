//! The input a user saved.

use sendtrail_core::input::{BadInput, Input, MAX_INPUT_BYTES, input_sha256};
use serde_json::{Map, Value};

/// Any text as the stored input, and as the body of a save.
pub fn input(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let stored = Input::from_stored(&text);
    if let Ok(object) = serde_json::from_str::<Map<String, Value>>(&text) {
        let from_object = Input::from_object(&object);
        if text.len() <= MAX_INPUT_BYTES {
            assert_eq!(from_object, stored);
        }
        if let Err(BadInput::Field { pointer, .. }) = &from_object {
            assert!(pointer.starts_with('/') && pointer.len() < 64);
        }
    }
    if let Ok(input) = stored {
        check(&input);
    }
}

/// What is stored is read back the same, so that what was saved is what is sent.
fn check(input: &Input) {
    let text = match input.to_stored() {
        Ok(text) => text,
        Err(refused) => return assert_eq!(refused, BadInput::TooLarge),
    };
    assert!(text.is_ascii() && text.len() <= MAX_INPUT_BYTES && !text.contains('\n'));
    let again = Input::from_stored(&text).expect("what is stored is read");
    assert_eq!(&again, input);
    let stored_again = again.to_stored().expect("it fits");
    assert_eq!(
        input_sha256(&stored_again),
        input_sha256(&text),
        "one text for one input"
    );
}
