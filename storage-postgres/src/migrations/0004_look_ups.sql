-- A row is found by the index with its whole key, whatever PostgreSQL estimates about tenants.
--
-- PostgreSQL estimates next to no rows for a tenant that was not among the most frequent ones at the last ANALYZE. With
-- one dominant tenant, or only one so far, it looked up a row of any other tenant in any index that starts with the
-- tenant, even a sort index, and skipped all rows of the tenant: it estimated one row.
--
-- The sort indexes contain every contact, under a condition that each list names and no look-up does.
DROP INDEX contact_by_created_at, contact_by_updated_at, contact_by_first_name, contact_by_last_name,
    contact_by_primary_email;
CREATE INDEX contact_by_created_at ON contact (agent, archived, status, created_at, id) WHERE archived >= 0;
CREATE INDEX contact_by_updated_at ON contact (agent, archived, status, updated_at, id) WHERE archived >= 0;
CREATE INDEX contact_by_first_name ON contact (agent, archived, status, first_name_key, id) WHERE archived >= 0;
CREATE INDEX contact_by_last_name ON contact (agent, archived, status, last_name_key, id) WHERE archived >= 0;
CREATE INDEX contact_by_primary_email ON contact (agent, archived, status, primary_email_key, id) WHERE archived >= 0;

-- The other tables have no statistics about tenants. PostgreSQL then estimates each tenant at a 200th of the table, so
-- the index with the whole key is always cheapest. (Contacts and their search text are different: whether a search
-- scans the sort order or collects the matches depends on how many the tenant has.)
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['api_key', 'audit', 'contact_unique', 'file', 'form_submission', 'form_template',
                                'replay']
    LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN agent SET STATISTICS 0', name);
        -- Old statistics stay until the type is set, even to the same type; the table is not rewritten.
        IF EXISTS (SELECT 1 FROM pg_stats
                   WHERE schemaname = current_schema() AND tablename = name AND attname = 'agent') THEN
            EXECUTE format('ALTER TABLE %I ALTER COLUMN agent TYPE text COLLATE "C"', name);
        END IF;
    END LOOP;
END
$$;
