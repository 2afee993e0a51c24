-- Which server key the content of a file is sealed with. Contents of former releases are not sealed.

ALTER TABLE file ADD COLUMN server_key text; -- id; NULL: the content is not sealed
