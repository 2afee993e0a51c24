//! The varied documents: forms, bills, statements, agreements and resumes in words and layouts of their own, which the
//! rules of the engine were not made on. Their words are in `words.txt` of this folder.

mod forms;
pub mod languages;
mod letters;
mod values;

use super::kinds::Kind;
use super::pieces::Document;
use super::random::Random;

/// The kinds, in turn: five with a layout of their own, and the forms of the word list.
pub fn make(number: u64, random: &mut Random) -> (String, Document) {
    let forms = forms::forms();
    let own = &letters::KINDS;
    let at = (number % (own.len() + forms.len()) as u64) as usize;
    match own.get(at) {
        Some(Kind { name, make }) => ((*name).to_owned(), make(random)),
        None => {
            let form = &forms[at - own.len()];
            (form.name.to_owned(), form.make(random))
        }
    }
}
