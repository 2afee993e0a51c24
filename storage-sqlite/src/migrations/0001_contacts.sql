-- Agents, keys, contact schemas, contacts with their keys and search index, stored answers, rate windows, audit log.
--
-- The agent's number leads every key. A contact's row number is `agent number << 32 | running number`, so that the rows
-- of one agent lie side by side. Times are milliseconds since 1970-01-01T00:00:00Z. Ids are their twelve bytes.

CREATE TABLE agent (
    id             TEXT    NOT NULL PRIMARY KEY,
    n              INTEGER NOT NULL UNIQUE CHECK (n BETWEEN 1 AND 0x7fffffff),
    status         INTEGER NOT NULL CHECK (status IN (0, 1, 2)), -- active, disabled, deleted
    schema_version INTEGER NOT NULL,                             -- of the contact schema in force
    name           TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE contact_schema (
    agent   INTEGER NOT NULL REFERENCES agent (n),
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL, -- JSON
    PRIMARY KEY (agent, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_key (
    agent             INTEGER NOT NULL REFERENCES agent (n),
    created_at        INTEGER NOT NULL,
    id                BLOB    NOT NULL UNIQUE,
    api_key           TEXT    NOT NULL UNIQUE,
    version           INTEGER NOT NULL,
    last_used_at      INTEGER,
    last_used_address TEXT,
    body              TEXT    NOT NULL, -- JSON; the last use in it is that of the last change
    PRIMARY KEY (agent, created_at, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE contact (
    n                     INTEGER PRIMARY KEY,
    agent                 INTEGER NOT NULL REFERENCES agent (n),
    id                    BLOB    NOT NULL,
    external_reference_id TEXT,
    salutation            TEXT,
    first_name            TEXT,
    middle_name           TEXT,
    last_name             TEXT,
    dob                   TEXT,
    gender                TEXT,
    primary_email         TEXT    NOT NULL,
    primary_phone         TEXT,
    primary_phone_code    TEXT,
    full_address          TEXT,
    tags                  TEXT,    -- with line feeds between them
    status                INTEGER NOT NULL CHECK (status IN (0, 1, 2)), -- active, inactive, blocked
    source                TEXT    NOT NULL,
    last_contacted_at     INTEGER,
    custom_fields         TEXT,    -- JSON; NULL for {}
    archived_at           INTEGER,
    created_at            INTEGER NOT NULL,
    updated_at            INTEGER NOT NULL,
    version               INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX contact_by_id ON contact (agent, id);
CREATE UNIQUE INDEX contact_by_external_reference_id ON contact (agent, external_reference_id)
    WHERE external_reference_id IS NOT NULL;

-- What a contact is filtered, sorted and searched by: computed from the contact and the schema in force.
CREATE TABLE contact_key (
    n             INTEGER PRIMARY KEY REFERENCES contact (n),
    agent         INTEGER NOT NULL,
    id            BLOB    NOT NULL,
    archived      INTEGER NOT NULL CHECK (archived IN (0, 1)),
    status        INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    first_name    TEXT,
    last_name     TEXT,
    primary_email TEXT    NOT NULL, -- sort key
    email         TEXT,             -- normal form; NULL when it is the sort key
    search        TEXT    NOT NULL,
    digits        TEXT    NOT NULL
) STRICT;
CREATE INDEX contact_key_by_created_at ON contact_key (agent, archived, status, created_at, id);
CREATE INDEX contact_key_by_updated_at ON contact_key (agent, archived, status, updated_at, id);
CREATE INDEX contact_key_by_first_name ON contact_key (agent, archived, status, first_name, id);
CREATE INDEX contact_key_by_last_name ON contact_key (agent, archived, status, last_name, id);
CREATE INDEX contact_key_by_primary_email ON contact_key (agent, archived, status, primary_email, id);
CREATE INDEX contact_key_by_email ON contact_key (agent, email) WHERE email IS NOT NULL;

CREATE TABLE contact_count (
    agent    INTEGER NOT NULL,
    archived INTEGER NOT NULL,
    status   INTEGER NOT NULL,
    total    INTEGER NOT NULL,
    PRIMARY KEY (agent, archived, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE contact_tag (
    agent      INTEGER NOT NULL,
    tag        TEXT    NOT NULL, -- folded
    archived   INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    id         BLOB    NOT NULL,
    n          INTEGER NOT NULL,
    PRIMARY KEY (agent, tag, archived, status, created_at, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tag_count (
    agent    INTEGER NOT NULL,
    tag      TEXT    NOT NULL,
    archived INTEGER NOT NULL,
    status   INTEGER NOT NULL,
    total    INTEGER NOT NULL,
    PRIMARY KEY (agent, tag, archived, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE contact_unique (
    agent INTEGER NOT NULL,
    field TEXT    NOT NULL,
    value TEXT    NOT NULL,
    n     INTEGER NOT NULL REFERENCES contact (n),
    PRIMARY KEY (agent, field, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX contact_unique_by_n ON contact_unique (n);

-- The search index: which contacts have which grams (src/contacts/grams.rs). It follows `contact_key` a little later:
-- what has changed since is in `search_pending`, with the text that is in the index at present.
CREATE VIRTUAL TABLE search_gram USING fts5 (
    grams,
    content = '',
    columnsize = 0,
    detail = 'none',
    tokenize = "ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_`{|}~'"
);
INSERT INTO search_gram (search_gram, rank) VALUES ('automerge', 8);
INSERT INTO search_gram (search_gram, rank) VALUES ('usermerge', 2);
INSERT INTO search_gram (search_gram, rank) VALUES ('secure-delete', 1);

CREATE TABLE search_pending (
    n      INTEGER PRIMARY KEY,
    search TEXT, -- NULL: not in the index yet
    digits TEXT
) STRICT;

CREATE TABLE replay (
    agent       INTEGER NOT NULL REFERENCES agent (n),
    key         BLOB    NOT NULL,
    fingerprint BLOB    NOT NULL,
    status      INTEGER NOT NULL,
    location    TEXT,
    resource    BLOB,
    expires_at  INTEGER NOT NULL,
    body        TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX replay_by_key ON replay (agent, key);
CREATE INDEX replay_by_resource ON replay (agent, resource) WHERE resource IS NOT NULL;
CREATE INDEX replay_by_expiry ON replay (expires_at);

CREATE TABLE rate_window (
    agent INTEGER NOT NULL REFERENCES agent (n),
    key   BLOB    NOT NULL,
    body  TEXT    NOT NULL, -- JSON
    PRIMARY KEY (agent, key)
) STRICT, WITHOUT ROWID;

-- `agent` is the id and not the number: an entry may be about an agent that is not stored.
CREATE TABLE audit (
    at         INTEGER NOT NULL,
    id         BLOB    NOT NULL,
    agent      TEXT,
    resource   TEXT,
    action     TEXT    NOT NULL,
    actor      TEXT    NOT NULL, -- JSON
    address    TEXT,
    request_id TEXT,
    details    TEXT,             -- JSON; NULL for {}
    PRIMARY KEY (at, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_by_agent ON audit (agent, at, id);
CREATE INDEX audit_by_payload ON audit (agent, resource) WHERE details IS NOT NULL;
