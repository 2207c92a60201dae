//! Numbers that look random and repeat with their seed.

/// The generator of one world (`SplitMix64`).
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Self(seed ^ 0x5e4d_7a11_0c0f_fee5);
        rng.word();
        rng
    }

    /// Sixty-four bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A hundred and twenty-eight bits.
    pub fn bits(&mut self) -> u128 {
        u128::from(self.word()) << 64 | u128::from(self.word())
    }

    /// One of `0..n`; 0 where `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        let wide = u128::from(self.word()) * u128::from(n);
        u64::try_from(wide >> 64).unwrap_or_default()
    }

    /// One of `from..to`, `from` where the range is empty.
    pub fn between(&mut self, from: i64, to: i64) -> i64 {
        let span = to.saturating_sub(from).max(0).unsigned_abs();
        from.saturating_add_unsigned(self.below(span))
    }

    /// True in `per_million` of a million cases.
    pub fn chance(&mut self, per_million: u32) -> bool {
        per_million > 0 && self.below(1_000_000) < u64::from(per_million)
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        let n = self.below(of.len() as u64);
        of.get(usize::try_from(n).unwrap_or_default()).copied()
    }

    /// A number around `typical`, at times many times as large: what waits and latencies look like.
    pub fn around(&mut self, typical: i64) -> i64 {
        let spread = [1, 1, 1, 2, 2, 3, 4, 8, 16];
        let factor = self.pick(&spread).unwrap_or(1);
        self.between(typical / 2, typical.saturating_mul(factor) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_its_own_sequence_every_time_and_bounds_hold() {
        let draw = |seed| {
            let mut rng = Rng::new(seed);
            (0..50).map(|_| rng.word()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let mut rng = Rng::new(3);
        for _ in 0..1_000 {
            assert!((-5..7).contains(&rng.between(-5, 7)));
            assert!(!rng.chance(0) && rng.chance(1_000_000));
        }
        assert_eq!(rng.between(4, 4), 4);
        assert_eq!(rng.below(0), 0);
    }
}
