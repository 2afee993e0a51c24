-- Form templates with their content at each version, submissions, and their data before each change.

CREATE TABLE form_template (
    agent                text COLLATE "C" NOT NULL,
    id                   bytea    NOT NULL,
    name_key             text COLLATE "C" NOT NULL, -- sort key of the name at the current version
    status               smallint NOT NULL CHECK (status IN (0, 1, 2)), -- draft, active, archived
    version              bigint   NOT NULL, -- the current one
    generation           bigint   NOT NULL,
    submission_policy    smallint NOT NULL CHECK (submission_policy IN (0, 1)), -- supersede, keepAll
    disabled_transitions text,              -- JSON; NULL for []
    created_at           bigint   NOT NULL,
    updated_at           bigint   NOT NULL,
    PRIMARY KEY (agent, id)
);
CREATE INDEX form_template_by_name ON form_template (agent, name_key, id, status);

CREATE TABLE form_template_version (
    agent       text COLLATE "C" NOT NULL,
    template    bytea  NOT NULL, -- id
    version     bigint NOT NULL,
    name        text   NOT NULL,
    description text,
    field_count bigint NOT NULL, -- top-level fields
    fields      text   NOT NULL, -- JSON
    PRIMARY KEY (agent, template, version)
);

CREATE TABLE form_submission (
    agent            text COLLATE "C" NOT NULL,
    id               bytea    NOT NULL,
    contact          bytea    NOT NULL, -- id
    template         bytea    NOT NULL, -- id
    -- draft, submitted, under_review, approved, rejected, archived
    status           smallint NOT NULL CHECK (status IN (0, 1, 2, 3, 4, 5)),
    superseded_by    bytea,             -- id; NULL: not superseded
    superseded_at    bigint,
    submitted_at     bigint,
    created_at       bigint   NOT NULL,
    updated_at       bigint   NOT NULL,
    version          bigint   NOT NULL,
    template_version bigint   NOT NULL,
    revision         bigint   NOT NULL,
    supersedes       bytea,             -- id
    client_id        text COLLATE "C",
    reviewed_at      bigint,
    template_name    text     NOT NULL,
    source           text     NOT NULL,
    created_by       text     NOT NULL, -- JSON
    reviewed_by      text,              -- JSON
    submission_notes text,
    review_notes     text,
    form_data        text,              -- JSON; NULL for {}
    status_history   text,              -- JSON; NULL for []
    PRIMARY KEY (agent, id)
);
-- The index contains every field that lists filter by, except the caller's reference.
CREATE INDEX form_submission_by_contact ON form_submission (agent, contact, created_at, id)
    INCLUDE (template, status, superseded_by);
CREATE INDEX form_submission_by_created_at ON form_submission (agent, created_at, id)
    INCLUDE (template, status, superseded_by);
-- Only the heads of a contact and template, so superseded submissions are not skipped one by one.
CREATE INDEX form_submission_head ON form_submission (agent, contact, template, submitted_at, id)
    INCLUDE (status) WHERE submitted_at IS NOT NULL AND superseded_by IS NULL;
CREATE INDEX form_submission_draft ON form_submission (agent, contact, template, created_at, id)
    INCLUDE (status) WHERE submitted_at IS NULL AND superseded_by IS NULL;

CREATE TABLE form_data_revision (
    agent      text COLLATE "C" NOT NULL,
    submission bytea  NOT NULL, -- id
    version    bigint NOT NULL, -- the last version of the submission with the data
    at         bigint NOT NULL,
    by         text   NOT NULL, -- JSON
    form_data  text,            -- JSON; NULL for {}
    PRIMARY KEY (agent, submission, version)
);
