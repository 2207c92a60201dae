//! Does one request key make one record?

use super::Check;
use super::raw::Made;

impl Check<'_> {
    pub(super) async fn unique(&mut self) {
        self.twice("1").await;
        self.twice_at_once().await;
    }

    /// A second create with the key of the first.
    async fn twice(&mut self, which: &str) {
        const NAME: &str = "unique";
        match self.raw.create(&self.key(which)).await {
            Made::Duplicate => {
                let found = "a second record with one request key is refused";
                self.pass(NAME, found, "a request that is repeated saves once");
            }
            Made::New { id, .. } => {
                self.made.push(id);
                let means = "the request key's field is not unique: a request that is repeated leaves a second \
                             record. The first is used wherever it is found, but where a query lags two records \
                             can be worked on. Make the field unique (no duplicates)";
                self.fail(NAME, "a second record with one request key is made", means);
            }
            Made::Refused(why) | Made::Unknown(why) => self.not_known(NAME, &why),
        }
    }

    async fn twice_at_once(&mut self) {
        const NAME: &str = "unique_race";
        let key = self.key("3");
        let (one, two) = tokio::join!(self.raw.create(&key), self.raw.create(&key));
        let mut made = 0;
        let mut undecided = None;
        for result in [one, two] {
            match result {
                Made::New { id, .. } => {
                    self.made.push(id);
                    made += 1;
                }
                Made::Duplicate => {}
                Made::Refused(why) | Made::Unknown(why) => undecided = Some(why),
            }
        }
        match (made, undecided) {
            (2, _) => {
                let means = "after every create the record is looked up by its key and the lowest id used, so \
                             that one is worked on; the other stays behind in `saved`";
                self.pass(
                    NAME,
                    "two creates at once with one key made two records",
                    means,
                );
            }
            (_, Some(why)) => self.not_known(NAME, &why),
            (_, None) => {
                let found = "two creates at once with one key made one record";
                self.pass(NAME, found, "a request that is repeated at once saves once");
            }
        }
    }
}
