//! The rule set and the decision: one lock, one step.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::condition::{self, Nearness};
use super::facts::Facts;
use super::in_request::{Counters, InRequest};
use super::problem::Problem;
use super::rule::{Point, RuleSpec, Verdict};
use super::view::{NearMiss, Totals, View};
use super::word::words;

/// How many rules may be installed by the API.
pub const MAX_API_RULES: usize = 1_000;

/// Holds all rules and their counts. A clone is another handle to the same.
#[derive(Clone)]
pub struct Rules {
    set: Arc<Mutex<Set>>,
    changed: watch::Sender<()>,
    clock: Arc<dyn Fn() -> Instant + Send + Sync>,
}

words! {
    /// Names where a rule came from, in the order in which rules are asked.
    pub enum Source {
        /// `POST /_faults`.
        Api = "api",
        /// The configuration file.
        File = "file",
        /// The command line.
        Flag = "flag",
        /// The environment.
        Env = "env",
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::new()
    }
}

impl Rules {
    /// Makes an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Instant::now)
    }

    /// Makes an empty set that takes the time from this monotonic clock.
    #[must_use]
    pub fn with_clock(clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        Self {
            set: Arc::default(),
            changed: watch::Sender::default(),
            clock: Arc::new(clock),
        }
    }

    /// Decides what is done with one attempt at one point.
    ///
    /// Every rule whose conditions hold advances its own `matched`; the first that may fire wins and it alone
    /// advances `fired`. After a verdict of [`Action::Pass`](super::Action::Pass) the caller asks no more for this
    /// attempt. The caller asks [`Point::After`] once, where nobody can read the new record yet.
    #[must_use]
    pub fn ask(&self, point: Point, facts: &Facts<'_>, in_request: &[InRequest]) -> Option<Verdict> {
        let now = (self.clock)();
        let mut set = self.lock();
        let near = set.ask_in_request(point, facts, in_request);
        let installed = set.ask_installed(point, facts, now, near.is_none());
        let verdict = near.or(installed);
        if verdict.is_some() {
            set.count_fired(facts.scope);
        }
        if verdict.is_some() || !set.rules.is_empty() {
            drop(set);
            self.changed.send_replace(());
        }
        verdict
    }

    /// Adds these rules behind those of their source: all of them or, with a problem, none.
    ///
    /// # Errors
    /// Fails when the API would own more than [`MAX_API_RULES`] rules.
    pub fn install(&self, rules: Vec<RuleSpec>, source: Source) -> Result<Vec<View>, Vec<Problem>> {
        let now = (self.clock)();
        let mut set = self.lock();
        if source == Source::Api {
            set.leave_room(rules.len()).map_err(|problem| vec![problem])?;
        }
        let views = rules.into_iter().map(|spec| set.install(spec, source, now)).collect();
        drop(set);
        self.changed.send_replace(());
        Ok(views)
    }

    /// Lists the rules in the order in which they are asked: all, or those of one scope alone.
    #[must_use]
    pub fn list(&self, scope: Option<&str>) -> Vec<View> {
        let now = (self.clock)();
        let set = self.lock();
        let shown = set.rules.iter().filter(|rule| rule.is_of(scope));
        shown.map(|rule| rule.view(now)).collect()
    }

    /// Removes one rule, whatever its source, and tells whether there was one.
    pub fn remove(&self, id: &str) -> bool {
        let mut set = self.lock();
        let before = set.rules.len();
        set.rules.retain(|rule| *rule.id != *id);
        let removed = set.rules.len() < before;
        drop(set);
        self.changed.send_replace(());
        removed
    }

    /// Removes the rules that the API installed: all, or those of one scope alone.
    pub fn clear(&self, scope: Option<&str>) {
        self.lock()
            .rules
            .retain(|rule| rule.source != Source::Api || !rule.is_of(scope));
        self.changed.send_replace(());
    }

    /// Starts over, wholly or in one scope alone: API rules go, those of file, flag and environment are armed again
    /// at zero, and the counts of rules in requests are forgotten. With a scope no unscoped rule is touched.
    pub fn reset(&self, scope: Option<&str>) {
        let now = (self.clock)();
        let mut set = self.lock();
        set.rules
            .retain(|rule| rule.source != Source::Api || !rule.is_of(scope));
        let kept = set.rules.iter_mut().filter(|rule| rule.is_of(scope));
        kept.for_each(|rule| rule.rearm(now));
        set.counters.forget(scope);
        match scope {
            None => set.fired.clear(),
            Some(scope) => _ = set.fired.remove(scope),
        }
        drop(set);
        self.changed.send_replace(());
    }

    /// Subscribes to changes of rules and of what they counted. That a rule's time is over changes nothing:
    /// [`until_expiry`](Self::until_expiry) says when to look.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Returns how long it takes until the next rule expires.
    #[must_use]
    pub fn until_expiry(&self) -> Option<Duration> {
        let now = (self.clock)();
        let set = self.lock();
        let left = |rule: &Installed| {
            let length = rule.spec.expires_in?;
            length.checked_sub(now.saturating_duration_since(rule.since))
        };
        set.rules.iter().filter_map(left).filter(|left| !left.is_zero()).min()
    }

    /// Sums up all rules, or one scope's: the rules bound to it, and what fired in it.
    #[must_use]
    pub fn totals(&self, scope: Option<&str>) -> Totals {
        let now = (self.clock)();
        let set = self.lock();
        let of_scope = set.rules.iter().filter(|rule| rule.is_of(scope));
        Totals {
            armed: of_scope.filter(|rule| rule.is_armed(now)).count() as u64,
            fired: match scope {
                None => set.fired.values().sum(),
                Some(scope) => set.fired.get(scope).copied().unwrap_or(0),
            },
        }
    }

    /// Says whether a rule that may be about this provider looks into bodies.
    #[must_use]
    pub fn look_into_bodies(&self, provider: &str) -> bool {
        let now = (self.clock)();
        let set = self.lock();
        let mut armed = set.rules.iter().filter(|rule| rule.is_armed(now));
        armed.any(|rule| condition::looks_into_body(&rule.spec.conditions, provider))
    }

    /// Marks the armed rules that may be about this provider and scope as blind, and says why: what goes on there cannot be followed.
    pub fn blind(&self, provider: &str, scope: &str, why: &str) {
        let now = (self.clock)();
        let facts = Facts {
            scope: Some(scope),
            ..Facts::new(provider)
        };
        let mut set = self.lock();
        for rule in &mut set.rules {
            let may_be_about =
                rule.spec.direction.holds(&facts) && condition::may_be_about(&rule.spec.conditions, &facts);
            if may_be_about && rule.is_armed(now) {
                rule.blind = Some(why.to_owned());
            }
        }
        drop(set);
        self.changed.send_replace(());
    }

    /// Lists the numbers of content bytes, in rising order, at which rules for [`Step::MidData`](super::Step::MidData)
    /// are to be asked, with that number as [`Facts::content_bytes`].
    #[must_use]
    pub fn mid_data_marks(&self) -> Vec<u64> {
        let set = self.lock();
        let mut marks: Vec<u64> = set
            .rules
            .iter()
            .map(|rule| rule.spec.mark)
            .filter(|&mark| mark > 0)
            .collect();
        marks.sort_unstable();
        marks.dedup();
        marks
    }

    /// Takes the lock. A look-up that panicked leaves whole counts behind, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, Set> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").finish_non_exhaustive()
    }
}

