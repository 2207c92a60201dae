//! Which usual changes explain a signature.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::body;
use super::change::{Change, Form};
use super::keys::NamedKey;
use super::mac::{Mode, modes, sha256};
use super::message::{self, Parts, Shape};
use super::tag::{self, Tag};

/// How much is tried before the search gives up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Most MACs that are made.
    pub(super) tries: u64,
    /// Most bytes that are hashed.
    pub(super) hashed: u64,
}

/// A few seconds of work.
pub(super) const LIMITS: Limits = Limits {
    tries: 400_000,
    hashed: 1024 * 1024 * 1024,
};
/// Most explanations that are kept.
const MAX_FOUND: usize = 8;

/// What was received.
#[derive(Debug, Clone, Copy)]
pub(super) struct Received<'a> {
    /// `webhook-id`; empty where it was missing.
    pub(super) id: &'a [u8],
    /// `webhook-timestamp`; empty where it was missing.
    pub(super) time: &'a [u8],
    pub(super) signature: &'a [u8],
    pub(super) body: &'a [u8],
}

/// Changes that together give the signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Explanation {
    pub(super) changes: Vec<Change>,
    /// Which of the keys signed; `None` where none was used.
    pub(super) key: Option<usize>,
    /// The body as it was signed: bytes and SHA-256.
    pub(super) body_bytes: usize,
    pub(super) body_sha256: String,
}

/// What the search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// All of one signed text: they cannot be told apart.
    pub(super) explanations: Vec<Explanation>,
    /// How many MACs were made.
    pub(super) tried: u64,
    /// Whether everything was tried that this command knows.
    pub(super) is_complete: bool,
}

/// Tries no change, then single ones, then libraries, then pairs, then guesses; ends at the first kind that fits.
pub(super) fn search(received: Received<'_>, keys: &[NamedKey], limits: Limits) -> Found {
    let mut tally = Tally {
        tags: tag::tags(received.signature),
        left: limits,
        found: Vec::new(),
        tried: 0,
        is_over: false,
    };
    if !tally.tags.is_empty() {
        let forms = Forms::new(received, keys);
        let steps: [fn(&Forms, &mut Tally); 5] = [as_it_is, singles, libraries, pairs, guesses];
        for step in steps {
            step(&forms, &mut tally);
            if !tally.found.is_empty() {
                break;
            }
        }
    }
    Found {
        explanations: tally.found,
        tried: tally.tried,
        is_complete: !tally.is_over && received.body.len() <= body::MAX_BODY,
    }
}

/// One form of each dimension.
#[derive(Clone, Copy)]
struct Pick<'s> {
    key: &'s Form<Vec<u8>>,
    mode: &'s Form<Mode>,
    shape: &'s Form<Shape>,
    id: &'s Form<Vec<u8>>,
    time: &'s Form<Vec<u8>>,
    body: &'s Form<Vec<u8>>,
}

impl<'s> Pick<'s> {
    fn changes(&self) -> impl Iterator<Item = &'s Change> {
        let all = [
            &self.key.change,
            &self.mode.change,
            &self.shape.change,
            &self.id.change,
            &self.time.change,
            &self.body.change,
        ];
        all.into_iter().flatten()
    }
}

/// No change but of the signature's own spelling, and the keys of other functions.
fn as_it_is(forms: &Forms, tally: &mut Tally) {
    for (key, start) in forms.starts() {
        tally.attempt(key, &start, None);
    }
}

fn singles(forms: &Forms, tally: &mut Tally) {
    for (key, start) in forms.starts() {
        for dimension in 0..DIMENSIONS {
            for pick in forms.others(key, start, dimension) {
                tally.attempt(key, &pick, None);
            }
        }
    }
}

/// The body as a library writes it, alone and with a change of anything else.
fn libraries(forms: &Forms, tally: &mut Tally) {
    let written = forms.written_by_libraries();
    for (key, start) in forms.starts() {
        for body in &written {
            tally.attempt(key, &Pick { body, ..start }, None);
        }
    }
    if !tally.found.is_empty() {
        return;
    }
    for (key, start) in forms.starts() {
        for body in &written {
            for dimension in 0..BODY {
                for pick in forms.others(key, Pick { body, ..start }, dimension) {
                    tally.attempt(key, &pick, None);
                }
            }
        }
    }
}

fn pairs(forms: &Forms, tally: &mut Tally) {
    for (key, start) in forms.starts() {
        for first in 0..DIMENSIONS {
            for one in forms.others(key, start, first) {
                for second in first + 1..DIMENSIONS {
                    for two in forms.others(key, one, second) {
                        tally.attempt(key, &two, None);
                    }
                }
            }
        }
    }
    if tally.found.is_empty() {
        two_changes_of_the_body(forms, tally);
    }
}

/// A change of the body on top of another one; each result once, by the first way that leads to it.
fn two_changes_of_the_body(forms: &Forms, tally: &mut Tally) {
    let mut seen: HashSet<u64> = forms.bodies.iter().map(|form| short(&form.value)).collect();
    for first in forms.bodies.iter().skip(1) {
        let written = body::written_by_libraries(&first.value);
        for body in body::single(&first.value).iter().chain(&written) {
            if tally.is_over {
                return;
            }
            if seen.insert(short(&body.value)) {
                for (key, start) in forms.starts() {
                    tally.attempt(key, &Pick { body, ..start }, first.change.as_ref());
                }
            }
        }
    }
}

