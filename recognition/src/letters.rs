//! The characters of a language. Without this choice noise becomes letters with accents.

/// The letters of a language besides those of English, by the name that `tesseract` has for it. Their capitals belong to
/// them.
const LANGUAGES: [(&str, &str); 39] = [
    ("afr", "áêéèëîíïôóöûúü"),
    ("cat", "àçéèíïóòúü·"),
    ("ces", "áčďéěíňóřšťúůýž"),
    ("cym", "âêîôûŵŷáéíóúäëïö"),
    ("dan", "æøåé"),
    ("deu", "äöüß"),
    ("eng", ""),
    ("epo", "ĉĝĥĵŝŭ"),
    ("est", "äöõüšž"),
    ("eus", "ñçü"),
    ("fao", "áðíóúýæø"),
    ("fin", "äöåšž"),
    ("fra", "àâæçéèêëîïôœùûüÿ"),
    ("frk", "äöüßſ"),
    ("fry", "âêéëïîôúû"),
    ("gle", "áéíóú"),
    ("glg", "áéíñóúüï"),
    ("hrv", "čćđšž"),
    ("bos", "čćđšž"),
    ("hun", "áéíóöőúüű"),
    ("ind", ""),
    ("isl", "áðéíóúýþæö"),
    ("ita", "àèéìíîòóùú"),
    ("lav", "āčēģīķļņšūžō"),
    ("lit", "ąčęėįšųūž"),
    ("ltz", "äéëêè"),
    ("mlt", "ċġħżàèìòù"),
    ("msa", ""),
    ("nld", "éëïóöüáèêíúĳ"),
    ("nor", "æøåéòô"),
    ("oci", "àáçèéíïóòúü·"),
    ("pol", "ąćęłńóśźż"),
    ("por", "áâãàçéêíóôõúü"),
    ("ron", "ăâîșțşţ"),
    ("slk", "áäčďéíĺľňóôŕšťúýž"),
    ("slv", "čšžćđ"),
    ("spa", "áéíñóúü"),
    ("swe", "åäöé"),
    ("tur", "çğıİöşüâîû"),
];

/// Characters of every language: those that are not letters, and µ. `ª` and `º` are numerals of Romance languages.
fn is_sign(character: char) -> bool {
    !character.is_alphabetic() || matches!(character, 'µ' | 'ª' | 'º')
}

/// The letters of some languages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letters(String);

impl Letters {
    /// The letters of languages, by the names that `tesseract` has for them (`eng`, `deu`); `None` if the networks do not
    /// know those of one.
    #[must_use]
    pub fn of<S: AsRef<str>>(languages: &[S]) -> Option<Self> {
        let mut letters = String::new();
        for language in languages {
            let (_, further) = LANGUAGES.iter().find(|(name, _)| *name == language.as_ref())?;
            letters
                .extend(further.chars().flat_map(|letter| [letter].into_iter().chain(letter.to_uppercase())));
        }
        (!languages.is_empty()).then_some(Self(letters))
    }

    /// Which of these characters belong to them.
    pub(crate) fn mask(&self, characters: &[char]) -> Vec<bool> {
        let allowed =
            |character: &char| character.is_ascii() || is_sign(*character) || self.0.contains(*character);
        characters.iter().map(allowed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_networks_know_every_letter_of_the_languages() {
        for (language, further) in LANGUAGES {
            for letter in further.chars() {
                assert!(recognition_weights::CHARACTERS.contains(letter), "{language}: {letter}");
            }
        }
    }

    #[test]
    fn a_mask_has_the_letters_of_its_languages_and_no_others() {
        let known: Vec<char> = "\0aZ7€☑äÄßéıİ ".chars().collect();
        let allowed = |languages: &[&str]| -> String {
            let mask = Letters::of(languages).expect("known languages").mask(&known);
            known.iter().zip(mask).filter(|(_, allowed)| *allowed).map(|(letter, _)| *letter).collect()
        };
        assert_eq!(allowed(&["eng"]), "\0aZ7€☑ ");
        assert_eq!(allowed(&["eng", "deu"]), "\0aZ7€☑äÄß ");
        assert_eq!(allowed(&["tur"]), "\0aZ7€☑ıİ ");
        assert_eq!(Letters::of(&["eng", "rus"]), None);
        assert_eq!(Letters::of::<&str>(&[]), None);
    }
}
