//! A neural network, and the thread that it runs on.

use std::sync::Arc;

use rten::{Model, ModelOptions, OpRegistry, RunOptions, ThreadPool, ValueOrView, op_registry};
use rten_tensor::{NdTensor, Tensor};

use crate::RecognitionError;

/// The thread that networks run on. A process that shuts itself in starts it before.
#[derive(Clone, Debug)]
pub struct Threads(Arc<ThreadPool>);

impl Threads {
    /// Starts it. Where no thread can be started, networks run on the one that asks.
    #[must_use]
    pub fn start() -> Self {
        let threads = ThreadPool::with_num_threads(1);
        // Once it has done something, it needs nothing more from the system.
        threads.run(|| ());
        Self(Arc::new(threads))
    }
}

/// A network with one input and one output.
pub(crate) struct Network {
    model: Model,
    threads: Threads,
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}

/// The operators of the two networks: the program has no others.
fn operators() -> OpRegistry {
    op_registry!(
        Add,
        AveragePool,
        BatchNormalization,
        Cast,
        Concat,
        Conv,
        ConvTranspose,
        Div,
        Erf,
        GlobalAveragePool,
        HardSigmoid,
        MatMul,
        MaxPool,
        Mul,
        Pow,
        ReduceMean,
        Relu,
        Reshape,
        Resize,
        Shape,
        Sigmoid,
        Slice,
        Softmax,
        Sqrt,
        Squeeze,
        Sub,
        Transpose,
        Unsqueeze
    )
}

impl Network {
    pub(crate) fn load(weights: &'static [u8], threads: &Threads) -> Result<Self, RecognitionError> {
        // On the thread, because loading computes as well, and would start threads of its own elsewhere.
        let load = || ModelOptions::with_ops(operators()).load_static_slice(weights);
        let model = threads.0.run(load).map_err(|error| RecognitionError::Weights(error.to_string()))?;
        Ok(Self { model, threads: threads.clone() })
    }

    /// The result for a batch of one.
    pub(crate) fn run(&self, input: NdTensor<f32, 4>) -> Result<Tensor<f32>, RecognitionError> {
        let failed = |error: String| RecognitionError::Network(error);
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&self.threads.0)));
        let input = ValueOrView::from(input);
        let output = self.threads.0.run(|| self.model.run_one(input, Some(options)));
        let output = output.map_err(|error| failed(error.to_string()))?;
        output.try_into().map_err(|_| failed("its result is of another type".to_owned()))
    }
}
