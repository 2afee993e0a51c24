-- The API's additional data about customers. A customer without a row here was never changed through the API.
CREATE TABLE IF NOT EXISTS customer_records (
    customer INTEGER PRIMARY KEY REFERENCES customers (id) ON DELETE CASCADE,
    version  INTEGER NOT NULL,
    -- The whole contact as JSON; for fields that the CRM has columns for, the columns take precedence.
    record   TEXT NOT NULL
);

-- Stored responses for idempotency keys, for a day.
CREATE TABLE IF NOT EXISTS customer_answers (
    key         TEXT PRIMARY KEY,
    fingerprint BLOB NOT NULL,
    status      INTEGER NOT NULL,
    location    TEXT,
    body        TEXT NOT NULL,
    expires     INTEGER NOT NULL
);
