-- Files of contacts: their records. The contents are elsewhere, under the agent's id and the file's.

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
    deleted_at   bigint,          -- NULL: it is there
    deleted_by   text,            -- JSON
    reason       text,
    PRIMARY KEY (agent, id)
);
CREATE INDEX file_by_contact ON file (agent, contact, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX file_by_contact_deleted ON file (agent, contact) WHERE deleted_at IS NOT NULL;

-- Bytes of the files of an agent that are there.
CREATE TABLE file_total (
    agent  text COLLATE "C" PRIMARY KEY,
    bytes bigint NOT NULL
) WITH (fillfactor = 50);

-- Contents that are to be removed, and from when on. They outlive what is stored of a deleted agent.
CREATE TABLE blob_purge (
    agent  text COLLATE "C" NOT NULL,
    file   bytea  NOT NULL,
    due_at bigint NOT NULL,
    PRIMARY KEY (agent, file)
);
-- Global: what is due is removed over all agents.
CREATE INDEX blob_purge_by_due ON blob_purge (due_at, agent, file);
