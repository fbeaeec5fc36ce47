//! Attacks on what a command may see and change, each beside its honest twin and beside the same attack on a sandbox
//! that lacks the one protection that stops it.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;

use paddock_exec::{Command, How, Sandbox, Shown};

use crate::as_each_user;
use crate::main::harness::*;

/// The result of a system call made from Python: `ok`, or the number of the error.
fn call(text: &str) -> String {
    format!(
        "/usr/bin/python3 -c \"\nimport ctypes, os\nlib = ctypes.CDLL(None, use_errno=True)\nanswer = {text}\nprint('ok' if answer >= 0 else ctypes.get_errno())\n\""
    )
}

fn env_hidden(shown: Shown) -> Vec<Shown> {
    vec![Shown { masks: vec![".env".into(), "sub/.env".into()], ..shown }]
}

fn with_secrets() -> Yard {
    let yard = Yard::new();
    yard.write("w/.env", "SECRET");
    yard.write("w/sub/.env", "SECRET");
    yard.write("w/sub/open", "open");
    yard.write("elsewhere/key", "SECRET");
    yard
}

fn with_hooks() -> Yard {
    let yard = Yard::new();
    yard.write("w/.git/hooks/pre-commit.sample", "sample");
    yard.write("w/.git/config", "[core]");
    yard
}

fn guarded(yard: &Yard) -> Vec<Shown> {
    vec![Shown { guarded: vec![".git/hooks".into(), ".git/config".into(), ".envrc".into()], ..yard.direct() }]
}

fn write_only(yard: &Yard) -> Vec<Shown> {
    vec![yard.direct(), Shown::host("/out", yard.path("out"), How::WriteOnly)]
}

