//! The store of the Open API on PostgreSQL, for many servers.
