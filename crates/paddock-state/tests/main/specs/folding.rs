//! `runtime.md`: folding, and what is read after a crash.

use paddock_state::conversation::{Notice, Written, apply};
use paddock_state::instance::{Imported, Instances as _};

use super::page::Page;
use super::{Ground, events, lines, messages, turn};

#[test]
fn every_example_of_folding_comes_to_what_is_shown() {
    let examples = Page::named("runtime.md").examples();
    let examples: Vec<_> = examples.into_iter().filter(|example| example.find("base").is_some()).collect();
    assert!(examples.len() >= 7, "{}", examples.len());
    for example in examples {
        let heading = &example.heading;
        let (base, events) = (messages(example.block("base")), events(example.block("events")));
        let shown = example.block("messages");
        // The plain rule.
        let (plain, missing) = apply(base.clone(), &events);
        assert_eq!(lines(&plain), shown, "{heading}");
        let warned: String = missing.into_iter().map(|missing| told(&Notice::MissingMessage(missing))).collect();
        assert_eq!(warned, example.find("warnings").unwrap_or_default(), "{heading}");
        // The files: while the turn is open, and after it.
        let ground = Ground::new();
        ground.instances.delete(&ground.key).unwrap();
        let mut given = base.into_iter().map(Ok);
        ground.instances.import(&ground.key, "main", Imported::of(&mut given)).unwrap();
        let mut conversation = ground.instances.conversation(&ground.key).unwrap();
        for event in &events {
            conversation.append_event(&turn("t"), event).unwrap();
        }
        let (open, notices) = ground.read();
        assert_eq!(open, shown, "{heading}, while the turn is open");
        assert_eq!(notices.iter().map(told).collect::<String>(), warned, "{heading}, while the turn is open");
        let folded = conversation.fold(&turn("t")).unwrap();
        let written = match folded.written {
            Written::Nothing => "nothing",
            Written::Appended => "appended",
            Written::Rewritten => "rewritten",
        };
        assert_eq!(format!("{written}\n"), example.block("written"), "{heading}");
        let skipped: String =
            folded.missing.into_iter().map(|missing| told(&Notice::MissingMessage(missing))).collect();
        assert_eq!(skipped, warned, "{heading}");
        assert_eq!(ground.read(), (shown.to_owned(), vec![]), "{heading}, confirmed");
        assert_eq!(conversation.fold(&turn("t")).unwrap().written, Written::Nothing, "{heading}, folded again");
        assert_eq!(ground.read().0, shown, "{heading}, folded again");
    }
}

fn told(notice: &Notice) -> String {
    format!("{}: {notice}\n", notice.code())
}

#[test]
fn every_example_of_a_crash_is_read_as_shown() {
    let examples = Page::named("runtime.md").examples();
    let examples: Vec<_> = examples.into_iter().filter(|example| example.find("base.jsonl").is_some()).collect();
    assert!(examples.len() >= 4, "{}", examples.len());
    let lines = |kind: &'static str| examples.iter().flat_map(move |example| example.block(kind).lines());
    for cut in lines("events.jsonl").filter(|line| !line.ends_with("\"}")) {
        assert!(lines("events.jsonl").any(|line| line.len() > cut.len() && line.starts_with(cut)), "{cut}");
    }
    for example in &examples {
        let heading = &example.heading;
        let ground = Ground::with_files(example.block("base.jsonl"), example.block("events.jsonl"));
        let (shown, noticed) = (example.block("messages"), example.find("notices").unwrap_or_default());
        let short = |notices: &[Notice]| -> String {
            let short = notices.iter().map(|notice| match notice {
                Notice::TornTail { line, .. } => format!("{}: line {line}\n", notice.code()),
                Notice::MissingMessage(_) => told(notice),
            });
            short.collect()
        };
        let (read, notices) = ground.read();
        assert_eq!((read.as_str(), short(&notices).as_str()), (shown, noticed), "{heading}, read");
        // Whoever writes next brings the files in order, ends the turn, and nothing is lost or there twice.
        let opened = ground.instances.conversation(&ground.key).unwrap();
        assert_eq!(short(opened.notices()), noticed, "{heading}, opened");
        drop(opened);
        assert_eq!(ground.read(), (shown.to_owned(), vec![]), "{heading}, in order");
        ground.instances.restart(&ground.key).unwrap();
        assert_eq!(ground.read(), (shown.to_owned(), vec![]), "{heading}, over");
        let base = std::fs::read_to_string(ground.file("messages/base.jsonl")).unwrap();
        // What a crash left of a base is a beginning of what it was to be.
        for (left, whole) in example.block("base.jsonl").lines().zip(base.lines()) {
            assert!(whole.starts_with(left), "{heading}: {left}");
        }
        let confirmed = base.lines().filter(|line| !line.starts_with("{\"type\":\"folded\"")).count();
        assert_eq!(confirmed, shown.lines().count(), "{heading}, over");
    }
}
