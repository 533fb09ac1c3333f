//! Test clocks: made, advanced with all that falls due on the way, deleted with all who live on them.

use std::sync::Arc;

use crate::mocks::stripe::billing::{agenda, cycle, period};
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::page;
use crate::mocks::stripe::objects::{Customer, Deleted, Kind, Subscription, TestClock, Thing};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Delete, Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Origin, Scene};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/test_helpers/test_clocks", "test_clocks.create", Kind::TestClock, &["test_clock"],
        &["customer$", "frozen_time#", "name$"], create),
    row(Get, "/v1/test_helpers/test_clocks", "test_clocks.list", Kind::TestClock, &[],
        &["ending_before$", "limit#", "starting_after$"], list).listing(),
    row(Get, "/v1/test_helpers/test_clocks/{id}", "test_clocks.retrieve", Kind::TestClock, &[], &[], retrieve),
    row(Post, "/v1/test_helpers/test_clocks/{id}/advance", "test_clocks.advance", Kind::TestClock, ADVANCE_EFFECTS,
        &["frozen_time#"], advance),
    row(Delete, "/v1/test_helpers/test_clocks/{id}", "test_clocks.delete", Kind::TestClock, &["test_clock_delete"], &[], delete),
];

/// What can come of an advance: all that can come of time passing.
const ADVANCE_EFFECTS: &[&str] = &[
    "test_clock_advance",
    "charge",
    "invoice_finalize",
    "invoice_pay",
    "subscription_cancel",
    "subscription_cycle",
    "subscription_expire",
    "subscription_pause",
];

/// The latest time on a clock: the end of 2099.
const LATEST: i64 = 4_102_444_799;
/// How far a clock is advanced at most where there is no subscription.
const FARTHEST_MONTHS: i64 = 24;
/// How many tasks one advance runs at most.
const MOST_TASKS: usize = 10_000;
/// The longest name.
const MAX_NAME: usize = 300;

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    params.not_modelled(&["customer"])?;
    let name = params.text("name")?;
    if name.is_some_and(|name| name.chars().count() > MAX_NAME) {
        return Err(
            Failure::invalid(format!("Invalid string: name; must be at most {MAX_NAME} characters")).param("name"),
        );
    }
    let clock = TestClock {
        id: scene.new_id("clock_"),
        created: scene.now(),
        frozen_time: time(scene)?,
        name: name.map(Into::into),
        agenda: Vec::new(),
    };
    let clock = scene.tx.put(clock);
    scene.tx.effect("test_clock", &clock.id);
    scene.event("test_helpers.test_clock.created", Arc::clone(&clock));
    Ok(Answer::One(Thing::TestClock(clock)))
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::TestClock(own(scene)?)))
}

/// Advances a clock, and does in this very call what falls due until then, each at its time.
pub(crate) fn advance(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let target = time(scene)?;
    let before = own(scene)?;
    check(scene, &before, target)?;
    let id = Arc::clone(&before.id);
    scene.tx.effect("test_clock_advance", &id);
    let origin = std::mem::replace(&mut scene.origin, Origin::Schedule);
    scene.event("test_helpers.test_clock.advancing", Arc::clone(&before));
    for _ in 0..MOST_TASKS {
        let mut clock = TestClock::clone(&*current(scene, &id));
        let first = clock.agenda.iter().enumerate().min_by_key(|(_, (at, _))| *at);
        let Some(place) = first.filter(|(_, (at, _))| *at <= target).map(|(place, _)| place) else {
            break;
        };
        let (at, task) = clock.agenda.remove(place);
        clock.frozen_time = clock.frozen_time.max(at);
        let now = clock.frozen_time;
        scene.tx.put(clock);
        agenda::run(scene, &task, now);
    }
    let mut clock = TestClock::clone(&*current(scene, &id));
    if clock.agenda.iter().any(|(at, _)| *at <= target) {
        return Err(Failure::invalid(TOO_MUCH).param("frozen_time"));
    }
    clock.frozen_time = target;
    let clock = scene.tx.put(clock);
    scene.event("test_helpers.test_clock.ready", Arc::clone(&clock));
    scene.origin = origin;
    Ok(Answer::One(Thing::TestClock(clock)))
}

const TOO_MUCH: &str = "More falls due on this clock until then than one advance can run: advance it by less.";

/// Deletes a clock; who lived on it goes with it.
pub(crate) fn delete(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let clock = own(scene)?;
    let here = |own: &Option<Arc<str>>| own.as_ref() == Some(&clock.id);
    let running: Vec<_> = scene
        .tx
        .list::<Subscription>()
        .filter(|s| here(&s.clock) && !s.status.over())
        .collect();
    for subscription in running {
        cycle::end(scene, &subscription, clock.frozen_time, "cancellation_requested");
    }
    let customers: Vec<_> = scene
        .tx
        .list::<Customer>()
        .filter(|c| here(&c.clock) && !c.deleted)
        .collect();
    for customer in customers {
        let mut gone = Customer::new(Arc::clone(&customer.id), customer.created);
        gone.deleted = true;
        scene.tx.put(gone);
        scene.event("customer.deleted", customer);
    }
    scene.tx.remove::<TestClock>(&clock.id);
    scene.tx.effect("test_clock_delete", &clock.id);
    let id = Arc::clone(&clock.id);
    scene.event("test_helpers.test_clock.deleted", clock);
    Ok(Answer::One(Deleted::of(id, "test_helpers.test_clock")))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    page(scene, Kind::TestClock, |_: &TestClock| true, Thing::TestClock)
}

fn own(scene: &Scene<'_, '_>) -> Outcome<Arc<TestClock>> {
    scene.own(Kind::TestClock, "test_clock")
}

fn current(scene: &Scene<'_, '_>, id: &str) -> Arc<TestClock> {
    scene.tx.get(id).expect("nothing that falls due deletes a clock")
}

fn time(scene: &Scene<'_, '_>) -> Outcome<i64> {
    let time = scene.params.integer("frozen_time")?;
    let time = time.ok_or_else(|| Failure::missing("frozen_time"))?;
    if !(1..=LATEST).contains(&time) {
        let message = format!("Invalid timestamp: must be an integer Unix timestamp from 1 to {LATEST}.");
        return Err(Failure::invalid(message).param("frozen_time"));
    }
    Ok(time)
}

/// Checks how far a clock is advanced: forward, and by two intervals of its shortest subscription at most.
fn check(scene: &Scene<'_, '_>, clock: &TestClock, target: i64) -> Outcome<()> {
    let refuse = |message: &str| Err(Failure::invalid(message.to_owned()).param("frozen_time"));
    if target <= clock.frozen_time {
        return refuse("The new frozen time has to be after the current frozen time.");
    }
    let own = scene
        .tx
        .list::<Subscription>()
        .filter(|s| s.clock.as_ref() == Some(&clock.id) && !s.status.over());
    let ends = own.map(|s| {
        let recurring = cycle::recurring(scene, &s);
        let first = period::holding(clock.frozen_time, recurring, clock.frozen_time).end;
        period::holding(clock.frozen_time, recurring, first).end
    });
    let farthest = ends
        .min()
        .unwrap_or_else(|| period::months(clock.frozen_time, FARTHEST_MONTHS));
    if target > farthest {
        return refuse(
            "The new frozen time is too far away: a clock can be advanced by two intervals of its shortest subscription at \
             once, or by two years without one.",
        );
    }
    Ok(())
}
