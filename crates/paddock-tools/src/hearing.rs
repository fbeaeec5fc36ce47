//! What a command prints, on its way to whoever listens: without escapes for terminals and without values of secrets.
//!
//! Where no secrets are known it passes as it comes. Escapes go first, since they may stand inside a value.

use std::cell::RefCell;

use paddock_core::Output;
use paddock_state::{RedactedStream, Redactor};

use crate::control::{Control, Listener};
use crate::output::PlainText;

/// Passes on the output of one call.
pub(crate) struct Hearing<'a> {
    listener: Option<&'a Listener>,
    /// Nothing where no secrets are known.
    streams: RefCell<Option<Streams>>,
}

struct Streams {
    /// Standard output and standard error.
    plain: [PlainText; 2],
    /// One for each on a terminal, which has two; else one for both, in the order in which they come, since whoever listens
    /// puts them together.
    redacted: Vec<RedactedStream>,
}

impl<'a> Hearing<'a> {
    pub(crate) fn of(control: &'a Control, redactor: &Redactor) -> Self {
        let listener = control.listener.as_deref();
        let plain = || if control.colours { PlainText::with_colours() } else { PlainText::default() };
        let count = if control.colours { 2 } else { 1 };
        let streams = (listener.is_some() && !redactor.is_empty()).then(|| Streams {
            plain: [plain(), plain()],
            redacted: (0..count).map(|_| RedactedStream::new(redactor.clone())).collect(),
        });
        Self { listener, streams: RefCell::new(streams) }
    }

    /// Passes on what can be said after this piece.
    pub(crate) fn tell(&self, piece: Output<'_>) {
        let Some(listener) = self.listener else { return };
        let mut streams = self.streams.borrow_mut();
        let Some(Streams { plain, redacted }) = &mut *streams else { return listener(piece) };
        let (n, bytes) = match piece {
            Output::Out(bytes) => (0, bytes),
            Output::Err(bytes) => (1, bytes),
        };
        let (mut clean, mut sure) = (Vec::new(), Vec::new());
        plain[n].clean(bytes, &mut clean);
        let to = n % redacted.len();
        redacted[to].push(&clean, &mut sure);
        pass(listener, to, &sure);
    }

    /// Passes on what was held back; nothing more comes.
    pub(crate) fn end(&self) {
        let mut streams = self.streams.borrow_mut();
        let (Some(listener), Some(Streams { plain, redacted })) = (self.listener, &mut *streams) else { return };
        for (n, plain) in plain.iter_mut().enumerate() {
            let (mut rest, mut sure) = (Vec::new(), Vec::new());
            plain.end(&mut rest);
            let to = n % redacted.len();
            redacted[to].push(&rest, &mut sure);
            pass(listener, to, &sure);
        }
        for (to, redacted) in redacted.iter_mut().enumerate() {
            let mut sure = Vec::new();
            redacted.end(&mut sure);
            pass(listener, to, &sure);
        }
    }
}

fn pass(listener: &Listener, stream: usize, bytes: &[u8]) {
    if !bytes.is_empty() {
        listener(if stream == 0 { Output::Out(bytes) } else { Output::Err(bytes) });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use paddock_state::{SecretName, SecretValue};

    use super::*;

    fn heard(colours: bool, pieces: &[Output<'_>]) -> (String, String) {
        let value = SecretValue::to_store(b"alpha-secret".to_vec()).unwrap();
        let redactor = Redactor::of([(SecretName::parse("a").unwrap(), value)]);
        let heard = Arc::new(Mutex::new((Vec::new(), Vec::new())));
        let mut control = Control::for_at_most(Duration::from_secs(1));
        let into = Arc::clone(&heard);
        control.colours = colours;
        control.listener = Some(Arc::new(move |piece: Output<'_>| match piece {
            Output::Out(bytes) => into.lock().unwrap().0.extend_from_slice(bytes),
            Output::Err(bytes) => into.lock().unwrap().1.extend_from_slice(bytes),
        }));
        let hearing = Hearing::of(&control, &redactor);
        pieces.iter().for_each(|piece| hearing.tell(*piece));
        hearing.end();
        let (out, err) = heard.lock().unwrap().clone();
        (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn a_value_in_pieces_or_with_escapes_inside_is_not_heard() {
        let pieces =
            [Output::Out(b"x alpha-"), Output::Err(b"alpha-sec"), Output::Out(b"secret y"), Output::Err(b"ret")];
        assert_eq!(heard(true, &pieces), ("x [secret a] y".to_owned(), "[secret a]".to_owned()));
        let apart = [Output::Out(b"x alpha-"), Output::Err(b"secret y")];
        assert_eq!(heard(false, &apart).0, "x [secret a] y", "put together by whoever listens");
        let escaped = [Output::Out(b"alpha\x1b[31m-secret, alph")];
        assert_eq!(heard(false, &escaped).0, "[secret a], alph");
    }

    #[test]
    fn a_terminal_keeps_its_colours() {
        assert_eq!(heard(true, &[Output::Out(b"\x1b[31malpha-secret\x1b[0m")]).0, "\x1b[31m[secret a]\x1b[0m");
    }
}
