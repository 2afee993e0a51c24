//! The weights of the rules, by the decision that they are part of. The weights of confidence, which are fitted, are in
//! [`weights`](super::weights).
//!
//! A score is a similarity times shares, or a base plus what cues add. A `…_STEP` is subtracted for each value before.

use super::vocabulary::Words;

/// A cue in the words around a value.
pub struct Cue {
    /// Words before the value, one of which is the cue.
    pub before: Words,
    /// Words after the value, one of which is the cue.
    pub after: Words,
    /// What the cue adds to the score.
    pub weight: f64,
}

impl Cue {
    const fn before(before: &'static str, weight: f64) -> Self {
        Cue { before: Words(before), after: Words::NONE, weight }
    }

    const fn after(after: &'static str, weight: f64) -> Self {
        Cue { before: Words::NONE, after: Words(after), weight }
    }

    pub fn applies(&self, before: &[&str], after: &[&str]) -> bool {
        self.before.has_any(before.iter().copied()) || self.after.has_any(after.iter().copied())
    }
}

/// How well the terms of a label match those of a field.
pub mod similarity {
    /// Terms that identify a value less than others do, with their weights; the others weigh 1.
    pub const TERMS: [(&str, f64); 6] = [
        ("full currency current final kg km cm mm ml m2 sqm", 0.15),
        ("gross grand", 0.3),
        ("amount value", 0.35),
        ("number date", 0.4),
        ("name invoice order receipt contract document claim report company person sum", 0.5),
        ("start end", 0.7),
    ];
    /// The most that a term weighs if it follows from the type of the field.
    pub const MAX_IMPLIED: f64 = 0.3;
    /// The share that terms count which only the label has.
    pub const EXTRA: f64 = 0.7;
    /// From this Jaro-Winkler similarity on, two words are one but for a slip of the pen or of OCR.
    pub const SAME_WORD: f64 = 0.94;
    /// Shorter words are compared as they are.
    pub const MIN_COMPARED: usize = 5;
}

/// How much each reading of a field's name and description is trusted.
pub mod reading {
    pub const NAME: f64 = 1.0;
    pub const NAME_AND_DESCRIPTION: f64 = 0.97;
    pub const DESCRIPTION: f64 = 0.95;
    /// One of several alternatives in a description.
    pub const ALTERNATIVE: f64 = 0.92;
    /// The thing of a description that also names the document.
    pub const OF_DOCUMENT: f64 = 0.94;
    /// The client of a station for the advertiser.
    pub const CLIENT_OF_STATION: f64 = 0.8;
    /// `customer` and `buyer` for each other.
    pub const OTHER_NAME_OF_BUYER: f64 = 0.9;
    /// Who goods are delivered to for the buyer.
    pub const WHERE_GOODS_GO: f64 = 0.6;
    /// The total of a line for the sum before tax.
    pub const LINE_AS_SUM: f64 = 0.6;
    /// The period of which the field is an end.
    pub const WHOLE_PERIOD: f64 = 0.88;
    /// Together with the object that the field belongs to.
    pub const IN_OBJECT: f64 = 0.98;
    /// Together with the section that the label belongs to.
    pub const IN_SECTION: f64 = 0.98;
    /// A label of a total of something else than what is to be paid.
    pub const NO_TOTAL: f64 = 0.5;
    /// A label in the section of another party.
    pub const OTHER_SECTION: f64 = 0.75;
}

/// Values at a label.
pub mod label {
    /// A label with a lower similarity means something else.
    pub const MIN_SIMILARITY: f64 = 0.34;
    /// From this similarity on, a label belongs to a field, and the text after it is meant as the field's value.
    pub const OWN: f64 = 0.8;
    /// A colon ends the label, and the value is on its line.
    pub const MARKED: f64 = 1.04;
    /// The label is the beginning of a sentence.
    pub const SENTENCE: f64 = 0.6;
    /// The value is in the label's segment, the next one, or further on the line.
    pub const SAME_SEGMENT: f64 = 1.0;
    pub const NEXT_SEGMENT: f64 = 0.98;
    pub const FURTHER_SEGMENT: f64 = 0.72;
    /// The words before the label, for a box that is ticked.
    pub const BEFORE: f64 = 0.8;
    /// The value is below the label.
    pub const BELOW: f64 = 0.9;
    /// The value is over its caption in brackets.
    pub const ABOVE: f64 = 0.92;
    /// The sum under the head of a column.
    pub const SUM_OF_COLUMN: f64 = 0.96;
    /// Each value that is nearer below the label.
    pub const NEXT_BELOW: f64 = 0.7;
    /// Each label between.
    pub const LABEL_BETWEEN: f64 = 0.97;
    /// The only segment below, in running text.
    pub const BELOW_IN_TEXT: f64 = 0.95;
    pub const NEXT_BELOW_IN_TEXT: f64 = 0.75;
    /// The value is below the label, and another is next to it.
    pub const BELOW_AND_ADJACENT: f64 = 0.65;
    /// The only value that is left, at a label that no field asks for.
    pub const LEFTOVER: f64 = 0.42;
    /// A candidate with at least this share of its region's score is a value.
    pub const IS_VALUE: f64 = 0.7;
    /// After a value, regions whose share is less than this fraction of its region's are skipped.
    pub const LESSER_REGION: f64 = 0.6;
    /// The field's options, pattern or bounds exclude the value, or options or pattern allow it.
    pub const EXCLUDED: f64 = 0.2;
    pub const ALLOWED: f64 = 1.15;
    pub const MAX_ALLOWED: f64 = 1.2;
}

