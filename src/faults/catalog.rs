//! What there is to name in a rule: providers and their operations.

use super::wildcard::Pattern;

/// Lists the providers that a rule may name. Handed in by whoever knows them.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    providers: Vec<Known>,
}

/// Describes one provider, or one relay.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its name in rules and counts.
    pub name: String,
    /// What its clients speak.
    pub protocol: Protocol,
    /// Its operations.
    pub operations: Vec<String>,
    /// Operations that it has of itself: no client asks for them, and no rule meets them.
    pub unasked: Vec<String>,
    /// The scope that a relay is bound to, known before a client says anything.
    pub fixed_scope: Option<String>,
}

/// Names what a provider's clients speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP or HTTPS.
    Http,
    /// SMTP or SMTPS.
    Smtp,
    /// HTTP or HTTPS, and it is the suite that sends.
    Sent,
    /// PostgreSQL.
    Postgres,
    /// Bytes over TCP.
    Tcp,
    /// The same, but only what somebody orders, who says himself how often and in which order.
    Ordered,
}

/// Says which protocols an attempt that a rule matches may come by, as far as its fields tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) http: bool,
    pub(super) smtp: bool,
    /// Whether the suite itself sends it.
    pub(super) sent: bool,
    pub(super) postgres: bool,
    pub(super) tcp: bool,
    /// Whether some of what it sends is not ordered.
    pub(super) unordered: bool,
    pub(super) fixed_scope: bool,
}

impl Reach {
    const NONE: Self = Self {
        http: false,
        smtp: false,
        sent: false,
        postgres: false,
        tcp: false,
        unordered: false,
        fixed_scope: false,
    };
    pub(super) const HTTP: Self = Self {
        http: true,
        ..Self::NONE
    };
    pub(super) const SMTP: Self = Self {
        smtp: true,
        ..Self::NONE
    };
    pub(super) const ANY: Self = Self {
        http: true,
        smtp: true,
        sent: true,
        postgres: true,
        tcp: true,
        unordered: true,
        fixed_scope: false,
    };

    pub(super) fn has(self, protocol: Protocol) -> bool {
        match protocol {
            Protocol::Http => self.http,
            Protocol::Smtp => self.smtp,
            Protocol::Sent => self.unordered,
            Protocol::Ordered => self.sent,
            Protocol::Postgres => self.postgres,
            Protocol::Tcp => self.tcp,
        }
    }

    pub(super) fn is_only(self, protocol: Protocol) -> bool {
        self.has(protocol) && Protocol::ALL.into_iter().filter(|other| self.has(*other)).count() == 1
    }

    /// Keeps of the protocols those that are among these.
    pub(super) fn among(self, protocols: &[Protocol]) -> Self {
        Self {
            http: self.http && protocols.contains(&Protocol::Http),
            smtp: self.smtp && protocols.contains(&Protocol::Smtp),
            postgres: self.postgres && protocols.contains(&Protocol::Postgres),
            tcp: self.tcp && protocols.contains(&Protocol::Tcp),
            // What is sent is HTTP.
            sent: self.sent && protocols.contains(&Protocol::Http),
            ..self
        }
    }

    /// Says whether nothing can come by them, and nothing is sent.
    pub(super) fn is_nothing(self) -> bool {
        !self.sent && self.words().is_empty()
    }

    /// Names the protocols that clients speak.
    pub(super) fn words(self) -> String {
        let spoken = Protocol::ALL.into_iter().filter(|protocol| self.has(*protocol));
        spoken.map(Protocol::word).collect::<Vec<_>>().join(" or ")
    }
}

impl Protocol {
    /// Lists those that a client can speak.
    pub(super) const ALL: [Self; 4] = [Self::Http, Self::Smtp, Self::Postgres, Self::Tcp];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Http | Self::Sent | Self::Ordered => "HTTP",
            Self::Smtp => "SMTP",
            Self::Postgres => "PostgreSQL",
            Self::Tcp => "TCP",
        }
    }
}

impl Catalog {
    /// Makes a catalog of these.
    #[must_use]
    pub fn new(providers: Vec<Known>) -> Self {
        Self { providers }
    }

    pub(super) fn provider_names(&self) -> Vec<&str> {
        self.providers.iter().map(|known| known.name.as_str()).collect()
    }

    /// Returns the providers that the pattern names; all of them without one.
    pub(super) fn named(&self, provider: Option<&Pattern>) -> Vec<&Known> {
        self.providers
            .iter()
            .filter(|known| provider.is_none_or(|pattern| pattern.matches(&known.name)))
            .collect()
    }
}

impl Known {
    pub(super) fn has_operation(&self, pattern: &Pattern) -> bool {
        self.operations.iter().any(|operation| pattern.matches(operation))
    }

    pub(super) fn has_unasked(&self, pattern: &Pattern) -> bool {
        self.unasked.iter().any(|operation| pattern.matches(operation))
    }
}

/// Says which protocols these providers speak.
pub(super) fn reach(providers: &[&Known]) -> Reach {
    let speaks = |protocol| providers.iter().any(|known| known.protocol == protocol);
    Reach {
        http: speaks(Protocol::Http),
        smtp: speaks(Protocol::Smtp),
        sent: speaks(Protocol::Sent) || speaks(Protocol::Ordered),
        unordered: speaks(Protocol::Sent),
        postgres: speaks(Protocol::Postgres),
        tcp: speaks(Protocol::Tcp),
        fixed_scope: !providers.is_empty() && providers.iter().all(|known| known.fixed_scope.is_some()),
    }
}

/// Finds the word nearest to a misspelt one, if any is near.
pub(super) fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64;
    if word.chars().count() > LONGEST {
        return None;
    }
    words
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count() / 3).max(2))
        .map(|(_, candidate)| candidate)
}

/// Counts the insertions, deletions and substitutions between two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_levenshtein() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("flaw", "lawn"), 2);
    }

    #[test]
    fn the_nearest_word_is_found_only_when_near() {
        let words = ["stripe", "orders", "smtp", "webhook"];
        assert_eq!(nearest("strype", words), Some("stripe"));
        assert_eq!(nearest("order", words), Some("orders"));
        assert_eq!(nearest("postgresql", words), None);
        assert_eq!(nearest(&"s".repeat(100_000), words), None);
    }
}
