//! Transport, JSON, errors, precedence (contract 5, 6).

mod bodies;
mod every_endpoint;
mod headers;
mod json;
mod methods;
mod paths;
mod precedence;
mod queries;

use contract_tests::table;