/// Values within a region, by their form.
pub mod value {
    /// The start of a range, where its end is asked for.
    pub const START_OF_RANGE: f64 = 0.6;
    pub const LATER_DATE: f64 = 0.85;
    pub const LATER_NUMBER_STEP: f64 = 0.06;
    /// A percentage for an amount, or an amount for a rate.
    pub const WRONG_UNIT: f64 = 0.35;
    /// The only number after a label with its colon is a percentage.
    pub const ONLY_PERCENTAGE: f64 = 0.8;
    /// Eight digits as a date.
    pub const DATE_OF_DIGITS: f64 = 0.9;
    /// A bare number for money. Next to an amount with a currency it counts something else.
    pub const BARE_NUMBER: f64 = 0.75;
    pub const BARE_NUMBER_NEXT_TO_MONEY: f64 = 0.5;
    /// Other characters touch the number.
    pub const UNCLEAN_NUMBER: f64 = 0.6;
    /// In a sentence, the words next to `term` say more than those further on.
    pub const DISTANT_DURATION: f64 = 0.5;
    pub const DURATION_IN_DAYS: f64 = 0.6;
    /// A period of notice, where another is asked for.
    pub const NOTICE: f64 = 0.4;
    pub const IBAN_WITH_WRONG_CHECK_DIGITS: f64 = 0.8;
    /// Identifiers that look like something else.
    pub const DATE_AS_IDENTIFIER: f64 = 0.2;
    pub const MONEY_AS_IDENTIFIER: f64 = 0.3;
    pub const SHORT_VAT_NUMBER: f64 = 0.4;
    pub const IDENTIFIER_OF_ONE_CHARACTER: f64 = 0.6;
}

/// Text as a value.
pub mod text {
    /// Text of few letters, for plain text and postal codes, and for names.
    pub const FEW_LETTERS: f64 = 0.75;
    pub const FEW_LETTERS_AS_NAME: f64 = 0.25;
    pub const IS_LABEL: f64 = 0.45;
    pub const LONG: f64 = 0.5;
    pub const LONG_WORDS: usize = 12;
    /// Text with a percentage or an amount of money, for a name.
    pub const NUMBERS_AS_NAME: f64 = 0.4;
    /// Text with too many words, or too many in lower case, for a name.
    pub const NO_NAME: f64 = 0.4;
    pub const MAX_NAME_WORDS: usize = 8;
    pub const NO_NAME_LOWER_CASE: usize = 3;
    /// All words, or half of them, are words of labels.
    pub const LABEL_WORDS: f64 = 0.35;
    pub const MOSTLY_LABEL_WORDS: f64 = 0.5;
}

