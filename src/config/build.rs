//! From the validated settings to a suite's builder.

use super::{Config, Origin, Secret};
use crate::faults::Source;
use crate::ledger;
use crate::suite::{self, Builder, Kind, Suite};

impl Config {
    /// Returns the builder of the suite that was asked for.
    pub fn builder(&self) -> Builder {
        let limits = &self.limits;
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let mut builder = Suite::builder()
            .limits(suite::Limits {
                connections: size(limits.connections).min(tokio::sync::Semaphore::MAX_PERMITS),
                http_body: limits.http_body,
                mail: limits.mail_size,
                idle: limits.idle_timeout,
                ..suite::Limits::default()
            })
            .ledger(ledger::Limits {
                entries: size(limits.journal_entries),
                bodies: limits.body_memory,
            })
            .arriving(limits.arriving_memory)
            .hang_cap(limits.hang_cap)
            .orders_require_key(self.orders_require_key)
            .stripe_search_lag(self.stripe_search_lag)
            .admin(self.admin_token.as_ref().map(Secret::reveal), &self.admin_host)
            .deliver_hosts(&self.deliver_host)
            .smtp(suite::Offer {
                mechanisms: self.smtp_auth.clone().into(),
                starttls: self.smtp_starttls,
            });
        let listeners = [
            (Kind::Http, &self.http),
            (Kind::Https, &self.https),
            (Kind::Smtp, &self.smtp),
            (Kind::Smtps, &self.smtps),
        ];
        for (kind, listen) in listeners
            .into_iter()
            .flat_map(|(kind, all)| all.iter().map(move |one| (kind, *one)))
        {
            builder = builder.listen(kind, listen);
        }
        for host in &self.allow_host {
            builder = builder.allow_host(host.clone());
        }
        for spec in &self.relays {
            builder = builder.relay(spec.clone());
        }
        if let Some(file) = &self.upstream_ca {
            builder = builder.upstream_ca(file);
        }
        for given in &self.faults {
            let source = match given.source.origin {
                Origin::File => Source::File,
                Origin::Environment => Source::Env,
                Origin::Flag | Origin::Default => Source::Flag,
            };
            builder = builder.fault(source, given.source.to_string(), &given.text);
        }
        for webhook in &self.stripe_webhook {
            builder = builder.stripe_webhook(webhook.clone());
        }
        if let Some(seed) = &self.seed {
            builder = builder.seed(seed.path.display().to_string(), seed.objects.clone());
        }
        match &self.ca {
            Some(dir) => builder.ca(dir),
            None => builder,
        }
    }
}
