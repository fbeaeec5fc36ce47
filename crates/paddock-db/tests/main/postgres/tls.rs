//! TLS: what each mode takes and what it refuses.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use paddock_db::postgres_testing::{Cluster, fresh_place, give_away};
use paddock_db::{DbError, Postgres};

use super::soon;

/// A server with a certificate that it signed itself, for `localhost` only.
struct Secured {
    cluster: Cluster,
    certificate: PathBuf,
    place: PathBuf,
}

impl Drop for Secured {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.place);
    }
}

fn secured(more: &[&str]) -> Secured {
    let place = fresh_place();
    let (certificate, key) = (place.join("server.crt"), place.join("server.key"));
    let mut make = Command::new("openssl");
    make.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]);
    make.args(["-addext", "subjectAltName=DNS:localhost"])
        .args(more)
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate);
    let made = make.output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    give_away(&key).unwrap();
    let (crt, key) = (format!("ssl_cert_file={}", certificate.display()), format!("ssl_key_file={}", key.display()));
    let cluster = Cluster::with(&["fsync=off", "ssl=on", &crt, &key]);
    Secured { cluster, certificate, place }
}

/// Whether the connection is encrypted.
fn encrypted(url: &str) -> Result<bool, DbError> {
    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    Postgres::new(url, vec![])?.read(soon(), |tx| Ok(tx.query_one(sql, &[])?.get(0)))
}

#[test]
fn each_mode_takes_what_it_promises() {
    let server = secured(&[]);
    let by_address = server.cluster.url();
    let by_name = by_address.replace("127.0.0.1", "localhost");
    let root = format!("sslrootcert={}", server.certificate.display());
    for (url, expected) in [
        (by_name.clone(), true),
        (format!("{by_name}?sslmode=disable"), false),
        (format!("{by_name}?sslmode=require"), true),
        (format!("{by_name}?sslmode=verify-full&{root}"), true),
        (format!("{by_address}?sslmode=verify-ca&{root}"), true),
        (format!("{by_address}?sslmode=require&{root}"), true),
    ] {
        assert_eq!(encrypted(&url).unwrap(), expected, "{url}");
    }
    for url in [
        // Nobody known has signed it.
        format!("{by_name}?sslmode=verify-full"),
        format!("{by_name}?sslmode=verify-ca"),
        // It is for another name.
        format!("{by_address}?sslmode=verify-full&{root}"),
    ] {
        let refused = encrypted(&url).unwrap_err();
        assert!(matches!(refused, DbError::Insecure { .. }), "{url}: {refused}");
        assert!(refused.hint().contains("sslrootcert"));
    }
}

#[test]
fn the_certificate_of_another_server_is_refused() {
    let (server, stranger) = (secured(&[]), secured(&[]));
    let url = server.cluster.url().replace("127.0.0.1", "localhost");
    for mode in ["verify-full", "verify-ca", "require"] {
        let url = format!("{url}?sslmode={mode}&sslrootcert={}", stranger.certificate.display());
        assert!(matches!(encrypted(&url), Err(DbError::Insecure { .. })), "{mode}");
    }
}

#[test]
fn a_server_without_tls_is_refused_where_it_is_required() {
    let cluster = Cluster::start();
    assert!(!encrypted(&cluster.url()).unwrap());
    for mode in ["require", "verify-full"] {
        let refused = encrypted(&format!("{}?sslmode={mode}", cluster.url())).unwrap_err();
        assert!(matches!(refused, DbError::Insecure { .. }), "{refused}");
    }
}

#[test]
fn a_certificate_that_cannot_be_read_is_told() {
    for file in ["/nowhere.crt", "/etc/hostname"] {
        let refused = encrypted(&format!("postgres://me@localhost/work?sslmode=verify-full&sslrootcert={file}"));
        assert!(refused.unwrap_err().to_string().contains(file));
    }
}
