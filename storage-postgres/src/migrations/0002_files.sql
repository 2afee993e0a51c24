-- Files of contacts: their records. The contents are in the blob store, under the ids of the tenant and the file.

CREATE TABLE file (
    agent        text COLLATE "C" NOT NULL,
    id           bytea  NOT NULL,
    contact      bytea  NOT NULL, -- id
    name         text   NOT NULL,
    name_key     text COLLATE "C" NOT NULL, -- sort key
    size         bigint NOT NULL, -- bytes
    content_type text   NOT NULL,
    sha256       bytea  NOT NULL,
    source       text   NOT NULL,
    uploaded_by  text   NOT NULL, -- JSON
    created_at   bigint NOT NULL,
    updated_at   bigint NOT NULL,
    deleted_at   bigint,          -- NULL: not deleted
    deleted_by   text,            -- JSON
    reason       text,
    PRIMARY KEY (agent, id)
);
CREATE INDEX file_by_contact ON file (agent, contact, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX file_by_contact_deleted ON file (agent, contact) WHERE deleted_at IS NOT NULL;

-- The bytes of a tenant's files that are not deleted.
CREATE TABLE file_total (
    agent  text COLLATE "C" PRIMARY KEY,
    bytes bigint NOT NULL
) WITH (fillfactor = 50);

-- Contents that are due for deletion, and from when on. They outlive the other data of a deleted tenant.
CREATE TABLE blob_purge (
    agent  text COLLATE "C" NOT NULL,
    file   bytea  NOT NULL,
    due_at bigint NOT NULL,
    PRIMARY KEY (agent, file)
);
-- Global: the due contents of all tenants are removed.
CREATE INDEX blob_purge_by_due ON blob_purge (due_at, agent, file);
