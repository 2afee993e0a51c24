//! Numbers that look drawn and are the same each time.

/// A small generator of numbers, the same for the same seed.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit
    }

    /// True once in `count` times.
    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// One of these.
    ///
    /// # Panics
    /// When there are none.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}
