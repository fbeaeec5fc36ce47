//! Every trouble that a service has: what passes is tried again, what does not is told, and the key stays where it belongs.

use std::sync::Arc;

use paddock_agent::model::{ModelAnswer, ModelError, Usage};
use paddock_core::Cancel;
use serde_json::json;

use super::double::{BOTH, Double, Ends, KEY, Reply, SILENT, Says, TOKENS, Wire, ask, impatient, question, quick};

/// What comes of these replies, what was heard, and how often it was asked.
fn asked(wire: Wire, replies: Vec<Reply>) -> (Result<ModelAnswer, ModelError>, String, usize) {
    let double = Double::new(replies);
    let (answer, heard) = ask(&*wire.model(&double));
    (answer, heard.concat(), double.asked().len())
}

#[test]
fn what_passes_by_itself_is_tried_again() {
    for wire in BOTH {
        let troubles = [408, 409, 429, 500, 502, 503, 529].map(|status| Reply::error(status, "not now")).into_iter();
        let page = Reply::of(502, "text/html", "<html><h1>Bad gateway</h1></html>");
        let asks_to_wait = Reply::error(429, "not now").with("retry-after", "0");
        for trouble in troubles.chain([page, asks_to_wait]) {
            let status = trouble.status;
            let (answer, heard, times) = asked(wire, vec![trouble, wire.words(&["fine"])]);
            assert_eq!((answer.unwrap().content.as_str(), times), ("fine", 2), "{status}");
            assert_eq!(heard, "fine");
        }
    }
}

#[test]
fn attempts_are_bounded() {
    for wire in BOTH {
        let (answer, _, times) = asked(wire, vec![Reply::error(503, "never"); 9]);
        assert_eq!((answer, times), (Err(ModelError::Busy { status: 503 }), 3));
    }
}

#[test]
fn a_service_that_asks_for_more_time_than_there_is_is_not_waited_for() {
    for wire in BOTH {
        let busy = Reply::error(429, "tomorrow").with("retry-after", "86400");
        let (answer, _, times) = asked(wire, vec![busy, wire.words(&["fine"])]);
        assert_eq!((answer, times), (Err(ModelError::Busy { status: 429 }), 1));
    }
}

#[test]
fn what_does_not_pass_is_told_at_once_and_without_the_key() {
    for wire in BOTH {
        for status in [400, 401, 403, 404, 413, 422] {
            let said = format!("Incorrect key\u{1b}[31m {KEY}: {}", "very wrong ".repeat(100));
            let (answer, _, times) = asked(wire, vec![Reply::error(status, &said)]);
            let Err(ModelError::Refused { status: told, message }) = answer else { panic!("{answer:?}") };
            assert_eq!((told, times), (status, 1));
            assert!(message.starts_with("Incorrect key") && message.len() < 400, "{message}");
            assert!(!message.contains(KEY) && !message.contains('\u{1b}'), "{message}");
        }
    }
    // The same status as "slower", but it does not pass.
    let spent = json!({ "error": { "message": "You paid for no more.", "code": "insufficient_quota" } }).to_string();
    let (answer, _, times) = asked(Wire::OpenAi, vec![Reply::of(429, "application/json", &spent)]);
    assert!(matches!(answer, Err(ModelError::Refused { status: 429, .. })), "{answer:?}");
    assert_eq!(times, 1);
}

#[test]
fn a_page_for_a_browser_is_no_answer() {
    for wire in BOTH {
        let page = "<!doctype html><title>Sign in</title>";
        let (answer, ..) = asked(wire, vec![Reply::of(200, "text/html; charset=utf-8", page)]);
        let told = answer.unwrap_err().to_string();
        assert!(told.contains("text/html") && told.contains("base_url"), "{told}");
        let (answer, ..) = asked(wire, vec![Reply::of(404, "text/html", page)]);
        assert!(answer.unwrap_err().to_string().contains("a page for a browser"));
    }
}

