-- The last change of a tenant's contacts, for servers that cache contacts: a cached contact is unchanged as long as the
-- last change is the one from when it was read.

CREATE TABLE contact_change (
    agent text COLLATE "C" NOT NULL PRIMARY KEY,
    entry bytea NOT NULL -- a random id of the last change or removal of contacts; creating a contact counts as no change
) WITH (fillfactor = 50); -- updated in place by each change
