//! Fixed vocabularies: enums whose variants are words that users write.

use crate::ledger::Outcome;

/// Gives an enum the list of its words.
pub(super) trait Word: Copy + 'static {
    /// All of them, in the order in which users see them listed.
    const ALL: &'static [Self];

    /// Returns the word users see.
    fn text(self) -> &'static str;

    /// Finds the value that a word names.
    fn find(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.text() == word)
    }

    /// Lists the words, for an error text.
    fn words() -> Vec<String> {
        Self::ALL.iter().map(|value| value.text().to_owned()).collect()
    }
}

impl Word for Outcome {
    const ALL: &'static [Self] = &Outcome::ALL;

    fn text(self) -> &'static str {
        self.as_str()
    }
}

/// Defines an enum together with its words, so that parsing, serde and error texts cannot disagree.
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        $vis enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)*
        }

        impl $crate::faults::word::Word for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),*];

            fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl $name {
            /// Returns the word users see.
            #[must_use]
            $vis fn as_str(self) -> &'static str {
                $crate::faults::word::Word::text(self)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(super) use words;
