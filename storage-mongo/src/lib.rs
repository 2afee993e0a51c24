//! The store of the Open API on MongoDB, for many servers.
