//! Operator actions (contract 1, 14): agents, the audit log, erasure, import and export, names.

mod agents;
mod audit;
mod audit_chain;
mod contacts;
mod names;
