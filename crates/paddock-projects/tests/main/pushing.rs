//! A push to a real remote: on a disk, and over HTTP with a word that opens it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use paddock_projects::export::{self, Commit, Export, Pushed};
use paddock_projects::{Credentials, ProjectError, Remote, unwatched};

use crate::world::{World, file, git, path, sample, tree};

fn push(world: &World, address: &str, credentials: Option<&Credentials>) -> Result<Pushed, ProjectError> {
    let commit = Commit::default();
    let at = path("/p/project");
    export::push(
        &world.person(),
        &at,
        Export::default(),
        &commit,
        &Remote { address, credentials },
        &world.scratch,
        &mut unwatched,
    )
}

fn remote(world: &World) -> PathBuf {
    git(world.dir.path(), &["init", "--quiet", "--bare", "remote.git"]);
    world.dir.path().join("remote.git")
}

#[test]
fn a_remote_gets_the_project_then_what_changed_and_nothing_twice() {
    let world = World::new();
    world.plant("/p/project", &sample());
    let remote = remote(&world);
    let address = format!("file://{}", remote.display());
    let first = push(&world, &address, None).unwrap();
    assert!(!first.unchanged);
    git(&remote, &["fsck", "--strict"]);
    assert_eq!(git(&remote, &["rev-parse", "main"]).trim(), first.exported.commit.clone().unwrap());
    let again = push(&world, &address, None).unwrap();
    assert!(again.unchanged);
    assert_eq!(again.exported.commit, first.exported.commit);
    world.plant("/p/project", &tree(&[("new", file("new"))]));
    let second = push(&world, remote.to_str().unwrap(), None).unwrap();
    assert!(!second.unchanged);
    assert_eq!(git(&remote, &["rev-list", "--count", "main"]).trim(), "2");
    assert_eq!(git(&remote, &["rev-parse", "main~1"]).trim(), first.exported.commit.unwrap());
    assert_eq!(git(&remote, &["show", "main:new"]), "new");
    git(&remote, &["fsck", "--strict"]);
    assert_eq!(world.waiting(), 0);
}

#[test]
fn somebody_elses_commits_stay_below_ours() {
    let world = World::new();
    world.plant("/p/project", &sample());
    let remote = remote(&world);
    let theirs = world.dir.path().join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    git(&theirs, &["init", "--quiet"]);
    for n in ["one", "two"] {
        std::fs::write(theirs.join(n), n).unwrap();
        git(&theirs, &["add", "--all"]);
        git(&theirs, &["commit", "--quiet", "--message", n]);
    }
    git(&theirs, &["push", "--quiet", remote.to_str().unwrap(), "HEAD:main"]);
    push(&world, remote.to_str().unwrap(), None).unwrap();
    assert_eq!(git(&remote, &["log", "--format=%s", "main"]), "Export from Paddock\ntwo\none\n");
}

#[test]
fn a_remote_that_refuses_says_why() {
    let world = World::new();
    world.plant("/p/project", &sample());
    let remote = remote(&world);
    let hook = remote.join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho 'not on a sunday'\nexit 1\n").unwrap();
    Command::new("chmod").arg("+x").arg(&hook).status().unwrap();
    let error = push(&world, remote.to_str().unwrap(), None).unwrap_err();
    assert!(error.to_string().contains("not on a sunday"), "{error}");
}

/// A web server that hands everything to git's own program, to whoever knows the word.
struct Web {
    port: u16,
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<Vec<String>>>,
}

/// Sends everybody somewhere else.
fn sends_to(port: u16) -> (u16, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap().port();
    let sent = Arc::new(Mutex::new(0));
    let count = Arc::clone(&sent);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut line = String::new();
            let mut from = BufReader::new(stream.try_clone().unwrap());
            from.read_line(&mut line).unwrap();
            let file = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
            while from.read_line(&mut line).is_ok_and(|n| n > 2) {}
            *count.lock().unwrap() += 1;
            let head = format!(
                "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{port}{file}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
        }
    });
    (here, sent)
}

const WORD: &str = "open-sesame-4711";

