//! The history page: the history records as an operator of the CRM would see and edit them.

mod html;
mod view;

use std::sync::Arc;

use axum::extract::{Form, Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router, extract::Request};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::crm::{App, local_only};
use view::{Detail, List};

const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

/// Scripts, styles and data from here only; nothing inline, nothing framed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(list))
        .route("/history/{id}", get(detail))
        .route("/history/{id}/state", post(set_state))
        .route("/history/{id}/progress", post(set_progress))
        .route("/history/{id}/document", get(document))
        .route("/page/histories.json", get(list_data))
        .route("/page/history/{id}", get(detail_data))
        .route("/page/page.css", get(style))
        .route("/page/page.js", get(script))
        .layer(axum::middleware::from_fn(headers))
        .layer(axum::middleware::from_fn(local_only))
}

async fn headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        response
            .headers_mut()
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

async fn list(State(app): State<Arc<App>>) -> Html<String> {
    Html(html::list_page(&List::of(&app)))
}

async fn list_data(State(app): State<Arc<App>>) -> Json<List> {
    Json(List::of(&app))
}

async fn detail(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Html<String>, Response> {
    Detail::of(&app, &id)
        .map(|detail| Html(html::detail_page(&detail)))
        .ok_or_else(gone)
}

async fn detail_data(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<Detail>, Response> {
    Detail::of(&app, &id).map(Json).ok_or_else(gone)
}

fn gone() -> Response {
    (StatusCode::NOT_FOUND, Html(html::missing_page())).into_response()
}

async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE)
}

async fn script() -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "text/javascript; charset=utf-8")],
        SCRIPT,
    )
}

#[derive(Deserialize)]
struct StateForm {
    state: String,
    #[serde(default)]
    other: String,
}

async fn set_state(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Form(form): Form<StateForm>,
) -> Response {
    let state = if form.other.trim().is_empty() {
        form.state
    } else {
        form.other
    };
    edit(&app, &id, &app.config.history.state, state)
}

#[derive(Deserialize)]
struct ProgressForm {
    progress: String,
}

async fn set_progress(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Form(form): Form<ProgressForm>,
) -> Response {
    edit(&app, &id, &app.config.history.progress, form.progress)
}

/// A person's edit, as in the CRM's own pages: without a guard.
fn edit(app: &App, id: &str, field: &str, value: String) -> Response {
    let fields = Map::from_iter([(field.to_owned(), Value::from(value))]);
    match app.edit(&app.config.history.module, id, &fields) {
        Ok(()) => Redirect::to(&format!("/history/{id}")).into_response(),
        Err(_) => gone(),
    }
}

async fn document(State(app): State<Arc<App>>, Path(id): Path<String>) -> Response {
    let Some((name, bytes)) = view::document(&app, &id) else {
        return gone();
    };
    let mut headers = HeaderMap::new();
    let pdf = bytes.starts_with(b"%PDF");
    let kind = if pdf {
        "application/pdf"
    } else {
        "application/octet-stream"
    };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let place = format!(
        "{}; filename=\"{}\"",
        if pdf { "inline" } else { "attachment" },
        html::file_name(&name)
    );
    if let Ok(value) = HeaderValue::from_str(&place) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    (headers, bytes).into_response()
}