/// Is what the lock guards.
#[derive(Default)]
struct Set {
    /// By source, then by install order.
    rules: Vec<Installed>,
    counters: Counters,
    /// By scope; under the empty name what fired before a session had one.
    fired: HashMap<Box<str>, u64>,
    installed: u64,
}

impl Set {
    fn ask_in_request(&mut self, point: Point, facts: &Facts<'_>, in_request: &[InRequest]) -> Option<Verdict> {
        let mut asked: Vec<&InRequest> = in_request.iter().collect();
        asked.sort_by_key(|rule| rule.place);
        let mut winner = None;
        for (place, rule) in asked.iter().enumerate() {
            let repeated = asked[..place].iter().any(|other| rule.is_same_as(other));
            if repeated || !rule.spec.is_asked(point, facts) || condition::check(&rule.spec.conditions, facts).is_err()
            {
                continue;
            }
            let may_fire = self.counters.advance(rule, facts);
            if may_fire && winner.is_none() {
                winner = Some(rule.spec.verdict(rule.place.id()));
            }
        }
        winner
    }

    fn ask_installed(&mut self, point: Point, facts: &Facts<'_>, now: Instant, mut may_win: bool) -> Option<Verdict> {
        let mut winner = None;
        for rule in &mut self.rules {
            if !rule.spec.is_asked(point, facts) || rule.is_expired(now) {
                continue;
            }
            if rule.advance(facts) && may_win {
                may_win = false;
                rule.fired += 1;
                winner = Some(rule.spec.verdict(Arc::clone(&rule.id)));
            }
        }
        winner
    }

