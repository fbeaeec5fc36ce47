//! The vault among several who use it at once.

use std::sync::atomic::{AtomicBool, Ordering};

use paddock_state::{HomeSources, NewKey, SecretName, SecretValue, Secrets, SystemRoot, Vault};

fn vault(dir: &tempfile::TempDir) -> Vault {
    let sources = HomeSources { option: Some(dir.path().join("home")), ..HomeSources::default() };
    Vault::of(&SystemRoot::resolve(&sources, None).unwrap())
}

fn name(text: &str) -> SecretName {
    SecretName::parse(text).unwrap()
}

fn value(text: &str) -> SecretValue {
    SecretValue::to_store(text.as_bytes().to_vec()).unwrap()
}

#[test]
fn of_many_writers_none_loses_while_the_key_is_rotated() {
    let dir = tempfile::tempdir().unwrap();
    let vault = vault(&dir);
    vault.set(&name("first"), value("the-first-value"), &()).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let rotating = scope.spawn(|| {
            for _ in 0..20 {
                vault.rotate(&NewKey::KeyFile, &()).unwrap();
            }
        });
        let reading = scope.spawn(|| {
            let mut looks = 0;
            while !over.load(Ordering::Relaxed) {
                // A reader takes no lock, and the key may be exchanged under its hands.
                let secrets = Secrets::of(vault.clone(), ());
                assert_eq!(secrets.get(&name("first")).unwrap().unwrap().expose(), "the-first-value");
                looks += 1;
            }
            looks
        });
        let writing: Vec<_> = (0..4)
            .map(|n| {
                let vault = &vault;
                scope.spawn(move || {
                    for round in 0..5 {
                        let text = format!("value-{n}-{round}-of-it");
                        vault.set(&name(&format!("w{n}-{round}")), value(&text), &()).unwrap();
                    }
                })
            })
            .collect();
        writing.into_iter().for_each(|writer| writer.join().unwrap());
        rotating.join().unwrap();
        over.store(true, Ordering::Relaxed);
        assert!(reading.join().unwrap() > 0);
    });
    assert_eq!(vault.list().unwrap().len(), 21);
    let secrets = Secrets::of(vault.clone(), ());
    assert_eq!(secrets.get(&name("w3-4")).unwrap().unwrap().expose(), "value-3-4-of-it");
    let keys = std::fs::read_dir(vault.directory()).unwrap().flatten();
    assert_eq!(keys.filter(|entry| entry.file_name().to_string_lossy().starts_with("key-")).count(), 1);
}

#[test]
fn nobody_else_is_needed_where_there_are_no_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let vault = vault(&dir);
    let secrets = Secrets::of(vault.clone(), ());
    assert_eq!(secrets.get(&name("a")).unwrap(), None);
    assert!(secrets.redactor().is_empty());
    assert!(vault.list().unwrap().is_empty() && vault.protection().unwrap().is_none());
    assert!(!dir.path().join("home").exists(), "looking makes nothing");
}
