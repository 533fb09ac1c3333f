//! Names that match exactly, but for `*`.

/// Matches a text exactly, but that `*` stands for any run of characters, also none. There is no other metacharacter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Box<str>);

impl Pattern {
    pub(super) fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the one text that it matches, unless it is a wildcard.
    pub(super) fn literal(&self) -> Option<&str> {
        (!self.0.contains('*')).then_some(&*self.0)
    }

    /// Tells whether the whole text matches.
    ///
    /// Bytes are enough: `*` is ASCII, and UTF-8 never has an ASCII byte inside a character. On a mismatch only the
    /// last `*` has to take one byte more, so the work is bounded by the product of the lengths.
    pub(super) fn matches(&self, text: &str) -> bool {
        let (pattern, text) = (self.0.as_bytes(), text.as_bytes());
        let (mut p, mut t) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while t < text.len() {
            if pattern.get(p) == Some(&b'*') {
                star = Some((p, t));
                p += 1;
            } else if pattern.get(p) == Some(&text[t]) {
                p += 1;
                t += 1;
            } else if let Some((at, taken)) = star {
                star = Some((at, taken + 1));
                p = at + 1;
                t = taken + 1;
            } else {
                return false;
            }
        }
        pattern[p..].iter().all(|&byte| byte == b'*')
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Pattern;

    fn naive(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|skip| naive(rest, &text[skip..])),
            Some((first, rest)) => text
                .split_first()
                .is_some_and(|(head, tail)| head == first && naive(rest, tail)),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn equals_the_naive_reference(pattern in "[ab*é]{0,8}", text in "[abé*]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(Pattern::new(pattern.as_str()).matches(&text), naive(&chars(&pattern), &chars(&text)));
        }
    }

    #[test]
    fn only_the_star_is_a_metacharacter() {
        for text in ["a.c", "a?c", "[a]", "a\\c", "^a$", "{a,b}"] {
            assert!(Pattern::new(text).matches(text));
        }
        assert!(!Pattern::new("a?c").matches("abc"));
        assert!(!Pattern::new("a.c").matches("abc"));
        assert!(!Pattern::new("A").matches("a"));
        assert!(!Pattern::new("a").matches("ab"));
    }

    #[test]
    fn a_star_takes_any_run_also_an_empty_one() {
        assert!(Pattern::new("order-*").matches("order-"));
        assert!(Pattern::new("order-*").matches("order-17/x y"));
        assert!(Pattern::new("*@example.com").matches("@example.com"));
        assert!(Pattern::new("*").matches(""));
        assert!(!Pattern::new("order-*").matches("order"));
    }

    #[test]
    fn many_stars_do_not_explode() {
        let pattern = Pattern::new("*a".repeat(500) + "b");
        assert!(!pattern.matches(&"a".repeat(4000)));
    }
}
