//! `GET /_mail`, `GET /_mail/{id}` and `GET /_mail/{id}/raw`: the mails that were accepted.

mod wanted;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde_json::{Value, json};

use self::wanted::Wanted;
use super::ask::Ask;
use super::{Admin, Error, error};
use crate::attempt::mail_header;
use crate::ledger::{rfc3339, secrets};
use crate::mocks::smtp::{Message, Parsed, decoded, with_message_id};
use crate::store::{Scope, Store};

/// How many characters of a text are shown; all of it is in the raw mail.
const LONGEST_TEXT: usize = 1 << 20;

type Found = (Scope, Arc<Message>);

/// Lists mails, newest first.
pub(super) async fn list(State(admin): State<Admin>, ask: Ask) -> Result<Response, Error> {
    let wanted = Wanted::read(&ask)?;
    let limit = usize::try_from(ask.number("limit", 100, 1000)?).unwrap_or(usize::MAX);
    let found = find(&admin.way.store, ask.scope()?.as_ref(), &wanted);
    let begin = match ask.get("before") {
        None => 0,
        Some(id) => match found.iter().position(|(_, mail)| *mail.id == *id) {
            Some(place) => place + 1,
            None => {
                return Err(Error::bad(format!(
                    "`before` is `{id}`, and no mail of this list has that id"
                )));
            }
        },
    };
    let page = found.iter().skip(begin).take(limit);
    let mails: Vec<Value> = page.map(|(scope, mail)| summary(scope, mail)).collect();
    let has_more = begin + mails.len() < found.len();
    let value = json!({"total": found.len(), "has_more": has_more, "mails": mails});
    Ok(super::answer(StatusCode::OK, &value))
}

/// Shows one mail, parsed.
pub(super) async fn show(State(admin): State<Admin>, Path(id): Path<String>, ask: Ask) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let (scope, mail) = one(&admin.way.store, ask.scope()?.as_ref(), &id)?;
    Ok(super::answer(StatusCode::OK, &detail(&scope, &mail)))
}

/// Returns one mail byte for byte.
pub(super) async fn raw(State(admin): State<Admin>, Path(id): Path<String>, ask: Ask) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let (_, mail) = one(&admin.way.store, ask.scope()?.as_ref(), &id)?;
    match mail.body.content() {
        Some(content) => Ok(([("content-type", "message/rfc822")], content).into_response()),
        None => Err(error(
            StatusCode::GONE,
            format!(
                "the content of mail `{id}` was let go to stay within the budget of recorded bodies; `/_mail/{id}` still has its envelope, header, size and hash"
            ),
        )),
    }
}

/// Finds the wanted mails of one scope or of all, newest first.
fn find(store: &Store, scope: Option<&Scope>, wanted: &Wanted) -> Vec<Found> {
    let scopes = scope.map_or_else(|| store.scopes(), |scope| vec![scope.clone()]);
    let several = scopes.len() > 1;
    let mut found: Vec<Found> = Vec::new();
    for scope in scopes {
        // Only the handles are taken under the world's lock; looking at them is for after.
        let mails: Vec<Arc<Message>> = store.read(&scope, |tx| match wanted.exact_message_id() {
            Some(id) => with_message_id(tx, id).collect(),
            None => tx.list::<Message>().collect(),
        });
        let mails = mails.into_iter().filter(|mail| wanted.accepts(mail));
        found.extend(mails.map(|mail| (scope.clone(), mail)));
    }
    if several {
        found.sort_by_key(|(_, mail)| std::cmp::Reverse(mail.accepted));
    }
    found
}

fn one(store: &Store, scope: Option<&Scope>, id: &str) -> Result<Found, Error> {
    let scopes = scope.map_or_else(|| store.scopes(), |scope| vec![scope.clone()]);
    let mut found = scopes
        .into_iter()
        .filter_map(|scope| Some((scope.clone(), store.read(&scope, |tx| tx.get::<Message>(id))?)));
    found.next().ok_or_else(|| {
        let place = scope.map_or_else(String::new, |scope| format!(" in scope `{scope}`"));
        error(StatusCode::NOT_FOUND, format!("there is no mail `{id}`{place}"))
    })
}

fn summary(scope: &Scope, mail: &Message) -> Value {
    let clean = |text: &str| secrets::clean(text).into_owned();
    let all = |texts: &[String]| texts.iter().map(|text| clean(text)).collect::<Vec<_>>();
    let headers: Vec<Value> = mail_header::fields(&mail.body.head())
        .map(|(name, value)| json!({"name": clean(&name), "value": secrets::clean_header(&name, &decoded(&value))}))
        .collect();
    json!({
        "id": mail.id,
        "scope": scope,
        "accepted": rfc3339(Some(mail.accepted)),
        "envelope": {
            "helo": clean(&mail.helo),
            "user": mail.user.as_deref().map(clean),
            "sender": clean(&mail.sender),
            "recipients": all(&mail.recipients),
            "lines": all(&mail.lines),
        },
        "message_id": mail.message_id.as_deref().map(clean),
        "subject": mail.subject.as_deref().map(clean),
        "headers": headers,
        "size": mail.body.size(),
        "sha256": mail.body.hash().iter().map(|b| format!("{b:02x}")).collect::<String>(),
        "body_let_go": mail.body.content().is_none(),
    })
}

fn detail(scope: &Scope, mail: &Message) -> Value {
    let mut value = summary(scope, mail);
    let Some(content) = mail.body.content() else {
        return value;
    };
    let mut parsed = Parsed::read(&content);
    for text in [&mut parsed.text, &mut parsed.html].into_iter().flatten() {
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        *text = secrets::clean(text).into_owned();
    }
    let addresses = [&mut parsed.from, &mut parsed.to, &mut parsed.cc, &mut parsed.reply_to];
    for address in addresses.into_iter().flatten() {
        address.name = secrets::clean(&address.name).into_owned();
        address.address = secrets::clean(&address.address).into_owned();
    }
    for attachment in &mut parsed.attachments {
        attachment.name = attachment.name.as_deref().map(|name| secrets::clean(name).into_owned());
    }
    // The subject is that of the list, already clean.
    parsed.subject = None;
    if let (Value::Object(value), Ok(Value::Object(parsed))) = (&mut value, serde_json::to_value(parsed)) {
        value.extend(parsed.into_iter().filter(|(name, _)| name != "subject"));
    }
    value
}

#[cfg(test)]
mod tests;