#[test]
fn nobody_listens() {
    for wire in BOTH {
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (answer, _) = ask(&*wire.model_with(gone, &quick(), Arc::default()));
        assert!(matches!(answer, Err(ModelError::Unreachable(_))), "{answer:?}");
    }
}

/// The first part of an answer, up to and with its words.
fn begun(wire: Wire, words: &str) -> Reply {
    let mut reply = wire.words(&[words]);
    let text = String::from_utf8(reply.pieces.concat()).unwrap();
    let at = text.find(words).unwrap();
    let end = text[at..].find("\n\n").unwrap() + at + 2;
    reply.pieces = vec![text.as_bytes()[..end].to_vec()];
    reply
}

#[test]
fn an_answer_that_breaks_off_begins_anew_and_no_word_is_told_twice() {
    for wire in BOTH {
        let replies = vec![begun(wire, "It is ").ending(Ends::Cut), wire.words(&["It ", "is 42."])];
        let (answer, heard, times) = asked(wire, replies);
        assert_eq!((answer.unwrap().content.as_str(), heard.as_str(), times), ("It is 42.", "It is 42.", 2));
        // An end that comes too early, but as an end.
        let (answer, heard, times) = asked(wire, vec![begun(wire, "It "), wire.words(&["Is it?"])]);
        assert_eq!((answer.unwrap().content.as_str(), heard.as_str(), times), ("Is it?", "It ", 2));
        // Before the first word.
        let nothing = Reply { pieces: Vec::new(), ..wire.words(&[]) };
        let (answer, heard, _) = asked(wire, vec![nothing.ending(Ends::Cut), wire.words(&["fine"])]);
        assert_eq!((answer.unwrap().content.as_str(), heard.as_str()), ("fine", "fine"));
        let (answer, _, times) = asked(wire, vec![begun(wire, "It is ").ending(Ends::Cut); 9]);
        assert!(matches!(answer, Err(ModelError::Unreachable(_))), "{answer:?}");
        assert_eq!(times, 3);
    }
}

#[test]
fn a_service_that_stalls_is_left() {
    for wire in BOTH {
        let silent = Reply { pieces: Vec::new(), ..wire.words(&[]) }.ending(Ends::Stalls);
        let says_nothing = Reply { status: SILENT, ..silent.clone() };
        for stalls in [says_nothing, silent, begun(wire, "It is ").ending(Ends::Stalls)] {
            let double = Double::new(vec![stalls.clone(), wire.words(&["It is 42."])]);
            let (answer, heard) = ask(&*wire.model_with(double.address, &impatient(), Arc::default()));
            assert_eq!((answer.unwrap().content.as_str(), heard.concat().as_str()), ("It is 42.", "It is 42."));
            let double = Double::new(vec![stalls; 9]);
            let (answer, _) = ask(&*wire.model_with(double.address, &impatient(), Arc::default()));
            assert_eq!(answer, Err(ModelError::Slow));
        }
    }
}

#[test]
fn a_cancelled_run_waits_for_nobody() {
    for wire in BOTH {
        // While an answer comes.
        let double = Double::new(vec![begun(wire, "It is ").ending(Ends::Stalls)]);
        let cancel = Arc::new(Cancel::default());
        let model = wire.model_with(double.address, &quick(), Arc::clone(&cancel));
        let answer = model.ask(&question(), &mut |_| cancel.stop());
        assert_eq!(answer, Err(ModelError::Cancelled));
        // Before one is asked for.
        assert_eq!(model.ask(&question(), &mut |_| {}), Err(ModelError::Cancelled));
        assert_eq!(double.asked().len(), 1);
    }
}

#[test]
fn an_event_that_is_no_json_is_told() {
    for wire in BOTH {
        let (answer, _, times) = asked(wire, vec![Reply::stream("data: {\"choices\": [\n\n")]);
        assert!(matches!(&answer, Err(ModelError::Malformed(why)) if why.contains("not JSON")), "{answer:?}");
        assert_eq!(times, 1);
    }
}

