//! One mail: from its MAIL line, where the attempt begins, to the reply to its final dot.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::SEND;
use super::session::Session;
use super::steps::Met;
use super::transmit::{self, Transmit};
use crate::attempt::{Delivery, Describe as _, Line, Mail, Outgoing, Share, Whole, walk};
use crate::faults::{How, InRequest, Problem, Step, parse_mail_header, parse_recipient};
use crate::ledger::{Arrival, Outcome, Relayed, secrets};
use crate::net::ending::Ending;
use crate::net::smtp::content::Receiver;
use crate::net::smtp::speech::Speech;
use crate::store::{Ticket, TooManyScopes};

/// Is an attempt whose transaction is open.
pub(super) struct Live {
    pub(super) ticket: Ticket,
    /// Whether a `pass` has won: no rule meets it any more.
    pub(super) exempt: bool,
    /// The rules that came as recipients.
    pub(super) in_request: Vec<InRequest>,
    pub(super) sender: String,
    recipients: Vec<String>,
    lines: Vec<String>,
    /// What its content takes of the budget.
    share: Share,
}

/// Says why a content is not sent on.
struct Spoilt {
    speech: Speech,
    outcome: Outcome,
}

impl Session {
    /// Begins an attempt. The one before goes on if the upstream will not have another.
    pub(super) async fn mail(&mut self, line: &[u8], sender: String) -> Result<(), Ending> {
        let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
        let ticket = match self.begin(&text) {
            Ok(ticket) => ticket,
            Err(full) => {
                let speech = self.own(452, &full.to_string());
                return self.say(&speech, None).await;
            }
        };
        let before = self.live.replace(Live {
            ticket,
            exempt: false,
            in_request: Vec::new(),
            sender,
            recipients: Vec::new(),
            lines: vec![text],
            share: self.relay.house.arriving.share(),
        });
        match self.meet(Step::Mail, &[], 0).await? {
            Met::Go => {}
            Met::Refused(speech) => return self.turn_away(&speech, Outcome::Refused, before).await,
            Met::Failed(speech) => return self.turn_away(&speech, Outcome::Failed, before).await,
        }
        let heard = self.ask(line).await?;
        if !heard.is_positive() {
            return self.turn_away(&heard.speech(), Outcome::Refused, before).await;
        }
        let ended = before.map(|mut before| {
            before.ticket.decide(Outcome::Incomplete);
            before.ticket
        });
        self.say(&heard.speech(), ended).await
    }

    pub(super) fn begin(&self, line: &str) -> Result<Ticket, TooManyScopes> {
        let about = self.relay.about;
        let arrival = Arrival {
            provider: about.name.into(),
            class: about.class,
            operation: SEND.into(),
            line: secrets::clean(line).into_owned(),
            peer: self.peer,
        };
        let ticket = self.relay.house.way.store.begin(&self.scope(), arrival)?;
        ticket.note(|entry| entry.relayed = Some(Box::new(Relayed::default())));
        Ok(ticket)
    }

    /// Refuses a MAIL, and with it the attempt that it began; the one before it is not touched.
    async fn turn_away(&mut self, speech: &Speech, outcome: Outcome, before: Option<Live>) -> Result<(), Ending> {
        let refused = std::mem::replace(&mut self.live, before);
        let ticket = refused.map(|mut refused| {
            refused.ticket.decide(outcome);
            refused.ticket
        });
        self.say(speech, ticket).await
    }

    /// Ends the open attempt by a reply.
    async fn conclude(&mut self, speech: &Speech, outcome: Outcome) -> Result<(), Ending> {
        self.turn_away(speech, outcome, None).await
    }

