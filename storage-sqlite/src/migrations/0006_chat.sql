-- The chat: what agents answer from, conversations with their messages, and small records of agents. Everything is
-- JSON; beside it stands what it is found by.

CREATE TABLE knowledge (
    agent INTEGER NOT NULL REFERENCES agent (n),
    id    BLOB    NOT NULL,
    body  TEXT    NOT NULL, -- JSON
    PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE passage (
    agent    INTEGER NOT NULL REFERENCES agent (n),
    document BLOB    NOT NULL,
    position INTEGER NOT NULL,
    body     TEXT    NOT NULL, -- JSON
    PRIMARY KEY (agent, document, position),
    FOREIGN KEY (agent, document) REFERENCES knowledge (agent, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE conversation (
    agent           INTEGER NOT NULL REFERENCES agent (n),
    id              BLOB    NOT NULL,
    agent_id        TEXT    NOT NULL, -- those of all agents that have expired are sorted by it
    version         INTEGER NOT NULL,
    status          INTEGER NOT NULL CHECK (status IN (0, 1)), -- open, closed
    mode            INTEGER NOT NULL CHECK (mode IN (0, 1)),   -- ai, human
    contact         BLOB,
    last_message_at INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    body            TEXT    NOT NULL -- JSON
) STRICT;
CREATE UNIQUE INDEX conversation_by_id ON conversation (agent, id);
-- Behind what they sort by, what lists are filtered by: totals are counted in the index alone.
CREATE INDEX conversation_by_last_message ON conversation (agent, last_message_at, id, status, mode);
CREATE INDEX conversation_by_contact ON conversation (agent, contact, last_message_at, id, status, mode)
    WHERE contact IS NOT NULL;
CREATE INDEX conversation_by_expiry ON conversation (expires_at, agent_id, id, agent);

-- The messages of a conversation lie side by side.
CREATE TABLE message (
    agent        INTEGER NOT NULL REFERENCES agent (n),
    conversation BLOB    NOT NULL,
    seq          INTEGER NOT NULL,
    id           BLOB    NOT NULL,
    turn         TEXT,
    body         TEXT    NOT NULL, -- JSON
    PRIMARY KEY (agent, conversation, seq),
    FOREIGN KEY (agent, conversation) REFERENCES conversation (agent, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_by_id ON message (agent, conversation, id);
CREATE INDEX message_by_turn ON message (agent, conversation, turn) WHERE turn IS NOT NULL;

CREATE TABLE agent_record (
    agent   INTEGER NOT NULL REFERENCES agent (n),
    kind    INTEGER NOT NULL, -- AgentRecordKind::number
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL, -- JSON
    PRIMARY KEY (agent, kind)
) STRICT, WITHOUT ROWID;