#[test]
fn an_error_in_the_middle_of_a_stream_is_what_it_would_have_been_before() {
    let error = |wire: Wire, kind: &str, code: u16| match wire {
        Wire::OpenAi => json!({ "error": { "message": "no", "type": kind, "code": code } }),
        Wire::Anthropic => json!({ "type": "error", "error": { "message": "no", "type": kind } }),
    };
    for wire in BOTH {
        let with = |error: serde_json::Value| {
            let mut reply = begun(wire, "It is ");
            reply.pieces.push(format!("data: {error}\n\n").into_bytes());
            reply
        };
        let busy = with(error(wire, "overloaded_error", 529));
        let (answer, heard, _) = asked(wire, vec![busy, wire.words(&["It is 42."])]);
        assert_eq!((answer.unwrap().content.as_str(), heard.as_str()), ("It is 42.", "It is 42."));
        let (answer, ..) = asked(wire, vec![with(error(wire, "invalid_request_error", 400))]);
        assert_eq!(answer, Err(ModelError::Refused { status: 400, message: "no".into() }));
    }
}

#[test]
fn arguments_that_cannot_be_read_are_told_to_the_model_once() {
    for wire in BOTH {
        for bad in ["{\"path\": ", "[\"/r/a\"]", "7"] {
            let double = Double::new(vec![wire.call("read_file", bad), wire.call("read_file", "{\"path\":\"/r/a\"}")]);
            let answer = ask(&*wire.model(&double)).0.unwrap();
            assert_eq!(answer.tool_calls[0].arguments["path"], "/r/a");
            let (input_tokens, output_tokens) = (2 * TOKENS.0, 2 * TOKENS.1);
            assert_eq!(answer.usage, Usage { input_tokens, cached_tokens: input_tokens - 2, output_tokens });
            let told = double.asked()[1].text();
            assert!(told.contains("read_file") && told.contains("was not made"), "{told}");

            let (answer, _, times) = asked(wire, vec![wire.call("read_file", bad); 9]);
            assert!(matches!(&answer, Err(ModelError::Malformed(why)) if why.contains("\"read_file\"")), "{answer:?}");
            assert_eq!(times, 2);
        }
        // Cut off in the middle of its arguments.
        let calls = vec![("c", "write_file", vec!["{\"path\": \"/w/a\", \"content\": \"long"])];
        let cut = wire.says(&Says { words: Vec::new(), calls, is_cut: true });
        let double = Double::new(vec![cut, wire.words(&["then not"])]);
        assert_eq!(ask(&*wire.model(&double)).0.unwrap().content, "then not");
        assert!(double.asked()[1].text().contains("were cut off"));
    }
}

#[test]
fn a_reply_without_end_is_not_read_to_it() {
    for wire in BOTH {
        let mut endless = Reply::stream("");
        endless.pieces = vec![format!(": {}\n", "x".repeat(1024 * 1024)).into_bytes(); 20];
        let (answer, ..) = asked(wire, vec![endless.clone()]);
        assert!(matches!(&answer, Err(ModelError::Malformed(why)) if why.contains("16 MiB")), "{answer:?}");
        // As an error it is still an error.
        endless.status = 400;
        let (answer, ..) = asked(wire, vec![endless]);
        assert!(matches!(answer, Err(ModelError::Refused { status: 400, .. })), "{answer:?}");
    }
}

#[test]
fn nobody_else_gets_the_key() {
    for wire in BOTH {
        for status in [301, 302, 307, 308] {
            let elsewhere = Double::new(vec![wire.words(&["got you"])]);
            let location = format!("http://{}/v1/chat/completions", elsewhere.address);
            let leads = Reply::of(status, "text/plain", "").with("location", &location);
            let (answer, _, times) = asked(wire, vec![leads]);
            assert!(matches!(answer, Err(ModelError::Refused { status: told, .. }) if told == status), "{answer:?}");
            assert_eq!((times, elsewhere.asked().len()), (1, 0));
        }
    }
}
