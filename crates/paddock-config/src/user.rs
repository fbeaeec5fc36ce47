//! A person's own settings of the command line: `config.json` in the System Root.
//!
//! They say how this person likes the program to speak, in every project. What an agent may do is said in `paddock.toml`
//! alone: no key here may ever widen, narrow or name what an agent gets, so that a project means the same to everybody who
//! works on it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use paddock_state::{HomeError, SystemRoot, private};
use serde_json::{Map, Value};

use crate::nearest::nearest;

/// Why a person's settings cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// No such key.
    #[error("there is no setting \"{}\"", paddock_core::visible(.0))]
    UnknownKey(String),
    /// A value that the key cannot have.
    #[error("\"{}\" cannot be {}", paddock_core::visible(value), key.name)]
    BadValue {
        /// The key.
        key: &'static UserKey,
        /// The value.
        value: String,
    },
    /// The file holds something else.
    #[error("{} is not what it should be: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The host refuses.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The System Root cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
}

impl UserError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownKey(written) => match nearest(written, &USER_KEYS.each_ref().map(|key| key.name)) {
                Some(meant) => format!("did you mean \"{meant}\"? Settings of a project are changed without --user"),
                None => format!(
                    "settings are {}; those of a project are changed without --user",
                    USER_KEYS.each_ref().map(|key| key.name).join(", ")
                ),
            },
            Self::BadValue { key, .. } => format!("it can be {}", key.values.join(", ")),
            Self::Damaged { path, .. } => {
                format!("write {{}} into {}, then set what you want with `paddock config set --user`", path.display())
            }
            Self::Io { .. } => "look at who owns it and who may write it".to_owned(),
            Self::Home(error) => error.hint(),
        }
    }
}

/// One setting: what `config.json`, `--help` and the documents say of it comes from here.
#[derive(Debug)]
pub struct UserKey {
    /// Its name.
    pub name: &'static str,
    /// What it can be; the first is what holds where it is not set.
    pub values: &'static [&'static str],
    /// What it is for.
    pub says: &'static str,
}

/// Every setting, by name.
pub static USER_KEYS: [UserKey; 3] = [
    UserKey { name: "color", values: &["auto", "always", "never"], says: "colours in what is printed" },
    UserKey {
        name: "log",
        values: &["warn", "error", "info", "debug", "trace"],
        says: "what is told on standard error, as --log",
    },
    UserKey { name: "progress", values: &["auto", "never"], says: "a line that says how far long work is" },
];

impl UserKey {
    /// The setting of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(name: &str) -> Result<&'static Self, UserError> {
        USER_KEYS.iter().find(|key| key.name == name).ok_or_else(|| UserError::UnknownKey(name.to_owned()))
    }

    fn value(&'static self, written: &str) -> Result<&'static str, UserError> {
        let known = self.values.iter().find(|value| **value == written);
        known.copied().ok_or_else(|| UserError::BadValue { key: self, value: written.to_owned() })
    }
}

/// What a person has set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserSettings(Vec<(&'static str, &'static str)>);

impl UserSettings {
    /// Reads them. A file that is not there says nothing.
    ///
    /// # Errors
    /// When it cannot be read, or holds something that is no setting.
    pub fn load(system_root: &SystemRoot) -> Result<Self, UserError> {
        let path = system_root.config_file();
        match fs::read_to_string(&path) {
            Ok(text) => Self::parse(&path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(UserError::Io { path, source }),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, UserError> {
        let damaged = |why: String| UserError::Damaged { path: path.to_owned(), why };
        let written: Map<String, Value> = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
        let mut settings = Self::default();
        for (name, value) in &written {
            let text = value.as_str().ok_or_else(|| damaged(format!("\"{name}\" is no text")))?;
            settings.set(name, text).map_err(|error| damaged(error.to_string()))?;
        }
        Ok(settings)
    }

    /// What a setting is set to; nothing where it is not.
    ///
    /// # Errors
    /// When there is no such setting.
    pub fn get(&self, name: &str) -> Result<Option<&'static str>, UserError> {
        let key = UserKey::named(name)?;
        Ok(self.0.iter().find(|(set, _)| *set == key.name).map(|(_, value)| *value))
    }

    /// Is this setting set to this?
    #[must_use]
    pub fn is(&self, name: &str, value: &str) -> bool {
        self.get(name).is_ok_and(|set| set == Some(value))
    }

    /// Sets one.
    ///
    /// # Errors
    /// When there is no such setting, or it cannot be that.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), UserError> {
        let key = UserKey::named(name)?;
        let value = key.value(value)?;
        self.0.retain(|(set, _)| *set != key.name);
        self.0.push((key.name, value));
        self.0.sort_unstable();
        Ok(())
    }

    /// Takes one away. True where it was set.
    ///
    /// # Errors
    /// When there is no such setting.
    pub fn unset(&mut self, name: &str) -> Result<bool, UserError> {
        let was = self.get(name)?.is_some();
        self.0.retain(|(set, _)| *set != name);
        Ok(was)
    }

    /// What is set, by name.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        self.0.iter().copied()
    }

