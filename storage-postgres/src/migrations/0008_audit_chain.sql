-- The chain of the audit log: each entry has a number within the chain of its tenant, and a MAC over the entry before.
--
-- An entry that is older than the chain has the number 0 and no MAC. The first MAC of a chain covers these entries: the
-- chain begins with their digest, which the migration computes after this script (audit.rs).

ALTER TABLE audit ADD COLUMN sequence bigint NOT NULL DEFAULT 0;
ALTER TABLE audit ADD COLUMN server_key text;
ALTER TABLE audit ADD COLUMN salt bytea;   -- of the payload's digest; NULL for an empty or an erased payload
ALTER TABLE audit ADD COLUMN digest bytea; -- of the payload
ALTER TABLE audit ADD COLUMN mac bytea;
CREATE INDEX audit_by_sequence ON audit (agent, sequence, at, id);

-- The end of each tenant's chain stands in the row that a write locks.
ALTER TABLE agent ADD COLUMN audit_sequence bigint NOT NULL DEFAULT 0;
ALTER TABLE agent ADD COLUMN audit_mac bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex');
ALTER TABLE agent SET (fillfactor = 50); -- updated in place by each write

-- The chain of the entries without a tenant has a row of its own, which is no tenant: its id is empty, and it is deleted.
INSERT INTO agent (id, status, schema_version, name, created_at, updated_at) VALUES ('', 2, 0, '', 0, 0);
