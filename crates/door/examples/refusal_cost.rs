//! What it costs to refuse a forged request: `cargo run --release -p sendtrail-door --example refusal_cost`.

use std::time::Instant;

use sendtrail_door::{Expect, HistoryIdIn, KeyRing, Request, Secret, verify_signed};
use serde_json::{Value, json};

const ROUNDS: u32 = 20;

#[expect(clippy::print_stdout, reason = "its output is its purpose")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let secret = Secret::parse("an example secret of 32 characters or more")?;
    let ring = KeyRing::new(vec![("only".to_owned(), secret)])?;
    for (what, quads, limit) in [
        ("1 KB body", 350, usize::MAX),
        ("64 KB body", 21_800, usize::MAX),
        ("4 MB body", 1_400_000, usize::MAX),
        ("4 MB body above the limit", 1_400_000, 65_536),
    ] {
        let event = forged(quads);
        let expect = Expect {
            aud: "local/intake",
            op: "save",
            history_id: HistoryIdIn::Nowhere,
            max_bytes: limit,
        };
        let start = Instant::now();
        for _ in 0..ROUNDS {
            let Ok(request) = Request::parse(&event, 0, "id") else {
                return Err("the event is not read".into());
            };
            if verify_signed::<Value>(&request, &ring, &expect).is_ok() {
                return Err("a forged request passed".into());
            }
        }
        let micros = (start.elapsed() / ROUNDS).as_micros();
        println!("{what}: {micros} µs");
    }
    Ok(())
}

fn forged(quads: usize) -> String {
    json!({
        "rawPath": "/v1/histories",
        "headers": {
            "webhook-id": "msg_1",
            "webhook-timestamp": "1700000000",
            "webhook-signature": "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        },
        "requestContext": {
            "http": {"method": "POST"},
            "requestId": "req-1",
            "timeEpoch": 1_700_000_000_000_i64,
        },
        "body": "QUJD".repeat(quads),
        "isBase64Encoded": true,
    })
    .to_string()
}
