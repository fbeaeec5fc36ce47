//! Attacks by way of sockets: every family, addresses of the host, sockets in files.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc;
use std::time::Duration;

use paddock_exec::{Command, Network, Sandbox, Shown};

use crate::as_each_user;
use crate::main::harness::*;

fn python(text: &str) -> String {
    format!("/usr/bin/python3 -c \"\nimport socket, os\n{text}\n\"")
}

/// Says hello to everybody who connects.
fn greet(listener: UnixListener) {
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(b"hello");
        }
    });
}

const ANSWERS: &str = "print(s.recv(99).decode())";

as_each_user! {
    fn the_host_is_not_reached_by_tcp_or_udp() {
        let yard = Yard::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let _ = stream.unwrap().write_all(b"hello");
            }
        });
        let text = python(&format!("s = socket.socket(); s.connect(('127.0.0.1', {port})); {ANSWERS}"));
        assert_eq!(sh(vec![yard.direct()], &text).badly().out, "");
        let off = |on: &mut paddock_exec::Protections| (on.network, on.filter) = (false, false);
        assert_eq!(sh_without(vec![yard.direct()], &text, off).well().out, "hello\n");
        sh_without(vec![yard.direct()], &text, |on| on.filter = false).badly();
        sh(vec![yard.direct()], &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'")).badly();

        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        receiver.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let port = receiver.local_addr().unwrap().port();
        let text = python(&format!("s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'out', ('127.0.0.1', {port}))"));
        sh(vec![yard.direct()], &text).badly();
        assert!(receiver.recv(&mut [0; 9]).is_err());
        sh_without(vec![yard.direct()], &text, off).well();
        assert_eq!(receiver.recv(&mut [0; 9]).unwrap(), 3);
    }

    fn only_local_sockets_can_be_made() {
        let yard = Yard::new();
        for (name, family, kind, protocol) in [
            ("inet", libc::AF_INET, libc::SOCK_STREAM, 0),
            ("inet6", libc::AF_INET6, libc::SOCK_DGRAM, 0),
            ("raw", libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
            ("netlink", libc::AF_NETLINK, libc::SOCK_RAW, 0),
            ("packet", libc::AF_PACKET, libc::SOCK_RAW, 0),
            ("vsock", libc::AF_VSOCK, libc::SOCK_STREAM, 0),
            ("alg", libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
            ("bluetooth", libc::AF_BLUETOOTH, libc::SOCK_RAW, 0),
        ] {
            let text = python(&format!("try:\n  socket.socket({family}, {kind}, {protocol}); print('made')\nexcept OSError as e: print(e.errno)"));
            let ran = sh(vec![yard.direct()], &text);
            assert_eq!(ran.out.trim(), libc::EPERM.to_string(), "{name}: {ran:?}");
            let open = sh_without(vec![yard.direct()], &text, |on| (on.filter, on.capabilities) = (false, false));
            if open.out.trim() != "made" {
                could_not_run(&format!("{name} answers {} here even without the filter", open.out.trim()));
            }
        }
    }

    fn processes_of_a_command_talk_to_each_other() {
        let text = "a, b = socket.socketpair(); a.send(b'x'); b.recv(1)\nl = socket.socket(socket.AF_UNIX); l.bind('/tmp/s'); l.listen()\nif os.fork() == 0:\n  c = socket.socket(socket.AF_UNIX); c.connect('/tmp/s'); c.send(b'inside'); os._exit(0)\nprint(l.accept()[0].recv(99).decode())";
        // Also through a socket in the Workspace itself.
        for text in [text, text.replace("/tmp/s", "s").as_str()] {
            let yard = Yard::new();
            assert_eq!(sh(vec![yard.staged()], &python(text)).well().out, "inside\n");
            assert_eq!(sh(vec![yard.direct()], &python(text)).well().out, "inside\n");
        }
    }

    fn a_socket_of_the_host_in_a_workspace_does_not_answer() {
        let yard = Yard::new();
        let path = yard.path("w/docker.sock");
        greet(UnixListener::bind(&path).unwrap());
        let mut said = String::new();
        UnixStream::connect(&path).unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "hello");
        let text = python(&format!("s = socket.socket(socket.AF_UNIX); s.connect('docker.sock'); {ANSWERS}"));
        sh(vec![yard.read_only()], &text).badly();
        sh(vec![yard.staged_anew()], &text).badly();
        assert_eq!(sh_without(vec![yard.read_only()], &text, |on| on.sockets = false).well().out, "hello\n");
        let masked = || vec![Shown { masks: vec!["docker.sock".into()], ..yard.direct() }];
        sh(masked(), &text).badly();
        assert_eq!(sh_without(masked(), &text, |on| on.masks = false).well().out, "hello\n");
    }

    fn an_abstract_socket_of_the_host_does_not_answer() {
        use std::os::linux::net::SocketAddrExt;
        let yard = Yard::new();
        let name = format!("paddock-{}", std::process::id());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
        greet(UnixListener::bind_addr(&address).unwrap());
        let text = python(&format!("s = socket.socket(socket.AF_UNIX); s.connect(chr(0) + '{name}'); {ANSWERS}"));
        sh(vec![yard.direct()], &text).badly();
        sh_without(vec![yard.direct()], &text, |on| on.landlock = false).badly();
        let open = sh_without(vec![yard.direct()], &text, |on| (on.network, on.landlock) = (false, false));
        assert_eq!(open.well().out, "hello\n");
    }

    fn a_proxy_outside_is_the_only_one_who_answers() {
        let yard = Yard::new();
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let text = format!(
            "s = socket.create_connection(('127.0.0.1', 3128)); s.sendall(b'who'); print(s.recv(99).decode())\nfor to in [('127.0.0.1', {}), ('1.1.1.1', 80)]:\n  try:\n    socket.create_connection(to, 1); print('reached', to)\n  except OSError: pass\ntry:\n  socket.socket(socket.AF_NETLINK, socket.SOCK_RAW); print('netlink')\nexcept OSError: pass",
            other.local_addr().unwrap().port()
        );
        let (heard, hears) = mpsc::channel();
        let mut command = Command::shell("/project", python(&text));
        let serve = move |listener: TcpListener| {
            std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = [0; 3];
                stream.read_exact(&mut asked).unwrap();
                heard.send(asked).unwrap();
                stream.write_all(b"the proxy").unwrap();
            });
        };
        command.network = Network::Proxy { port: 3128, serve: Box::new(serve) };
        assert_eq!(ran(Sandbox::new(vec![yard.direct()], command)).well().out, "the proxy\n");
        assert_eq!(&hears.recv().unwrap(), b"who");
    }
}
