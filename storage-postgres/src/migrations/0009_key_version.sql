-- The version of the keys by which contacts and templates are searched and sorted. A release that computes others
-- computes all of them again when it opens the database, a part at a time; an interrupted run continues where it stopped.

CREATE TABLE key_version (
    one boolean NOT NULL PRIMARY KEY CHECK (one),
    version bigint NOT NULL, -- of the keys of all contacts
    agent text COLLATE "C" NOT NULL, -- the last tenant with keys of the next version
    contact bytea -- its last contact with such keys; NULL when all of its contacts have them
);
INSERT INTO key_version (one, version, agent) VALUES (true, 1, '');
