//! The endpoints: one file each, one row each in the table from which router, guards, description, reference and
//! generators are made.

pub mod contacts;
pub mod description;
pub mod events;
pub mod extraction;
pub mod files;
pub mod forms;
pub mod health;

use crate::operation::Endpoint;
use contacts::{ByExternalId, ByPlatformId};

/// Every endpoint.
pub const ENDPOINTS: &[Endpoint] = &[
    Endpoint::of::<health::Health>(),
    Endpoint::of::<description::Description>(),
    Endpoint::of::<contacts::Schema>(),
    Endpoint::of::<contacts::Create>(),
    Endpoint::of::<contacts::List>(),
    Endpoint::of::<contacts::Get<ByExternalId>>(),
    Endpoint::of::<contacts::Update<ByExternalId>>(),
    Endpoint::of::<contacts::Archive<ByExternalId>>(),
    Endpoint::of::<contacts::Unarchive<ByExternalId>>(),
    Endpoint::of::<contacts::Get<ByPlatformId>>(),
    Endpoint::of::<contacts::Update<ByPlatformId>>(),
    Endpoint::of::<contacts::Archive<ByPlatformId>>(),
    Endpoint::of::<contacts::Unarchive<ByPlatformId>>(),
    Endpoint::of::<files::Upload>(),
    Endpoint::of::<files::List>(),
    Endpoint::of::<files::Get>(),
    Endpoint::of::<files::SignUrl>(),
    Endpoint::of::<files::Delete>(),
    Endpoint::of::<files::Download>(),
    Endpoint::of::<forms::Submit>(),
    Endpoint::of::<forms::Batch>(),
    Endpoint::of::<forms::List>(),
    Endpoint::of::<forms::Get>(),
    Endpoint::of::<forms::Update>(),
    Endpoint::of::<forms::Latest>(),
    Endpoint::of::<forms::Templates>(),
    Endpoint::of::<forms::Schema>(),
    Endpoint::of::<forms::Structure>(),
    Endpoint::of::<extraction::SchemaExamples>(),
    Endpoint::of::<extraction::Extract>(),
    Endpoint::of::<extraction::Queue>(),
    Endpoint::of::<extraction::ListJobs>(),
    Endpoint::of::<extraction::GetJob>(),
    Endpoint::of::<extraction::CancelJob>(),
    Endpoint::of::<extraction::DeleteJob>(),
    Endpoint::of::<extraction::QueueBatch>(),
    Endpoint::of::<extraction::GetBatch>(),
    Endpoint::of::<events::Pull>(),
    Endpoint::of::<events::Stream>(),
    Endpoint::of::<events::Types>(),
];