/// Values without a label.
pub mod unlabelled {
    /// A date after the number of a document: similarity and score.
    pub const DATE_OF_NUMBER: (f64, f64) = (0.8, 0.78);
    /// A date of a document that has one, two or more of them.
    pub const ONLY_DATE: f64 = 0.66;
    pub const ONE_OF_TWO_DATES: f64 = 0.5;
    pub const ONE_OF_MANY_DATES: f64 = 0.43;
    pub const DATE_STEP: f64 = 0.015;
    /// The greatest amount of money, as a total; where no word says total, only if it occurs several times or sums confirm it.
    pub const GREATEST_AMOUNT: f64 = 0.41;
    pub const GREATEST_AMOUNT_ALONE: f64 = 0.36;
    /// The sum of the rows, as a total that no known word names; that it is the sum confirms it.
    pub const SUM_OF_ROWS: f64 = 0.34;
    pub const PHONE: f64 = 0.55;
    /// A telephone number for a text field.
    pub const PHONE_TEXT: f64 = 0.6;
    /// An e-mail address for a text field.
    pub const EMAIL_TEXT: f64 = 0.5;
    pub const ONLY_EMAIL: f64 = 0.58;
    pub const ONE_OF_EMAILS: f64 = 0.47;
    pub const EMAIL_STEP: f64 = 0.04;
    /// A label before an e-mail address: of e-mail, of the field, or of another party.
    pub const EMAIL_LABEL: f64 = 0.08;
    pub const EMAIL_OF_FIELD: f64 = 0.2;
    pub const EMAIL_OF_OTHER: f64 = -0.25;
    pub const IBAN: f64 = 0.8;
    pub const CURRENCY: f64 = 0.75;
    pub const VAT_NUMBER: f64 = 0.5;
    pub const KIND_OF_DOCUMENT: f64 = 0.6;
    /// The company in the head of a document.
    pub const COMPANY: f64 = 0.68;
    pub const COMPANY_STEP: f64 = 0.025;
    pub const LARGE_COMPANY: f64 = 0.04;
    /// Text is large from this multiple of the typical size on.
    pub const LARGE: f32 = 1.25;
    /// The company stands under the date of a document that has another first line.
    pub const COMPANY_UNDER_DATA: f64 = 0.18;
    /// The ending of a company's name has a line of its own.
    pub const ENDING_BELOW_COMPANY: f64 = 0.03;
    /// The first line without the ending of a company.
    pub const FIRST_LINE: f64 = 0.52;
    pub const ADDRESS: f64 = 0.62;
    pub const ADDRESS_STEP: f64 = 0.015;
    pub const PERSON: f64 = 0.66;
    pub const PERSON_STEP: f64 = 0.03;
    pub const JOB_TITLE: f64 = 0.58;
    pub const CITY: f64 = 0.6;
}

/// Values in sentences.
pub mod sentence {
    /// Words that name a field less well name something else.
    pub const MIN_SIMILARITY: f64 = 0.62;
    pub const SHARE: f64 = 0.84;
    /// Each word between the value and what names it.
    pub const STEP: f64 = 0.01;
    /// `to pay by 3 May`
    pub const PAYABLE: f64 = 0.8;
    /// A period whose sentence names it.
    pub const PERIOD: f64 = 0.75;
}

/// Letters and other documents with two blocks of addresses.
pub mod correspondence {
    pub const RECEIVER: f64 = 0.6;
    pub const SENDER: f64 = 0.56;
    pub const SIGNER: f64 = 0.66;
    /// The date on a line of its own over the greeting.
    pub const DATE: f64 = 0.68;
}

/// The law that governs an agreement.
pub mod law {
    pub const SIMILARITY: f64 = 0.8;
    /// The phrases before the name of a jurisdiction, with their scores.
    pub const PHRASES: [(&str, f64); 10] = [
        ("laws of", 0.8),
        ("law of", 0.72),
        ("recht der", 0.6),
        ("courts of", 0.5),
        ("recht von", 0.6),
        ("legge", 0.4),
        ("leyes de", 0.7),
        ("lois de", 0.7),
        ("droit", 0.5),
        ("state of", 0.7),
    ];
    /// Subtracted if no word nearby says that the law governs.
    pub const NOT_GOVERNING: f64 = 0.35;
    /// Subtracted from a nation, where a state may be meant.
    pub const NATION: f64 = 0.3;
    /// `governed by Kansas law`
    pub const GOVERNED_BY: f64 = 0.75;
    /// How many words before the phrase are looked at.
    pub const BEFORE: usize = 16;
}

/// The date of an agreement.
pub mod effective {
    use super::Cue;

    pub const SIMILARITY: f64 = 0.6;
    pub const BASE: f64 = 0.22;
    pub const MAX: f64 = 0.85;
    pub const STEP: f64 = 0.02;
    /// The agreement takes effect, or is made.
    pub const EFFECT: [Cue; 2] = [
        Cue {
            after: super::Words("effective"),
            ..Cue::before("effective dated commencing wirksam date", 0.25)
        },
        Cue::before("entered made executed geschlossen conclu celebrado stipulato", 0.2),
    ];
    /// `as of`, `on`
    pub const PREPOSITION: f64 = 0.1;
    /// A date in the opening of the agreement, which has so many words.
    pub const OPENING: f64 = 0.12;
    pub const OPENING_WORDS: usize = 250;
    pub const OTHER_EVENT: Cue = Cue::before("merger plan expire until terminate amended born", -0.2);
    /// How many words before and after the date are looked at.
    pub const BEFORE: usize = 12;
    pub const AFTER: usize = 6;
}

/// The term of an agreement.
pub mod term {
    use super::Cue;

    pub const SIMILARITY: f64 = 0.5;
    pub const BASE: f64 = 0.3;
    pub const CUES: [Cue; 4] = [
        Cue::before(
            "term laufzeit duree duracion durata remain continue effect expire expires terminate terminates survive gilt \
             vigueur vigor vigore",
            0.22,
        ),
        Cue::before("period for zeitraum", 0.06),
        Cue::after("date hereof agreement effective execution disclosure", 0.12),
        Cue::before("agreement obligations confidentiality", 0.06),
    ];
    /// A period of notice; also a period in days.
    pub const NOTICE: Cue =
        Cue { after: super::Words("notice employment"), ..Cue::before("notice within days' least", -0.2) };
    /// How many words before and after the period are looked at.
    pub const BEFORE: usize = 14;
    pub const AFTER: usize = 12;
}

