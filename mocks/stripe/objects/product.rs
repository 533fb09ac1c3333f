//! Products: what is sold.

use std::sync::Arc;

use serde::Serialize;

use super::{Kind, Link, Resource, Shown, Target};
use crate::mocks::stripe::decimal::{Decimal, Number};
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is a product.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) updated: i64,
    pub(crate) active: bool,
    pub(crate) name: Arc<str>,
    pub(crate) default_price: Option<Arc<str>>,
    pub(crate) description: Option<Box<str>>,
    pub(crate) images: Vec<Box<str>>,
    pub(crate) features: Vec<Box<str>>,
    pub(crate) dimensions: Option<Box<Dimensions>>,
    pub(crate) shippable: Option<bool>,
    pub(crate) statement_descriptor: Option<Box<str>>,
    pub(crate) tax_code: Option<Box<str>>,
    pub(crate) unit_label: Option<Box<str>>,
    pub(crate) url: Option<Box<str>>,
    pub(crate) metadata: Metadata,
}

/// Says how large a package is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dimensions {
    pub(crate) height: Decimal,
    pub(crate) length: Decimal,
    pub(crate) weight: Decimal,
    pub(crate) width: Decimal,
}

impl Product {
    pub(crate) fn new(id: Arc<str>, name: &str, created: i64) -> Self {
        Self {
            id,
            created,
            updated: created,
            active: true,
            name: name.into(),
            default_price: None,
            description: None,
            images: Vec::new(),
            features: Vec::new(),
            dimensions: None,
            shippable: None,
            statement_descriptor: None,
            tax_code: None,
            unit_label: None,
            url: None,
            metadata: Metadata::default(),
        }
    }
}

impl Object for Product {
    const TABLE: &'static str = "stripe.products";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Resource for Product {
    const WORD: &'static str = "product";
    const OBJECT: &'static str = "product";
    const LINKS: &'static [(&'static str, Target)] = &[("default_price", Target::One(Kind::Price))];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, _: &str) -> Option<Arc<str>> {
        self.default_price.clone()
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        Json {
            id: &self.id,
            object: Self::OBJECT,
            active: self.active,
            created: self.created,
            default_price: shown.link("default_price", &self.default_price),
            description: self.description.as_deref(),
            images: &self.images,
            livemode: false,
            marketing_features: self.features.iter().map(|name| Feature { name }).collect(),
            metadata: &self.metadata,
            name: &self.name,
            package_dimensions: self.dimensions.as_deref().map(|d| Package {
                height: Number(d.height),
                length: Number(d.length),
                weight: Number(d.weight),
                width: Number(d.width),
            }),
            shippable: self.shippable,
            statement_descriptor: self.statement_descriptor.as_deref(),
            tax_code: self.tax_code.as_deref(),
            tax_details: (),
            kind: "service",
            unit_label: self.unit_label.as_deref(),
            updated: self.updated,
            url: self.url.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    active: bool,
    created: i64,
    default_price: Link<'s>,
    description: Option<&'s str>,
    images: &'s [Box<str>],
    livemode: bool,
    marketing_features: Vec<Feature<'s>>,
    metadata: &'s Metadata,
    name: &'s str,
    package_dimensions: Option<Package>,
    shippable: Option<bool>,
    statement_descriptor: Option<&'s str>,
    tax_code: Option<&'s str>,
    tax_details: (),
    #[serde(rename = "type")]
    kind: &'static str,
    unit_label: Option<&'s str>,
    updated: i64,
    url: Option<&'s str>,
}

#[derive(Serialize)]
struct Feature<'s> {
    name: &'s str,
}

#[derive(Serialize)]
struct Package {
    height: Number,
    length: Number,
    weight: Number,
    width: Number,
}
