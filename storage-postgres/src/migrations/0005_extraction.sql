-- What extractions leave behind: the credits of each agent with their ledger, and the documents that are kept.

CREATE TABLE credit_account (
    agent   text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    body    text   NOT NULL -- JSON
) WITH (fillfactor = 50);

CREATE TABLE credit_entry (
    agent text COLLATE "C" NOT NULL,
    at    bigint NOT NULL,
    id    bytea  NOT NULL,
    body  text   NOT NULL, -- JSON
    PRIMARY KEY (agent, at, id)
);

-- Their contents are elsewhere, as those of files are, and due like them. `file_total` counts their bytes too.
CREATE TABLE document (
    agent       text COLLATE "C" NOT NULL,
    id          bytea  NOT NULL,
    stored_size bigint NOT NULL, -- bytes of the content
    body        text   NOT NULL, -- JSON
    PRIMARY KEY (agent, id)
);

-- As of the other tables: nothing is collected about agents, so that the index with the whole key is the cheaper one
-- for an agent of whom nothing is known yet.
ALTER TABLE credit_entry ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE document ALTER COLUMN agent SET STATISTICS 0;