/// Who signs a form.
pub mod signature {
    pub const SIMILARITY: f64 = 0.7;
    pub const UNDER_CAPTION: f64 = 0.8;
}

/// Parties and statements in sentences.
pub mod party {
    pub const MIN_SIMILARITY: f64 = 0.5;
    /// The name before the bracket that defines the term.
    pub const DEFINED: f64 = 0.9;
    /// What a sentence says of a thing.
    pub const STATEMENT: f64 = 0.85;
}

/// Years of experience: similarity and score, with and without a word for experience.
pub mod years {
    pub const OF_EXPERIENCE: (f64, f64) = (0.9, 0.9);
    pub const OF_ANYTHING: (f64, f64) = (0.6, 0.45);
}

/// Rows of tables and bills.
pub mod table {
    /// A row without a header: similarity and score.
    pub const LINE_ITEM: (f64, f64) = (0.5, 0.7);
    pub const CELL: f64 = 0.8;
    /// The number that quantity times price makes the total: similarity and score.
    pub const PRODUCT: (f64, f64) = (0.6, 0.85);
    /// A column of things without its own name, and a name above its numbers.
    pub const THING: f64 = 0.6;
    pub const NAME_ABOVE: f64 = 0.6;
    /// A piece of a header with a lower similarity names no column; nor does a whole segment.
    pub const MIN_PIECE: f64 = 0.45;
    pub const MIN_SEGMENT: f64 = 0.42;
    /// A segment is one column if its similarity is more than this share of what its pieces have together.
    pub const WHOLE_SEGMENT: f64 = 0.8;
    /// A later header replaces an earlier one if it is better by more.
    pub const BETTER_HEADER: f64 = 0.2;
    /// The text of a cell goes on below if it begins within this share of the cell's width.
    pub const INDENT: f32 = 0.5;
}

/// Lists.
pub mod list {
    pub const PARTY: f64 = 0.6;
    pub const MIN_SIMILARITY: f64 = 0.5;
    pub const BELOW: f64 = 0.95;
}

/// Resumes.
pub mod resume {
    /// A part of an entry under its heading.
    pub const SIMILARITY: f64 = 0.7;
    pub const PART: f64 = 0.75;
    /// The part of the newest entry, for a single field.
    pub const NEWEST: f64 = 0.6;
    /// The town in the head.
    pub const TOWN: f64 = 0.62;
}

/// Addresses in parts, and objects without declared members.
pub mod object {
    pub const MIN_ADDRESS_SIMILARITY: f64 = 0.45;
    pub const ADDRESS_PART: f64 = 0.05;
    pub const UNLABELLED_ADDRESS: f64 = 0.55;
    pub const UNLABELLED_ADDRESS_STEP: f64 = 0.05;
    /// The address is next to its label, or below it.
    pub const NEXT_TO_LABEL: f64 = 1.0;
    pub const BELOW_LABEL: f64 = 0.97;
    pub const MIN_HEADING_SIMILARITY: f64 = 0.6;
}

/// Totals.
pub mod total {
    /// What a sum that adds up contributes to the score of each of its parts.
    pub const CONFIRMED: f64 = 0.16;
    /// The total after rounding or tax, and the one before.
    pub const AFTER_PARTS: f64 = 0.1;
    pub const BEFORE_PARTS: f64 = -0.15;
    /// Each further occurrence of the same value, up to a maximum.
    pub const REPEATED: f64 = 0.025;
    pub const MAX_OCCURRENCES: usize = 4;
    /// Each word before the value, so that the last of equals wins, up to a maximum.
    pub const POSITION: f64 = 0.000_02;
    pub const MAX_POSITION: usize = 1_000;
}

/// Assignment and confidence.
pub mod choice {
    /// A value that fits less is none.
    pub const MIN_SCORE: f64 = 0.4;
    /// The most confidence of the only value that is left: the caller is to look at it.
    pub const LEFTOVER: f64 = 0.55;
    /// A value with a lower confidence is not returned.
    pub const MIN_CONFIDENCE: f64 = 0.4;
    /// The margin of a value without competitors.
    pub const NO_COMPETITOR: f64 = 0.6;
    /// A value whose score is lower by less competes.
    pub const COMPETES: f64 = 0.15;
    pub const MAX_COMPETITORS: u8 = 6;
    /// The bounds of confidence: nothing is certain, and a returned value is more than a guess.
    pub const CONFIDENCE: (f64, f64) = (0.02, 0.99);
}
