//! Real PostgreSQL and MongoDB servers for the tests.
