//! Long work takes turns with other tasks, on whatever runtime they run.

use std::future::poll_fn;
use std::task::Poll;

/// Lets other tasks go on.
pub(crate) async fn pause() {
    let mut is_over = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
