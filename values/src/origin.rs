//! The request by which an operator changes something.

use std::cell::RefCell;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;

thread_local! {
    static CURRENT: RefCell<Origin> = const { RefCell::new(Origin { address: None, request_id: String::new() }) };
}

/// Where a change comes from. A command has neither an address nor a request.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The address of the request.
    pub address: Option<IpAddr>,
    /// The id of the request.
    pub request_id: String,
}

/// Puts the former origin back, also after a panic.
struct Former(Origin);

impl Drop for Former {
    fn drop(&mut self) {
        CURRENT.set(std::mem::take(&mut self.0));
    }
}

impl Origin {
    /// Runs a future whose changes by an operator leave audit entries with this origin.
    pub async fn during<F: Future>(self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            let _former = Former(CURRENT.replace(self.clone()));
            future.as_mut().poll(context)
        })
        .await
    }

    /// That of the future that runs; the default outside of [`Origin::during`].
    #[must_use]
    pub fn current() -> Self {
        CURRENT.with_borrow(Clone::clone)
    }
}
