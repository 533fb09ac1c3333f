//! What a seed says that worlds begin with: `{"stripe": {"customers": {"cus_123": {…}}}, "scopes": {"alice": {…}}}`.

use serde_json::{Map, Value};

use super::Objects;
use crate::attempt::Wrong;
use crate::store::{Beginning, Scope};

/// How many objects a seed may have: each world holds all of them.
const MOST_OBJECTS: usize = 1_000;
/// The member that holds what single scopes have beside the rest.
const SCOPES: &str = "scopes";

/// Is one object of a seed.
struct Given<'s> {
    place: String,
    path: [&'s str; 3],
    fields: &'s Value,
}

/// Reads a seed and thinks out what worlds begin with, after what they begin with already.
///
/// The order of a seed means nothing: what refers to another is put after it.
///
/// # Errors
///
/// Fails with all that is wrong with it.
pub fn beginning(mut beginning: Beginning, objects: &Objects, seed: &Value) -> Result<Beginning, Vec<Wrong>> {
    let mut wrong = Vec::new();
    let mut sections: Vec<(Option<Scope>, Vec<Given<'_>>)> = Vec::new();
    let whole = members(
        seed,
        "",
        "providers, such as {\"stripe\": {\"customers\": {…}}}",
        &mut wrong,
    );
    let every = whole.iter().filter(|(name, _)| name.as_str() != SCOPES);
    sections.push((None, given(objects, every, "", &mut wrong)));
    if let Some(scopes) = whole.get(SCOPES) {
        for (name, section) in members(scopes, SCOPES, "scopes by name", &mut wrong) {
            let place = format!("{SCOPES}.{name}");
            match Scope::parse(name) {
                Ok(scope) => {
                    let section = members(section, &place, "providers", &mut wrong);
                    sections.push((Some(scope), given(objects, section, &place, &mut wrong)));
                }
                Err(invalid) => wrong.push(Wrong::new(place, &Value::Null, invalid.to_string())),
            }
        }
    }
    let number: usize = sections.iter().map(|(_, given)| given.len()).sum();
    if number > MOST_OBJECTS {
        let why = format!("there are {number} objects, and a seed has at most {MOST_OBJECTS}");
        return Err(vec![Wrong::new("", &Value::Null, why)]);
    }
    for (scope, given) in sections {
        put_all(&mut beginning, objects, scope.as_ref(), given, &mut wrong);
    }
    if wrong.is_empty() { Ok(beginning) } else { Err(wrong) }
}

/// Lists the objects of one section.
fn given<'s>(
    objects: &Objects,
    providers: impl IntoIterator<Item = (&'s String, &'s Value)>,
    within: &str,
    wrong: &mut Vec<Wrong>,
) -> Vec<Given<'s>> {
    let mut all = Vec::new();
    for (provider, resources) in providers {
        let place = join(within, provider);
        if let Err(unknown) = objects.check_provider(provider) {
            wrong.push(Wrong {
                field: place,
                ..unknown
            });
            continue;
        }
        for (resource, by_id) in members(resources, &place, "resources, such as \"customers\"", wrong) {
            let place = join(&place, resource);
            for (id, fields) in members(by_id, &place, "objects by id", wrong) {
                all.push(Given {
                    place: join(&place, id),
                    path: [provider, resource, id],
                    fields,
                });
            }
        }
    }
    all
}

/// Puts what can be put until nothing more can; what then is left is wrong.
fn put_all(
    beginning: &mut Beginning,
    objects: &Objects,
    scope: Option<&Scope>,
    given: Vec<Given<'_>>,
    wrong: &mut Vec<Wrong>,
) {
    let mut left = given;
    while !left.is_empty() {
        let before = left.len();
        let mut failed = Vec::new();
        for one in left {
            let put = beginning.arrange(scope, |tx| objects.put(tx, one.path, one.fields));
            failed.extend(put.err().map(|why| (one, why)));
        }
        if failed.len() == before {
            let named = |(one, why): (Given<'_>, Vec<Wrong>)| why.into_iter().map(move |why| why.within(&one.place));
            wrong.extend(failed.into_iter().flat_map(named));
            return;
        }
        left = failed.into_iter().map(|(one, _)| one).collect();
    }
}

fn members<'s>(value: &'s Value, place: &str, what: &str, wrong: &mut Vec<Wrong>) -> &'s Map<String, Value> {
    static NOTHING: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    match value {
        Value::Object(members) => members,
        other => {
            wrong.push(Wrong::new(place, other, format!("must be an object of {what}")));
            &NOTHING
        }
    }
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() {
        name.to_owned()
    } else {
        format!("{place}.{name}")
    }
}