    fn count_fired(&mut self, scope: Option<&str>) {
        let scope = scope.unwrap_or_default();
        match self.fired.get_mut(scope) {
            Some(fired) => *fired += 1,
            None => _ = self.fired.insert(scope.into(), 1),
        }
    }

    fn leave_room(&self, more: usize) -> Result<(), Problem> {
        let api = |rule: &&Installed| rule.source == Source::Api;
        let there = self.rules.iter().filter(api).count();
        if there + more <= MAX_API_RULES {
            return Ok(());
        }
        let why = format!(
            "there are {there} rules of the API and {more} more would be over the limit of {MAX_API_RULES}; \
             remove some with DELETE /_faults"
        );
        Err(Problem::new(None, "", &serde_json::Value::Null, why))
    }

    fn install(&mut self, spec: RuleSpec, source: Source, now: Instant) -> View {
        self.installed += 1;
        let rule = Installed {
            id: format!("f{}", self.installed).into(),
            spec,
            source,
            since: now,
            matched: 0,
            fired: 0,
            near_miss: None,
            blind: None,
        };
        let view = rule.view(now);
        let place = self.rules.partition_point(|other| other.source <= source);
        self.rules.insert(place, rule);
        view
    }
}

/// Holds a rule that is in force, with its counts.
struct Installed {
    id: Arc<str>,
    spec: RuleSpec,
    source: Source,
    since: Instant,
    matched: u64,
    fired: u64,
    near_miss: Option<(Nearness, NearMiss)>,
    /// Why it could not be asked about something that it may have been about.
    blind: Option<String>,
}

impl Installed {
    /// Counts the attempt if it matches, and tells whether the rule may fire at it.
    fn advance(&mut self, facts: &Facts<'_>) -> bool {
        match condition::check(&self.spec.conditions, facts) {
            Ok(()) => {
                self.matched += 1;
                self.spec.on.allows(self.matched)
            }
            Err(miss) => {
                let nearness = miss.nearness();
                let kept = self.near_miss.as_ref().map(|(kept, _)| *kept);
                if kept.is_none_or(|kept| kept <= nearness) {
                    self.near_miss = Some((nearness, miss.near_miss()));
                }
                false
            }
        }
    }

    /// Tells whether the rule is one of those a scope's name speaks of; no scope speaks of all.
    fn is_of(&self, scope: Option<&str>) -> bool {
        scope.is_none_or(|scope| self.spec.owner.as_deref() == Some(scope))
    }

    fn is_expired(&self, now: Instant) -> bool {
        self.spec
            .expires_in
            .is_some_and(|length| now.saturating_duration_since(self.since) >= length)
    }

    fn is_armed(&self, now: Instant) -> bool {
        !self.is_expired(now) && !self.spec.on.is_spent(self.matched)
    }

    fn rearm(&mut self, now: Instant) {
        self.since = now;
        self.matched = 0;
        self.fired = 0;
        self.near_miss = None;
        self.blind = None;
    }

    fn view(&self, now: Instant) -> View {
        View {
            id: self.id.to_string(),
            source: self.source,
            rule: self.spec.given.clone(),
            matched: self.matched,
            fired: self.fired,
            skipped: self.matched - self.fired,
            armed: self.is_armed(now),
            expired: self.is_expired(now),
            near_miss: self.near_miss.as_ref().map(|(_, near)| near.clone()),
            blind: self.blind.clone(),
        }
    }
}

impl RuleSpec {
    fn verdict(&self, id: impl Into<Arc<str>>) -> Verdict {
        Verdict {
            rule: id.into(),
            mode: self.mode,
            action: self.action.clone(),
        }
    }
}
