//! Where in an answer a text is: at a JSON Pointer in its body, or in one of its headers.

use reqwest::header::HeaderName;
use sendtrail_core::settings::Section;

use crate::auth::header_name;
use crate::pointer::Pointer;

/// A place in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pick {
    Pointer(Pointer),
    Header(HeaderName),
}

impl Pick {
    /// Parses `/json/pointer` or `header:NAME`; leaves a mistake at `key` where it is neither.
    pub(crate) fn parse(section: &Section<'_, '_>, key: &str, text: &str) -> Option<Self> {
        match text.strip_prefix("header:") {
            Some(name) => header_name(section, key, name).map(Self::Header),
            None => Pointer::parse(text)
                .map_err(|what| section.wrong(key, what))
                .ok()
                .map(Self::Pointer),
        }
    }

    /// The text there; whole numbers count as text.
    #[cfg(feature = "submit")]
    pub(crate) fn read(&self, answer: &crate::answer::Answer) -> Option<String> {
        match self {
            Self::Pointer(pointer) => pointer.id(answer.json()?),
            Self::Header(name) => answer.headers.get(name)?.to_str().ok().map(str::to_owned),
        }
    }
}
