-- The chat: conversations with their messages, what agents answer from, and small records of agents.

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
) WITH (fillfactor = 80); -- a reply is noted again and again while it is written, in place
-- Everything that lists filter by stands before what they are sorted by: what does not match is not passed over.
CREATE INDEX conversation_by_last_message ON conversation (agent, status, mode, last_message_at, id);
CREATE INDEX conversation_by_contact ON conversation (agent, contact, status, mode, last_message_at, id)
    WHERE contact IS NOT NULL;
-- Global: what has expired is erased over all agents.
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
) WITH (fillfactor = 50); -- what is counted of a day changes often, and in place

-- As of the other tables: nothing is collected about agents, so that the index with the whole key is the cheaper one
-- for an agent of whom nothing is known yet.
ALTER TABLE conversation ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE message ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE knowledge ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE passage ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE agent_record ALTER COLUMN agent SET STATISTICS 0;