/// What can only be found by counting through: milliseconds that were not sent, and orders of keys.
fn guesses(forms: &Forms, tally: &mut Tally) {
    let shapes = forms.shapes.iter().filter(|shape| {
        let change = shape.change.as_ref();
        change.is_none_or(|change| change.name == "without_id")
    });
    let shapes: Vec<_> = shapes.collect();
    for time in &forms.milliseconds() {
        for (key, start) in forms.starts() {
            for &shape in &shapes {
                tally.attempt(
                    key,
                    &Pick {
                        shape,
                        time,
                        ..start
                    },
                    None,
                );
            }
        }
    }
    if !tally.found.is_empty() {
        return;
    }
    for body in &forms.in_other_orders() {
        for (key, start) in forms.starts() {
            tally.attempt(key, &Pick { body, ..start }, None);
        }
    }
}

fn short(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Key, mode, shape, id, timestamp, body.
const DIMENSIONS: usize = 6;
/// The last of them.
const BODY: usize = 5;

/// Every form of each dimension, the due one first.
struct Forms {
    /// The forms of each key.
    keys: Vec<Vec<Form<Vec<u8>>>>,
    modes: Vec<Form<Mode>>,
    shapes: Vec<Form<Shape>>,
    ids: Vec<Form<Vec<u8>>>,
    times: Vec<Form<Vec<u8>>>,
    bodies: Vec<Form<Vec<u8>>>,
}

impl Forms {
    fn new(received: Received<'_>, keys: &[NamedKey]) -> Self {
        let mut bodies = vec![Form::plain(received.body.to_vec())];
        if received.body.len() <= body::MAX_BODY {
            bodies.extend(body::single(received.body));
        }
        Self {
            keys: keys.iter().map(NamedKey::forms).collect(),
            modes: modes(),
            shapes: message::shapes(),
            ids: message::ids(received.id),
            times: message::times(received.time),
            bodies,
        }
    }

    /// The body that was received, where it is not too long to be changed.
    fn received_body(&self) -> Option<&[u8]> {
        let body = self.bodies.first().map(|form| form.value.as_slice());
        body.filter(|body| body.len() <= body::MAX_BODY)
    }

    fn written_by_libraries(&self) -> Vec<Form<Vec<u8>>> {
        let written = self.received_body().map(body::written_by_libraries);
        written.unwrap_or_default()
    }

    fn in_other_orders(&self) -> Vec<Form<Vec<u8>>> {
        let others = self.received_body().map(body::in_other_orders);
        others.into_iter().flatten().collect()
    }

    fn milliseconds(&self) -> Vec<Form<Vec<u8>>> {
        let received = self.times.first().map(|form| form.value.as_slice());
        message::milliseconds_within(received.unwrap_or_default())
    }

    /// Nothing changed, once for each key.
    fn starts(&self) -> impl Iterator<Item = (usize, Pick<'_>)> {
        let keys = 0..self.keys.len();
        keys.filter_map(|key| Some((key, self.start(key)?)))
    }

    fn start(&self, key: usize) -> Option<Pick<'_>> {
        Some(Pick {
            key: self.keys.get(key)?.first()?,
            mode: self.modes.first()?,
            shape: self.shapes.first()?,
            id: self.ids.first()?,
            time: self.times.first()?,
            body: self.bodies.first()?,
        })
    }

    /// The pick with each other form of one dimension.
    fn others<'s>(
        &'s self,
        key: usize,
        from: Pick<'s>,
        dimension: usize,
    ) -> Box<dyn Iterator<Item = Pick<'s>> + 's> {
        fn rest<T>(forms: &[T]) -> impl Iterator<Item = &T> {
            forms.iter().skip(1)
        }
        match dimension {
            0 => {
                let keys = self.keys.get(key).map(Vec::as_slice).unwrap_or_default();
                Box::new(rest(keys).map(move |key| Pick { key, ..from }))
            }
            1 => Box::new(rest(&self.modes).map(move |mode| Pick { mode, ..from })),
            2 => Box::new(rest(&self.shapes).map(move |shape| Pick { shape, ..from })),
            3 => Box::new(rest(&self.ids).map(move |id| Pick { id, ..from })),
            4 => Box::new(rest(&self.times).map(move |time| Pick { time, ..from })),
            _ => Box::new(rest(&self.bodies).map(move |body| Pick { body, ..from })),
        }
    }
}

/// The signatures that are looked for, and what came of it so far.
struct Tally {
    tags: Vec<Tag>,
    found: Vec<Explanation>,
    tried: u64,
    left: Limits,
    /// Something was not tried any more.
    is_over: bool,
}

impl Tally {
    /// Makes one MAC; `before` is a change of the body that came before the pick's own.
    fn attempt(&mut self, key: usize, pick: &Pick<'_>, before: Option<&Change>) {
        self.is_over = self.is_over || self.left.tries == 0 || self.left.hashed == 0;
        if self.is_over || self.found.len() >= MAX_FOUND {
            return;
        }
        let text = pick.shape.value.join(Parts {
            id: &pick.id.value,
            time: &pick.time.value,
            body: &pick.body.value,
        });
        self.tried += 1;
        self.left.tries -= 1;
        self.left.hashed = self.left.hashed.saturating_sub(text.len() as u64);
        let mac = pick.mode.value.tag(&pick.key.value, &text);
        let Some(tag) = self.tags.iter().find(|tag| tag.fits(&mac)) else {
            return;
        };
        let own = before.into_iter().chain(pick.changes());
        let explanation = Explanation {
            changes: own.chain(&tag.changes).cloned().collect(),
            key: (pick.mode.value != Mode::HashText).then_some(key),
            body_bytes: pick.body.value.len(),
            body_sha256: sha256(&pick.body.value),
        };
        if !self.found.contains(&explanation) {
            self.found.push(explanation);
        }
    }
}
