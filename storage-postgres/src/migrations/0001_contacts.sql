-- Tenants, keys, contact schemas, contacts with their keys and search text, stored responses, rate limit windows, audit
-- log.
--
-- The tenant's id comes first in every key and index, so the tables can be distributed by it; global indexes say so.
-- There are no foreign keys: a write locks the row of its tenant (src/tenant.rs), and a check for each row would make
-- every write pay again for what the lock guarantees. Text is compared by bytes. Times are milliseconds since
-- 1970-01-01T00:00:00Z. Ids are stored as their twelve bytes. JSON is stored as text, unchanged.

CREATE TABLE migration (
    version bigint PRIMARY KEY,
    name    text NOT NULL
);

CREATE TABLE agent (
    id             text COLLATE "C" PRIMARY KEY,
    status         smallint NOT NULL CHECK (status IN (0, 1, 2)), -- active, disabled, deleted
    schema_version bigint   NOT NULL,                             -- of the current contact schema
    name           text     NOT NULL,
    created_at     bigint   NOT NULL,
    updated_at     bigint   NOT NULL
);

CREATE TABLE contact_schema (
    agent   text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    body    text   NOT NULL, -- JSON
    PRIMARY KEY (agent, version)
);

-- Global: a request names its key and not its tenant, so both names are unique over all tenants.
CREATE TABLE api_key (
    agent             text COLLATE "C" NOT NULL,
    id                bytea  NOT NULL,
    created_at        bigint NOT NULL,
    api_key           text COLLATE "C" NOT NULL,
    version           bigint NOT NULL,
    last_used_at      bigint,
    last_used_address text,
    body              text   NOT NULL, -- JSON; the last use in it is that of the last change
    PRIMARY KEY (agent, id)
) WITH (fillfactor = 80); -- the last use changes often, and in place
CREATE UNIQUE INDEX api_key_by_id ON api_key (id);
CREATE UNIQUE INDEX api_key_by_api_key ON api_key (api_key);

CREATE TABLE contact (
    agent                 text COLLATE "C" NOT NULL,
    id                    bytea    NOT NULL,
    archived              smallint NOT NULL CHECK (archived IN (0, 1)),
    status                smallint NOT NULL CHECK (status IN (0, 1, 2)), -- active, inactive, blocked
    created_at            bigint   NOT NULL,
    updated_at            bigint   NOT NULL,
    version               bigint   NOT NULL,
    archived_at           bigint,
    last_contacted_at     bigint,
    -- What lists are sorted and filtered by, under the current schema.
    first_name_key        text COLLATE "C",
    last_name_key         text COLLATE "C",
    primary_email_key     text COLLATE "C" NOT NULL,
    email                 text COLLATE "C", -- normal form; NULL when equal to the sort key
    external_reference_id text COLLATE "C",
    salutation            text,
    first_name            text,
    middle_name           text,
    last_name             text,
    dob                   text,
    gender                text,
    primary_email         text     NOT NULL,
    primary_phone         text,
    primary_phone_code    text,
    full_address          text,
    tags                  text,             -- separated by line feeds
    source                text     NOT NULL,
    custom_fields         text,             -- JSON; NULL for {}
    PRIMARY KEY (agent, id)
);
CREATE UNIQUE INDEX contact_by_external_reference_id ON contact (agent, external_reference_id)
    WHERE external_reference_id IS NOT NULL;
CREATE INDEX contact_by_created_at ON contact (agent, archived, status, created_at, id);
CREATE INDEX contact_by_updated_at ON contact (agent, archived, status, updated_at, id);
CREATE INDEX contact_by_first_name ON contact (agent, archived, status, first_name_key, id);
CREATE INDEX contact_by_last_name ON contact (agent, archived, status, last_name_key, id);
CREATE INDEX contact_by_primary_email ON contact (agent, archived, status, primary_email_key, id);
CREATE INDEX contact_by_email ON contact (agent, email) WHERE email IS NOT NULL;

