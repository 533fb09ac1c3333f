//! A gibibyte through a relay, in both directions, in a process of its own, for only its memory is the relay's: it stays flat.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::Served;

const LENGTH: usize = 1 << 30;
/// How much more memory it may take.
const MORE: u64 = 64 << 20;

/// Returns the most memory that the process has had, in bytes.
fn peak(served: &Served) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", served.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

fn pour(stream: &mut TcpStream) {
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..LENGTH / chunk.len() {
        stream.write_all(&chunk).unwrap();
    }
}

fn drink(stream: &mut TcpStream) {
    let mut chunk = vec![0; 1 << 20];
    let mut left = LENGTH;
    while left > 0 {
        let most = left.min(chunk.len());
        let read = stream.read(&mut chunk[..most]).unwrap();
        assert!(read > 0, "{left} bytes are missing");
        left -= read;
    }
}

#[test]
fn a_gibibyte_passes_in_both_directions_with_flat_memory() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            if head(&mut stream).starts_with("POST") {
                drink(&mut stream);
                stream
                    .write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                    .unwrap();
            } else {
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LENGTH}\r\nconnection: close\r\n\r\n");
                stream.write_all(head.as_bytes()).unwrap();
                pour(&mut stream);
            }
        }
    });
    let mut served = Served::start(&["--relay", &format!("big=127.0.0.1:0,http://{upstream}")], &[]);
    let line = served.out_line();
    let addr = line.split("http://").nth(1).unwrap().split(' ').next().unwrap();
    let before = peak(&served);
    let mut up = TcpStream::connect(addr).unwrap();
    up.write_all(format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {LENGTH}\r\n\r\n").as_bytes())
        .unwrap();
    pour(&mut up);
    assert!(head(&mut up).starts_with("HTTP/1.1 201"));
    let mut down = TcpStream::connect(addr).unwrap();
    down.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    assert!(head(&mut down).starts_with("HTTP/1.1 200"));
    drink(&mut down);
    let more = peak(&served) - before;
    assert!(more < MORE, "it took {more} bytes more");
    serving.join().unwrap();
    let (code, events, _) = served.ask(&["events", "--json"]);
    assert_eq!(code, 0);
    assert!(events.contains("1073741824"), "{events}");
}

/// Waits until a count stands still: then all that can wait unread waits already.
fn until_still(count: &AtomicUsize) {
    let mut before = usize::MAX;
    while before != count.load(Ordering::SeqCst) {
        before = count.load(Ordering::SeqCst);
        #[expect(
            clippy::disallowed_methods,
            reason = "nothing happens for a while: that is what is waited for"
        )]
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn what_nobody_reads_behind_a_tcp_relay_waits_in_the_kernel() {
    const LENGTH: usize = 256 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = listener.local_addr().unwrap();
    let echo = std::thread::spawn(move || {
        let (mut from, _) = listener.accept().unwrap();
        let mut to = from.try_clone().unwrap();
        std::io::copy(&mut from, &mut to).unwrap();
        to.shutdown(Shutdown::Write).unwrap();
    });
    let mut served = Served::start(&["--relay", &format!("raw=127.0.0.1:0,tcp://{upstream}")], &[]);
    let line = served.out_line();
    let addr = line.split("tcp://").nth(1).unwrap().split(' ').next().unwrap();
    let before = peak(&served);
    let mut down = TcpStream::connect(addr).unwrap();
    let mut up = down.try_clone().unwrap();
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    let pouring = std::thread::spawn(move || {
        let piece = vec![7; 1 << 16];
        for _ in 0..LENGTH / piece.len() {
            up.write_all(&piece).unwrap();
            count.fetch_add(piece.len(), Ordering::SeqCst);
        }
        up.shutdown(Shutdown::Write).unwrap();
    });
    until_still(&written);
    assert!(written.load(Ordering::SeqCst) < LENGTH, "nobody has read anything");
    let mut got = 0;
    let mut piece = vec![0; 1 << 20];
    while let n @ 1.. = down.read(&mut piece).unwrap() {
        got += n;
    }
    assert_eq!(got, LENGTH);
    let more = peak(&served) - before;
    assert!(more < MORE, "it took {more} bytes more");
    pouring.join().unwrap();
    echo.join().unwrap();
}

#[test]
fn relays_are_given_by_variable_and_by_command() {
    let two = "one=127.0.0.1:0,http://127.0.0.1:1\ntwo=127.0.0.1:0,smtp://user:hunter2@127.0.0.1:1";
    let mut served = Served::start(&[], &[("ACKDROP_RELAY", two)]);
    let printed = [served.out_line(), served.out_line()].join("\n");
    assert!(printed.contains("relay  one: http://127.0.0.1:"), "{printed}");
    assert!(printed.contains(" -> smtp://127.0.0.1:1"), "{printed}");
    let (code, text, _) = served.ask(&[
        "relays",
        "start",
        "three=127.0.0.1:0,https://api.example.com;class=enforced",
    ]);
    assert!(
        code == 0 && text.contains("https://api.example.com  key-enforced"),
        "{text}"
    );
    let (code, text, _) = served.ask(&["relays"]);
    assert_eq!((code, text.lines().count()), (0, 4), "{text}");
    assert!(!text.contains("hunter2") && !printed.contains("hunter2"));
    let (code, text, _) = served.ask(&["relays", "stop", "three"]);
    assert_eq!((code, text.as_str()), (0, "stopped three\n"));
    let (code, _, error) = served.ask(&["relays", "start", "a.b=1,x"]);
    assert!(
        code == 1 && error.contains("no relay's name") && error.contains("is no address"),
        "{code} {error}"
    );
}
