//! The two doors, from outside: that they answer, let nobody in, and serve the widget's origin alone.

use std::time::{Duration, Instant};

use reqwest::{Client, Method, Response, header};
use serde_json::Value;

use super::check::Check;
use super::stack::Stack;
use crate::failure::{Failure, Kind};

/// A cold start with its secrets and the CRM's token takes a few seconds.
const TIME: Duration = Duration::from_secs(30);
/// An origin that nobody allowed.
const STRANGER: &str = "https://stranger.invalid";

/// A door: its checks' names, its output, a path of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Door {
    pub(super) unsigned: &'static str,
    pub(super) preflight: &'static str,
    pub(super) output: &'static str,
    pub(super) path: &'static str,
}

pub(super) const DOORS: [Door; 2] = [
    Door {
        unsigned: "intake refuses what is not signed",
        preflight: "intake serves the widget's origin",
        output: "IntakeUrl",
        path: "/v1/histories",
    },
    Door {
        unsigned: "side-effect refuses what is not signed",
        preflight: "side-effect serves the widget's origin",
        output: "SideEffectUrl",
        path: "/v1/sends",
    },
];

/// Calls the doors.
#[derive(Debug)]
pub(super) struct Caller {
    http: Client,
    through: Option<String>,
}

impl Caller {
    /// `through` is an address that stands in for every door: the door's own host is named to it.
    pub(super) fn new(through: Option<&str>) -> Result<Self, Failure> {
        let failed = |error: String| Failure::new(Kind::Failed, error);
        let tls = sendtrail_startup::tls().map_err(|error| failed(error.to_string()))?;
        let http = Client::builder()
            .tls_backend_preconfigured(tls)
            .timeout(TIME)
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let through = through.map(|url| url.trim_end_matches('/').to_owned());
        Ok(Self { http, through })
    }

    async fn call(
        &self,
        method: Method,
        url: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<Response, reqwest::Error> {
        let url = url.trim_end_matches('/');
        let mut request = match &self.through {
            None => self.http.request(method, format!("{url}{path}")),
            Some(through) => {
                let host = url.split_once("://").map_or(url, |(_, host)| host);
                let request = self.http.request(method, format!("{through}{path}"));
                request.header(header::HOST, host)
            }
        };
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await
    }

    /// That a request without a signature gets 401 from the function itself.
    pub(super) async fn unsigned(&self, door: Door, stack: &Stack) -> Check {
        let name = door.unsigned;
        let Some(url) = stack.output(door.output) else {
            return no_url(name, door);
        };
        let begun = Instant::now();
        let json = [("content-type", "application/json")];
        let answer = self.call(Method::POST, url, door.path, &json).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return unreachable(name, &error),
        };
        let status = answer.status().as_u16();
        let took = begun.elapsed().as_millis();
        let body = answer.text().await.unwrap_or_default();
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        let code = body["code"].as_str().unwrap_or("no code");
        let found = format!("{status} {code} in {took} ms");
        match (status, code) {
            (401, "unauthorized") => Check::ok(name, found),
            (503, "draining") if stack.parameter("Drain") == "on" => Check::skipped(
                name,
                found,
                "the stack is drained; set Drain=off to let requests in",
            ),
            (403, _) => Check::failed(
                name,
                found,
                "AWS itself refuses: both public permissions of the Function URL are needed; deploy again",
            ),
            (500..=599, _) => Check::failed(
                name,
                found,
                "the function does not start or fails: its log names the cause, Start.… for a bad \
                 configuration or a secret that cannot be read",
            ),
            (429, _) => Check::failed(
                name,
                found,
                "it is throttled: try again, or raise its concurrency",
            ),
            (_, _) => Check::failed(
                name,
                found,
                "an unsigned request must get 401 unauthorized: take the door out of use until it does",
            ),
        }
    }

    /// That a browser at the widget's origin may call it, and one elsewhere may not.
    pub(super) async fn preflight(&self, door: Door, stack: &Stack) -> Check {
        let name = door.preflight;
        let origin = stack.parameter("WidgetOrigin");
        let Some(url) = stack.output(door.output) else {
            return no_url(name, door);
        };
        let mut allowed = Vec::new();
        for asked in [origin, STRANGER] {
            let headers = [
                ("origin", asked),
                ("access-control-request-method", "POST"),
                ("access-control-request-headers", "content-type,webhook-id"),
            ];
            match self.call(Method::OPTIONS, url, door.path, &headers).await {
                Ok(answer) => {
                    let header = answer.headers().get("access-control-allow-origin");
                    let header = header.and_then(|value| value.to_str().ok());
                    allowed.push(header.unwrap_or("nobody").to_owned());
                }
                Err(error) => return unreachable(name, &error),
            }
        }
        match allowed.as_slice() {
            [own, other] if own == origin && other != STRANGER && other != "*" => {
                Check::ok(name, format!("{origin} is allowed, another is not"))
            }
            [own, other] => {
                let found = format!("{origin} gets {own}, another gets {other}");
                let advice = "set WidgetOrigin to the widget's origin, and deploy";
                Check::failed(name, found, advice)
            }
            _ => Check::failed(name, "no answer", "try again"),
        }
    }
}

fn no_url(name: &'static str, door: Door) -> Check {
    let found = format!("the stack has no output {}", door.output);
    Check::failed(name, found, "deploy the template again")
}

fn unreachable(name: &'static str, error: &reqwest::Error) -> Check {
    let found = if error.is_timeout() {
        "no answer in time"
    } else {
        "it cannot be reached"
    };
    Check::failed(
        name,
        found,
        "check the network, and that the stack is deployed",
    )
}