-- What a contact is searched by. Separate from the contact, because its index is expensive to update and most changes
-- leave the text unchanged.
CREATE TABLE contact_search (
    agent    text COLLATE "C" NOT NULL,
    id       bytea    NOT NULL,
    archived smallint NOT NULL, -- so that matches are counted without a look at the contacts
    status   smallint NOT NULL,
    search   text COLLATE "C" NOT NULL,
    digits   text COLLATE "C" NOT NULL,
    PRIMARY KEY (agent, id)
) WITH (fillfactor = 90); -- archived and status change in place
-- Every search reads the pending list of the index, so the list is short (KiB).
CREATE INDEX contact_search_by_text ON contact_search
    USING gin (agent, search gin_trgm_ops, digits gin_trgm_ops) WITH (gin_pending_list_limit = 512);

CREATE TABLE contact_count (
    agent    text COLLATE "C" NOT NULL,
    archived smallint NOT NULL,
    status   smallint NOT NULL,
    total    bigint   NOT NULL,
    PRIMARY KEY (agent, archived, status)
) WITH (fillfactor = 20); -- few rows that every write changes, in place

CREATE TABLE contact_tag (
    agent      text COLLATE "C" NOT NULL,
    tag        text COLLATE "C" NOT NULL, -- folded
    archived   smallint NOT NULL,
    status     smallint NOT NULL,
    created_at bigint   NOT NULL,
    id         bytea    NOT NULL,
    PRIMARY KEY (agent, tag, archived, status, created_at, id)
);

CREATE TABLE tag_count (
    agent    text COLLATE "C" NOT NULL,
    tag      text COLLATE "C" NOT NULL,
    archived smallint NOT NULL,
    status   smallint NOT NULL,
    total    bigint   NOT NULL,
    PRIMARY KEY (agent, tag, archived, status)
) WITH (fillfactor = 50);

-- Which contact has a value that no other may have. The row has only the SHA-256 of the value, which may be longer than
-- an index allows.
CREATE TABLE contact_unique (
    agent text COLLATE "C" NOT NULL,
    field text COLLATE "C" NOT NULL,
    value bytea NOT NULL,
    id    bytea NOT NULL,
    PRIMARY KEY (agent, field, value)
);
CREATE INDEX contact_unique_by_contact ON contact_unique (agent, id);

CREATE TABLE replay (
    agent       text COLLATE "C" NOT NULL,
    key         bytea    NOT NULL,
    fingerprint bytea    NOT NULL,
    status      smallint NOT NULL,
    resource    bytea,
    expires_at  bigint   NOT NULL,
    location    text,
    body        text     NOT NULL,
    PRIMARY KEY (agent, key)
);
CREATE INDEX replay_by_resource ON replay (agent, resource) WHERE resource IS NOT NULL;
-- Global: expired responses of all tenants are removed.
CREATE INDEX replay_by_expiry ON replay (expires_at);

CREATE TABLE rate_window (
    agent   text COLLATE "C" NOT NULL,
    key     bytea  NOT NULL,
    version bigint NOT NULL,
    shares  text   NOT NULL, -- JSON
    PRIMARY KEY (agent, key)
) WITH (fillfactor = 50);

-- An entry may concern no tenant, or one that is not stored.
CREATE TABLE audit (
    agent      text COLLATE "C" NOT NULL, -- '' for none
    at         bigint NOT NULL,
    id         bytea  NOT NULL,
    contact    bytea,
    subject    bytea,                     -- the contact that the payload goes with; NULL for none
    resource   text,
    action     text   NOT NULL,
    actor      text   NOT NULL,           -- JSON
    address    text,
    request_id text,
    details    text,                      -- JSON; NULL for {}
    PRIMARY KEY (agent, at, id)
);
-- Global: operators read the log by time, over all tenants.
CREATE INDEX audit_by_time ON audit (at, id);
CREATE INDEX audit_by_payload ON audit (agent, subject) WHERE details IS NOT NULL;
