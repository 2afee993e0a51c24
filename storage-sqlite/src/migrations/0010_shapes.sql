-- Records, which absorb the small records of agents and the rate-limit windows, and the event log of each agent.

CREATE TABLE record (
    agent        INTEGER NOT NULL, -- the agent's number; 0 is the installation, which has no row in agent
    kind         INTEGER NOT NULL, -- 1 settings, 2 chat usage, 3 version of the knowledge, 4 identity, 5 rate-limit window
    id           BLOB NOT NULL,    -- empty where there is one of a kind
    version      INTEGER NOT NULL,
    subject      BLOB,             -- whose erasure erases the record: 1 contact or 2 conversation, then the id
    unique_value BLOB,             -- SHA-256
    due_at       INTEGER,          -- milliseconds
    body         TEXT NOT NULL,    -- JSON
    PRIMARY KEY (agent, kind, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX record_by_unique ON record (agent, kind, unique_value) WHERE unique_value IS NOT NULL;
CREATE INDEX record_by_due ON record (kind, due_at, agent, id) WHERE due_at IS NOT NULL;
CREATE INDEX record_by_subject ON record (agent, subject) WHERE subject IS NOT NULL;
CREATE INDEX record_by_kind ON record (kind, agent, id) WHERE kind IN (6, 7); -- those that are listed over all agents

INSERT INTO record (agent, kind, id, version, body)
    SELECT agent, kind, x'', version, body FROM agent_record
    UNION ALL
    SELECT agent, 5, key, version, json_object('shares', json(shares)) FROM rate_window;

DROP TABLE agent_record;
DROP TABLE rate_window;

-- The primary key is the only index, because every change of an agent's data appends here.
CREATE TABLE log (
    agent   INTEGER NOT NULL REFERENCES agent (n),
    seq     INTEGER NOT NULL, -- from 1, without a gap, in the order of the commits
    at      INTEGER NOT NULL, -- milliseconds
    id      BLOB NOT NULL,
    kind    INTEGER NOT NULL, -- the number of the type
    contact BLOB,             -- NULL also in the events of an erased contact
    body    TEXT,             -- JSON; NULL in the events of an erased contact
    PRIMARY KEY (agent, seq)
) STRICT, WITHOUT ROWID;

-- Erased contacts whose events are still stored. Every read of the log shows those up to `upto` without contact and body.
CREATE TABLE log_erased (
    agent    INTEGER NOT NULL REFERENCES agent (n),
    contact  BLOB NOT NULL,
    upto     INTEGER NOT NULL, -- the seq of the last event before the erasure
    scrubbed INTEGER NOT NULL, -- the seq up to which the events have been emptied
    PRIMARY KEY (agent, contact)
) STRICT, WITHOUT ROWID;
