-- Extraction: the credits of each tenant with their ledger, and retained documents.

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

-- Their contents are in the blob store and fall due like those of files. `file_total` counts their bytes too.
CREATE TABLE document (
    agent       text COLLATE "C" NOT NULL,
    id          bytea  NOT NULL,
    stored_size bigint NOT NULL, -- bytes of the content
    body        text   NOT NULL, -- JSON
    PRIMARY KEY (agent, id)
);

-- As for the other tables: no statistics about tenants, so the index with the whole key is cheapest for a tenant
-- without statistics.
ALTER TABLE credit_entry ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE document ALTER COLUMN agent SET STATISTICS 0;
