-- Form templates with each version of their content, submissions, and what their data was before each change.

CREATE TABLE form_template (
    agent                INTEGER NOT NULL REFERENCES agent (n),
    id                   BLOB    NOT NULL,
    name_key             TEXT    NOT NULL, -- sort key of the name at the version in force
    status               INTEGER NOT NULL CHECK (status IN (0, 1, 2)), -- draft, active, archived
    version              INTEGER NOT NULL, -- in force
    generation           INTEGER NOT NULL,
    submission_policy    INTEGER NOT NULL CHECK (submission_policy IN (0, 1)), -- supersede, keepAll
    disabled_transitions TEXT,             -- JSON; NULL for []
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX form_template_by_name ON form_template (agent, name_key, id, status);

CREATE TABLE form_template_version (
    agent       INTEGER NOT NULL,
    template    BLOB    NOT NULL, -- id
    version     INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    description TEXT,
    field_count INTEGER NOT NULL, -- of the fields at the top
    fields      TEXT    NOT NULL, -- JSON
    PRIMARY KEY (agent, template, version),
    FOREIGN KEY (agent, template) REFERENCES form_template (agent, id)
) STRICT, WITHOUT ROWID;

-- What is long stands last, so that lists and counts need not read past it.
CREATE TABLE form_submission (
    n                INTEGER PRIMARY KEY,
    agent            INTEGER NOT NULL REFERENCES agent (n),
    id               BLOB    NOT NULL,
    contact          BLOB    NOT NULL, -- id
    template         BLOB    NOT NULL, -- id
    -- draft, submitted, under_review, approved, rejected, archived
    status           INTEGER NOT NULL CHECK (status IN (0, 1, 2, 3, 4, 5)),
    superseded_by    BLOB,             -- id; NULL: it is not superseded
    superseded_at    INTEGER,
    submitted_at     INTEGER,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    version          INTEGER NOT NULL,
    template_version INTEGER NOT NULL,
    template_name    TEXT    NOT NULL,
    revision         INTEGER NOT NULL,
    supersedes       BLOB,             -- id
    client_id        TEXT,
    source           TEXT    NOT NULL,
    created_by       TEXT    NOT NULL, -- JSON
    reviewed_by      TEXT,             -- JSON
    reviewed_at      INTEGER,
    submission_notes TEXT,
    review_notes     TEXT,
    form_data        TEXT,             -- JSON; NULL for {}
    status_history   TEXT              -- JSON; NULL for []
) STRICT;
CREATE UNIQUE INDEX form_submission_by_id ON form_submission (agent, id);
-- Everything that lists filter by, but for the caller's reference, stands in the index they walk along.
CREATE INDEX form_submission_by_contact ON form_submission (agent, contact, created_at, id, template, status);
CREATE INDEX form_submission_by_contact_current
    ON form_submission (agent, contact, created_at, id, template, status, superseded_by, submitted_at)
    WHERE superseded_by IS NULL;
CREATE INDEX form_submission_by_created_at
    ON form_submission (agent, created_at, id, template, status, superseded_by);
-- Those that stand for their contact and template: however many are superseded, they are not passed over.
CREATE INDEX form_submission_head ON form_submission (agent, contact, template, submitted_at, id, status, superseded_by)
    WHERE submitted_at IS NOT NULL AND superseded_by IS NULL;

CREATE TABLE form_data_revision (
    agent      INTEGER NOT NULL REFERENCES agent (n),
    submission BLOB    NOT NULL, -- id
    version    INTEGER NOT NULL, -- of the submission that had the data last
    at         INTEGER NOT NULL,
    by         TEXT    NOT NULL, -- JSON
    form_data  TEXT,             -- JSON; NULL for {}
    PRIMARY KEY (agent, submission, version)
) STRICT, WITHOUT ROWID;
