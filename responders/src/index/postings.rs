//! Postings: which passages contain a term and how often, compressed.

/// The postings of terms while passages are added in the order of their numbers.
#[derive(Default)]
pub(super) struct Growing {
    bytes: Vec<u8>,
    last: u32,
    count: u32,
}

impl Growing {
    /// Adds a passage, which has the term `occurrences` times, at least once.
    pub(super) fn add(&mut self, passage: u32, occurrences: u32) {
        // Passages are numbered from 0, and the step to the first is its number.
        let step = u64::from(passage - self.last);
        self.last = passage;
        self.count += 1;
        write(&mut self.bytes, step << 1 | u64::from(occurrences > 1));
        if occurrences > 1 {
            write(&mut self.bytes, u64::from(occurrences));
        }
    }
}

/// The postings of all terms.
pub(super) struct Postings {
    bytes: Vec<u8>,
    /// Where the bytes of each term begin; one more at the end.
    starts: Vec<usize>,
    counts: Vec<u32>,
}

impl Postings {
    pub(super) fn of_all(terms: Vec<Growing>) -> Self {
        let mut bytes = Vec::with_capacity(terms.iter().map(|term| term.bytes.len()).sum());
        let mut starts = Vec::with_capacity(terms.len() + 1);
        let mut counts = Vec::with_capacity(terms.len());
        for term in terms {
            starts.push(bytes.len());
            counts.push(term.count);
            bytes.extend_from_slice(&term.bytes);
        }
        starts.push(bytes.len());
        Postings { bytes, starts, counts }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + self.starts.len() * size_of::<usize>() + self.counts.len() * size_of::<u32>()
    }

    /// How many passages have a term.
    pub(super) fn count(&self, term: u32) -> u32 {
        self.counts[term as usize]
    }

    /// The passages that have a term, and how often.
    pub(super) fn of(&self, term: u32) -> impl Iterator<Item = (u32, u32)> {
        let mut rest = &self.bytes[self.starts[term as usize]..self.starts[term as usize + 1]];
        let mut passage = 0;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let step = read(&mut rest);
            passage += (step >> 1) as u32;
            let occurrences = if step & 1 == 1 { read(&mut rest) as u32 } else { 1 };
            Some((passage, occurrences))
        })
    }
}

/// Variable-length integers: seven bits a byte, the lowest first; the highest bit marks continuation.
fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(steps in prop::collection::vec((0_u32..100_000, 1_u32..70_000), 0..50)) {
            let mut growing = Growing::default();
            let mut wanted = Vec::new();
            let mut passage = 0;
            for (nth, (step, occurrences)) in steps.into_iter().enumerate() {
                passage += if nth == 0 { step } else { step + 1 };
                growing.add(passage, occurrences);
                wanted.push((passage, occurrences));
            }
            let postings = Postings::of_all(vec![Growing::default(), growing]);
            prop_assert_eq!(postings.of(1).collect::<Vec<_>>(), wanted.clone());
            prop_assert_eq!((postings.count(0), postings.count(1) as usize), (0, wanted.len()));
        }
    }
}
