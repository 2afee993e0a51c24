-- Rate windows become ledgers with a share for each server, which servers change in turn.

ALTER TABLE rate_window ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE rate_window RENAME COLUMN body TO shares; -- JSON

-- What the one server of before had leased counts as used up by now.
UPDATE rate_window SET shares = json_array(json_object(
    'server', '000000000000000000000000',
    'counted', json(json_extract(shares, '$.counted')),
    'leased', json_extract(shares, '$.leased'),
    'leaseEnds', strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
));
