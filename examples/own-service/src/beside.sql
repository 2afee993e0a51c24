-- What the API needs beside the customers. A customer without a row here was never touched by it.
CREATE TABLE IF NOT EXISTS customer_records (
    customer INTEGER PRIMARY KEY REFERENCES customers (id) ON DELETE CASCADE,
    version  INTEGER NOT NULL,
    -- The whole contact as JSON; of what the CRM has columns for, the columns hold.
    record   TEXT NOT NULL
);

-- Answers to be given again under an idempotency key, for a day.
CREATE TABLE IF NOT EXISTS customer_answers (
    key         TEXT PRIMARY KEY,
    fingerprint BLOB NOT NULL,
    status      INTEGER NOT NULL,
    location    TEXT,
    body        TEXT NOT NULL,
    expires     INTEGER NOT NULL
);
