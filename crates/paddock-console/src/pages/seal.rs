//! What a page tells of what was just done comes through its address, and anybody can write an address. So the console seals its own words with
//! a key that no other process knows, and shows no others: a link cannot make it say something.

use std::sync::OnceLock;

use super::parts::in_url;

/// New with every process; nothing where the host gives no randomness, and then nothing is told.
static KEY: OnceLock<Option<[u8; 32]>> = OnceLock::new();

fn seal(text: &str) -> Option<blake3::Hash> {
    let made = || paddock_desk::access::secret().ok().map(|secret| *blake3::hash(secret.as_bytes()).as_bytes());
    Some(blake3::keyed_hash(KEY.get_or_init(made).as_ref()?, text.as_bytes()))
}

/// The parameters of an address whose page tells this.
pub(super) fn parameters(text: &str) -> String {
    let seal = seal(text).map(|seal| seal.to_hex().to_string()).unwrap_or_default();
    format!("told={}&seal={seal}", in_url(text))
}

/// Did the console say this?
pub(super) fn is_ours(text: &str, given: &str) -> bool {
    let given = blake3::Hash::from_hex(given).ok();
    given.is_some() && given == seal(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_sealed_is_ours() {
        let parameters = parameters("it is done");
        let given = parameters.split("seal=").nth(1).unwrap();
        assert!(is_ours("it is done", given));
        assert!(!is_ours("it is undone", given));
        assert!(!is_ours("it is done", ""));
        assert!(!is_ours("it is done", &"0".repeat(64)));
    }
}
