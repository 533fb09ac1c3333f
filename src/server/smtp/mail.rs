//! One mail: from its MAIL line, where the attempt begins, to the reply to its final dot.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::connection::{Connection, withhold};
use super::envelope::Envelope;
use super::steps::Met;
use crate::attempt::{Delivery, Describe as _, Line, Mail, Outgoing, Provider as _, Share, Whole, carry_out};
use crate::faults::{How, InRequest, Problem, Step, parse_mail_header, parse_recipient};
use crate::ledger::{Arrival, Outcome, secrets};
use crate::net::ending::Ending;
use crate::net::smtp::command::Rcpt;
use crate::net::smtp::speech::Speech;
use crate::store::{Ticket, TooManyScopes};

/// The operation of every mail.
pub(super) const OPERATION: &str = "messages.send";

/// Is an attempt whose transaction is open.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) ticket: Ticket,
    /// Whether a `pass` has won: no rule meets it any more.
    pub(super) exempt: bool,
    /// The rules that came as recipients.
    pub(super) in_request: Vec<InRequest>,
    /// How far the rules for content in the middle were asked.
    marked: u64,
    /// What its content takes of the budget, and how much that is.
    share: Share,
    taken: u64,
}

impl Connection {
    /// Begins an attempt; the one before is over.
    pub(super) async fn mail(&mut self, line: &str, speech: Speech, refused: bool) -> Result<(), Ending> {
        let ended = self.interrupt();
        let ticket = match self.begin(line) {
            Ok(ticket) => ticket,
            Err(full) => {
                self.session.forget();
                return self.say(&Speech::new(452, format!("4.3.1 {full}")), ended).await;
            }
        };
        self.live = Some(Live {
            ticket,
            exempt: false,
            in_request: Vec::new(),
            marked: 0,
            share: self.shared.arriving.share(),
            taken: 0,
        });
        let met = match self.meet(Step::Mail, &[], 0).await {
            Ok(met) => met,
            Err(ending) => return Err(withhold(ended, ending)),
        };
        // The one reply answers both: it ends the attempt before, and is the first of the new one.
        match met {
            Met::Go if !refused => self.say(&speech, ended).await,
            Met::Go => self.turn_away(&speech, ended, Outcome::Refused).await,
            Met::Refused(speech) => self.turn_away(&speech, ended, Outcome::Refused).await,
            Met::Failed(speech) => self.turn_away(&speech, ended, Outcome::Failed).await,
        }
    }

    fn begin(&self, line: &str) -> Result<Ticket, TooManyScopes> {
        let about = self.shared.mocks.smtp.about();
        let arrival = Arrival {
            provider: about.name.into(),
            class: about.class,
            operation: OPERATION.into(),
            line: secrets::clean(line).into_owned(),
            peer: self.peer,
        };
        self.shared.way.store.begin(&self.scope(), arrival)
    }

    /// Refuses a MAIL, and with it the attempt that it began.
    async fn turn_away(&mut self, speech: &Speech, ended: Option<Ticket>, outcome: Outcome) -> Result<(), Ending> {
        if let Some(ticket) = ended {
            // Its own part of the same reply, which is said below.
            self.owe(speech, ticket);
        }
        self.conclude(speech, outcome).await
    }

    /// Ends the open attempt by a reply.
    pub(super) async fn conclude(&mut self, speech: &Speech, outcome: Outcome) -> Result<(), Ending> {
        self.session.forget();
        let ticket = self.live.take().map(|live| live.ticket);
        let ticket = ticket.map(|mut ticket| {
            ticket.decide(outcome);
            ticket
        });
        self.say(speech, ticket).await
    }

    /// Adds a recipient, unless it or a rule says no. A refused one leaves the attempt alive.
    pub(super) async fn rcpt(&mut self, rcpt: Rcpt, speech: Speech) -> Result<(), Ending> {
        let rule = match parse_recipient(&rcpt.recipient).transpose() {
            Ok(rule) => rule,
            Err(problem) => return self.say(&wrong_rule(550, "5.1.1", &problem), None).await,
        };
        let recipients = [rcpt.recipient.clone()];
        match self.meet(Step::Rcpt, &recipients, 0).await? {
            Met::Go => {
                self.session.add(rcpt);
                if let Some(live) = &mut self.live {
                    live.in_request.extend(rule);
                }
                self.say(&speech, None).await
            }
            // A 421 ends the connection, and so the attempt with it.
            Met::Refused(speech) if speech.ends() => self.conclude(&speech, Outcome::Refused).await,
            Met::Refused(speech) => self.say(&speech, None).await,
            Met::Failed(speech) => self.conclude(&speech, Outcome::Failed).await,
        }
    }

