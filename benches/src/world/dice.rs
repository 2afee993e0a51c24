//! Random numbers that are the same in each run.

/// SplitMix64.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `bound`, which is at least 1. The bias is below 2⁻⁴⁰ for the small bounds in use.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// One of the entries.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, entries: &[&'a T]) -> &'a T {
        entries[self.below(entries.len() as u64) as usize]
    }
}
