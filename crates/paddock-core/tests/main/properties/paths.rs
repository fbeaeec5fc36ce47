//! What holds for every text that is read as a path. The fuzz target `path` checks the same function.

use paddock_core::{LogicalPath, MAX_NAME, MAX_PATH};

/// Reads both texts, the second against the first where that is a path, and checks what came of it.
pub(crate) fn hold(base: &str, text: &str) {
    let base = LogicalPath::parse(base, &LogicalPath::top()).unwrap_or_else(|_| LogicalPath::top());
    let expected = model(base.as_str(), text);
    match LogicalPath::parse(text, &base) {
        Ok(path) => {
            assert_eq!(Some(path.as_str()), expected.as_deref(), "{text:?} from {base}");
            is_normal(&path);
            agrees_with_its_names(&path, &base);
        }
        Err(error) => {
            assert_eq!(expected, None, "{text:?} from {base}: {error}");
            let told = format!("{error}; {}", error.hint());
            assert!(told.chars().all(|c| c == '\\' || is_plain(c)), "{told:?} shows what it is about");
        }
    }
}

/// The meaning of a path, as slowly and plainly as it can be said.
fn model(base: &str, text: &str) -> Option<String> {
    if text.len() > MAX_PATH {
        return None;
    }
    let whole = if text.starts_with('/') { text.to_owned() } else { format!("{base}/{text}") };
    let mut names: Vec<&str> = Vec::new();
    for name in whole.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name if name.len() > MAX_NAME || !name.chars().all(is_plain) => return None,
            name => names.push(name),
        }
    }
    let path = format!("/{}", names.join("/"));
    (path.len() <= MAX_PATH).then_some(path)
}

/// Neither a backslash, nor anything that a reader would not see as what it is.
fn is_plain(c: char) -> bool {
    let invisible = "\u{ad}\u{34f}\u{115f}\u{1160}\u{180e}\u{200b}\u{2028}\u{2029}\u{3164}\u{feff}\u{ffa0}";
    let turns_text = "\u{61c}\u{200e}\u{200f}";
    !(c == '\\'
        || c.is_control()
        || invisible.contains(c)
        || turns_text.contains(c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2060}'..='\u{206f}').contains(&c) && c != '\u{2065}'
        || ('\u{fff9}'..='\u{fffb}').contains(&c)
        || ('\u{e0000}'..='\u{e007f}').contains(&c))
}

fn is_normal(path: &LogicalPath) {
    let text = path.as_str();
    assert!(text.starts_with('/') && (path.is_top() || !text.ends_with('/')), "{text:?}");
    assert!(path.names().all(|name| !matches!(name, "" | "." | "..")), "{text:?}");
    let elsewhere = LogicalPath::parse("/some/where/else", &LogicalPath::top()).unwrap();
    assert_eq!(LogicalPath::parse(text, &elsewhere).as_ref(), Ok(path), "reading it again changes nothing");
}

fn agrees_with_its_names(path: &LogicalPath, base: &LogicalPath) {
    let (names, above): (Vec<&str>, Vec<&str>) = (path.names().collect(), base.names().collect());
    assert_eq!(path.as_str(), format!("/{}", names.join("/")));
    assert_eq!(path.below(base).is_some(), names.starts_with(&above), "{path} below {base}");
    if let Some(rest) = path.below(base) {
        assert_eq!(base.join(rest), *path);
        assert_eq!(rest.names().collect::<Vec<_>>(), names[above.len()..]);
    }
    if let Some(parent) = path.parent() {
        assert!(parent < *path && path.below(&parent).is_some());
        assert_eq!(Some(parent.names().count() + 1), Some(names.len()));
    }
    assert_eq!(path.cmp(base), names.cmp(&above), "the order is that of the names");
}