    /// Adds a recipient, unless the upstream or a rule says no. A refused one leaves the attempt alive.
    pub(super) async fn rcpt(&mut self, line: &[u8], recipient: String) -> Result<(), Ending> {
        let rule = match parse_recipient(&recipient).transpose() {
            Ok(rule) => rule,
            Err(problem) => return self.say(&wrong_rule(550, "5.1.1", &problem), None).await,
        };
        match self.meet(Step::Rcpt, std::slice::from_ref(&recipient), 0).await? {
            Met::Go => {}
            // A 421 ends the connection, and so the attempt with it.
            Met::Refused(speech) if speech.ends() => return self.conclude(&speech, Outcome::Refused).await,
            Met::Refused(speech) => return self.say(&speech, None).await,
            Met::Failed(speech) => {
                self.forget_upstream().await?;
                return self.conclude(&speech, Outcome::Failed).await;
            }
        }
        if let (Some(rule), Some(live)) = (rule, &mut self.live) {
            // It is meant for us, and no mailbox of the upstream's.
            live.in_request.push(rule);
            let speech = Speech::new(250, "2.1.5 A rule for this mail");
            return self.say(&speech, None).await;
        }
        let heard = self.ask(line).await?;
        if let Some(live) = self.live.as_mut().filter(|_| heard.is_positive()) {
            live.recipients.push(recipient);
            live.lines
                .push(String::from_utf8_lossy(line.trim_ascii_end()).into_owned());
        }
        self.say(&heard.speech(), None).await
    }

    /// Lets the content come, unless the upstream or a rule says no.
    pub(super) async fn data(&mut self, line: &[u8]) -> Result<(), Ending> {
        match self.meet_with_all(Step::Data, 0).await? {
            Met::Go => {}
            Met::Refused(speech) => {
                self.forget_upstream().await?;
                return self.conclude(&speech, Outcome::Refused).await;
            }
            Met::Failed(speech) => {
                self.forget_upstream().await?;
                return self.conclude(&speech, Outcome::Failed).await;
            }
        }
        let heard = self.ask(line).await?;
        if heard.code != 354 || self.live.is_none() {
            return self.conclude(&heard.speech(), Outcome::Refused).await;
        }
        self.say(&heard.speech(), None).await?;
        let content = self.content().await?;
        match content {
            Ok(content) => self.deliver(content).await,
            Err(Spoilt { speech, outcome }) => {
                // The upstream waits for the content: only an end tells it that none will come.
                self.link = None;
                self.conclude(&speech, outcome).await
            }
        }
    }

    /// Has the upstream forget a transaction that a rule has ended.
    async fn forget_upstream(&mut self) -> Result<(), Ending> {
        self.ask(b"RSET\r\n").await.map(|_| ())
    }

    /// Takes the content in up to its dot: within its bounds, and past the rules for its middle.
    async fn content(&mut self) -> Result<Result<Vec<u8>, Spoilt>, Ending> {
        let (mut receiver, mut content, mut spoilt) = (Receiver::data(), Vec::new(), None);
        let (limit, mut marked) = (self.relay.house.limits.mail, 0);
        loop {
            let before = content.len();
            let unread = std::mem::take(&mut self.input);
            let mut input = unread.as_slice();
            let whole = receiver.ingest(&mut input, &mut content);
            self.input = input.to_vec();
            if spoilt.is_none() {
                spoilt = self.look_at(before, content.len(), limit, &mut marked).await?;
            }
            if spoilt.is_some() {
                content.clear();
            }
            if whole {
                return Ok(spoilt.map_or(Ok(content), Err));
            }
            if !self.read().await? {
                return Err(Ending::Gone);
            }
        }
    }

    async fn look_at(
        &mut self,
        before: usize,
        size: usize,
        limit: u64,
        marked: &mut u64,
    ) -> Result<Option<Spoilt>, Ending> {
        let refused = |speech| {
            Some(Spoilt {
                speech,
                outcome: Outcome::Refused,
            })
        };
        if size as u64 > limit {
            let text = format!("5.3.4 A mail may have {limit} bytes and no more");
            return Ok(refused(Speech::new(552, text)));
        }
        let live = self.live.as_mut();
        if !live.is_none_or(|live| live.share.take((size - before) as u64)) {
            let text = "4.3.1 Too many bytes of mails are arriving at once";
            return Ok(refused(Speech::new(452, text)));
        }
        let from = std::mem::replace(marked, size as u64);
        let marks = self.relay.house.way.rules.mid_data_marks();
        for mark in marks.into_iter().filter(|mark| (from + 1..=size as u64).contains(mark)) {
            match self.meet_with_all(Step::MidData, mark).await? {
                Met::Go => {}
                Met::Refused(speech) => return Ok(refused(speech)),
                Met::Failed(speech) => {
                    return Ok(Some(Spoilt {
                        speech,
                        outcome: Outcome::Failed,
                    }));
                }
            }
        }
        Ok(None)
    }

