//! What holds for every text that is read as a configuration. The fuzz target `config` checks the same function.

use paddock_config::{ConfigError, ConfigFile, get, set};
use serde_json::json;

/// Reads the text, and checks what came of it.
pub(crate) fn hold(text: &str) {
    match ConfigFile::parse("paddock.toml", text) {
        Ok(file) => {
            means_the_same_written_anew(&file);
            can_be_changed(text);
        }
        Err(error) => says_what_is_wrong(&error, text),
    }
}

fn says_what_is_wrong(error: &ConfigError, text: &str) {
    let told = error.to_string();
    assert!(told.starts_with("error: ") && told.contains("\nhint: "), "{told}");
    let steers = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c) || c == '\u{2066}';
    assert!(!told.contains(steers), "{told:?} cannot steer a terminal");
    assert!(!error.problems().is_empty());
    for problem in error.problems() {
        let place = error.position(problem);
        let line = place.map_or(1, |place| place.line as usize);
        // The end of the text is a place too, after its last line.
        assert!(line >= 1 && line <= text.matches('\n').count() + 1, "line {line} in {text:?}");
    }
}

fn means_the_same_written_anew(file: &ConfigFile) {
    let meaning = serde_json::to_value(file.config()).unwrap();
    let anew = toml::to_string(file.config()).unwrap();
    let again = ConfigFile::parse("paddock.toml", &anew).unwrap_or_else(|error| panic!("{anew}\n{error}"));
    assert_eq!(serde_json::to_value(again.config()).unwrap(), meaning, "{anew}");
    assert_eq!(again.agents(), file.agents());
}

/// Setting one key sets that key and nothing else, and leaves a text that can be read.
fn can_be_changed(text: &str) {
    let read = |text: &str| serde_json::to_value(ConfigFile::parse("paddock.toml", text).unwrap().config()).unwrap();
    let changed = set("paddock.toml", text, "name", "renamed").unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert_eq!(get("paddock.toml", &changed, "name").unwrap(), Some(json!("renamed")));
    let mut expected = read(text);
    expected["name"] = json!("renamed");
    assert_eq!(read(&changed), expected, "{changed}");
}
