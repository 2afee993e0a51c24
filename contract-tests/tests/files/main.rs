//! Contact files (contract 2.2, 4.3).

mod delete;
mod download;
mod get;
mod idempotency;
mod links;
mod list;
mod multipart;
mod names;
mod precedence;
mod quotas;
mod repair;
mod samples;
mod scanner;
mod sealed_frames;
mod sealing;
mod sent_names;
mod signed_url;
mod stores;
mod streams;
mod support;
mod types;
mod upload;