    async fn meet_with_all(&mut self, step: Step, mark: u64) -> Result<Met, Ending> {
        let recipients = self.live.as_ref().map(|live| live.recipients.clone());
        self.meet(step, &recipients.unwrap_or_default(), mark).await
    }

    /// Sends a whole mail on the way of all attempts, and waits for what comes of it.
    async fn deliver(&mut self, content: Vec<u8>) -> Result<(), Ending> {
        let (Some(live), Some(link)) = (self.live.take(), self.link.take()) else {
            return Err(Ending::Close);
        };
        let mail = transmit::mail(&self.helo, live.sender, live.recipients, live.lines, content);
        let headers = mail.header("x-ackdrop-fault");
        let rules: Result<Vec<InRequest>, Problem> = headers.iter().map(|value| parse_mail_header(value)).collect();
        let mut in_request = match rules {
            Ok(rules) => rules,
            Err(problem) => {
                // The upstream waits for the content: only an end tells it that none will come.
                drop(link);
                let mut ticket = live.ticket;
                ticket.decide(Outcome::Refused);
                let speech = wrong_rule(554, "5.6.0 X-Ackdrop-Fault:", &problem);
                return self.say(&speech, Some(ticket)).await;
            }
        };
        in_request.extend(live.in_request);
        let there = self.flush().await;
        let whole = Whole {
            request: mail,
            operation: self.relay.about.operation(SEND),
            in_request,
            exempt: live.exempt,
        };
        self.carry_out(whole, live.ticket, live.share, link, there).await
    }

    async fn carry_out(
        &mut self,
        whole: Whole<Mail>,
        ticket: Ticket,
        share: Share,
        link: super::link::Link,
        there: Result<(), Ending>,
    ) -> Result<(), Ending> {
        let gone = CancellationToken::new();
        let (line, delivery) = Line::new(gone.clone());
        let (back, link_back) = oneshot::channel();
        let errand = Transmit::new(Arc::clone(&self.relay), whole, &ticket, link, back);
        let way = self.relay.house.way.clone();
        self.relay.house.way.tasks.spawn(async move {
            walk(way, errand, ticket, line).await;
            drop(share);
        });
        if let Err(ending) = there {
            gone.cancel();
            return Err(ending);
        }
        let socket = self.socket();
        let delivery = tokio::select! {
            biased;
            () = socket.left() => {
                gone.cancel();
                return Err(Ending::Gone);
            }
            delivery = delivery => delivery,
        };
        drop(socket);
        match delivery {
            Ok(Delivery::Answer(outgoing)) => {
                // Nothing comes back of a mail that was kept from the upstream in the middle.
                self.link = link_back.await.ok();
                self.answer(outgoing).await
            }
            Ok(Delivery::Lose { how, over }) => Err(Ending::Fault(how, over)),
            Err(_) => Err(Ending::Close),
        }
    }

    /// Sends the reply to the dot, or its first bytes.
    async fn answer(&mut self, outgoing: Outgoing) -> Result<(), Ending> {
        let speech = Speech::of(&outgoing.reply);
        let bytes = speech.bytes();
        let cut = outgoing
            .cut
            .map(|cut| usize::try_from(cut).unwrap_or(usize::MAX).min(bytes.len()));
        let part = &bytes[..cut.unwrap_or(bytes.len())];
        outgoing.begin();
        self.write(part).await?;
        let sent = part.len() as u64;
        if part.len() < bytes.len() {
            outgoing.sent_cut(sent);
        } else {
            outgoing.sent_whole(sent);
        }
        if cut.is_some() {
            return Err(Ending::Fault(How::Truncate { bytes: sent }, CancellationToken::new()));
        }
        if speech.ends() { Err(Ending::Close) } else { Ok(()) }
    }
}

fn wrong_rule(code: u16, prefix: &str, problem: &Problem) -> Speech {
    Speech::new(code, format!("{prefix} {problem}"))
}
