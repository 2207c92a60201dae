use jiff::SignedDuration;

/// Parses `500ms`, `10s`, `5m`, `6h` or `45d`: a whole number and one unit.
///
/// # Errors
/// A sentence that says what is expected.
pub fn parse_duration(text: &str) -> Result<SignedDuration, &'static str> {
    const EXPECTED: &str = "expected a whole number and a unit: 500ms, 10s, 5m, 6h or 45d";
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if digits > 9 {
        return Err("is too long a time");
    }
    let number: i64 = number.parse().map_err(|_| EXPECTED)?;
    let seconds = match unit {
        "ms" => return Ok(SignedDuration::from_millis(number)),
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(EXPECTED),
    };
    Ok(SignedDuration::from_secs(number.saturating_mul(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_whole_number_and_one_unit() {
        assert_eq!(
            parse_duration("500ms"),
            Ok(SignedDuration::from_millis(500))
        );
        assert_eq!(
            parse_duration("45d"),
            Ok(SignedDuration::from_hours(45 * 24))
        );
        for bad in [
            "",
            "5",
            "s",
            "-5s",
            "1.5s",
            "5 s",
            "5s5s",
            "1w",
            "9999999999s",
        ] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
