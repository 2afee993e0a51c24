-- The version of the keys by which contacts and templates are searched and sorted. A release that computes others
-- computes all of them again when it opens the file, a part at a time; an interrupted run continues after `done`.

CREATE TABLE key_version (
    one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL, -- of the keys of all contacts
    done    INTEGER NOT NULL  -- row number of the last contact that already has the keys of the next version
) STRICT;
INSERT INTO key_version (one, version, done) VALUES (1, 1, 0);
