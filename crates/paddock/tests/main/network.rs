//! Commands that may reach listed hosts, as an agent runs them: real clients through the proxy, and what is on record.
//!
//! The hosts are servers on this machine, so the lists name `localhost` with a port.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::could_not_run::could_not_run;
use crate::harness::World;
use crate::website::{Page, Website};

/// A project whose commands may reach these, and run without a person being asked.
fn reaching(hosts: &[String], further: &str) -> World {
    let hosts = hosts.iter().map(|host| format!("\"{host}\"")).collect::<Vec<_>>().join(", ");
    let world = World::configured(&format!(
        r#"
base = "/project"
[[workspace]]
prefix = "/project"
scope = "READ_WRITE"
mount = {{ physical = "work" }}
[commands]
network = [{hosts}]
{further}
[approvals]
above = "high"
"#
    ));
    std::fs::create_dir(world.project().join("work")).unwrap();
    world
}

fn execute(world: &World, command: &str) -> Value {
    world.paddock(&["tool", "execute_command", &json!({ "command": command }).to_string(), "--json"]).json()
}

fn local(server: &Website) -> String {
    format!("localhost:{}", server.port)
}

#[track_caller]
fn printed(answer: &Value) -> &str {
    assert_eq!(answer["structured"]["exit_code"], 0, "{answer:#}");
    answer["content"][0]["text"].as_str().unwrap()
}

/// What is on record of connections: outcome and host.
fn connections(world: &World) -> Vec<(String, String)> {
    let rows = world.paddock(&["audit", "query", "--json"]).json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = rows.as_array().unwrap().iter().filter(|row| row["tool"] == "execute_command");
    let all = all.filter(|row| row["path"].as_str().is_some_and(|path| path.contains(':')));
    all.map(|row| (text(&row["outcome"]), text(&row["path"]))).collect()
}

/// A program of the host that a test needs; without it the test says so.
fn has(program: &str) -> bool {
    let there = Path::new(program).exists();
    if !there {
        could_not_run(&format!("no {program} here"));
    }
    there
}

fn made(directory: &Path, program: &str, arguments: &[&str]) -> Vec<u8> {
    let ran = Command::new(program).args(arguments).current_dir(directory).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    ran.stdout
}

#[test]
fn a_listed_host_is_reached_another_is_refused_and_both_are_audited() {
    let (good, evil) = (Website::start(), Website::start());
    good.page("/file", Page::ok("text/plain", "from the good host\n"));
    evil.page("/file", Page::ok("text/plain", "from the evil host\n"));
    let world = reaching(&[local(&good)], "");
    let answer = execute(&world, &format!("curl -sS http://{}/file -o got; cat got", local(&good)));
    assert_eq!(printed(&answer), "from the good host\n");
    assert_eq!(world.read("work/got"), "from the good host\n");

    let (host, to) = (local(&good), local(&evil));
    let url = format!("http://{to}/file");
    let answer = execute(
        &world,
        &format!(
            "curl -sS {url}; curl -sS --proxytunnel {url}; curl -sS -m 3 --noproxy '*' {url}; curl -sS http://127.0.0.1:{}/file; true",
            good.port
        ),
    );
    let said = printed(&answer);
    assert!(said.contains(&format!("commands may not reach \"{to}\"")), "{answer:#}");
    assert!(said.contains(&format!("under [commands]: network = [\"{host}\", \"{to}\"]")), "{answer:#}");
    let summary = answer["content"][1]["text"].as_str().unwrap();
    assert!(summary.contains(&format!("\"{to}\" was not reached")), "{answer:#}");
    assert!(evil.heard().is_empty() && good.heard().len() == 1);
    let mut rows = connections(&world);
    rows.sort();
    let denied = |to: String| ("denied".to_owned(), to);
    let mut expected =
        vec![denied(to.clone()), denied(to), denied(format!("127.0.0.1:{}", good.port)), ("done".to_owned(), host)];
    expected.sort();
    assert_eq!(rows, expected);
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
}

