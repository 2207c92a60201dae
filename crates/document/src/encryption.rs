//! Whether a PDF is encrypted: `/Encrypt` in a trailer or in the dictionary of a cross-reference stream.
//!
//! Both are never encrypted or compressed themselves, so no object has to be decoded.

use std::collections::BTreeSet;

use crate::lexer::{Lexer, Token, is_space};

/// How many sections of one file are followed: one for each time it was saved.
const MAX_SECTIONS: usize = 64;

/// How many times the length of the file is read on the way along the sections.
const MAX_PASSES: usize = 4;

/// How far from the end `startxref` may be.
const TAIL: usize = 2048;

/// Words that stand in no dictionary: where one comes before its end, the end was lost.
const OUTSIDE: [&[u8]; 7] = [
    b"obj",
    b"endobj",
    b"stream",
    b"endstream",
    b"xref",
    b"trailer",
    b"startxref",
];

/// What can be said of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protection {
    /// No trailer says that it is encrypted.
    None,
    /// A trailer says so.
    Encrypted,
    /// A trailer is damaged, or the file ends inside something that could hide one.
    Unreadable,
}

/// What a trailer says, as far as it matters here.
#[derive(Debug, Default, PartialEq, Eq)]
struct Trailer {
    /// It has an end, and so has everything in it.
    is_whole: bool,
    encrypt: bool,
    previous: Option<usize>,
    hybrid: Option<usize>,
    is_cross_reference: bool,
    length: Option<usize>,
}

pub(crate) fn protection(bytes: &[u8]) -> Protection {
    by_offsets(bytes).unwrap_or_else(|| by_reading_all(bytes))
}

/// Follows `startxref` and `/Prev`; `None` where the newest of them does not lead to a whole trailer, or where
/// they lead over the same bytes again and again.
fn by_offsets(bytes: &[u8]) -> Option<Protection> {
    let mut left = bytes.len().saturating_mul(MAX_PASSES);
    let mut waiting = vec![start(bytes)?];
    let mut seen = BTreeSet::new();
    while let Some(offset) = waiting.pop() {
        if offset >= bytes.len() || seen.len() >= MAX_SECTIONS || !seen.insert(offset) {
            continue;
        }
        let mut lexer = Lexer::new(bytes, offset);
        let trailer = section(&mut lexer);
        left = left.checked_sub(lexer.at() - offset)?;
        let Some(trailer) = trailer else {
            // The newest section is what counts; an older one that is lost changes nothing.
            if seen.len() == 1 {
                return None;
            }
            continue;
        };
        if trailer.encrypt {
            return Some(Protection::Encrypted);
        }
        if !trailer.is_whole && seen.len() == 1 {
            return None;
        }
        waiting.extend(trailer.previous);
        waiting.extend(trailer.hybrid);
    }
    // Nothing was seen where the newest offset is past the end.
    (!seen.is_empty()).then_some(Protection::None)
}

/// The number after the last `startxref`.
fn start(bytes: &[u8]) -> Option<usize> {
    let tail = &bytes[bytes.len().saturating_sub(TAIL)..];
    let at = tail.windows(9).rposition(|window| window == b"startxref")?;
    match Lexer::new(tail, at + 9).next()? {
        Token::Number(offset) => usize::try_from(offset).ok(),
        Token::Name(_)
        | Token::OpenDict
        | Token::CloseDict
        | Token::OpenArray
        | Token::CloseArray
        | Token::Text
        | Token::Word(_) => None,
    }
}

/// The trailer of the section that starts here: a table, or a stream.
fn section(lexer: &mut Lexer<'_>) -> Option<Trailer> {
    match lexer.next()? {
        Token::Word(b"xref") => table_trailer(lexer),
        Token::Number(_) => {
            let is_object = matches!(lexer.next()?, Token::Number(_))
                && lexer.next()? == Token::Word(b"obj")
                && lexer.next()? == Token::OpenDict;
            let trailer = is_object.then(|| dictionary(lexer))?;
            trailer.is_cross_reference.then_some(trailer)
        }
        Token::Name(_)
        | Token::OpenDict
        | Token::CloseDict
        | Token::OpenArray
        | Token::CloseArray
        | Token::Text
        | Token::Word(_) => None,
    }
}

/// Passes over the lines of a table to its trailer.
fn table_trailer(lexer: &mut Lexer<'_>) -> Option<Trailer> {
    loop {
        match lexer.next()? {
            Token::Number(_) | Token::Word(b"n" | b"f") => {}
            Token::Word(b"trailer") => break,
            Token::Name(_)
            | Token::OpenDict
            | Token::CloseDict
            | Token::OpenArray
            | Token::CloseArray
            | Token::Text
            | Token::Word(_) => return None,
        }
    }
    (lexer.next()? == Token::OpenDict).then(|| dictionary(lexer))
}

