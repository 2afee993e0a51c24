//! The overridden method runs.

use std::sync::Arc;

use openapi_core::contacts::ContactRef;
use openapi_core::storage::Storage;
use openapi_core::values::ContactId;
use own_storage::CountingStorage;

#[test]
fn reads_through_the_trait_are_counted() {
    let store = Arc::new(CountingStorage::new());
    let storage: Arc<dyn Storage> = store.clone();
    let contact = ContactRef::Id(ContactId::from_bytes([1; 12]));
    let agent = "acme".parse().expect("an id");
    let read = storage.contact(&agent, &contact);
    assert!(matches!(pollster::block_on(read), Ok(None)));
    assert_eq!(store.reads(), 1);
}
