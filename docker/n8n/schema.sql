-- One row a job: a side effect that is wanted once. A row is never deleted and its state only moves forward:
--
--   claimed ──> done                     pending ──> claimed | review      (by the sweeper)
--      └──────> pending | review         review  ──> done                  (by a human, with evidence)
--
-- claimed: a worker has been on it since claimed_at. pending: nobody is, and the effect may be there or not.
-- review: only the provider's side can tell. done: nothing is left to do.

CREATE TABLE IF NOT EXISTS jobs (
  key          text PRIMARY KEY CHECK (key <> ''),  -- from the source event: never an execution id, a time or a fresh uuid
  kind         text NOT NULL,
  class        text NOT NULL CHECK (class IN ('key-enforced', 'key-advisory')),
  payload      jsonb NOT NULL,
  state        text NOT NULL CHECK (state IN ('pending', 'claimed', 'done', 'review')),
  attempts     integer NOT NULL DEFAULT 0,          -- how often somebody took it
  sweeps       integer NOT NULL DEFAULT 0,          -- how often that was the sweeper
  created_at   timestamptz NOT NULL DEFAULT now(),  -- no key is older than its job
  claimed_at   timestamptz,
  updated_at   timestamptz NOT NULL DEFAULT now(),
  done_at      timestamptz,
  alerting_at  timestamptz,                         -- since when a sweeper has been about to alert
  alerted_at   timestamptz,
  handle       text,                                -- what to look for at the provider, written before the effect
  execution_id text,                                -- n8n's, written with the handle
  provider_ref text,                                -- the receipt
  last_error   text,
  resolution   text,                                -- how a review ended, and by whom
  CHECK (state <> 'done' OR done_at IS NOT NULL)
);

-- What a sweep reads: the jobs that are not settled, the oldest first.
CREATE INDEX IF NOT EXISTS jobs_open ON jobs (created_at) WHERE state <> 'done';
