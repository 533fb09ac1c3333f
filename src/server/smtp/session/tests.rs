use proptest::prelude::*;

use super::super::Offer;
use super::*;
use crate::attempt::Mail;

/// Drives a session as a socket would if no rule met it.
struct Client {
    session: Session,
    said: String,
    mails: Vec<Mail>,
    ended: bool,
}

impl Client {
    fn new(options: Options) -> Self {
        Self {
            session: Session::new(options, false),
            said: String::new(),
            mails: Vec::new(),
            ended: false,
        }
    }

    fn send(&mut self, bytes: &[u8]) -> &mut Self {
        let mut input = bytes;
        while !self.ended {
            let Some(event) = self.session.next(&mut input) else {
                assert!(input.is_empty(), "bytes are left without an event");
                break;
            };
            let speech = match event {
                Event::Say(speech)
                | Event::Hello(speech)
                | Event::Auth(speech)
                | Event::Reset(speech)
                | Event::Nobody(speech)
                | Event::Refused(speech)
                | Event::Mail { speech, .. } => speech,
                Event::Leave(speech) | Event::Quit(speech) => {
                    self.ended = true;
                    speech
                }
                Event::StartTls(speech) => {
                    input = &[];
                    self.session.secure();
                    speech
                }
                Event::Rcpt { rcpt, speech } => {
                    self.session.add(rcpt);
                    speech
                }
                Event::Data(speech) => {
                    self.session.open();
                    speech
                }
                Event::Chunk | Event::Progress => continue,
                Event::Whole(mail) => {
                    self.mails.push(mail);
                    Speech::new(250, "2.0.0 Ok: queued")
                }
            };
            self.said.push_str(&String::from_utf8(speech.bytes()).unwrap());
        }
        self
    }

    /// Returns the codes said since the last look.
    fn codes(&mut self) -> Vec<u16> {
        let said = std::mem::take(&mut self.said);
        let last = said.lines().filter(|l| l.as_bytes().get(3) != Some(&b'-'));
        last.map(|l| l[..3].parse().unwrap()).collect()
    }
}

fn usual() -> Options {
    Options {
        max_mail: 50 << 20,
        max_recipients: 1_000,
        offer: Offer::default(),
    }
}

fn client() -> Client {
    let mut client = Client::new(Options {
        max_mail: 1_000,
        max_recipients: 3,
        offer: Offer {
            mechanisms: Mechanism::ALL.into(),
            starttls: true,
        },
    });
    client.send(b"EHLO c.test\r\n");
    client.said.clear();
    client
}

const ENVELOPE: &[u8] = b"MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\n";

#[test]
fn ehlo_lists_what_there_is() {
    let mut plain = Client::new(usual());
    plain.send(b"EHLO c.test\r\n");
    assert_eq!(
        plain.said,
        "250-ackdrop greets c.test\r\n250-PIPELINING\r\n250-SIZE 52428800\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n\
         250-CHUNKING\r\n250-ENHANCEDSTATUSCODES\r\n250 AUTH PLAIN LOGIN\r\n"
    );
    plain.said.clear();
    plain.send(b"HELO c.test\r\n");
    assert_eq!(plain.said, "250 ackdrop greets c.test\r\n");
    assert_eq!(
        plain.send(b"STARTTLS\r\n").send(b"AUTH CRAM-MD5\r\n").codes()[1..],
        [502, 504]
    );
}

#[test]
fn a_mail_comes_as_it_was_sent() {
    let mut client = client();
    client.send(ENVELOPE).send(b"RCPT TO:<\"x y\"@d.test> NOTIFY=NEVER\r\nDATA\r\nSubject: =?utf-8?q?=C3=A4?=\r\n\r\n..dot\r\n\xff\r\n.\r\nQUIT\r\n");
    assert_eq!(client.codes(), [250, 250, 250, 354, 250, 221]);
    let mail = &client.mails[0];
    assert_eq!(
        &mail.content[..],
        b"Subject: =?utf-8?q?=C3=A4?=\r\n\r\n.dot\r\n\xff\r\n"
    );
    assert_eq!(mail.sender, "a@b.test");
    assert_eq!(mail.recipients, ["c@d.test", "\"x y\"@d.test"]);
    assert_eq!(mail.lines[2], "RCPT TO:<\"x y\"@d.test> NOTIFY=NEVER");
    assert_eq!((mail.helo.as_str(), mail.subject.as_deref()), ("c.test", Some("ä")));
}

