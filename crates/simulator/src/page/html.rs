//! The first rendering of each page. Every text goes through [`escape`].

use std::fmt::Write as _;

use super::view::{Detail, List, Row};
use crate::crm::STATES;

/// Text inside an element or a quoted attribute.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// A file name that is safe inside a quoted header value.
pub(super) fn file_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') {
            c
        } else {
            '_'
        }
    };
    name.chars().map(plain).collect()
}

fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{}</title>\
         <link rel=\"stylesheet\" href=\"/page/page.css\">\
         <script src=\"/page/page.js\" defer></script></head><body>{body}</body></html>\n",
        escape(title)
    )
}

const HEAD: &str = "<header><a class=\"brand\" href=\"/\"><span class=\"mark\"></span>Send histories</a>\
     <span id=\"live\" class=\"live\" role=\"status\">live</span></header>";

fn badge(tone: &str, state: &str, key: &str) -> String {
    format!(
        "<span class=\"badge\" data-tone=\"{}\" data-k=\"{key}\">{}</span>",
        escape(tone),
        escape(state)
    )
}

pub(super) fn list_page(list: &List) -> String {
    let mut rows = String::new();
    for row in &list.rows {
        rows.push_str(&list_row(row));
    }
    let columns: String = [
        "Send",
        "State",
        "Source",
        "Attempts",
        "Next check",
        "Deadline",
        "Last error",
        "Age",
    ]
    .map(|name| format!("<th scope=\"col\">{name}</th>"))
    .concat();
    let empty = if list.rows.is_empty() { "" } else { " hidden" };
    let body = format!(
        "{HEAD}<main data-page=\"list\"><p class=\"summary\" id=\"summary\">{}</p>\
         <div class=\"card scroll\"><table><thead><tr>{columns}</tr></thead><tbody id=\"rows\">{rows}</tbody></table>\
         <p id=\"empty\" class=\"empty\"{empty}>Nothing has been saved yet. A record appears here with the first \
         request.</p></div></main>",
        escape(&list.summary)
    );
    page("Send histories", &body)
}

fn list_row(row: &Row) -> String {
    let id = escape(&row.id);
    let mut cells = format!(
        "<td><a data-k=\"name\" href=\"/history/{id}\">{}</a></td><td>{}</td>",
        escape(&row.name),
        badge(&row.tone, &row.state, "state")
    );
    let texts = [
        ("source", &row.source),
        ("attempts", &row.attempts),
        ("next_check", &row.next_check),
        ("deadline", &row.deadline),
        ("last_error", &row.last_error),
        ("age", &row.age),
    ];
    for (key, text) in texts {
        // Writing to a String cannot fail.
        let _ = write!(cells, "<td data-k=\"{key}\">{}</td>", escape(text));
    }
    format!("<tr data-id=\"{id}\">{cells}</tr>")
}

pub(super) fn detail_page(detail: &Detail) -> String {
    let row = &detail.row;
    let id = escape(&row.id);
    let hidden = if detail.document.is_empty() {
        " hidden"
    } else {
        ""
    };
    let body = format!(
        "{HEAD}<main data-page=\"detail\" data-id=\"{id}\">\
         <div class=\"title\"><h1 data-k=\"name\">{name}</h1>{badge}\
         <a id=\"document\" class=\"button\" href=\"/history/{id}/document\" target=\"_blank\" rel=\"noopener\"{hidden}>\
         Open document</a></div>\
         <p class=\"error\" data-k=\"last_error\">{error}</p>\
         <div class=\"columns\"><section class=\"card\"><h2>Record</h2><dl id=\"facts\">{facts}</dl></section>\
         <section class=\"card\"><h2>Trail</h2><ol id=\"trail\" class=\"trail\">{trail}</ol></section></div>\
         <div class=\"columns\"><section class=\"card\"><h2>Progress</h2>\
         <p class=\"error\" data-k=\"progress_note\">{note}</p><pre data-k=\"progress\">{progress}</pre></section>\
         <section class=\"card\"><h2>Input</h2><pre data-k=\"input\">{input}</pre></section></div>\
         {forms}</main>",
        name = escape(&row.name),
        badge = badge(&row.tone, &row.state, "state"),
        error = escape(&row.last_error),
        facts = facts(detail),
        trail = trail(detail),
        note = escape(&detail.progress_note),
        progress = escape(&detail.progress),
        input = escape(&detail.input),
        forms = forms(detail),
    );
    page(&format!("{} – send history", row.name), &body)
}

fn facts(detail: &Detail) -> String {
    let fact = |fact: &super::view::Fact| {
        format!(
            "<dt>{}</dt><dd>{}</dd>",
            escape(fact.label),
            escape(&fact.text)
        )
    };
    detail.facts.iter().map(fact).collect()
}

fn trail(detail: &Detail) -> String {
    let step = |step: &super::view::Step| {
        format!(
            "<li data-tone=\"{}\"><time>{}</time><strong>{}</strong><span>{}</span><small>{}</small></li>",
            escape(&step.tone),
            escape(&step.at),
            escape(&step.event),
            escape(&step.to),
            escape(&step.note)
        )
    };
    detail.trail.iter().map(step).collect()
}

/// Edits by hand, as in the CRM: no guard, any text.
fn forms(detail: &Detail) -> String {
    let id = escape(&detail.row.id);
    let option = |state: &str| {
        let chosen = if state == detail.row.state {
            " selected"
        } else {
            ""
        };
        format!("<option{chosen}>{state}</option>")
    };
    let options: String = STATES.iter().map(|state| option(state)).collect();
    format!(
        "<section class=\"card\"><h2>Edit by hand</h2>\
         <p class=\"hint\">Like an edit in the CRM: saved at once, whatever the functions are doing.</p>\
         <form method=\"post\" action=\"/history/{id}/state\" class=\"inline\"><label>State <select name=\"state\">\
         {options}</select></label><label>or any text <input name=\"other\" maxlength=\"120\" autocomplete=\"off\">\
         </label><button>Save state</button></form>\
         <form method=\"post\" action=\"/history/{id}/progress\"><label>Progress text\
         <textarea id=\"progress-text\" name=\"progress\" rows=\"8\" spellcheck=\"false\">\n{}</textarea></label>\
         <button>Save progress</button></form></section>",
        escape(&detail.progress_raw)
    )
}

pub(super) fn missing_page() -> String {
    page(
        "Not found",
        &format!(
            "{HEAD}<main><section class=\"card\"><p>There is no such history record.</p></section></main>"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_element_or_attribute() {
        assert_eq!(
            escape(r#"<a b='c' d="e">&"#),
            "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;"
        );
    }

    #[test]
    fn a_file_name_cannot_leave_its_header() {
        assert_eq!(file_name("a\"b\r\nc: d/é.pdf"), "a_b__c__d__.pdf");
    }
}