/// Reads a dictionary past its `<<`, up to and with its `>>`, however deep it nests. Only its own keys count, not
/// those of dictionaries in it, and only in the place of a key. One without an end is read as far as it goes.
fn dictionary(lexer: &mut Lexer<'_>) -> Trailer {
    let mut found = Trailer::default();
    let mut key: Option<Vec<u8>> = None;
    // What is open inside: true for a dictionary.
    let mut open: Vec<bool> = Vec::new();
    let mut is_sound = true;
    loop {
        let before = lexer.clone();
        let Some(token) = lexer.next() else {
            return found;
        };
        let is_own = open.is_empty();
        match &token {
            Token::OpenDict | Token::OpenArray => {
                note(&mut found, key.as_deref().filter(|_| is_own), &token);
                open.push(token == Token::OpenDict);
            }
            Token::CloseDict => {
                // An array without an end must not hide what follows it.
                while open.pop_if(|is_dictionary| !*is_dictionary).is_some() {
                    is_sound = false;
                }
                if open.pop().is_none() {
                    found.is_whole = is_sound;
                    return found;
                }
            }
            Token::CloseArray => {
                is_sound &= open.pop_if(|is_dictionary| !*is_dictionary).is_some();
            }
            Token::Word(word) if OUTSIDE.contains(word) => {
                *lexer = before;
                return found;
            }
            Token::Name(name) if is_own && key.is_none() => {
                key = Some(name.to_vec());
                continue;
            }
            Token::Name(_) | Token::Text | Token::Number(_) | Token::Word(_) if is_own => {
                note(&mut found, key.as_deref(), &token);
                // More may follow: a reference is three tokens.
                if reference_follows(lexer, &token) {
                    lexer.next();
                    lexer.next();
                }
            }
            Token::Name(_) | Token::Text | Token::Number(_) | Token::Word(_) => {}
        }
        if open.is_empty() {
            key = None;
        }
    }
}

/// Whether a number is the first part of `5 0 R`.
fn reference_follows(lexer: &Lexer<'_>, token: &Token<'_>) -> bool {
    let mut ahead = lexer.clone();
    matches!(token, Token::Number(_))
        && matches!(ahead.next(), Some(Token::Number(_)))
        && ahead.next() == Some(Token::Word(b"R"))
}

/// Notes the value `token` of a key.
fn note(found: &mut Trailer, key: Option<&[u8]>, token: &Token<'_>) {
    let number = match token {
        Token::Number(number) => usize::try_from(*number).ok(),
        Token::Name(_)
        | Token::OpenDict
        | Token::CloseDict
        | Token::OpenArray
        | Token::CloseArray
        | Token::Text
        | Token::Word(_) => None,
    };
    match key {
        // Of two values, who knows which one a reader takes.
        Some(b"Encrypt") => found.encrypt |= *token != Token::Word(b"null"),
        Some(b"Prev") => found.previous = number,
        Some(b"XRefStm") => found.hybrid = number,
        Some(b"Length") => found.length = number,
        Some(b"Type") => {
            found.is_cross_reference = matches!(token, Token::Name(name) if **name == *b"XRef");
        }
        Some(_) | None => {}
    }
}

/// Reads the whole file, object by object, and looks at every trailer in it.
fn by_reading_all(bytes: &[u8]) -> Protection {
    let mut lexer = Lexer::new(bytes, 0);
    let mut length = None;
    let mut after_trailer = false;
    let mut is_hidden = false;
    while let Some(token) = lexer.next() {
        match token {
            Token::OpenDict => {
                let found = dictionary(&mut lexer);
                let is_trailer = after_trailer || found.is_cross_reference;
                if found.encrypt && is_trailer {
                    return Protection::Encrypted;
                }
                // It may have been meant as a trailer, where what would tell is lost.
                is_hidden |= !found.is_whole && (is_trailer || found.encrypt);
                length = found.length;
                after_trailer = false;
            }
            Token::Word(b"stream") => {
                if !skip_stream(&mut lexer, length.take()) {
                    return Protection::Unreadable;
                }
            }
            Token::Word(word) => after_trailer = word == b"trailer",
            Token::Name(_)
            | Token::Number(_)
            | Token::CloseDict
            | Token::OpenArray
            | Token::CloseArray
            | Token::Text => after_trailer = false,
        }
    }
    if is_hidden || lexer.is_cut() {
        Protection::Unreadable
    } else {
        Protection::None
    }
}

/// Passes over the content of a stream, by its length where that leads to its end, else to the next
/// `endstream`. False where there is none: the rest of the file is the stream.
fn skip_stream(lexer: &mut Lexer<'_>, length: Option<usize>) -> bool {
    const END: &[u8] = b"endstream";
    let rest = lexer.rest();
    // One line end follows the keyword.
    let line_end = if rest.starts_with(b"\r\n") {
        2
    } else {
        usize::from(rest.first().copied().is_some_and(is_space))
    };
    let by_length = length.and_then(|length| {
        let end = length.checked_add(line_end)?;
        let after = rest.get(end..)?;
        let blanks = after.iter().take(2).take_while(|b| is_space(**b)).count();
        after[blanks..].starts_with(END).then_some(end + blanks)
    });
    let end = by_length.or_else(|| rest.windows(END.len()).position(|window| window == END));
    let Some(end) = end else {
        return false;
    };
    lexer.skip(end + END.len());
    true
}

#[cfg(test)]
pub(crate) mod tests;
