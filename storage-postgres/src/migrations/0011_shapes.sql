-- Records, which absorb the small records of tenants and the rate-limit windows, and the event log of each tenant.

CREATE TABLE record (
    agent        text COLLATE "C" NOT NULL, -- empty: the installation
    kind         smallint NOT NULL, -- 1 settings, 2 chat usage, 3 version of the knowledge, 4 identity, 5 rate-limit window
    id           bytea    NOT NULL, -- empty where there is one of a kind
    version      bigint   NOT NULL,
    subject      bytea,             -- whose erasure erases the record: 1 contact or 2 conversation, then the id
    unique_value bytea,             -- SHA-256
    due_at       bigint,
    body         text     NOT NULL, -- JSON
    PRIMARY KEY (agent, kind, id)
) WITH (fillfactor = 70); -- windows and daily counts change often, and in place
CREATE UNIQUE INDEX record_by_unique ON record (agent, kind, unique_value) WHERE unique_value IS NOT NULL;
CREATE INDEX record_by_subject ON record (agent, subject) WHERE subject IS NOT NULL;
-- Global: records of all tenants are walked over, and come due.
CREATE INDEX record_by_kind ON record (kind, agent, id);
CREATE INDEX record_by_due ON record (kind, due_at, agent, id) WHERE due_at IS NOT NULL;

INSERT INTO record (agent, kind, id, version, body)
    SELECT agent, kind, ''::bytea, version, coalesce(body, '{}') FROM agent_record
    UNION ALL
    SELECT agent, 5, key, version, '{"shares":' || shares || '}' FROM rate_window;

DROP TABLE agent_record;
DROP TABLE rate_window;

-- The primary key is the only index, because every change of a tenant's data appends here.
CREATE TABLE log (
    agent   text COLLATE "C" NOT NULL,
    seq     bigint   NOT NULL, -- from 1, without a gap, in the order of the commits
    at      bigint   NOT NULL,
    id      bytea    NOT NULL,
    kind    smallint NOT NULL, -- the number of the type
    contact bytea,             -- id; NULL also in the events of an erased contact
    body    text,              -- JSON; NULL in the events of an erased contact
    PRIMARY KEY (agent, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.02); -- old events leave at the beginning, where each read of a log begins

-- Erased contacts whose events are still stored. Every read of the log shows those up to `upto` without contact and body.
CREATE TABLE log_erased (
    agent    text COLLATE "C" NOT NULL,
    contact  bytea  NOT NULL, -- id
    upto     bigint NOT NULL, -- the number of the last event before the erasure
    scrubbed bigint NOT NULL, -- the number up to which the events have been emptied
    PRIMARY KEY (agent, contact)
) WITH (fillfactor = 50); -- updated in place by each step of a scrub

-- As for the other tables: no statistics about tenants, so the index with the whole key is cheapest for a tenant
-- without statistics.
ALTER TABLE record ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE log ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE log_erased ALTER COLUMN agent SET STATISTICS 0;
