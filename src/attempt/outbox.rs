//! What a provider sends by itself, such as webhooks: taken when it is due, met by fault rules, sent, and settled.
//!
//! Each try is an attempt in the ledger, the other way round: the receiver is the provider, a fault before the commit is one before
//! anything was sent, and one after it keeps the receiver's answer from the sender, which then tries again.

mod errand;

use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use time::{Duration, OffsetDateTime};
use tokio::sync::Semaphore;

use super::{About, Way, Woken};
use crate::deliver::{Courier, Letter, Parcel, Sender, Target, Try};
use crate::store::{Scope, Tx};
use errand::Errand;

/// How many requests are on their way at once.
const AT_ONCE: usize = 256;
/// How many are taken at once from one world.
const MOST: usize = 1_000;

/// Is a provider that sends by itself. All its state stands in the store.
pub trait Outbox: Send + Sync + 'static {
    /// Says who it is.
    fn about(&self) -> &'static About;

    /// Says in whose name it sends.
    fn sender(&self) -> Sender;

    /// Lists what is due, at most so much, and forgets what has become pointless.
    fn due(&self, tx: &mut Tx<'_>, most: usize) -> Vec<Post>;

    /// Says whether it is due still.
    fn is_due(&self, tx: &mut Tx<'_>, post: &Post) -> bool;

    /// Takes it, so that it is due no more; so many tries of it will be settled.
    fn take(&self, tx: &mut Tx<'_>, post: &Post, tries: u32);

    /// Says whether it was taken, and is not settled yet.
    fn is_taken(&self, tx: &mut Tx<'_>, post: &Post) -> bool;

    /// Notes how a try of it ended.
    fn settle(&self, tx: &mut Tx<'_>, post: &Post, end: End);

    /// Counts what has reached this one's receiver so far.
    fn reached(&self, tx: &mut Tx<'_>, post: &Post) -> u64;

    /// Makes the request as it is sent at this time.
    fn parcel(&self, post: &Post, seal: Seal, now: OffsetDateTime) -> Parcel;
}

/// Is one thing to be sent.
#[derive(Clone, Debug)]
pub struct Post {
    /// The partition of the world in which it stands.
    pub partition: Arc<str>,
    /// Its id there.
    pub id: Arc<str>,
    /// To whom it goes, by name.
    pub receiver: Arc<str>,
    /// Where that is.
    pub target: Target,
    /// What it says.
    pub body: bytes::Bytes,
    /// What it is signed with.
    pub secret: Arc<str>,
}

/// Says how a try ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The receiver has accepted, and the sender knows.
    Delivered,
    /// It did not, or the sender does not know.
    Failed,
    /// It is to be forgotten.
    Forgotten,
}

/// Says how it is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seal {
    /// As it should be.
    Right,
    /// With another secret.
    WrongSecret,
    /// As if it were so old.
    Aged(Duration),
}

/// Sends what stands in an outbox; is woken by the clockwork.
#[derive(Debug)]
pub struct Postman<O> {
    outbox: Arc<O>,
    courier: Courier,
    permits: Arc<Semaphore>,
}

impl<O: Outbox> Postman<O> {
    /// Makes one for an outbox.
    #[must_use]
    pub fn new(outbox: &Arc<O>, courier: &Courier) -> Self {
        Self {
            outbox: Arc::clone(outbox),
            courier: courier.clone(),
            permits: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl<O: Outbox> Woken for Postman<O> {
    fn wake<'w>(&'w self, way: &'w Way, scope: &'w Scope) -> BoxFuture<'w, bool> {
        async move {
            let posts = way.store.arrange(scope, |tx| self.outbox.due(tx, MOST));
            let posts = posts.unwrap_or_default();
            for post in &posts {
                self.begin(way, scope, post).await;
            }
            !posts.is_empty()
        }
        .boxed()
    }
}

impl<O: Outbox> Postman<O> {
    /// Begins a try and asks the rules; the rest is done in a task of its own.
    async fn begin(&self, way: &Way, scope: &Scope, post: &Post) {
        let (store, outbox) = (&way.store, &self.outbox);
        let parcel = outbox.parcel(post, Seal::Right, OffsetDateTime::now_utc());
        let letter = Letter::new(store.ledger(), outbox.sender(), &post.target, parcel);
        let began = Instant::now();
        let Some(tried) = Try::begin_if(store, scope, &letter, began, |tx| outbox.is_due(tx, post)) else {
            return;
        };
        let errand = Errand {
            outbox: Arc::clone(outbox),
            courier: self.courier.clone(),
            permits: Arc::clone(&self.permits),
            way: way.clone(),
            scope: scope.clone(),
            post: post.clone(),
            letter,
            began,
        };
        // Taken before the task runs: who sees in the ledger that it began finds that it is due no more.
        if let Some(taken) = errand.take(tried).await {
            way.tasks.spawn(errand.run(taken));
        }
    }
}