#[test]
fn the_null_sender_and_an_empty_mail_are_taken() {
    let mut client = client();
    client.send(b"MAIL FROM:<>\r\nRCPT TO:<postmaster>\r\nDATA\r\n.\r\n");
    assert_eq!(client.codes(), [250, 250, 354, 250]);
    assert_eq!(
        (client.mails[0].sender.as_str(), client.mails[0].content.len()),
        ("", 0)
    );
    assert_eq!(client.mails[0].recipients, ["postmaster"]);
}

#[test]
fn chunks_are_joined_and_their_bytes_are_never_commands() {
    let mut client = client();
    client
        .send(ENVELOPE)
        .send(b"BDAT 6\r\nQUIT\r\nBDAT 0\r\nRCPT TO:<e@f.test>\r\nDATA\r\nBDAT 3 LAST\r\n.\r\nNOOP\r\n");
    assert_eq!(client.codes(), [250, 250, 250, 250, 503, 503, 250, 250]);
    assert_eq!(&client.mails[0].content[..], b"QUIT\r\n.\r\n");
    client.send(ENVELOPE).send(b"BDAT 0 LAST\r\n");
    assert_eq!(client.codes(), [250, 250, 250]);
    assert_eq!(client.mails[1].content.len(), 0);
}

#[test]
fn a_chunk_that_nobody_wants_is_read_and_dropped() {
    let mut client = client();
    client.send(b"BDAT 6\r\nQUIT\r\nBDAT 0 LAST\r\nMAIL FROM:<a@b.test>\r\nBDAT 6 LAST\r\nQUIT\r\nNOOP\r\n");
    assert_eq!(client.codes(), [503, 503, 250, 554, 250]);
    client.send(b"BDAT 99999999999999999999999\r\nQUIT\r\n");
    assert_eq!(client.codes(), [501]);
    assert!(client.ended && client.mails.is_empty());
}

#[test]
fn commands_out_of_order_are_refused() {
    let mut early = Client::new(usual());
    early.send(b"MAIL FROM:<a@b.test>\r\nAUTH PLAIN\r\nRCPT TO:<a@b.test>\r\nDATA\r\nRSET\r\nNOOP\r\n");
    assert_eq!(early.codes(), [503, 503, 503, 503, 250, 250]);
    let mut client = client();
    client.send(b"RCPT TO:<a@b.test>\r\nDATA\r\nMAIL FROM:<a@b.test>\r\nAUTH PLAIN\r\nDATA\r\nDATA\r\n");
    assert_eq!(client.codes(), [503, 503, 250, 503, 554, 503]);
    client.send(b"VRFY a\r\nEXPN a\r\nHELP\r\nLHLO x\r\nWIBBLE\r\n");
    assert_eq!(client.codes(), [252, 502, 214, 500, 500]);
}

#[test]
fn what_ends_a_transaction_ends_it() {
    for end in ["RSET", "EHLO c.test", "HELO c.test", "MAIL FROM:<x@y.test>"] {
        let mut client = client();
        client.send(ENVELOPE).send(end.as_bytes()).send(b"\r\nDATA\r\n");
        assert_eq!(client.codes().len(), 4, "{end}");
        assert!(
            client.session.envelope().is_none_or(|e| e.recipients().is_empty()),
            "{end}"
        );
        client.send(ENVELOPE).send(b"DATA\r\nx\r\n.\r\n");
        assert_eq!(client.mails.len(), 1, "{end}");
    }
}

#[test]
fn a_mail_too_large_is_refused_when_announced_and_when_it_has_come() {
    let mut client = client();
    client.send(b"MAIL FROM:<a@b.test> SIZE=1001\r\nRCPT TO:<a@b.test>\r\nMAIL FROM:<a@b.test> SIZE=99999999999999999999999\r\n");
    assert_eq!(client.codes(), [552, 503, 552]);
    client.send(ENVELOPE).send(b"DATA\r\n");
    for _ in 0..1_000 {
        client.send(&[b'x'; 100]);
        assert!(client.session.envelope().unwrap().size() <= 1_000);
    }
    client.send(b"\r\n.\r\n");
    assert_eq!(client.codes(), [250, 250, 354, 552]);
    client
        .send(ENVELOPE)
        .send(b"BDAT 1001\r\n")
        .send(&[b'x'; 1_001])
        .send(b"BDAT 1 LAST\r\nx");
    assert_eq!(client.codes(), [250, 250, 552, 503]);
    client
        .send(ENVELOPE)
        .send(b"DATA\r\n")
        .send(&[b'x'; 998])
        .send(b"\r\n.\r\n");
    assert_eq!(client.codes(), [250, 250, 354, 250]);
}

#[test]
fn one_recipient_too_many_is_put_off_and_the_others_stay() {
    let mut client = client();
    client.send(b"MAIL FROM:<a@b.test>\r\n");
    for _ in 0..4 {
        client.send(b"RCPT TO:<a@b.test>\r\n");
    }
    assert_eq!(client.codes(), [250, 250, 250, 250, 452]);
    client.send(b"DATA\r\n.\r\n");
    assert_eq!(client.mails[0].recipients.len(), 3);
}

