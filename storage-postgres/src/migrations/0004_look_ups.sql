-- Rows are looked up by the index that knows their whole key, whatever PostgreSQL knows of agents.
--
-- An agent that is not among the most frequent ones at the last ANALYZE is taken for one with next to no rows. With one
-- dominant agent, or the only one so far, a row of any other agent was looked up along whatever index begins with the
-- agent, be it a sort index, past all rows of the agent: to the planner all of them were one row.
--
-- The sort indexes of contacts hold every contact, under a condition that each list names and no look-up does.
DROP INDEX contact_by_created_at, contact_by_updated_at, contact_by_first_name, contact_by_last_name,
    contact_by_primary_email;
CREATE INDEX contact_by_created_at ON contact (agent, archived, status, created_at, id) WHERE archived >= 0;
CREATE INDEX contact_by_updated_at ON contact (agent, archived, status, updated_at, id) WHERE archived >= 0;
CREATE INDEX contact_by_first_name ON contact (agent, archived, status, first_name_key, id) WHERE archived >= 0;
CREATE INDEX contact_by_last_name ON contact (agent, archived, status, last_name_key, id) WHERE archived >= 0;
CREATE INDEX contact_by_primary_email ON contact (agent, archived, status, primary_email_key, id) WHERE archived >= 0;

-- Of the other tables nothing is collected about agents. Each agent is then taken for a 200th of the table, and the
-- index with the whole key is always the cheaper one. (Not so for contacts and what they are
-- searched by: whether a search walks along the sort or collects what matches hangs on how many the agent has.)
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['api_key', 'audit', 'contact_unique', 'file', 'form_submission', 'form_template',
                                'replay']
    LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN agent SET STATISTICS 0', name);
        -- What was collected before stays until the type is set, were it to the same; the table is not written anew.
        IF EXISTS (SELECT 1 FROM pg_stats
                   WHERE schemaname = current_schema() AND tablename = name AND attname = 'agent') THEN
            EXECUTE format('ALTER TABLE %I ALTER COLUMN agent TYPE text COLLATE "C"', name);
        END IF;
    END LOOP;
END
$$;
