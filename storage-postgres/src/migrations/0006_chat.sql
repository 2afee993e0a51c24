-- The chat: conversations with their messages, the knowledge of tenants, and small records of tenants.

CREATE TABLE conversation (
    agent           text COLLATE "C" NOT NULL,
    id              bytea    NOT NULL,
    version         bigint   NOT NULL,
    status          smallint NOT NULL CHECK (status IN (0, 1)), -- open, closed
    mode            smallint NOT NULL CHECK (mode IN (0, 1)),   -- ai, human
    contact         bytea,             -- id
    last_message_at bigint   NOT NULL,
    expires_at      bigint   NOT NULL,
    body            text     NOT NULL, -- JSON
    PRIMARY KEY (agent, id)
) WITH (fillfactor = 80); -- a growing reply is updated in place again and again
-- The fields that lists filter by come before those that they sort by, so no rows are skipped.
CREATE INDEX conversation_by_last_message ON conversation (agent, status, mode, last_message_at, id);
CREATE INDEX conversation_by_contact ON conversation (agent, contact, status, mode, last_message_at, id)
    WHERE contact IS NOT NULL;
-- Global: expired conversations of all tenants are erased.
CREATE INDEX conversation_by_expiry ON conversation (expires_at, agent, id);

CREATE TABLE message (
    agent        text COLLATE "C" NOT NULL,
    conversation bytea  NOT NULL, -- id
    seq          bigint NOT NULL, -- its number in the conversation
    id           bytea  NOT NULL,
    turn         text COLLATE "C",
    body         text   NOT NULL, -- JSON
    PRIMARY KEY (agent, conversation, seq)
);
CREATE INDEX message_by_id ON message (agent, conversation, id, seq);
CREATE INDEX message_by_turn ON message (agent, conversation, turn, seq) WHERE turn IS NOT NULL;

CREATE TABLE knowledge (
    agent text COLLATE "C" NOT NULL,
    id    bytea NOT NULL,
    body  text  NOT NULL, -- JSON
    PRIMARY KEY (agent, id)
);

CREATE TABLE passage (
    agent    text COLLATE "C" NOT NULL,
    document bytea  NOT NULL, -- id of the knowledge
    position bigint NOT NULL,
    body     text   NOT NULL, -- JSON
    PRIMARY KEY (agent, document, position)
);

CREATE TABLE agent_record (
    agent   text COLLATE "C" NOT NULL,
    kind    bigint NOT NULL,
    version bigint NOT NULL,
    body    text,            -- JSON; NULL for {}
    PRIMARY KEY (agent, kind)
) WITH (fillfactor = 50); -- daily counts change often, and in place

-- As for the other tables: no statistics about tenants, so the index with the whole key is cheapest for a tenant
-- without statistics.
ALTER TABLE conversation ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE message ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE knowledge ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE passage ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE agent_record ALTER COLUMN agent SET STATISTICS 0;
