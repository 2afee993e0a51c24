-- What extractions leave behind: the credits of each agent with their ledger, and the documents that are kept.

CREATE TABLE credit_account (
    agent   INTEGER NOT NULL PRIMARY KEY REFERENCES agent (n),
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL -- JSON
) STRICT;

CREATE TABLE credit_entry (
    agent INTEGER NOT NULL REFERENCES agent (n),
    at    INTEGER NOT NULL,
    id    BLOB    NOT NULL,
    body  TEXT    NOT NULL, -- JSON
    PRIMARY KEY (agent, at, id)
) STRICT, WITHOUT ROWID;

-- Their contents are elsewhere, as those of files are, and due like them. `file_total` counts their bytes too.
CREATE TABLE document (
    agent       INTEGER NOT NULL REFERENCES agent (n),
    id          BLOB    NOT NULL,
    stored_size INTEGER NOT NULL, -- bytes of the content
    body        TEXT    NOT NULL, -- JSON
    PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