    /// Lets the content come, unless a rule says no.
    pub(super) async fn data(&mut self, speech: Speech) -> Result<(), Ending> {
        match self.meet_with_all(Step::Data, 0).await? {
            Met::Go => {
                self.session.open();
                self.say(&speech, None).await
            }
            Met::Refused(speech) => self.conclude(&speech, Outcome::Refused).await,
            Met::Failed(speech) => self.conclude(&speech, Outcome::Failed).await,
        }
    }

    /// Takes the first chunk, which is to BDAT what the command is to DATA. Its bytes come whatever is said.
    pub(super) async fn first_chunk(&mut self) -> Result<(), Ending> {
        let met = self.meet_with_all(Step::Data, 0).await?;
        self.refuse_content(met);
        Ok(())
    }

    /// Looks at the content that has come: the budget, and the rules for its middle.
    pub(super) async fn progress(&mut self) -> Result<(), Ending> {
        let coming = self.session.envelope().filter(|e| e.refusal().is_none());
        let (Some(size), Some(live)) = (coming.map(Envelope::size), &mut self.live) else {
            return Ok(());
        };
        let more = size - live.taken;
        live.taken = size;
        if !live.share.take(more) {
            let full = Speech::new(452, "4.3.1 Too many bytes of mails are arriving at once");
            self.refuse_content(Met::Refused(full));
            return Ok(());
        }
        let from = live.marked;
        live.marked = size;
        let marks = self.shared.way.rules.mid_data_marks();
        for mark in marks.into_iter().filter(|mark| (from + 1..=size).contains(mark)) {
            let met = self.meet_with_all(Step::MidData, mark).await?;
            if !matches!(met, Met::Go) {
                self.refuse_content(met);
                break;
            }
        }
        Ok(())
    }

    /// Refuses the mail once its content has come: nothing can be said in the middle of it.
    fn refuse_content(&mut self, met: Met) {
        let (speech, outcome) = match met {
            Met::Go => return,
            Met::Refused(speech) => (speech, Outcome::Refused),
            Met::Failed(speech) => (speech, Outcome::Failed),
        };
        self.session.refuse_content(speech);
        if let Some(live) = &mut self.live {
            live.ticket.decide(outcome);
            live.share = self.shared.arriving.share();
        }
    }

    async fn meet_with_all(&mut self, step: Step, mark: u64) -> Result<Met, Ending> {
        let recipients = self.session.envelope().map(|e| e.recipients().to_vec());
        self.meet(step, &recipients.unwrap_or_default(), mark).await
    }

    /// Sends a whole mail on the way of all attempts, and waits for what comes of it.
    pub(super) async fn deliver(&mut self, mail: Mail) -> Result<(), Ending> {
        let headers = mail.header("x-ackdrop-fault");
        let rules: Result<Vec<InRequest>, Problem> = headers.iter().map(|value| parse_mail_header(value)).collect();
        let mut in_request = match rules {
            Ok(rules) => rules,
            Err(problem) => {
                let speech = wrong_rule(554, "5.6.0 X-Ackdrop-Fault:", &problem);
                return self.conclude(&speech, Outcome::Refused).await;
            }
        };
        let Some(live) = self.live.take() else {
            return Err(Ending::Close);
        };
        in_request.extend(live.in_request);
        // The mail is whole: a client that does not read its earlier replies any more changes nothing about that.
        let there = self.flush().await;
        let gone = CancellationToken::new();
        let (line, delivery) = Line::new(gone.clone());
        let provider = Arc::clone(&self.shared.mocks.smtp);
        let operation = provider.about().operation(OPERATION);
        let way = self.shared.way.clone();
        let whole = Whole {
            request: mail,
            operation,
            in_request,
            exempt: live.exempt,
        };
        let carried = carry_out(way, provider, whole, live.ticket, line);
        let share = live.share;
        self.shared.way.tasks.spawn(async move {
            carried.await;
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
            Ok(Delivery::Answer(outgoing)) => self.answer(outgoing).await,
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