    /// As it is kept, and as programs get it.
    #[must_use]
    pub fn json(&self) -> Value {
        self.all().map(|(name, value)| (name.to_owned(), Value::from(value))).collect::<Map<_, _>>().into()
    }

    /// Changes them on disk. Of several that change them at once none loses its change.
    ///
    /// # Errors
    /// When they cannot be read or written, or the change is refused; then they stay as they were.
    pub fn change<T>(
        system_root: &SystemRoot,
        change: impl FnOnce(&mut Self) -> Result<T, UserError>,
    ) -> Result<T, UserError> {
        let path = system_root.config_file();
        let failed = |source| UserError::Io { path: path.clone(), source };
        system_root.ensure()?;
        let turn = File::open(system_root.path()).map_err(failed)?;
        turn.lock().map_err(failed)?;
        let mut settings = Self::load(system_root)?;
        let done = change(&mut settings)?;
        private::replace(&path, format!("{:#}\n", settings.json()).as_bytes()).map_err(failed)?;
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use paddock_state::HomeSources;

    use super::*;

    fn home() -> (tempfile::TempDir, SystemRoot) {
        let keep = tempfile::tempdir().unwrap();
        let sources = HomeSources { option: Some(keep.path().join("home")), ..HomeSources::default() };
        let system_root = SystemRoot::resolve(&sources, None).unwrap();
        (keep, system_root)
    }

    #[test]
    fn what_is_set_is_there_the_next_time_and_nobody_else_can_read_it() {
        let (_keep, home) = home();
        assert_eq!(UserSettings::load(&home).unwrap(), UserSettings::default(), "asking makes nothing");
        assert!(!home.path().exists());
        UserSettings::change(&home, |settings| settings.set("progress", "never")).unwrap();
        UserSettings::change(&home, |settings| settings.set("color", "always")).unwrap();
        let settings = UserSettings::load(&home).unwrap();
        assert_eq!(settings.all().collect::<Vec<_>>(), [("color", "always"), ("progress", "never")]);
        assert!(settings.is("color", "always") && !settings.is("color", "never") && !settings.is("log", "warn"));
        let mode = fs::metadata(home.config_file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(UserSettings::change(&home, |settings| settings.unset("color")).unwrap());
        assert!(!UserSettings::change(&home, |settings| settings.unset("color")).unwrap());
        assert_eq!(fs::read_to_string(home.config_file()).unwrap(), "{\n  \"progress\": \"never\"\n}\n");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_is_no_setting_is_refused_and_changes_nothing() {
        let (_keep, home) = home();
        UserSettings::change(&home, |settings| settings.set("log", "debug")).unwrap();
        for (name, value, says, hint) in [
            ("colour", "never", "there is no setting \"colour\"", "did you mean \"color\"?"),
            ("commands.deny", "[]", "there is no setting \"commands.deny\"", "settings are color, log, progress"),
            ("color", "blue", "\"blue\" cannot be color", "it can be auto, always, never"),
            ("progress", "\u{1b}[2J", "\"\\u{1b}[2J\" cannot be progress", "it can be auto, never"),
        ] {
            let error = UserSettings::change(&home, |settings| settings.set(name, value)).unwrap_err();
            assert_eq!(error.to_string(), says);
            assert!(error.hint().contains(hint), "{}", error.hint());
        }
        assert_eq!(UserSettings::load(&home).unwrap().json(), serde_json::json!({ "log": "debug" }));
    }

    #[test]
    fn a_damaged_file_is_told_with_what_is_wrong_and_never_overwritten() {
        let (_keep, home) = home();
        home.ensure().unwrap();
        for (text, why) in [
            ("", "EOF"),
            ("[]", "invalid type"),
            ("{\"color\": 5}", "\"color\" is no text"),
            ("{\"scope\": \"READ_WRITE\"}", "there is no setting \"scope\""),
            ("{\"log\": \"loud\"}", "\"loud\" cannot be log"),
        ] {
            fs::write(home.config_file(), text).unwrap();
            let error = UserSettings::change(&home, |settings| settings.set("color", "never")).unwrap_err();
            assert!(matches!(error, UserError::Damaged { .. }) && error.to_string().contains(why), "{text}: {error}");
            assert_eq!(fs::read_to_string(home.config_file()).unwrap(), text);
        }
    }

    #[test]
    fn of_many_that_change_them_at_once_none_loses_its_change() {
        let (_keep, home) = home();
        std::thread::scope(|scope| {
            for (name, value) in [("color", "never"), ("log", "info"), ("progress", "never")] {
                let home = &home;
                scope.spawn(move || UserSettings::change(home, |settings| settings.set(name, value)).unwrap());
            }
        });
        assert_eq!(UserSettings::load(&home).unwrap().all().count(), 3);
    }
}