#[test]
fn a_person_is_asked_first_and_without_a_list_there_is_no_network() {
    let server = Website::start();
    server.page("/", Page::ok("text/plain", "reached"));
    let config = |network: &str| {
        let world = World::configured(&format!(
            "[[workspace]]\nprefix = \"/project\"\nscope = \"RW\"\nmount = {{ physical = \"work\" }}\n[commands]\nnetwork = {network}\n"
        ));
        std::fs::create_dir(world.project().join("work")).unwrap();
        world
    };
    let curl = format!("env | grep -i proxy; curl -sS -m 3 http://{}/", local(&server));
    let answer = execute(&config(&format!("[\"{}\"]", local(&server))), &curl);
    assert_eq!(
        (&answer["verdict"], &answer["structured"]["error"]),
        (&json!("parked"), &json!("parked")),
        "{answer:#}"
    );
    let answer = execute(&config("false"), &curl);
    assert_ne!(answer["structured"]["exit_code"], 0, "{answer:#}");
    assert!(server.heard().is_empty());
}

#[test]
fn the_agent_is_told_whom_its_commands_reach() {
    let told = |world: &World| {
        let mut raw = crate::client::Raw::greeted(world, &["mcp"]);
        raw.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
        let tools = raw.receive()["result"]["tools"].as_array().unwrap().clone();
        raw.end();
        tools.into_iter().find(|tool| tool["name"] == "execute_command").unwrap()
    };
    let tool = told(&reaching(&["packages.example.com".to_owned(), "*.example.org:8443".to_owned()], ""));
    let text = tool["description"].as_str().unwrap();
    assert!(text.contains("of the network only packages.example.com, *.example.org:8443, through the proxy"), "{text}");
    assert_eq!(tool["annotations"]["openWorldHint"], true);
    let tool = told(&reaching(&[], ""));
    assert!(tool["description"].as_str().unwrap().contains("and no network."), "{tool}");
    assert_eq!(tool["annotations"]["openWorldHint"], false);
}

#[test]
fn what_is_no_host_is_an_error_of_the_configuration() {
    let ran = reaching(&["https://packages.example.com".to_owned()], "").paddock(&["check"]);
    assert!(
        ran.code == 2 && ran.stderr.contains("is not a host that commands may reach: it is more than a host"),
        "{ran}"
    );
    assert!(ran.stderr.contains("hint: write \"packages.example.com\", \"*.example.com\""), "{ran}");
}

