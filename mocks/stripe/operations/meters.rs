//! Meters.

use std::sync::Arc;

use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::page;
use crate::mocks::stripe::objects::{Kind, Meter, MeterName, Thing};
use crate::mocks::stripe::params::Params;
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/billing/meters", "billing.meters.create", Kind::Meter, &["meter"],
        &["customer_mapping{}", "default_aggregation{}", "display_name$", "event_name$", "event_time_window=day|hour", "value_settings{}"],
        create),
    row(Get, "/v1/billing/meters", "billing.meters.list", Kind::Meter, &[],
        &["ending_before$", "limit#", "starting_after$", "status=active|inactive"], list).listing(),
    row(Get, "/v1/billing/meters/{id}", "billing.meters.retrieve", Kind::Meter, &[], &[], retrieve),
    row(Post, "/v1/billing/meters/{id}", "billing.meters.update", Kind::Meter, &["meter_update"], &["display_name$"], update),
    row(Post, "/v1/billing/meters/{id}/deactivate", "billing.meters.deactivate", Kind::Meter, &["meter_deactivate"], &[],
        deactivate),
    row(Post, "/v1/billing/meters/{id}/reactivate", "billing.meters.reactivate", Kind::Meter, &["meter_reactivate"], &[],
        reactivate),
];

/// The longest name.
const MAX_NAME: usize = 250;
/// The longest name of an event, or of a key in its payload.
pub(crate) const MAX_EVENT_NAME: usize = 100;

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let aggregation = params.nested("default_aggregation")?;
    let aggregation = aggregation.ok_or_else(|| Failure::missing("default_aggregation"))?;
    aggregation.only(&["formula"])?;
    aggregation.required("formula")?;
    let formula = aggregation.one_of("formula", &["count", "last", "sum"])?;
    let mapping = params.nested("customer_mapping")?;
    if let Some(mapping) = &mapping {
        mapping.only(&["event_payload_key", "type"])?;
        mapping.required("type")?;
        mapping.one_of("type", &["by_id"])?;
    }
    let settings = params.nested("value_settings")?;
    if let Some(settings) = &settings {
        settings.only(&["event_payload_key"])?;
    }
    let now = scene.now();
    let meter = Meter {
        id: scene.new_id("mtr_test_"),
        created: now,
        updated: now,
        display_name: short(&params, "display_name", MAX_NAME)?.into(),
        event_name: short(&params, "event_name", MAX_EVENT_NAME)?.into(),
        customer_key: key(mapping.as_ref(), "stripe_customer_id")?.into(),
        value_key: key(settings.as_ref(), "value")?.into(),
        formula: formula.unwrap_or("sum"),
        window: params.one_of("event_time_window", &["day", "hour"])?,
        deactivated: None,
    };
    take_name(scene, &meter)?;
    let meter = scene.tx.put(meter);
    scene.tx.effect("meter", &meter.id);
    scene.event("billing.meter.created", Arc::clone(&meter));
    Ok(Answer::One(Thing::Meter(meter)))
}

fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Meter(scene.own(Kind::Meter, "id")?)))
}

fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let before = scene.own::<Meter>(Kind::Meter, "id")?;
    let mut meter = Meter::clone(&before);
    if params.has("display_name") {
        meter.display_name = short(&params, "display_name", MAX_NAME)?.into();
    }
    change(scene, &before, meter, "meter_update", "billing.meter.updated")
}

fn deactivate(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let before = scene.own::<Meter>(Kind::Meter, "id")?;
    if before.deactivated.is_some() {
        return Err(wrong_state("inactive"));
    }
    let meter = Meter {
        deactivated: Some(scene.now()),
        ..Meter::clone(&before)
    };
    scene.tx.remove::<MeterName>(&meter.event_name);
    change(scene, &before, meter, "meter_deactivate", "billing.meter.deactivated")
}

fn reactivate(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let before = scene.own::<Meter>(Kind::Meter, "id")?;
    if before.deactivated.is_none() {
        return Err(wrong_state("active"));
    }
    let meter = Meter {
        deactivated: None,
        ..Meter::clone(&before)
    };
    take_name(scene, &meter)?;
    change(scene, &before, meter, "meter_reactivate", "billing.meter.reactivated")
}

fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let status = scene.params.one_of("status", &["active", "inactive"])?;
    let keep = |meter: &Meter| status.is_none_or(|status| meter.status() == status);
    page(scene, Kind::Meter, keep, Thing::Meter)
}

fn change(
    scene: &mut Scene<'_, '_>,
    before: &Arc<Meter>,
    mut meter: Meter,
    effect: &'static str,
    event: &'static str,
) -> Outcome<Answer> {
    meter.updated = scene.now();
    let meter = scene.tx.put(meter);
    scene.tx.effect(effect, &meter.id);
    scene.changed(event, Arc::clone(before), Arc::clone(&meter));
    Ok(Answer::One(Thing::Meter(meter)))
}

/// Makes a meter the one that counts the events of its name, if there is no other.
fn take_name(scene: &mut Scene<'_, '_>, meter: &Meter) -> Outcome<()> {
    let name = &meter.event_name;
    if let Some(other) = scene.tx.get::<MeterName>(name).filter(|n| n.meter != meter.id) {
        let message = format!(
            "There is already an active meter, {}, with the event name {name}.",
            other.meter
        );
        return Err(Failure::invalid(message).param("event_name"));
    }
    scene.tx.put(MeterName {
        event_name: Arc::clone(name),
        meter: Arc::clone(&meter.id),
    });
    Ok(())
}

fn key<'p>(given: Option<&Params<'p>>, usual: &'p str) -> Outcome<&'p str> {
    match given {
        Some(given) => short(given, "event_payload_key", MAX_EVENT_NAME),
        None => Ok(usual),
    }
}

/// Reads a text that must be there, and no longer than this.
pub(crate) fn short<'p>(params: &Params<'p>, name: &str, most: usize) -> Outcome<&'p str> {
    let text = params.required(name)?;
    if text.chars().count() <= most {
        return Ok(text);
    }
    let message = format!("Invalid string: must be at most {most} characters");
    Err(Failure::invalid(message).param(&params.name(name)))
}

fn wrong_state(status: &str) -> Box<Failure> {
    Failure::invalid(format!("The meter is {status} already.")).param("id")
}
