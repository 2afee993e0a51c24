//! Sizes at which the plans of a query change.

/// The limits that decide between the plans of a query. Tests use small ones, so that a few contacts reach every plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thresholds {
    /// Up to this offset a page is found by merging index ranges.
    pub(crate) merged_offset: u64,
    /// How many standard deviations a seek stays short of its expected target.
    pub(crate) seek_margin: u64,
    /// Up to this many candidates a filter is preferred to the search index.
    pub(crate) few_candidates: u64,
    /// Up to this many candidates a filter is preferred to sampling the grams of a rare term.
    pub(crate) few_candidates_of_a_term: u64,
    /// Up to this many matches are sorted in memory.
    pub(crate) sorted_matches: usize,
    /// The most contacts that are read from the list of a gram.
    pub(crate) sample_size: usize,
    /// Up to this many candidates are cheaper to read than another list.
    pub(crate) selective: usize,
    /// The most candidates of a search that are read on the calling thread.
    pub(crate) inline_candidates: usize,
    /// The cost of reading and sorting one contact, in nanoseconds.
    pub(crate) cost_sort_ns: u64,
    /// The cost of reading one contact and looking up its tag, in nanoseconds.
    pub(crate) cost_lookup_ns: u64,
    /// The cost of marking one contact, in nanoseconds.
    pub(crate) cost_mark_ns: u64,
    /// The cost of skipping one contact of an index scan, in nanoseconds.
    pub(crate) cost_pass_ns: u64,
    /// How many times the expected number of contacts is looked up before the plan changes to marking: all contacts
    /// with the tag may be at the end of the sort.
    pub(crate) skew: u64,
}

impl Thresholds {
    /// The measured limits.
    pub(crate) const MEASURED: Self = Thresholds {
        merged_offset: 2_048,
        seek_margin: 2,
        few_candidates: 2_000,
        few_candidates_of_a_term: 16,
        sorted_matches: 20_000,
        sample_size: 128,
        selective: 12,
        inline_candidates: 32,
        cost_sort_ns: 3_500,
        cost_lookup_ns: 4_000,
        cost_mark_ns: 100,
        cost_pass_ns: 250,
        skew: 4,
    };

    /// Limits that a few contacts reach.
    #[cfg(test)]
    pub(crate) const SMALL: Self = Thresholds {
        merged_offset: 2,
        seek_margin: 0,
        few_candidates: 6,
        few_candidates_of_a_term: 3,
        sorted_matches: 5,
        sample_size: 3,
        selective: 1,
        inline_candidates: 2,
        cost_sort_ns: 400,
        cost_lookup_ns: 300,
        cost_mark_ns: 200,
        cost_pass_ns: 100,
        skew: 1,
    };
}
