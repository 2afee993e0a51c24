-- The host's existing table. Times are milliseconds since 1970.
CREATE TABLE customers (
    id          INTEGER PRIMARY KEY,
    tenant      TEXT NOT NULL,
    number      TEXT,
    given_name  TEXT,
    family_name TEXT,
    mail        TEXT,
    phone       TEXT,
    created     INTEGER NOT NULL,
    changed     INTEGER NOT NULL,
    UNIQUE (tenant, number)
);
