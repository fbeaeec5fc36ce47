//! The vault on a disk that fails, under several keys, and after somebody touched its file.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::HomeSources;

struct World {
    _dir: tempfile::TempDir,
    vault: Vault,
}

fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    let sources = HomeSources { option: Some(dir.path().join("home")), ..HomeSources::default() };
    let vault = Vault::of(&SystemRoot::resolve(&sources, None).unwrap());
    World { _dir: dir, vault }
}

struct Says(&'static str);

impl Passphrases for Says {
    fn given(&self) -> Result<Option<SecretValue>> {
        Ok(Some(SecretValue::new(self.0.to_owned())))
    }
}

fn name(text: &str) -> SecretName {
    SecretName::parse(text).unwrap()
}

fn value(text: &str) -> SecretValue {
    SecretValue::to_store(text.as_bytes().to_vec()).unwrap()
}

fn read(vault: &Vault, ask: &dyn Passphrases) -> Result<Vec<(String, String)>> {
    let opened = vault.load(None, ask)?.map(|(_, opened)| opened).unwrap_or_default();
    Ok(opened.iter().map(|(name, secret)| (name.to_string(), secret.value.expose().to_owned())).collect())
}

fn names_on_disk(vault: &Vault) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(vault.directory())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_stored_is_found_and_nothing_of_it_is_on_disk() {
    let World { vault, _dir } = &world();
    assert!(!vault.set(&name("a"), value("planted-value-1"), &()).unwrap());
    assert!(!vault.set(&name("b"), value("planted-value-2"), &()).unwrap());
    assert!(vault.set(&name("a"), value("planted-value-3"), &()).unwrap());
    let found = [("a".into(), "planted-value-3".into()), ("b".into(), "planted-value-2".into())];
    assert_eq!(read(vault, &()).unwrap(), found);
    for file in names_on_disk(vault) {
        let bytes = fs::read(vault.directory().join(&file)).unwrap();
        assert!(!bytes.windows(13).any(|window| window == b"planted-value"), "{file}");
    }
    vault.remove(&[name("a")], &()).unwrap();
    assert_eq!(read(vault, &()).unwrap(), [("b".into(), "planted-value-2".into())]);
    let error = vault.remove(&[name("b"), name("a")], &()).unwrap_err();
    assert_eq!(error.to_string(), "there is no secret \"a\"");
    assert_eq!(read(vault, &()).unwrap().len(), 1, "all or none");
}

#[test]
fn times_say_when_it_was_first_and_last_stored() {
    let World { vault, _dir } = &world();
    vault.set(&name("a"), value("planted-value-1"), &()).unwrap();
    let first = vault.list().unwrap()[0].clone();
    std::thread::sleep(std::time::Duration::from_millis(2));
    vault.set(&name("a"), value("planted-value-2"), &()).unwrap();
    let second = vault.list().unwrap()[0].clone();
    assert_eq!(first.created, second.created);
    assert!(second.updated > first.updated);
    vault.rotate(&NewKey::KeyFile, &()).unwrap();
    assert_eq!(vault.list().unwrap(), [second], "another key is no other secret");
}

#[test]
fn files_are_private_and_others_are_refused() {
    let World { vault, _dir } = &world();
    vault.set(&name("a"), value("planted-value-1"), &()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(vault.directory()), 0o700);
    let names = names_on_disk(vault);
    assert_eq!(names.len(), 3, "{names:?}");
    for file in names.iter().map(|name| vault.directory().join(name)) {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
        if file.ends_with("vault.lock") {
            continue;
        }
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let error = read(vault, &()).unwrap_err();
        assert!(matches!(&error, SecretsError::NotPrivate { path, mode: 0o640, .. } if *path == file), "{error}");
        assert!(error.hint().starts_with("run: chmod 600"), "{}", error.hint());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let key = vault.directory().join(&names[0]);
    let elsewhere = vault.directory().join("elsewhere");
    fs::rename(&key, &elsewhere).unwrap();
    assert!(matches!(read(vault, &()), Err(SecretsError::KeyGone(path)) if path == key));
    std::os::unix::fs::symlink(&elsewhere, &key).unwrap();
    assert!(matches!(read(vault, &()), Err(SecretsError::Io { .. })), "a link is not followed");
    fs::remove_file(&key).unwrap();
    fs::write(&key, "bm90IHRoZSBrZXk=\n").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(matches!(read(vault, &()), Err(SecretsError::WrongKey(path)) if path == key));
}

#[test]
fn a_passphrase_opens_it_and_another_does_not() {
    let World { vault, _dir } = &world();
    assert!(matches!(vault.rotate(&NewKey::KeyFile, &()), Err(SecretsError::None)));
    vault.set(&name("a"), value("planted-value-1"), &()).unwrap();
    assert_eq!(vault.protection().unwrap(), Some(Protection::KeyFile));
    let weak = SecretValue::new("1234567".into());
    assert!(matches!(vault.rotate(&NewKey::Passphrase(&weak), &()), Err(SecretsError::WeakPassphrase(7))));
    assert_eq!(vault.rotate(&NewKey::Passphrase(&value("five good words")), &()).unwrap(), 1);
    assert_eq!(vault.protection().unwrap(), Some(Protection::Passphrase));
    assert_eq!(names_on_disk(vault), ["vault.json", "vault.lock"], "no key is left on disk");
    assert_eq!(read(vault, &Says("five good words")).unwrap().len(), 1);
    assert_eq!(vault.list().unwrap().len(), 1, "names need no passphrase");
    assert!(matches!(read(vault, &Says("five good word")), Err(SecretsError::WrongPassphrase)));
    assert!(matches!(read(vault, &()), Err(SecretsError::Locked)));
    for refused in [
        vault.set(&name("b"), value("planted-value-2"), &Says("another one")).map(|_| ()),
        vault.remove(&[name("a")], &Says("another one")),
        vault.rotate(&NewKey::KeyFile, &Says("another one")).map(|_| ()),
    ] {
        assert!(matches!(refused, Err(SecretsError::WrongPassphrase)));
    }
    vault.set(&name("b"), value("planted-value-2"), &Says("five good words")).unwrap();
    vault.rotate(&NewKey::Passphrase(&value("six other good words")), &Says("five good words")).unwrap();
    assert!(matches!(read(vault, &Says("five good words")), Err(SecretsError::WrongPassphrase)));
    vault.rotate(&NewKey::KeyFile, &Says("six other good words")).unwrap();
    assert_eq!(read(vault, &()).unwrap().len(), 2);
}

#[test]
fn any_flipped_bit_is_refused() {
    let World { vault, _dir } = &world();
    vault.set(&name("a"), value("planted-value-1"), &()).unwrap();
    vault.set(&name("b"), value("planted-value-2"), &()).unwrap();
    let flips = |vault: &Vault, ask: &dyn Passphrases, bits: usize| {
        let whole = fs::read(vault.path()).unwrap();
        assert!(read(vault, ask).is_ok());
        for at in 0..whole.len() {
            for bit in (0..8).skip(at % bits).step_by(bits) {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                fs::write(vault.path(), &bytes).unwrap();
                let said = read(vault, ask);
                assert!(said.is_err(), "byte {at} bit {bit}: {:?}", String::from_utf8_lossy(&bytes));
            }
        }
        fs::write(vault.path(), &whole).unwrap();
    };
    flips(vault, &(), 2);
    vault.rotate(&NewKey::Passphrase(&value("five good words")), &()).unwrap();
    // Each costs a derived key.
    flips(vault, &Says("five good words"), 8);
}

#[test]
fn entries_that_are_exchanged_added_or_taken_out_are_refused() {
    let World { vault, _dir } = &world();
    for (text, secret) in [("a", "planted-value-1"), ("b", "planted-value-2")] {
        vault.set(&name(text), value(secret), &()).unwrap();
    }
    let whole = VaultFile::parse(vault.path(), &fs::read(vault.path()).unwrap()).unwrap();
    let refused = |change: &dyn Fn(&mut VaultFile), told: &str| {
        let mut file = whole.clone();
        change(&mut file);
        fs::write(vault.path(), file.bytes().unwrap()).unwrap();
        let error = read(vault, &()).unwrap_err().to_string();
        assert!(error.ends_with(told), "{error}");
    };
    refused(
        &|file| {
            let (a, b) = (file.entries[&name("a")].clone(), file.entries[&name("b")].clone());
            file.entries.insert(name("a"), b);
            file.entries.insert(name("b"), a);
        },
        "is damaged: the secret \"a\" is not as it was written",
    );
    refused(&|file| drop(file.entries.remove(&name("b"))), "secrets were added, taken out or put back");
    refused(
        &|file| {
            let a = file.entries[&name("a")].clone();
            file.entries.insert(name("c"), a);
        },
        "the secret \"c\" is not as it was written",
    );
    fs::write(vault.path(), "{\n  \"format\": 2\n}\n").unwrap();
    assert!(matches!(read(vault, &()), Err(SecretsError::Format { found: 2, .. })));
    assert!(
        vault.set(&name("c"), value("planted-value-3"), &()).is_err(),
        "a vault that cannot be read is not replaced"
    );
}

/// Ends a process at each step of `change` and looks that the secrets are as before or as after, and that the next
/// change leaves nothing behind.
fn at_each_step(prepare: &dyn Fn(&Vault), change: &dyn Fn(&Vault) -> bool, asks: [&dyn Passphrases; 2]) {
    let World { vault, _dir } = &world();
    prepare(vault);
    let steps = files::steps_of(|| assert!(change(vault)));
    assert!(steps >= 6, "{steps}");
    let mut ended = 0;
    for after in 0..steps {
        let World { vault, _dir } = &world();
        prepare(vault);
        let before = read(vault, asks[0]).unwrap();
        ended += u32::from(!files::ends_after(after, || change(vault)));
        let ask = asks.into_iter().find(|ask| read(vault, *ask).is_ok());
        let ask = ask.unwrap_or_else(|| panic!("after {after} steps nothing opens it: {:?}", names_on_disk(vault)));
        assert!(read(vault, ask).unwrap().starts_with(&before), "after {after} steps");
        vault.set(&name("z"), value("planted-value-9"), ask).unwrap();
        let keys = if vault.protection().unwrap() == Some(Protection::KeyFile) { 1 } else { 0 };
        assert_eq!(names_on_disk(vault).len(), 2 + keys, "after {after} steps: {:?}", names_on_disk(vault));
        assert_eq!(read(vault, ask).unwrap().last().unwrap().0, "z");
    }
    assert_eq!(ended, steps);
}

fn two(vault: &Vault) {
    vault.set(&name("a"), value("planted-value-1"), &()).unwrap();
    vault.set(&name("b"), value("planted-value-2"), &()).unwrap();
}

#[test]
fn a_process_that_ends_at_any_step_of_set_loses_nothing() {
    at_each_step(&two, &|vault| vault.set(&name("c"), value("planted-value-3"), &()).is_ok(), [&(), &()]);
}

#[test]
fn a_process_that_ends_at_any_step_of_rotate_loses_nothing() {
    at_each_step(&two, &|vault| vault.rotate(&NewKey::KeyFile, &()).is_ok(), [&(), &()]);
}

#[test]
fn a_process_that_ends_at_any_step_to_a_passphrase_and_back_loses_nothing() {
    const WORDS: &str = "five good words";
    let locked = |vault: &Vault| vault.rotate(&NewKey::Passphrase(&value(WORDS)), &Says(WORDS)).is_ok();
    at_each_step(&two, &locked, [&(), &Says(WORDS)]);
    let lock_first = |vault: &Vault| {
        two(vault);
        assert!(locked(vault));
    };
    at_each_step(&lock_first, &|vault| vault.rotate(&NewKey::KeyFile, &Says(WORDS)).is_ok(), [&Says(WORDS), &()]);
}

#[test]
fn a_key_whose_vault_was_taken_away_is_kept() {
    let World { vault, _dir } = &world();
    two(vault);
    let (old, away) = (read(vault, &()).unwrap(), vault.directory().join("away"));
    fs::rename(vault.path(), &away).unwrap();
    vault.set(&name("n"), value("planted-value-3"), &()).unwrap();
    vault.set(&name("n"), value("planted-value-4"), &()).unwrap();
    let kept = names_on_disk(vault).into_iter().find(|name| name.starts_with(KEPT)).unwrap();
    fs::rename(vault.directory().join(&kept), vault.directory().join(kept.replace(KEPT, KEY))).unwrap();
    fs::rename(&away, vault.path()).unwrap();
    assert_eq!(read(vault, &()).unwrap(), old);
}
