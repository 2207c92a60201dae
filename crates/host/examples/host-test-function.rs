//! The function that the host's tests run: it does what the call says, for good or ill.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    match std::env::var("TEST_START").as_deref() {
        Ok("exit") => std::process::exit(3),
        Ok("hang") => tokio::time::sleep(Duration::from_mins(10)).await,
        Ok("report") => {
            let report = r#"{"errorType":"Config","errorMessage":"bad key"}"#;
            ask("POST", "/2018-06-01/runtime/init/error", report)?;
            std::process::exit(1);
        }
        Ok("raw") => answer_text()?,
        Ok(_) | Err(_) => {}
    }
    lambda_runtime::run(service_fn(handle)).await
}

async fn handle(event: LambdaEvent<Value>) -> Result<Value, Error> {
    let (payload, context) = event.into_parts();
    // Through a URL the first path segment is the order; else `do` is.
    let path = payload["rawPath"]
        .as_str()
        .unwrap_or_default()
        .trim_start_matches('/');
    let (order, argument) = if let Some(order) = payload["do"].as_str() {
        (order.to_owned(), payload["n"].as_u64().unwrap_or_default())
    } else {
        let (order, argument) = path.split_once('/').unwrap_or((path, "0"));
        (order.to_owned(), argument.parse().unwrap_or_default())
    };
    Ok(match order.as_str() {
        "echo" => json!({
            "statusCode": 200,
            "headers": {"content-type": "application/octet-stream"},
            "body": payload["body"],
            "isBase64Encoded": payload["isBase64Encoded"],
        }),
        "event" => json!({"statusCode": 200, "body": payload.to_string()}),
        "context" => json!({
            "pid": std::process::id(),
            "request_id": context.request_id,
            "deadline": context.deadline,
            "arn": context.invoked_function_arn,
            "now": jiff::Timestamp::now().as_millisecond(),
        }),
        "env" => json!(std::env::vars().collect::<std::collections::BTreeMap<_, _>>()),
        "sleep" => {
            tokio::time::sleep(Duration::from_millis(argument)).await;
            json!({"slept": argument})
        }
        "touch_later" => {
            tokio::time::sleep(Duration::from_millis(argument)).await;
            std::fs::write(
                payload["queryStringParameters"]["file"]
                    .as_str()
                    .unwrap_or_default(),
                "done",
            )?;
            json!({})
        }
        "panic" => panic!("as asked"),
        "fail" => return Err("as asked".into()),
        "exit" => std::process::exit(7),
        "say_and_exit" => {
            std::io::stdout().write_all(b"out whole\nout part")?;
            std::io::stderr().write_all(b"err part")?;
            std::process::exit(7)
        }
        "garbage" => json!({"statusCode": "many"}),
        "big" => json!({"body": "x".repeat(usize::try_from(argument)?), "statusCode": 200}),
        _ => payload,
    })
}

/// Speaks the Runtime API by hand once, to answer what the runtime library never would.
fn answer_text() -> Result<(), Error> {
    let next = ask("GET", "/2018-06-01/runtime/invocation/next", "")?;
    let id = next
        .lines()
        .find_map(|line| line.strip_prefix("lambda-runtime-aws-request-id: "))
        .unwrap_or_default();
    let unknown = ask(
        "POST",
        "/2018-06-01/runtime/invocation/other/response",
        "{}",
    )?;
    let answer = if unknown.starts_with("HTTP/1.1 400") {
        "no json"
    } else {
        "{}"
    };
    ask(
        "POST",
        &format!("/2018-06-01/runtime/invocation/{id}/response"),
        answer,
    )?;
    let twice = ask(
        "POST",
        &format!("/2018-06-01/runtime/invocation/{id}/response"),
        "{}",
    )?;
    if twice.starts_with("HTTP/1.1 400") {
        Ok(())
    } else {
        Err("answered twice".into())
    }
}

fn ask(method: &str, path: &str, body: &str) -> Result<String, Error> {
    let address = std::env::var("AWS_LAMBDA_RUNTIME_API")?;
    let mut stream = TcpStream::connect(&address)?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
