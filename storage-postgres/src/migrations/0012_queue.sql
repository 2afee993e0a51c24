-- Jobs: work that a queue holds until a server has done it.

CREATE TABLE job (
    agent           text COLLATE "C" NOT NULL, -- empty: the installation
    id              bytea    NOT NULL,
    queue           smallint NOT NULL, -- 1 extraction, 2 reminder
    state           smallint NOT NULL CHECK (state BETWEEN 0 AND 6),
    -- 0 ready, 1 scheduled, 2 running, 3 succeeded, 4 failed, 5 cancelled, 6 erased
    version         bigint   NOT NULL,
    turn            bigint   NOT NULL, -- the least comes first
    due_at          bigint,            -- of a scheduled job its start, of one that has ended its removal
    lease_owner     bytea,             -- the server that runs it
    lease_until     bigint,
    attempts        bigint   NOT NULL,
    lost            bigint   NOT NULL, -- how many leases have ended
    batch           text COLLATE "C",
    client_id       text COLLATE "C",
    subject         bytea,             -- whose erasure erases the job: 1 contact or 2 conversation, then the id
    reserved_plan   bigint   NOT NULL, -- credits
    reserved_top_up bigint   NOT NULL,
    created_at      bigint   NOT NULL,
    started_at      bigint,
    body            text     NOT NULL, -- JSON
    result          text,              -- JSON
    PRIMARY KEY (agent, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
-- A lease is renewed in place, so it is in no index. Claims read the beginning of `job_ready`, which vacuuming keeps short.

CREATE INDEX job_by_age ON job (agent, queue, created_at, id, state);
CREATE INDEX job_by_batch ON job (agent, queue, batch, created_at, id, state) WHERE batch IS NOT NULL;
CREATE INDEX job_by_client_id ON job (agent, queue, client_id, created_at, id, state) WHERE client_id IS NOT NULL;
CREATE INDEX job_by_subject ON job (agent, subject) WHERE subject IS NOT NULL;
CREATE INDEX job_unfinished ON job (agent, queue, turn) WHERE state < 3;
-- Global: servers take the jobs of all tenants.
CREATE INDEX job_ready ON job (queue, turn, id, agent) INCLUDE (created_at) WHERE state = 0;
CREATE INDEX job_scheduled ON job (queue, due_at, agent, id) WHERE state = 1;
CREATE INDEX job_running ON job (queue, agent, id) WHERE state = 2;
CREATE INDEX job_ended ON job (queue, due_at, agent, id) WHERE state BETWEEN 3 AND 5;
CREATE INDEX job_erased ON job (queue, agent, id) WHERE state = 6;

-- As for the other tables: no statistics about tenants.
ALTER TABLE job ALTER COLUMN agent SET STATISTICS 0;
