//! What a person does by hand.

use std::sync::Arc;

use sendtrail_core::testing::Row;
use serde_json::{Map, Value};

use crate::action::Edit;
use crate::model::Model;
use crate::replay::whole_seconds;
use crate::rules::Mark;
use crate::seen::mark;
use crate::setup::Doc;
use crate::state::State;

impl Model {
    pub(crate) fn edit(&self, state: &mut State, record: usize, edit: Edit) {
        state.budget.edits -= 1;
        let name = mark(state.budget.edits);
        let id = &self.scene.ids[record];
        let row = state.crm.row(id);
        if row.is_some_and(|row| row.modified() == whole_seconds(state.now)) {
            self.reached(Mark::SameSecond);
        }
        if !state.actors.is_empty() {
            self.reached(Mark::EditBeside);
        }
        let crm = Arc::make_mut(&mut state.crm);
        crm.edit_by_hand(state.now, id, |row| self.change(row, record, edit, &name));
        self.changed(state, record, id);
        let left = &mut state.records[record];
        left.marks = left.seen.0.marks;
        left.touched = true;
    }

    fn change(&self, row: &mut Row, record: usize, edit: Edit, name: &str) {
        match edit {
            Edit::Touch => {}
            Edit::Type(word) => row.state = Some(word.to_owned()),
            Edit::Input => row.input = Some(Doc::Two.stored()),
            Edit::InputAndHash => {
                row.input = Some(Doc::Two.stored());
                change_progress(row, |progress| {
                    if let Some(document) = progress.get_mut("document") {
                        document["input_sha256"] = Value::from(Doc::Two.input_sha256().to_string());
                    }
                });
            }
            Edit::Document => row.document = self.file_of(&Doc::Two.bytes()).ok(),
            Edit::OldProgress | Edit::OldProgressConfirmed => {
                row.progress.clone_from(&self.old_progress[record]);
                if edit == Edit::OldProgressConfirmed {
                    row.state = Some("confirmed".to_owned());
                }
            }
            Edit::Clear => row.progress = None,
        }
        change_progress(row, |progress| {
            progress.insert(name.to_owned(), Value::from(true));
        });
    }
}

/// Changes the text if it is an object; a person who emptied it leaves no mark.
fn change_progress(row: &mut Row, change: impl FnOnce(&mut Map<String, Value>)) {
    let text = row.progress.as_deref().unwrap_or_default();
    if let Ok(Value::Object(mut progress)) = serde_json::from_str(text) {
        change(&mut progress);
        row.progress = Some(Value::Object(progress).to_string());
    }
}
