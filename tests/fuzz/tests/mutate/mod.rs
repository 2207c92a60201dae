//! Small changes to the files of a corpus, the same in every run.

/// The longest input that is made.
const LONGEST: usize = 8 * 1024;

/// An endless row of inputs, each one or more changes away from a file.
pub(crate) struct Mutations<'c> {
    corpus: &'c [Vec<u8>],
    count: u64,
}

impl<'c> Mutations<'c> {
    pub(crate) fn new(corpus: &'c [Vec<u8>]) -> Self {
        Self { corpus, count: 0 }
    }

    /// The next input and its number.
    pub(crate) fn next(&mut self) -> (u64, Vec<u8>) {
        self.count += 1;
        let mut dice = Dice(self.count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut data = dice.pick(self.corpus).clone();
        for _ in 0..=dice.below(4) {
            self.change(&mut data, &mut dice);
        }
        data.truncate(LONGEST);
        (self.count, data)
    }

    fn change(&self, data: &mut Vec<u8>, dice: &mut Dice) {
        const TELLING: &[u8] = b"\0\x01\n\r \"'\\{}[]()<>:,;.=+-_/@#%0159eE~\x7f\xc3\xf0\xff";
        let at = dice.below(data.len() + 1);
        let end = (at + dice.below(40)).min(data.len());
        match dice.below(7) {
            0 => data.insert(at, *dice.pick(TELLING)),
            1 if at < data.len() => data[at] = *dice.pick(TELLING),
            2 if at < data.len() => data[at] ^= 1 << dice.below(8),
            3 => drop(data.drain(at..end)),
            4 => {
                let part = data[at..end].to_vec();
                data.splice(at..at, part);
            }
            5 => data.truncate(at),
            _ => {
                // A piece of another file of the same target.
                let other = dice.pick(self.corpus);
                let from = dice.below(other.len() + 1);
                let to = (from + dice.below(60)).min(other.len());
                data.splice(at..end, other[from..to].iter().copied());
            }
        }
    }
}

/// Numbers as good as random, from a seed (the mixer of `SplitMix64`).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is above zero.
    fn below(&mut self, end: usize) -> usize {
        let rolled = usize::try_from(self.roll() >> 33).unwrap_or_default();
        rolled % end
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}