#[test]
fn a_login_names_the_scope_and_a_bad_name_is_refused() {
    // "\0~alice\0x", "\0ann\0x", "\0~a b\0x" and "\0~\0x" in base64.
    for (word, code, scope) in [
        ("AH5hbGljZQB4", 235, Some("alice")),
        ("AGFubgB4", 235, None),
        ("AH5hIGIAeA==", 535, None),
        ("AH4AeA==", 535, None),
    ] {
        let mut client = client();
        client.send(format!("AUTH PLAIN {word}\r\n").as_bytes());
        assert_eq!(client.codes(), [code], "{word}");
        let login = client.session.login().cloned();
        assert_eq!(login.is_some(), code == 235);
        assert_eq!(login.and_then(|l| l.scope).as_ref().map(Scope::as_str), scope);
    }
    let mut client = client();
    client.send(b"AUTH LOGIN\r\nYW5u\r\n*\r\nAUTH WIBBLE\r\nAUTH LOGIN YW5u\r\neA==\r\nAUTH PLAIN\r\n");
    assert_eq!(client.codes(), [334, 334, 501, 504, 334, 235, 503]);
    client.send(ENVELOPE).send(b"DATA\r\n.\r\n");
    assert_eq!(client.mails[0].user.as_deref(), Some("ann"));
}

#[test]
fn nothing_sent_before_tls_counts_after_it() {
    let mut client = client();
    client.send(b"AUTH PLAIN AGFubgB4\r\n").send(ENVELOPE);
    client.send(b"STARTTLS\r\nRSET\r\nMAIL FROM:<evil@x.test>\r\n");
    assert_eq!(client.codes(), [235, 250, 250, 220]);
    assert!(client.session.login().is_none() && client.session.envelope().is_none());
    client.send(b"MAIL FROM:<a@b.test>\r\nSTARTTLS\r\nEHLO c.test\r\n");
    assert!(!client.said.contains("STARTTLS"));
    assert_eq!(client.codes(), [503, 503, 250]);
}

#[test]
fn a_line_too_long_and_too_many_errors_are_answered() {
    let mut client = client();
    client.send(&[b'x'; 100_000]).send(b"\r\nNOOP\r\n");
    assert_eq!(client.codes(), [500, 250]);
    for _ in 0..19 {
        client.send(b"WIBBLE\r\n");
    }
    client.send(b"NOOP\r\n");
    assert!(!client.ended);
    client.said.clear();
    for _ in 0..20 {
        client.send(b"WIBBLE\r\n");
    }
    assert_eq!(client.codes().last(), Some(&421));
    assert!(client.ended);
}

#[test]
fn a_content_refused_on_the_way_is_read_to_its_end() {
    let mut client = client();
    client.send(ENVELOPE).send(b"DATA\r\nx");
    client.session.refuse_content(Speech::new(451, "4.3.0 no"));
    client.send(b"x\r\nQUIT\r\n.\r\nNOOP\r\n");
    assert_eq!(client.codes(), [250, 250, 354, 451, 250]);
    assert!(client.mails.is_empty());
}

proptest! {
    #[test]
    fn any_split_gives_the_same_session(cuts in proptest::collection::vec(0usize..400, 0..12)) {
        let wire: &[u8] = b"AUTH LOGIN\r\nYW5u\r\neA==\r\nMAIL FROM:<a@b.test> SIZE=10\r\nRCPT TO:<c@d.test>\r\nDATA\r\n..\r\nhi\n.\r\n\r\n.\r\n\
            WIBBLE\r\nMAIL FROM:<>\r\nRCPT TO:<c@d.test>\r\nBDAT 5\r\nQUIT\rBDAT 2 LAST\r\n\r\nBDAT 3\r\nabcRSET\r\nQUIT\r\n";
        let mut whole = client();
        whole.send(wire);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(wire.len())).chain([0, wire.len()]).collect();
        cuts.sort_unstable();
        let mut split = client();
        for window in cuts.windows(2) {
            split.send(&wire[window[0]..window[1]]);
        }
        prop_assert_eq!(&split.said, &whole.said);
        prop_assert!(split.ended);
        let contents = |c: &Client| c.mails.iter().map(|m| m.content.clone()).collect::<Vec<_>>();
        prop_assert_eq!(contents(&split), contents(&whole));
        prop_assert_eq!(contents(&whole), [&b".\r\nhi\n.\r\n\r\n"[..], b"QUIT\r\r\n"]);
    }
}
