-- Files of contacts: their records. The contents are elsewhere, under the agent's id and the file's.

CREATE TABLE file (
    n            INTEGER PRIMARY KEY,
    agent        INTEGER NOT NULL REFERENCES agent (n),
    id           BLOB    NOT NULL,
    contact      BLOB    NOT NULL, -- id
    name         TEXT    NOT NULL,
    name_key     TEXT    NOT NULL, -- sort key
    size         INTEGER NOT NULL, -- bytes
    content_type TEXT    NOT NULL,
    sha256       BLOB    NOT NULL,
    source       TEXT    NOT NULL,
    uploaded_by  TEXT    NOT NULL, -- JSON
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    deleted_at   INTEGER,          -- NULL: it is there
    deleted_by   TEXT,             -- JSON
    reason       TEXT
) STRICT;
CREATE UNIQUE INDEX file_by_id ON file (agent, id);
CREATE INDEX file_by_contact ON file (agent, contact, deleted_at, created_at, id);

-- Bytes of the files of an agent that are there.
CREATE TABLE file_total (
    agent  INTEGER NOT NULL PRIMARY KEY REFERENCES agent (n),
    bytes INTEGER NOT NULL
) STRICT;

-- Contents that are to be removed, and from when on. `agent` is the id and not the number: contents outlive what is
-- stored of a deleted agent.
CREATE TABLE blob_purge (
    agent  TEXT    NOT NULL,
    file   BLOB    NOT NULL,
    due_at INTEGER NOT NULL,
    PRIMARY KEY (agent, file)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_purge_by_due ON blob_purge (due_at);

-- The contact that the entry's resource belongs to, where it is something of a contact's.
ALTER TABLE audit ADD COLUMN contact BLOB;
CREATE INDEX audit_by_contact ON audit (agent, contact) WHERE contact IS NOT NULL AND details IS NOT NULL;
