//! Calls of functions that run inside a transaction.

/// Runs a function in a transaction: clones its arguments, because the transaction outlives the caller's future, and
/// passes references to the clones after the transaction. `*argument` passes a copy.
///
/// `in_transaction!(self.db.write(), insert(agent, write, *now))` is
/// `self.db.write((agent.clone(), write.clone(), now.clone()), |db, (agent, write, now)| Box::pin(insert(db, agent,
/// write, *now))).await`.
#[macro_export]
macro_rules! in_transaction {
    ($store:ident . $writer:ident . $write:ident ($($before:expr),*), $($work:ident)::+ ($($arguments:tt)*)) => {
        $crate::in_transaction!(@ [$store.$writer.$write] [$($before),*] [$($work)::+] [] [] $($arguments)*)
    };
    (@ $call:tt $before:tt $work:tt [$($names:ident)*] [$($passed:tt)*] * $name:ident $(, $($rest:tt)*)?) => {
        $crate::in_transaction!(@ $call $before $work [$($names)* $name] [$($passed)* (*$name)] $($($rest)*)?)
    };
    (@ $call:tt $before:tt $work:tt [$($names:ident)*] [$($passed:tt)*] $name:ident $(, $($rest:tt)*)?) => {
        $crate::in_transaction!(@ $call $before $work [$($names)* $name] [$($passed)* ($name)] $($($rest)*)?)
    };
    (@ [$($call:tt)*] [$($before:expr),*] [$($work:tt)*] [$($names:ident)*] [$($passed:tt)*]) => {{
        // One argument makes a tuple as well.
        #[allow(clippy::clone_on_copy, noop_method_call, reason = "some arguments are copied")]
        let input = ($($names.to_owned(),)*);
        $($call)*($($before,)* input, |transaction, ($($names,)*)| {
            Box::pin($($work)*(transaction, $($passed),*))
        })
        .await
    }};
}
