//! The known word that somebody most likely meant.

/// The known word nearest to `written`, if one is near enough to be meant.
pub(crate) fn nearest<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    if written.len() > 64 {
        return None; // nobody meant a key of ours, and comparing costs the product of the lengths
    }
    let folded = written.to_lowercase().replace('-', "_");
    let distance = |word: &str| strsim::damerau_levenshtein(&folded, &word.to_lowercase().replace('-', "_"));
    known
        .iter()
        .map(|word| (distance(word), *word))
        .filter(|(distance, word)| *distance <= allowance(word))
        .min()
        .map(|(_, word)| word)
}

/// A third of the letters may be wrong, and in a very short word none but one.
fn allowance(word: &str) -> usize {
    (word.chars().count() / 3).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["prefix", "scope", "mount", "hide", "hard_links"];
        for (written, meant) in [
            ("scpoe", Some("scope")),
            ("Prefix", Some("prefix")),
            ("hard-links", Some("hard_links")),
            ("hardlinks", Some("hard_links")),
            ("mounts", Some("mount")),
            ("x", None),
            ("permissions", None),
        ] {
            assert_eq!(nearest(written, &known), meant, "{written}");
        }
    }
}
