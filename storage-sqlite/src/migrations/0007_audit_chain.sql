-- The chain of the audit log: each entry has a number within the chain of its tenant, and a MAC over the entry before.
--
-- An entry that is older than the chain has the number 0 and no MAC. The first MAC of a chain covers these entries:
-- `audit_chain` begins with their digest, which the migration computes after this script (audit.rs).

ALTER TABLE audit ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit ADD COLUMN server_key TEXT;
ALTER TABLE audit ADD COLUMN salt BLOB;   -- of the payload's digest; NULL for an empty or an erased payload
ALTER TABLE audit ADD COLUMN digest BLOB; -- of the payload
ALTER TABLE audit ADD COLUMN mac BLOB;
CREATE INDEX audit_by_sequence ON audit (agent, sequence, at, id);

-- The end of each chain.
CREATE TABLE audit_chain (
    agent    TEXT    NOT NULL PRIMARY KEY, -- '' for the entries without a tenant
    sequence INTEGER NOT NULL,
    mac      BLOB    NOT NULL
) STRICT, WITHOUT ROWID;
