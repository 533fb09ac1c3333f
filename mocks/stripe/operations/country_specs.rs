//! Country specs.

use crate::mocks::stripe::failure::Failure;
use crate::mocks::stripe::failure::Outcome;
use crate::mocks::stripe::list::page_of;
use crate::mocks::stripe::objects::{CountrySpec, Kind, Resource as _, Thing};
use crate::mocks::stripe::routes::{Route, Verb::Get, row};
use crate::mocks::stripe::scene::{Answer, Scene};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Get, "/v1/country_specs", "country_specs.list", Kind::CountrySpec, &[],
        &["ending_before$", "limit#", "starting_after$"], list).listing(),
    row(Get, "/v1/country_specs/{id}", "country_specs.retrieve", Kind::CountrySpec, &[], &[], retrieve),
];

fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let all = CountrySpec::all().map(|country| Thing::CountrySpec(country.into()));
    page_of(scene, Kind::CountrySpec, all.collect())
}

fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let found = <&CountrySpec>::find(scene.tx, scene.id);
    let found = found.ok_or_else(|| Failure::no_such(Kind::CountrySpec.word(), scene.id, "country"))?;
    Ok(Answer::One(Thing::CountrySpec(found)))
}
