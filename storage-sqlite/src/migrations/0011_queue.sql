-- Queues of jobs.

CREATE TABLE job (
    n               INTEGER PRIMARY KEY,
    agent           INTEGER NOT NULL, -- the agent's number; 0 is the installation, which has no row in agent
    id              BLOB NOT NULL,
    queue           INTEGER NOT NULL, -- 1 extraction, 2 reminder
    state           INTEGER NOT NULL CHECK (state BETWEEN 0 AND 6), -- ready, scheduled, running, succeeded, failed, cancelled, erased
    version         INTEGER NOT NULL,
    turn            INTEGER NOT NULL, -- the least of the ready jobs comes first
    due_at          INTEGER,          -- milliseconds: of a scheduled job its start, of one that has ended its removal
    lease_owner     BLOB,             -- the server; set while the job is running
    lease_until     INTEGER,          -- milliseconds; in no index, because it changes with each renewal
    attempts        INTEGER NOT NULL,
    lost            INTEGER NOT NULL, -- how many leases have ended before the job
    batch           TEXT,
    client_id       TEXT,
    subject         BLOB,             -- whose erasure erases the job: 1 contact or 2 conversation, then the id
    reserved_plan   INTEGER NOT NULL, -- credits
    reserved_top_up INTEGER NOT NULL,
    created_at      INTEGER NOT NULL, -- milliseconds
    started_at      INTEGER,
    body            TEXT NOT NULL,    -- JSON
    result          TEXT              -- JSON
) STRICT;

CREATE UNIQUE INDEX job_by_id ON job (agent, id);
CREATE INDEX job_by_agent ON job (agent, queue, created_at, id, state);
CREATE INDEX job_by_batch ON job (agent, batch, queue, created_at, id, state) WHERE batch IS NOT NULL;
CREATE INDEX job_by_client ON job (agent, client_id, queue, created_at, id, state) WHERE client_id IS NOT NULL;
CREATE INDEX job_by_subject ON job (agent, subject) WHERE subject IS NOT NULL;
CREATE INDEX job_ready ON job (queue, turn, id) WHERE state = 0;
CREATE INDEX job_running ON job (queue, turn) WHERE state = 2;
CREATE INDEX job_unfinished ON job (agent, queue, turn) WHERE state < 3;
CREATE INDEX job_due ON job (queue, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX job_erased ON job (queue) WHERE state = 6;
