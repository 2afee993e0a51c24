-- Which change of an agent's contacts was the last, for servers that keep contacts in memory: as long as it is the one
-- that it was when a contact was read, the contact is as it was.

CREATE TABLE contact_change (
    agent text COLLATE "C" NOT NULL PRIMARY KEY,
    entry bytea NOT NULL -- id of the audit entry of the last change or removal of a contact, or of the last contact that
                         -- went with its agent; creating a contact counts as no change
) WITH (fillfactor = 50); -- written anew with each change, in place