as_each_user! {
    fn what_comes_in_the_place_of_a_judged_directory_is_not_shown() {
        let ways: [fn(&Yard) -> Shown; 3] = [Yard::read_only, Yard::direct, Yard::staged];
        for way in ways {
            let yard = with_secrets();
            let opened: OwnedFd = fs::File::open(yard.path("w")).unwrap().into();
            let opened = std::sync::Arc::new(opened);
            let shown = || Shown { opened: Some(opened.clone()), ..way(&yard) };
            assert_eq!(sh(vec![shown()], "cat sub/open").well().out, "open");
            fs::rename(yard.path("w"), yard.path("away")).unwrap();
            std::os::unix::fs::symlink(yard.path("elsewhere"), yard.path("w")).unwrap();
            for name in ["upper", "work"] {
                paddock_exec::staged::remove_tree(&yard.path(name)).unwrap();
                fs::create_dir(yard.path(name)).unwrap();
            }
            // Nobody who only knows the path would notice.
            assert_eq!(sh(vec![yard.direct()], "cat key").well().out, "SECRET");
            let error = try_run(Sandbox::new(vec![shown()], Command::shell("/project", "cat key"))).unwrap_err();
            assert!(matches!(error, paddock_exec::Error::Place { .. }), "{error}");
        }
    }

    fn the_way_up_ends_in_the_new_system() {
        let yard = with_secrets();
        yard.write("ground/project/file", "");
        let key = yard.path("elsewhere/key");
        let ways = [vec![yard.direct()], vec![yard.read_only()], vec![yard.staged()], vec![Shown::host("/", yard.path("ground"), How::ReadOnly)]];
        for shown in ways {
            let up = "stat -c '%d %i' / /.. /etc/.. /usr/../.. | sort -u | wc -l";
            let text = format!("{up}; cat /etc/..{0} /..{0} /usr/../..{0}; cd /etc/.. && pwd -P && ls", key.display());
            // Landlock would hide it: the mounts have to hold by themselves.
            let ran = sh_without(shown, &text, |protections| protections.landlock = false);
            assert!(ran.out.starts_with("1\n/\n"), "{ran:?}");
            assert!(!ran.out.contains("SECRET") && !ran.out.contains("root\n"), "{ran:?}");
        }
        let text = format!("cat /..{}", key.display());
        let open = sh_without(vec![yard.direct()], &text, |on| (on.detached, on.landlock) = (false, false));
        assert_eq!(open.out, "SECRET", "{open:?}");
    }

    fn places_of_the_host_are_not_there() {
        let yard = with_secrets();
        let key = yard.path("elsewhere/key");
        assert!(fs::read_to_string(&key).is_ok() && fs::metadata("/etc/shadow").is_ok());
        // A path of the host, and the same by the way up.
        let text = |up: &str| format!("cat {up}{} {up}/etc/shadow {up}/etc/gshadow ~/.ssh/* {up}/root/.bashrc; ls {up}/root {up}/home {up}/var {up}/run {up}/sys", key.display());
        for up in ["", "/.."] {
            let ran = sh(vec![yard.direct()], &text(up)).badly();
            assert_eq!(ran.out, "", "{ran:?}");
        }
        let open = sh_without(vec![yard.direct()], &text("/.."), |on| (on.detached, on.landlock) = (false, false));
        assert!(open.out.contains("SECRET") && open.out.contains("/../var:\n"), "{open:?}");
        sh(vec![yard.direct()], "cat /etc/passwd /etc/hosts sub/open").well();
        // Shown on purpose it can be read: the mount is what keeps it away.
        let mut command = Command::new("/project", ["cat", key.to_str().unwrap()]);
        command.tools = vec![yard.path("elsewhere")];
        let shown = Shown::host("/project", yard.path("w"), How::Direct);
        let tool_below_tmp = try_run(Sandbox::new(vec![shown], command));
        assert!(tool_below_tmp.is_err(), "a place below /tmp belongs to the system");
    }

    fn a_hidden_name_is_not_there_when_read_only_or_staged() {
        for staged in [false, true] {
            let yard = with_secrets();
            let shown = || if staged { yard.staged_anew() } else { yard.read_only() };
            let text = "find . | sort; cat .env sub/.env; ls -la .env; cat sub/open";
            let ran = sh(env_hidden(shown()), text);
            assert_eq!(ran.out, ".\n./sub\n./sub/open\nopen", "{ran:?}");
            let open = sh_without(env_hidden(shown()), text, |on| on.masks = false);
            assert!(open.out.contains("SECRETSECRET"), "{open:?}");
        }
    }

    fn a_hidden_name_is_covered_when_written_directly() {
        let yard = with_secrets();
        let text = "cat .env sub/.env; cp .env x; mv .env y; rm -f .env; ln .env z; echo new > .env; chmod 777 .env; mv sub sub2; cat sub2/.env";
        let ran = sh(env_hidden(yard.direct()), text);
        assert!(!ran.out.contains("SECRET"), "{ran:?}");
        assert_eq!((yard.read("w/.env").as_str(), yard.has("w/y"), yard.has("w/z")), ("SECRET", false, false));
        let yard = with_secrets();
        let open = sh_without(env_hidden(yard.direct()), text, |on| on.masks = false);
        assert!(open.out.contains("SECRET"), "{open:?}");
    }

    fn a_hidden_directory_is_hidden_with_everything_in_it() {
        for staged in [false, true] {
            let yard = Yard::new();
            yard.write("w/keys/a/b", "SECRET");
            let shown = || Shown { masks: vec!["keys".into()], ..if staged { yard.staged_anew() } else { yard.direct() } };
            let text = "cat keys/a/b; ls -R keys; cat < keys/a/b";
            let ran = sh(vec![shown()], text).badly();
            assert!(!ran.out.contains("SECRET") && !ran.out.contains("a"), "{ran:?}");
            assert_eq!(yard.read("w/keys/a/b"), "SECRET");
            let open = sh_without(vec![shown()], text, |on| on.masks = false).well();
            assert!(open.out.starts_with("SECRET") && open.out.ends_with("SECRET"), "{open:?}");
        }
    }

    fn the_attributes_of_directories_beside_hidden_names_are_the_real_ones() {
        let yard = with_secrets();
        fs::set_permissions(yard.path("w/sub"), fs::Permissions::from_mode(0o750)).unwrap();
        let text = "stat -c '%a %u %g %Y' . sub";
        let plain = sh(vec![yard.staged()], text).well();
        assert_eq!(sh(env_hidden(yard.read_only()), text).well().out, plain.out);
        let staged = Yard::new();
        staged.write("w/sub/.env", "SECRET");
        sh(env_hidden(staged.staged()), "echo x > sub/new").well();
        let How::Staged(stage) = staged.staged().how else { unreachable!() };
        let changes = paddock_exec::staged::changes(&stage, &staged.path("w"), 10).unwrap();
        assert_eq!(changes.found.len(), 1, "{:?}", changes.found);
    }

    fn nothing_comes_back_from_a_write_only_workspace() {
        let yard = Yard::new();
        yard.write("out/old", "SECRET");
        let text = "cat /out/old; ls /out; ls /out/old/..; cp /out/old .; mv /out/old .; rm -f /out/old; ln /out/old l; /usr/bin/python3 -c \"print(open('/out/old').read())\"; dd if=/out/old; grep -r S /out";
        let ran = sh(write_only(&yard), text);
        assert!(!ran.out.contains("SECRET") && !ran.out.contains("old"), "{ran:?}");
        assert_eq!(yard.read("out/old"), "SECRET");
        let open = sh_without(write_only(&yard), text, |on| on.landlock = false);
        assert!(open.out.contains("SECRET"), "{open:?}");
    }

    fn a_write_only_workspace_is_written() {
        let yard = Yard::new();
        yard.write("out/old", "SECRET");
        sh(write_only(&yard), "echo new > /out/new && mkdir -p /out/a/b && echo deep > /out/a/b/c && echo more >> /out/old && : > /out/new && echo again > /out/new").well();
        assert_eq!((yard.read("out/new"), yard.read("out/a/b/c"), yard.read("out/old")), ("again\n".into(), "deep\n".into(), "SECRETmore\n".into()));
    }

    fn a_write_only_workspace_inside_a_readable_one_must_be_an_empty_drop_box() {
        let yard = Yard::new();
        yard.write("out/old", "SECRET");
        let nested = |from: &str| vec![yard.read_only(), Shown::host("/project/out", yard.path(from), How::WriteOnly)];
        assert!(try_run(Sandbox::new(nested("out"), Command::shell("/project", "true"))).is_err());
        fs::create_dir(yard.path("box")).unwrap();
        sh(nested("box"), "echo x > out/new; mkdir out/d; rm -f out/new; mv out/new out/newer").badly();
        assert_eq!(yard.read("box/new"), "x\n");
    }

    fn the_first_process_tells_nothing_of_the_launcher() {
        let yard = Yard::new();
        let text = "cat /proc/1/environ /proc/1/cmdline | tr '\\0' '\\n'; ls /proc/1/fd /proc/1/root /proc/1/cwd; ls -d /proc/1; cat /proc/1/maps /proc/1/mem";
        let ran = sh(vec![yard.direct()], text).badly();
        assert_eq!(ran.out, "", "{ran:?}");
        let open = sh_without(vec![yard.direct()], text, |on| on.undumpable = false);
        assert!(open.out.contains("PATH="), "{open:?}");
    }

    fn processes_of_the_host_are_neither_seen_nor_reached() {
        let yard = Yard::new();
        let mut victim = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let text = format!("test -e /proc/{0} && echo seen; kill -9 {0} && echo killed", victim.id());
        let ran = sh(vec![yard.direct()], &text).badly();
        assert_eq!(ran.out, "", "{ran:?}");
        assert!(victim.try_wait().unwrap().is_none(), "it lives");
        let open = sh_without(vec![yard.direct()], &text, |on| (on.processes, on.landlock) = (false, false));
        assert_eq!(open.out, "seen\nkilled\n", "{open:?}");
        victim.wait().unwrap();
        sh(vec![yard.direct()], "sleep 60 & kill -9 $! && wait $!; kill -9 -1").badly();
    }

    fn a_process_of_the_host_cannot_be_opened_nor_one_of_its_own_emptied() {
        let yard = Yard::new();
        let mut victim = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pidfd_open = call(&format!("lib.syscall(434, {}, 0)", victim.id()));
        let held = sh(vec![yard.direct()], &pidfd_open);
        let open = sh_without(vec![yard.direct()], &pidfd_open, |on| (on.processes, on.landlock) = (false, false));
        victim.kill().unwrap();
        victim.wait().unwrap();
        assert_eq!(held.out.trim(), libc::ESRCH.to_string(), "{held:?}");
        assert_eq!(open.out.trim(), "ok", "{open:?}");
        // What another process has open cannot be taken out of it.
        let pidfd_getfd = call("lib.syscall(438, lib.syscall(434, os.getpid(), 0), 0, 0)");
        assert_eq!(sh(vec![yard.direct()], &pidfd_getfd).out.trim(), libc::EPERM.to_string());
        assert_eq!(sh_without(vec![yard.direct()], &pidfd_getfd, |on| on.filter = false).out.trim(), "ok");
    }

    fn what_is_read_only_stays_so() {
        let yard = Yard::new();
        yard.write("w/a", "text");
        let text = "echo no > a; echo no > b; rm -f a; mv a c; chmod 777 a; touch a; ln -s x l; mkdir d; ls";
        let ran = sh(vec![yard.read_only()], text);
        assert_eq!((ran.out.as_str(), yard.read("w/a").as_str()), ("a\n", "text"), "{ran:?}");
        assert_eq!(tree(&yard.path("w")).len(), 1);
        let open = sh_without(vec![yard.read_only()], "echo yes > b; ls", |on| (on.sockets, on.read_only, on.landlock) = (false, false, false));
        assert_eq!(open.out, "a\nb\n", "{open:?}");
    }

    fn the_system_is_read_only() {
        let yard = Yard::new();
        let text = "for at in / /etc /usr /dev /bin /proc; do touch $at/planted && echo planted $at; done; echo x > /etc/passwd && echo users; ls /sys /boot";
        assert_eq!(sh(vec![yard.direct()], text).badly().out, "");
        sh(vec![yard.direct()], "touch /tmp/a /dev/shm/b ~/c && echo x > /dev/null").well();
        let open = sh_without(vec![yard.direct()], "touch /etc/planted /dev/planted && echo planted", |on| (on.read_only, on.landlock) = (false, false));
        assert_eq!(open.out, "planted\n", "{open:?}");
    }

    fn a_guarded_path_is_not_written_directly() {
        let yard = with_hooks();
        let text = "echo evil > .git/hooks/pre-commit; echo evil >> .git/config; rm -rf .git/hooks; mv .git/hooks h; rm -f .git/config; mv .git/config c; ln -sf /x .git/config; umount .git/hooks";
        sh(guarded(&yard), text).badly();
        assert_eq!(yard.read("w/.git/config"), "[core]");
        assert_eq!(tree(&yard.path("w/.git/hooks")), [std::path::PathBuf::from("pre-commit.sample")]);
        sh(guarded(&yard), "echo ok > .git/HEAD && echo ok > file && mkdir .git/objects").well();
        sh_without(guarded(&yard), "echo evil > .git/hooks/pre-commit", |on| on.guards = false).well();
        assert!(yard.has("w/.git/hooks/pre-commit"));
    }

    fn the_ancestor_of_a_guarded_path_cannot_be_moved_away() {
        let text = "mv .git g && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit";
        let yard = with_hooks();
        sh(guarded(&yard), text).badly();
        assert!(!yard.has("w/g") && !yard.has("w/.git/hooks/pre-commit"));
        sh(guarded(&yard), "rm -rf .git").badly();
        assert!(yard.has("w/.git/hooks/pre-commit.sample"));
        let yard = with_hooks();
        sh_without(guarded(&yard), text, |on| on.pins = false).well();
        assert!(yard.has("w/.git/hooks/pre-commit"), "without the pin the hook is planted");
    }

    fn a_guarded_path_that_was_absent_is_reported() {
        let yard = with_hooks();
        let ran = sh(guarded(&yard), "echo evil > .envrc").well();
        assert_eq!(ran.ended.appeared, [std::path::PathBuf::from("/project/.envrc")]);
        assert!(sh(guarded(&yard), "true").well().ended.appeared.is_empty());
        let yard = with_hooks();
        sh(vec![yard.staged()], "echo evil > .envrc; echo evil > .git/hooks/pre-commit").well();
        assert_eq!(tree(&yard.path("w")).len(), 4, "staged, nothing is there to be reported");
    }

    fn system_calls_that_lead_out_are_refused() {
        let yard = Yard::new();
        let refused = libc::EPERM.to_string();
        for (name, text) in [
            ("ptrace", "lib.ptrace(0, 0, 0, 0)".to_owned()),
            ("process_vm_readv", "lib.syscall(310, os.getpid(), 0, 0, 0, 0, 0)".to_owned()),
            ("io_uring_setup", "lib.syscall(425, 1, ctypes.create_string_buffer(256))".to_owned()),
            ("userfaultfd", "lib.syscall(323, 1)".to_owned()),
            ("add_key", "lib.syscall(248, b'user', b'paddock', b'x', 1, -2)".to_owned()),
            ("unshare", format!("lib.unshare({})", libc::CLONE_NEWUSER)),
            ("fsopen", "lib.syscall(430, b'tmpfs', 0)".to_owned()),
            ("setns", "lib.setns(os.open('/proc/self/ns/uts', os.O_RDONLY), 0)".to_owned()),
        ] {
            assert_eq!(sh(vec![yard.direct()], &call(&text)).out.trim(), refused, "{name}");
            // What a container around the tests keeps away by itself cannot be seen to succeed.
            let open = sh_without(vec![yard.direct()], &call(&text), |on| (on.filter, on.landlock, on.capabilities) = (false, false, false));
            if open.out.trim() != "ok" {
                could_not_run(&format!("{name} answers {} here even without the filter", open.out.trim()));
                assert_ne!(open.out.trim(), "", "{open:?}");
            }
        }
    }

    fn a_door_that_is_refused_by_number_is_refused_by_every_number() {
        let yard = Yard::new();
        let x32 = call(&format!("lib.syscall({})", 0x4000_0000 + 39));
        assert_eq!(sh(vec![yard.direct()], &x32).out.trim(), libc::ENOSYS.to_string());
        assert_eq!(sh(vec![yard.direct()], &call("lib.syscall(435, 0, 0)")).out.trim(), libc::ENOSYS.to_string(), "clone3");
        let source = "int main(void) { int r; __asm__ volatile (\\\"int \\$0x80\\\" : \\\"=a\\\"(r) : \\\"a\\\"(20) : \\\"memory\\\"); return r > 0 ? 0 : 9; }";
        let text = format!("printf '%s' \"{source}\" > /tmp/a.c && gcc -o /tmp/a /tmp/a.c && /tmp/a");
        let ran = sh(vec![yard.direct()], &text);
        assert_eq!(ran.code(), 128 + libc::SIGSYS, "{ran:?}");
        let open = sh_without(vec![yard.direct()], &text, |on| on.filter = false);
        if open.code() != 0 {
            could_not_run(&format!("no 32-bit calls on this kernel ({})", open.code()));
        }
    }

    fn requests_that_type_into_a_terminal_are_refused() {
        let yard = Yard::new();
        for request in [0x5412_u64, 0x541C, 0xFFFF_FFFF_0000_5412] {
            let text = call(&format!("lib.ioctl(0, ctypes.c_ulong({request}), b'x')"));
            assert_eq!(sh(vec![yard.direct()], &text).out.trim(), libc::EPERM.to_string());
            let open = sh_without(vec![yard.direct()], &text, |on| on.filter = false);
            assert_eq!(open.out.trim(), libc::ENOTTY.to_string());
        }
    }

    fn mounts_can_neither_be_made_nor_taken_away() {
        let yard = with_secrets();
        let mount = call("lib.mount(b'x', b'/tmp', b'tmpfs', 0, 0)");
        let unmount = call("lib.umount2(b'.env', 2)") + "; cat .env";
        for text in [&mount, &unmount] {
            let ran = sh(env_hidden(yard.direct()), text);
            assert_eq!(ran.out.trim(), libc::EPERM.to_string(), "{ran:?}");
        }
        // What is mounted read-only is not made writable again.
        let hooks = with_hooks();
        let remount = call("lib.mount(None, b'.git/hooks', None, 0x1020, None)") + "; echo evil > .git/hooks/pre-commit && echo planted";
        let ran = sh(guarded(&hooks), &remount);
        assert!(ran.out.trim() == libc::EPERM.to_string() && !hooks.has("w/.git/hooks/pre-commit"), "{ran:?}");
        let off = |on: &mut paddock_exec::Protections| (on.filter, on.landlock, on.capabilities) = (false, false, false);
        if !rustix::process::geteuid().is_root() {
            could_not_run("a user other than 0 has no capability after an exec even when none is dropped");
            return;
        }
        assert_eq!(sh_without(env_hidden(yard.direct()), &mount, off).out.trim(), "ok");
        let open = sh_without(env_hidden(yard.direct()), &unmount, off);
        assert_eq!(open.out.trim(), "ok\nSECRET", "{open:?}");
        let open = sh_without(guarded(&hooks), &remount, off);
        assert!(open.out.trim() == "ok\nplanted" && hooks.has("w/.git/hooks/pre-commit"), "{open:?}");
    }

    fn devices_are_not_made_and_fifos_are() {
        let yard = Yard::new();
        let off = |on: &mut paddock_exec::Protections| (on.filter, on.landlock, on.capabilities) = (false, false, false);
        for device in ["d c 1 3", "b b 7 0"] {
            sh(vec![yard.direct()], &format!("mknod {device}")).badly();
            if sh_without(vec![yard.direct()], &format!("mknod {device}"), off).code() != 0 {
                could_not_run(&format!("this kernel makes no device ({device}) in a user namespace, whatever else holds"));
            }
        }
        // The one that every user can make, and by which an overlay hides a name.
        sh(vec![yard.direct()], "mknod whiteout c 0 0").badly();
        assert!(!yard.has("w/whiteout"));
        sh_without(vec![yard.direct()], "mknod whiteout c 0 0", off).well();
        assert!(yard.has("w/whiteout"));
        sh(vec![yard.direct()], "mkfifo p && test -p p").well();
        assert_eq!(sh(vec![yard.direct()], "ls /dev/kmsg /dev/mem /dev/vda /dev/fuse /dev/kvm /dev/tty").badly().out, "");
    }

    fn there_are_no_capabilities_and_no_way_to_get_any() {
        let yard = Yard::new();
        let text = "grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp:' /proc/self/status";
        let ran = sh(vec![yard.direct()], text).well();
        for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert!(ran.out.contains(&format!("{name}:\t0000000000000000")), "{ran:?}");
        }
        assert!(ran.out.contains("NoNewPrivs:\t1") && ran.out.contains("Seccomp:\t2"), "{ran:?}");
        let open = sh_without(vec![yard.direct()], text, |on| on.capabilities = false);
        assert!(!open.out.contains("CapBnd:\t0000000000000000"), "{open:?}");
    }

    fn a_program_that_is_set_user_id_gains_nothing() {
        if !rustix::process::geteuid().is_root() {
            could_not_run("an ordinary user maps no other user to become");
            return;
        }
        let yard = Yard::new();
        fs::copy("/usr/bin/id", yard.path("w/id")).unwrap();
        std::os::unix::fs::chown(yard.path("w/id"), Some(12345), Some(12345)).unwrap();
        fs::set_permissions(yard.path("w/id"), fs::Permissions::from_mode(0o6755)).unwrap();
        assert_eq!(sh(vec![yard.direct()], "./id -u").well().out, "0\n");
        let off = |on: &mut paddock_exec::Protections| (on.no_new_privileges, on.landlock, on.filter) = (false, false, false);
        assert_eq!(sh_without(vec![yard.direct()], "./id -u", off).well().out, "12345\n");
    }

    fn settings_of_the_kernel_are_not_there() {
        let yard = Yard::new();
        sh(vec![yard.direct()], "ls /proc/sys || ls /proc/sysrq-trigger || ls /proc/kcore || ls /proc/keys").badly();
        sh(vec![yard.direct()], "cat /proc/self/status /proc/self/maps && ls /proc/self/fd").well();
        sh_without(vec![yard.direct()], "ls /proc/sys/kernel", |on| on.processes = false).well();
    }

    fn descriptors_of_the_launcher_are_closed() {
        let yard = Yard::new();
        yard.write("secret", "SECRET");
        let file = OwnedFd::from(fs::File::open(yard.path("secret")).unwrap());
        let inherited = rustix::io::fcntl_dupfd_cloexec(&file, 50).unwrap();
        rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).unwrap();
        let text = format!("cat /proc/self/fd/{0} <&{0}; ls /proc/self/fd | wc -l", inherited.as_raw_fd());
        let bash = |without: fn(&mut paddock_exec::Protections)| {
            let mut protections = paddock_exec::Protections::ALL;
            without(&mut protections);
            let command = Command::new("/project", ["/bin/bash", "-c", text.as_str()]);
            ran(Sandbox::new(vec![yard.direct()], command).with_protections(protections))
        };
        let ran = bash(|_| {});
        assert_eq!(ran.out.trim(), "4", "{ran:?}");
        let open = bash(|on| (on.descriptors, on.landlock) = (false, false));
        assert!(open.out.contains("SECRET"), "{open:?}");
    }

    fn variables_of_the_launcher_are_not_inherited() {
        let yard = Yard::new();
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "the tests are started by cargo");
        let ran = sh(vec![yard.direct()], "env | cut -d= -f1 | sort | tr '\\n' ' '").well();
        assert_eq!(ran.out, "HOME LANG PATH PWD TMPDIR USER ", "{ran:?}");
        let open = sh_without(vec![yard.direct()], "echo $CARGO_MANIFEST_DIR", |on| on.variables = false);
        assert_ne!(open.out.trim(), "");
    }

    fn what_the_word_list_cannot_see_changes_nothing_when_staged() {
        for text in ["git init -q . && git clean -fdxq", "find . -type f -delete", ": > f", "/usr/bin/python3 -c \"import os; os.remove('f')\"", "$(echo r)m f", "echo cm0gZg== | base64 -d | sh", "cp /dev/null f", "truncate -s 0 f", "perl -e 'unlink \"f\"'"] {
            let yard = Yard::new();
            yard.write("w/f", "kept");
            let ran = sh(vec![yard.staged()], text).well();
            assert_eq!(yard.read("w/f"), "kept", "{text}: {ran:?}");
            sh(vec![yard.direct()], text).well();
            assert!(!yard.has("w/f") || yard.read("w/f").is_empty(), "{text}: directly it would be gone");
        }
    }

    fn places_of_the_host_are_not_told_where_layers_are_shown() {
        let yard = with_secrets();
        let place = yard.dir.path().file_name().unwrap().to_str().unwrap().to_owned();
        let text = "cat /proc/self/mountinfo /proc/self/mounts /proc/mounts /proc/self/cgroup; df -a; env; readlink /proc/self/cwd /proc/self/exe /proc/self/root";
        for shown in [yard.read_only(), yard.staged()] {
            let ran = sh(env_hidden(shown), text);
            assert!(!ran.out.contains(&place), "{}", ran.out);
        }
    }

    fn shared_memory_of_the_host_is_not_reached() {
        let made = std::process::Command::new("ipcmk").args(["-M", "4096"]).output();
        let number = made.ok().and_then(|made| String::from_utf8(made.stdout).ok()?.split_whitespace().last()?.parse::<u32>().ok());
        let Some(number) = number else {
            could_not_run("no shared memory of the host can be made here");
            return;
        };
        let yard = Yard::new();
        let text = call(&format!("1 if lib.shmdt(ctypes.c_void_p(lib.shmat({number}, 0, 0))) == 0 else -1")).replace("ctypes.CDLL(None, use_errno=True)", "ctypes.CDLL(None, use_errno=True); lib.shmat.restype = ctypes.c_void_p");
        let held = sh(vec![yard.direct()], &text);
        let open = sh_without(vec![yard.direct()], &text, |on| on.ipc = false);
        std::process::Command::new("ipcrm").args(["-m", &number.to_string()]).status().unwrap();
        assert_ne!(held.out.trim(), "ok", "{held:?}");
        assert_eq!(open.out.trim(), "ok", "{open:?}");
    }
}
