//! Attacks on what a command may use up, and on its end: nothing survives.

use std::process::{Command as Process, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use paddock_exec::{Command, Exit, Limit, Limits, Output, Protections, Sandbox, Tier};

use crate::as_each_user;
use crate::main::harness::*;

const MIB: u64 = 1024 * 1024;

fn bounded(yard: &Yard, text: &str, set: impl FnOnce(&mut Limits)) -> Ran {
    ran(sandbox(yard, text, set))
}

fn unbounded(yard: &Yard, text: &str, set: impl FnOnce(&mut Limits)) -> Ran {
    ran(sandbox(yard, text, set).with_protections(Protections { limits: false, ..Protections::ALL }))
}

fn sandbox(yard: &Yard, text: &str, set: impl FnOnce(&mut Limits)) -> Sandbox {
    let mut command = Command::shell("/project", text);
    set(&mut command.limits);
    Sandbox::new(vec![yard.direct()], command)
}

/// Processes of the host whose command line has this argument.
fn alive(mark: &str) -> Vec<i32> {
    let numbers =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == mark.as_bytes())
    };
    numbers.filter(has).collect()
}

/// Waits until a condition holds; a test that waits in vain fails by its assertion.
fn within(limit: Duration, holds: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < limit {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    holds()
}

fn end(pids: &[i32]) {
    for pid in pids {
        let pid = rustix::process::Pid::from_raw(*pid).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

as_each_user! {
    fn time_ends_a_command() {
        let yard = Yard::new();
        let ran = bounded(&yard, "echo begun; sleep 600 & sleep 600", |limits| limits.wall = Duration::from_millis(400));
        assert_eq!((ran.ended.limit, ran.ended.exit, ran.out.as_str()), (Some(Limit::Wall), Exit::Signalled(9), "begun\n"));
    }

    fn processor_time_ends_a_command() {
        let yard = Yard::new();
        let ran = bounded(&yard, "trap '' XCPU; while :; do :; done", |limits| limits.cpu = Duration::from_secs(1));
        assert_eq!(ran.ended.limit, Some(Limit::Cpu), "{ran:?}");
        let ran = bounded(&yard, "sleep 0.1", |limits| limits.cpu = Duration::from_secs(1));
        assert_eq!(ran.ended.limit, None);
    }

    fn processor_time_is_counted_together_where_there_is_a_group() {
        let yard = Yard::new();
        let text = "for i in 1 2 3 4 5 6; do (timeout 0.6 sh -c 'while :; do :; done'); done; echo through";
        let ran = bounded(&yard, text, |limits| limits.cpu = Duration::from_secs(1));
        if ran.ended.tiers.cpu == Tier::PerProcess {
            could_not_run("no control group counts processor time here");
            assert!(ran.out.contains("through"));
        } else {
            assert_eq!(ran.ended.limit, Some(Limit::Cpu), "{ran:?}");
        }
    }

    fn memory_ends_a_command() {
        let yard = Yard::new();
        let text = "exec /usr/bin/python3 -c 'a = bytearray(400 << 20); print(len(a))'";
        let ran = bounded(&yard, text, |limits| limits.memory = 150 * MIB).badly();
        if ran.ended.tiers.memory == Tier::PerProcess {
            assert!(ran.err.contains("MemoryError"), "{ran:?}");
        } else {
            assert_eq!(ran.ended.limit, Some(Limit::Memory), "{ran:?}");
        }
        unbounded(&yard, text, |limits| limits.memory = 150 * MIB).well();
        bounded(&yard, text, |limits| limits.memory = 1024 * MIB).well();
    }

    fn memory_of_many_processes_is_counted_together_where_there_is_a_group() {
        let yard = Yard::new();
        let text = "for i in 1 2 3 4; do /usr/bin/python3 -c 'import time; a = bytearray(b\"x\" * (60 << 20)); time.sleep(1); print(len(a))' & done; wait";
        let ran = bounded(&yard, text, |limits| limits.memory = 150 * MIB);
        if ran.ended.tiers.memory == Tier::PerProcess {
            could_not_run("no control group counts memory here");
        } else {
            assert!(ran.ended.reached.contains(&Limit::Memory), "{ran:?}");
        }
    }

    fn a_fork_bomb_is_bounded() {
        let yard = Yard::new();
        let text = "/usr/bin/python3 -c \"\nimport os, time\nmade = 0\ntry:\n  for i in range(600):\n    if os.fork() == 0:\n      time.sleep(600)\n    made += 1\nexcept OSError:\n  pass\nprint(made)\n\"";
        let made = |ran: &Ran| ran.out.trim().parse::<u64>().unwrap_or(u64::MAX);
        let ran = bounded(&yard, text, |limits| limits.processes = 30);
        assert!(made(&ran) < 30, "{ran:?}");
        if ran.ended.tiers.processes == Tier::CgroupV1 || ran.ended.tiers.processes == Tier::CgroupV2 {
            assert!(ran.ended.reached.contains(&Limit::Processes), "{ran:?}");
        }
        let open = unbounded(&yard, text, |limits| limits.processes = 30);
        assert!(made(&open) > 500, "{open:?}");
        let bomb = bounded(&yard, "b() { b | b & }; b; sleep 0.5", |limits| {
            (limits.processes, limits.wall) = (40, Duration::from_secs(20));
        });
        assert!(bomb.ended.took < Duration::from_secs(20), "{bomb:?}");
    }

    fn the_size_of_a_file_is_bounded() {
        let yard = Yard::new();
        let text = "exec head -c 3000000 /dev/zero > big";
        let ran = bounded(&yard, text, |limits| limits.file_size = MIB).badly();
        assert_eq!(ran.ended.limit, Some(Limit::FileSize), "{ran:?}");
        assert!(std::fs::metadata(yard.path("w/big")).unwrap().len() <= MIB);
        unbounded(&yard, text, |limits| limits.file_size = MIB).well();
    }

    fn scratch_space_is_bounded_as_a_whole() {
        let yard = Yard::new();
        let text = "head -c 6000000 /dev/zero > /tmp/a && head -c 6000000 /dev/zero > /dev/shm/b";
        let ran = bounded(&yard, text, |limits| limits.tmp_size = 10 * MIB).badly();
        assert!(ran.err.contains("No space left"), "{ran:?}");
        bounded(&yard, text, |limits| limits.tmp_size = 20 * MIB).well();
        bounded(&yard, "head -c 6000000 /dev/zero > /dev/x", |_| {}).badly();
        let many = "i=0; while [ $i -lt 6000 ]; do : > /tmp/$i || exit 3; i=$((i+1)); done";
        bounded(&yard, many, |limits| limits.tmp_size = 4 * MIB).badly();
    }

    fn output_is_bounded() {
        let yard = Yard::new();
        let ran = bounded(&yard, "yes", |limits| limits.output = MIB);
        assert_eq!((ran.ended.limit, ran.out.len() as u64, ran.ended.usage.output), (Some(Limit::Output), MIB, MIB));
        let both = bounded(&yard, "yes & yes >&2", |limits| limits.output = MIB);
        assert_eq!((both.out.len() + both.err.len()) as u64, MIB);
        let exact = bounded(&yard, "head -c 1048576 /dev/zero", |limits| limits.output = MIB).well();
        assert_eq!(exact.ended.limit, None);
    }

    fn open_files_are_bounded() {
        let yard = Yard::new();
        let text = "/usr/bin/python3 -c \"a = [open('/dev/null') for i in range(100)]\"";
        bounded(&yard, text, |limits| limits.open_files = 50).badly();
        bounded(&yard, text, |_| {}).well();
    }

    fn what_a_command_leaves_running_ends_with_it() {
        let mark = format!("60{}.25", std::process::id());
        let yard = Yard::new();
        let text = format!("sleep {mark} & setsid sleep {mark} & (setsid nohup sh -c 'sleep {mark}; :' &) ; sleep 0.2; echo done");
        assert_eq!(sh(vec![yard.direct()], &text).well().out, "done\n");
        assert!(alive(&mark).is_empty());
        let quiet = format!("({text}) > /dev/null 2>&1 < /dev/null");
        sh_without(vec![yard.direct()], &quiet, |on| on.processes = false).well();
        let left = alive(&mark);
        end(&left);
        assert!(!left.is_empty(), "without a process table of its own they live on");
    }

    fn a_command_that_is_stopped_takes_all_its_processes_along() {
        let mark = format!("61{}.25", std::process::id());
        let yard = Yard::new();
        let begun = AtomicBool::new(false);
        let text = format!("sleep {mark} & setsid sleep {mark} & echo begun; wait");
        let sandbox = Sandbox::new(vec![yard.direct()], Command::shell("/project", text));
        let ended = paddock_exec::run(sandbox, &|| begun.load(Ordering::Relaxed), &mut |piece| {
            assert_eq!(piece, Output::Out(b"begun\n"));
            begun.store(true, Ordering::Relaxed);
        });
        assert!(ended.unwrap().stopped);
        assert!(alive(&mark).is_empty());
    }

    fn nothing_survives_the_launcher() {
        let yard = Yard::new();
        for death in [true, false] {
            let mark = format!("62{}{}.25", std::process::id(), u8::from(death));
            let mut launcher = Process::new(std::env::current_exe().unwrap())
                .args(["--exact", "main::limited::a_launcher_to_be_killed", "--nocapture"])
                .env("PADDOCK_EXEC_TEST_VICTIM", &mark)
                .env("PADDOCK_EXEC_TEST_DEATH", death.to_string())
                .env("PADDOCK_EXEC_TEST_PLACE", yard.path("w"))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let count = || alive(&mark).len();
            assert!(within(Duration::from_secs(20), || count() >= 2), "it began");
            launcher.kill().unwrap();
            launcher.wait().unwrap();
            if death {
                assert!(within(Duration::from_secs(10), || count() == 0), "all are gone");
            } else {
                std::thread::sleep(Duration::from_millis(300));
                let left = alive(&mark);
                end(&left);
                assert!(left.len() >= 2, "without the death signal they live on");
            }
        }
    }
}

/// Not a test of its own: what `nothing_survives_the_launcher` starts and kills.
#[test]
fn a_launcher_to_be_killed() {
    let Ok(mark) = std::env::var("PADDOCK_EXEC_TEST_VICTIM") else { return };
    let death = std::env::var("PADDOCK_EXEC_TEST_DEATH").as_deref() != Ok("false");
    let place = std::env::var_os("PADDOCK_EXEC_TEST_PLACE").unwrap();
    let shown = paddock_exec::Shown::host("/project", place, paddock_exec::How::Direct);
    let text = format!("setsid sleep {mark} & sleep {mark} & wait");
    let protections = Protections { death, ..Protections::ALL };
    let _ = ran(Sandbox::new(vec![shown], Command::shell("/project", text)).with_protections(protections));
}
