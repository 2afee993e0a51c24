-- Extraction: the credits of each tenant with their ledger, and retained documents.

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

-- Their contents are in the blob store and fall due like those of files. `file_total` counts their bytes too.
CREATE TABLE document (
    agent       INTEGER NOT NULL REFERENCES agent (n),
    id          BLOB    NOT NULL,
    stored_size INTEGER NOT NULL, -- bytes of the content
    body        TEXT    NOT NULL, -- JSON
    PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
