//! Who runs: a function, or the command.

use std::fmt;

/// Who asks for secrets. Its word stands for `{function}` in the name of a parameter or secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// The intake function.
    Intake,
    /// The side-effect function.
    SideEffect,
    /// The poller.
    Poller,
    /// The command, run by an operator.
    Operator,
}

impl Function {
    /// The longest of all words.
    pub(crate) const LONGEST: Self = Self::SideEffect;

    /// The word, as logs and names have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intake => "intake",
            Self::SideEffect => "side-effect",
            Self::Poller => "poller",
            Self::Operator => "operator",
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