impl Web {
    fn start(directory: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let web = Self { port, stop: Arc::clone(&stop), seen: Arc::clone(&seen) };
        let directory = directory.to_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let (directory, seen) = (directory.clone(), Arc::clone(&seen));
                std::thread::spawn(move || answer(stream, &directory, &seen));
            }
        });
        web
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn answer(mut stream: TcpStream, directory: &Path, seen: &Mutex<Vec<String>>) -> Option<()> {
    let mut from = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    from.read_line(&mut line).ok()?;
    let mut parts = line.split_whitespace();
    let (method, target) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let mut headers = std::collections::HashMap::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let body = read_body(&mut from, &headers)?;
    // "me:open-sesame-4711"
    if headers.get("authorization").map(String::as_str) != Some("Basic bWU6b3Blbi1zZXNhbWUtNDcxMQ==") {
        seen.lock().unwrap().push("closed".to_owned());
        let closed = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        return stream.write_all(closed.as_bytes()).ok();
    }
    seen.lock().unwrap().push(format!("open {method}"));
    let (file, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut program = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", directory)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("REMOTE_USER", "me")
        .env("REQUEST_METHOD", &method)
        .env("PATH_INFO", file)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", headers.get("content-type").cloned().unwrap_or_default())
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", headers.get("content-encoding").cloned().unwrap_or_default())
        .env("GIT_PROTOCOL", headers.get("git-protocol").cloned().unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    program.stdin.take()?.write_all(&body).ok()?;
    let out = program.wait_with_output().ok()?.stdout;
    let end = out.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&out[..end]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK").to_owned();
    let head: String =
        head.lines().filter(|line| !line.starts_with("Status:")).map(|line| format!("{line}\r\n")).collect();
    let content = &out[end + 4..];
    let head = format!("HTTP/1.1 {status}\r\n{head}Content-Length: {}\r\nConnection: close\r\n\r\n", content.len());
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(content).ok()
}

fn read_body(from: &mut impl std::io::BufRead, headers: &std::collections::HashMap<String, String>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    if headers.get("transfer-encoding").map(String::as_str) == Some("chunked") {
        loop {
            let mut size = String::new();
            from.read_line(&mut size).ok()?;
            let size = u64::from_str_radix(size.trim(), 16).ok()?;
            from.by_ref().take(size).read_to_end(&mut body).ok()?;
            from.read_line(&mut String::new()).ok()?;
            if size == 0 {
                return Some(body);
            }
        }
    }
    let len: u64 = headers.get("content-length").and_then(|len| len.parse().ok()).unwrap_or(0);
    from.take(len).read_to_end(&mut body).ok()?;
    Some(body)
}

#[test]
fn a_secret_opens_a_remote_and_is_told_to_nobody_else() {
    let world = World::new();
    world.plant("/p/project", &sample());
    let remote = remote(&world);
    let web = Web::start(world.dir.path());
    let address = format!("http://127.0.0.1:{}/remote.git", web.port);
    // Without it, and with a wrong one.
    let error = push(&world, &address, None).unwrap_err();
    assert!(matches!(error, ProjectError::Git { .. }), "{error}");
    let wrong = Credentials::new("me", "wrong-word");
    let error = push(&world, &address, Some(&wrong)).unwrap_err();
    assert!(!error.to_string().contains("wrong-word") && !format!("{error:?}").contains("wrong-word"), "{error:?}");
    // While git runs, no argument and no environment of any process holds the word.
    let looking = Arc::new(AtomicBool::new(true));
    let looker = {
        let looking = Arc::clone(&looking);
        std::thread::spawn(move || {
            let mut found = Vec::new();
            while looking.load(Ordering::SeqCst) {
                found.extend(processes_that_hold(WORD));
            }
            found
        })
    };
    let right = Credentials::new("me", WORD);
    let pushed = push(&world, &address, Some(&right)).unwrap();
    looking.store(false, Ordering::SeqCst);
    assert_eq!(looker.join().unwrap(), Vec::<String>::new());
    assert_eq!(git(&remote, &["rev-parse", "main"]).trim(), pushed.exported.commit.unwrap());
    assert!(web.seen.lock().unwrap().iter().any(|seen| seen == "open POST"));
    assert!(!format!("{right:?}").contains(WORD));
    // The same way in, with the same word.
    let told = paddock_projects::import::git(
        &world.person(),
        &path("/v/in"),
        paddock_projects::import::Import::default(),
        &Remote { address: &address, credentials: Some(&right) },
        None,
        &world.scratch,
        &mut unwatched,
    );
    assert_eq!(told.unwrap().files, 7);
    assert_eq!(world.waiting(), 0);
}

#[test]
fn a_host_that_we_are_sent_to_is_not_told_what_opens_another() {
    let world = World::new();
    world.plant("/p/project", &sample());
    remote(&world);
    let web = Web::start(world.dir.path());
    let (port, sent) = sends_to(web.port);
    let error = push(&world, &format!("http://127.0.0.1:{port}/remote.git"), Some(&Credentials::new("me", WORD)));
    assert!(matches!(error, Err(ProjectError::Git { .. })), "{error:?}");
    assert!(*sent.lock().unwrap() > 0);
    let seen = web.seen.lock().unwrap().clone();
    assert!(!seen.is_empty() && seen.iter().all(|seen| seen == "closed"), "{seen:?}");
}

/// Processes whose arguments or environment hold a text. This one's own are not looked at.
fn processes_that_hold(word: &str) -> Vec<String> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == own || !name.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        for part in ["cmdline", "environ"] {
            let text = std::fs::read(entry.path().join(part)).unwrap_or_default();
            if text.windows(word.len()).any(|bytes| bytes == word.as_bytes()) {
                found.push(format!("{name} {part}"));
            }
        }
    }
    found
}
