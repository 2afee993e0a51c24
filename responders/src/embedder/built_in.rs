//! The embedder that needs no network: the crate `embedding` on threads of its own.

use std::borrow::Cow;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use embedding::{InvalidWeights, Model, Role};
use futures_channel::oneshot;
use parking_lot::Mutex;

use super::{EmbedError, Embedder, TextRole};

/// The name of the model, with the version of its weights.
const NAME: &str = "multilingual-e5-small-1";
const DIMENSION: usize = 384;

type Vectors = Result<Vec<Vec<f32>>, EmbedError>;

/// How many questions wait for their vectors. Where visitors ask more, the search goes on by words at once, so that nobody's
/// long questions keep others waiting.
const MAX_QUESTIONS: usize = 8;

/// How many batches of passages wait.
const MAX_PASSAGES: usize = 4_096;

struct Order {
    texts: Vec<String>,
    done: oneshot::Sender<Vectors>,
}

/// multilingual-e5-small on two threads: one for questions, so that none waits for passages, and one for passages. The model is
/// loaded with the first text; both threads end with the embedder.
pub struct BuiltInEmbedder {
    data: Mutex<Option<Cow<'static, [u8]>>>,
    model: Arc<OnceLock<Result<Model, InvalidWeights>>>,
    questions: OnceLock<SyncSender<Order>>,
    passages: OnceLock<SyncSender<Order>>,
}

impl BuiltInEmbedder {
    /// An embedder with the weights that `scripts/embedding-weights` of this project writes. They are read with the
    /// first text, so that a server without documents never does.
    #[must_use]
    pub fn new(weights: impl Into<Cow<'static, [u8]>>) -> Self {
        BuiltInEmbedder {
            data: Mutex::new(Some(weights.into())),
            model: Arc::default(),
            questions: OnceLock::new(),
            passages: OnceLock::new(),
        }
    }

    fn thread(&self, role: TextRole) -> SyncSender<Order> {
        let most = if role == TextRole::Question { MAX_QUESTIONS } else { MAX_PASSAGES };
        let (orders, received) = sync_channel::<Order>(most);
        let model = Arc::clone(&self.model);
        // Whichever thread comes first has the data; the other one waits until the model is loaded.
        let data = self.data.lock().take();
        if let Some(data) = data {
            let loading = Arc::clone(&model);
            start("embed-load", move || {
                loading.get_or_init(|| Model::new(data));
            });
        }
        let name = if role == TextRole::Question { "embed-questions" } else { "embed-passages" };
        start(name, move || work(&model, role, &received));
        orders
    }
}

/// Starts a thread. Where the system has none left, what it was to do is dropped, and its caller gets an error.
fn start(name: &str, work: impl FnOnce() + Send + 'static) {
    drop(std::thread::Builder::new().name(name.to_owned()).spawn(work));
}

fn work(model: &OnceLock<Result<Model, InvalidWeights>>, role: TextRole, orders: &Receiver<Order>) {
    let role = match role {
        TextRole::Question => Role::Question,
        TextRole::Passage => Role::Passage,
    };
    while let Ok(order) = orders.recv() {
        // Nobody waits any more.
        if order.done.is_canceled() {
            continue;
        }
        let vectors = match model.wait() {
            Ok(model) => {
                let texts: Vec<&str> = order.texts.iter().map(String::as_str).collect();
                Ok(model.embed(role, &texts))
            }
            Err(error) => Err(EmbedError::Unavailable(error.to_string())),
        };
        drop(order.done.send(vectors));
    }
}

#[async_trait]
impl Embedder for BuiltInEmbedder {
    fn name(&self) -> &str {
        NAME
    }

    fn dimension(&self) -> usize {
        DIMENSION
    }

    async fn embed(&self, role: TextRole, texts: Vec<String>) -> Vectors {
        let thread = match role {
            TextRole::Question => &self.questions,
            TextRole::Passage => &self.passages,
        };
        let (done, vectors) = oneshot::channel();
        let gone = || EmbedError::Unavailable("its thread has ended".to_owned());
        match thread.get_or_init(|| self.thread(role)).try_send(Order { texts, done }) {
            Ok(()) => vectors.await.unwrap_or_else(|_| Err(gone())),
            Err(TrySendError::Full(_)) => Err(EmbedError::Unavailable("too many texts wait".to_owned())),
            Err(TrySendError::Disconnected(_)) => Err(gone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn few_questions_wait_and_further_ones_fail_at_once() {
        let mut embedder = BuiltInEmbedder::new(b"".as_slice());
        // Nothing loads the model, so the thread does not get on.
        embedder.data = Mutex::new(None);
        let ask = || embedder.embed(TextRole::Question, vec!["How?".to_owned()]);
        let mut context = Context::from_waker(Waker::noop());
        let mut is_full = false;
        let mut waiting = Vec::new();
        // The thread takes one of them.
        for _ in 0..MAX_QUESTIONS + 2 {
            let mut asked = ask();
            match asked.as_mut().poll(&mut context) {
                Poll::Pending => waiting.push(asked),
                Poll::Ready(answer) => {
                    assert!(answer.unwrap_err().to_string().contains("too many texts wait"));
                    is_full = true;
                }
            }
        }
        assert!(is_full && waiting.len() >= MAX_QUESTIONS, "{}", waiting.len());
        assert!(
            embedder
                .embed(TextRole::Passage, vec!["This.".to_owned()])
                .as_mut()
                .poll(&mut context)
                .is_pending(),
            "passages have a queue of their own"
        );
        // The model turns out to be damaged: every question gets an error.
        embedder.model.get_or_init(|| Model::new(b"".as_slice()));
        for asked in waiting {
            assert!(pollster::block_on(asked).is_err());
        }
    }
}