#[test]
fn python_and_pip_work_through_the_proxy() {
    if !has("/usr/bin/python3") || !has("/usr/bin/pip3") {
        return;
    }
    let server = Website::start();
    let world = reaching(&[local(&server)], "");
    let name = "demo_pkg-1.0-py3-none-any.whl";
    let script = "import zipfile, sys
with zipfile.ZipFile(sys.argv[1], 'w') as z:
    z.writestr('demo_pkg.py', 'WORD = \"installed\"\\n')
    z.writestr('demo_pkg-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: demo-pkg\\nVersion: 1.0\\n')
    z.writestr('demo_pkg-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    z.writestr('demo_pkg-1.0.dist-info/RECORD', '')
";
    made(&world.path(), "/usr/bin/python3", &["-c", script, name]);
    server.page("/simple/demo-pkg/", Page::ok("text/html", format!("<a href=\"/files/{name}\">{name}</a>")));
    server
        .page(&format!("/files/{name}"), Page::ok("application/zip", std::fs::read(world.path().join(name)).unwrap()));
    server.page("/word", Page::ok("text/plain", "by urllib\n"));
    let url = format!("http://{}", local(&server));
    let answer = execute(
        &world,
        &format!(
            "set -e; /usr/bin/python3 -c \"import urllib.request as u; print(u.urlopen('{url}/word').read().decode(), end='')\"; \
             /usr/bin/pip3 install -q --disable-pip-version-check --target lib --index-url {url}/simple/ demo-pkg 2>&1; \
             PYTHONPATH=lib /usr/bin/python3 -c 'import demo_pkg; print(demo_pkg.WORD)'"
        ),
    );
    assert!(printed(&answer).starts_with("by urllib\n") && printed(&answer).ends_with("installed\n"), "{answer:#}");
    let rows = connections(&world);
    assert!(rows.len() >= 3 && rows.iter().all(|row| *row == ("done".to_owned(), local(&server))), "{rows:?}");
}

#[test]
fn npm_works_through_the_proxy() {
    if !has("/usr/bin/npm") || !has("/usr/bin/node") {
        return;
    }
    let server = Website::start();
    let world = reaching(&[local(&server)], "");
    let package = world.path().join("package");
    std::fs::create_dir(&package).unwrap();
    std::fs::write(package.join("package.json"), r#"{"name":"demo-pkg","version":"1.0.0","main":"i.js"}"#).unwrap();
    std::fs::write(package.join("i.js"), "module.exports = 'installed'\n").unwrap();
    let packed = made(&world.path(), "tar", &["czf", "-", "package"]);
    let url = format!("http://{}", local(&server));
    let tarball = format!("{url}/demo-pkg/-/demo-pkg-1.0.0.tgz");
    let version = json!({ "name": "demo-pkg", "version": "1.0.0", "main": "i.js", "dist": { "tarball": tarball } });
    let about = json!({ "name": "demo-pkg", "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": version } });
    server.page("/demo-pkg", Page::ok("application/json", about.to_string()));
    server.page("/demo-pkg/-/demo-pkg-1.0.0.tgz", Page::ok("application/octet-stream", packed));
    world.write("work/package.json", r#"{"name":"app","version":"1.0.0"}"#);
    let answer = execute(
        &world,
        &format!(
            "npm install --no-audit --no-fund --no-update-notifier --loglevel=error --registry={url}/ demo-pkg >/tmp/log 2>&1 || cat /tmp/log; node -p \"require('demo-pkg')\""
        ),
    );
    assert!(printed(&answer).ends_with("installed\n"), "{answer:#}");
    assert!(world.read("work/package.json").contains("demo-pkg"));
    let rows = connections(&world);
    assert!(rows.len() >= 2 && rows.iter().all(|row| *row == ("done".to_owned(), local(&server))), "{rows:?}");
}

#[test]
fn cargo_works_through_the_proxy() {
    let sysroot = made(Path::new("/"), "rustc", &["--print", "sysroot"]);
    let sysroot = String::from_utf8(sysroot).unwrap().trim().to_owned();
    let cargo = format!("{sysroot}/bin/cargo");
    if !has(&cargo) {
        return;
    }
    let server = Website::start();
    let world =
        reaching(&[local(&server)], &format!("tools = [\"{sysroot}\"]\nenv = {{ CARGO_HOME = \"/tmp/cargo\" }}"));
    let package = world.path().join("demo-pkg-1.0.0");
    std::fs::create_dir_all(package.join("src")).unwrap();
    std::fs::write(
        package.join("Cargo.toml"),
        "[package]\nname = \"demo-pkg\"\nversion = \"1.0.0\"\nedition = \"2021\"\n",
    )
    .unwrap();
    std::fs::write(package.join("src/lib.rs"), "").unwrap();
    made(&world.path(), "tar", &["czf", "demo.crate", "demo-pkg-1.0.0"]);
    let sum = String::from_utf8(made(&world.path(), "sha256sum", &["demo.crate"])).unwrap();
    let sum = sum.split(' ').next().unwrap();
    let url = format!("http://{}", local(&server));
    let row = json!({ "name": "demo-pkg", "vers": "1.0.0", "deps": [], "cksum": sum, "features": {}, "yanked": false });
    server.page(
        "/index/config.json",
        Page::ok("application/json", json!({ "dl": format!("{url}/dl/{{crate}}/{{version}}") }).to_string()),
    );
    server.page("/index/de/mo/demo-pkg", Page::ok("text/plain", format!("{row}\n")));
    server.page(
        "/dl/demo-pkg/1.0.0",
        Page::ok("application/gzip", std::fs::read(world.path().join("demo.crate")).unwrap()),
    );
    world.write(
        "work/Cargo.toml",
        "[package]\nname = \"app\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[dependencies]\ndemo-pkg = \"1\"\n",
    );
    world.write("work/src/lib.rs", "");
    let answer = execute(
        &world,
        &format!(
            "RUSTC={sysroot}/bin/rustc {cargo} fetch --config 'source.crates-io.replace-with=\"here\"' --config 'source.here.registry=\"sparse+{url}/index/\"' 2>&1; ls /tmp/cargo/registry/src/*/"
        ),
    );
    assert!(printed(&answer).ends_with("demo-pkg-1.0.0\n"), "{answer:#}");
    assert!(world.read("work/Cargo.lock").contains("demo-pkg"));
    let rows = connections(&world);
    assert!(rows.len() >= 3 && rows.iter().all(|row| *row == ("done".to_owned(), local(&server))), "{rows:?}");
}
