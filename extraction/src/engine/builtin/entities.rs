//! Names of companies and people, countries, and what tells them from other text.

use super::view::{Span, View, fold};

/// Endings and words that make a name that of an organisation.
const COMPANY_WORDS: &str = " inc incorporated corp corporation ltd limited llc llp lp plc gmbh ag kg ohg gbr ug mbh kgaa e.k ek e.v sa s.a sas sarl s.a.r.l sasu srl s.r.l spa s.p.a bv b.v nv n.v oy ab aps as bhd sdn pte pty co company gesellschaft verein stiftung restaurant restaurants hotel trading enterprise enterprises shop store stores market mart supermarket pharmacy clinic hospital school university bank bakery cafe café coffee hardware bookstore books group holdings holding association foundation institute agency committee partners associates services solutions industries logistics works supplies atelier verlag praxis klinik apotheke autohaus werkstatt elektron handel versicherung versicherungen stadtwerke verkehrsbetriebe ";

/// Names of countries in their own and other languages, folded.
const COUNTRIES: &str = "germany,deutschland,allemagne,alemania,germania,france,frankreich,francia,spain,espana,spanien,espagne,italy,italia,italien,italie,united kingdom,uk,great britain,england,scotland,wales,ireland,irland,united states,united states of america,usa,us,u.s.a,canada,kanada,mexico,brazil,brasil,argentina,austria,osterreich,autriche,switzerland,schweiz,suisse,svizzera,belgium,belgien,belgique,belgie,netherlands,niederlande,nederland,pays-bas,the netherlands,luxembourg,luxemburg,portugal,poland,polen,polska,czech republic,czechia,ceska republika,tschechien,slovakia,hungary,ungarn,romania,bulgaria,greece,griechenland,turkey,turkei,sweden,schweden,sverige,norway,norwegen,norge,denmark,danemark,danmark,finland,finnland,suomi,estonia,latvia,lithuania,ukraine,russia,china,japan,korea,south korea,india,indonesia,malaysia,singapore,thailand,vietnam,philippines,australia,new zealand,south africa,nigeria,kenya,egypt,morocco,israel,united arab emirates,uae,saudi arabia,chile,colombia,peru";

/// Titles of documents, which are no names.
const TITLES: &str = " invoice tax receipt rechnung facture factura fattura bill statement order confirmation purchase agreement contract lease tenancy residential report laboratory lab claim form insurance resume curriculum vitae cv lebenslauf quotation quote delivery note page copy original duplicate welcome cash simplified official gutschrift angebot lieferschein vertrag non-disclosure confidentiality exhibit results bewerbung certificate ";

pub(crate) fn is_company(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let folded = fold(word);
        folded.len() >= 2 && COMPANY_WORDS.contains(&format!(" {folded} "))
    })
}

/// Whether text is only the ending of a company's name.
pub(crate) fn is_ending(text: &str) -> bool {
    const ENDINGS: &str = " sdn bhd ltd limited inc llc gmbh ag co corp plc kg pte sa sarl srl spa bv (m) ";
    let mut words = text.split_whitespace().peekable();
    words.peek().is_some() && words.all(|word| ENDINGS.contains(&format!(" {} ", fold(word))))
}

/// Whether the last word of a name is a legal form.
pub(crate) fn ends_as_company(text: &str) -> bool {
    const FORMS: &str = " bhd ltd limited inc llc llp gmbh ag a.g co corp plc kg ohg pte sa s.a sarl sas srl s.r.l spa s.p.a bv b.v nv n.v oy ab aps e.v ek e.k ug ";
    text.split_whitespace().next_back().is_some_and(|word| FORMS.contains(&format!(" {} ", fold(word))))
}

/// Whether text is how somebody is addressed, without a name.
pub(crate) fn is_salutation(text: &str) -> bool {
    const WORDS: &str =
        " herrn herr frau firma mr mrs ms messrs monsieur madame mme sig señor señora sra sr an dhr mevr ";
    let mut words = text.split_whitespace().peekable();
    words.peek().is_some() && words.all(|word| WORDS.contains(&format!(" {} ", fold(word))))
}

/// Two to four words with capitals, and nothing else.
pub(crate) fn is_person(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    (2..=5).contains(&words.len())
        && words.iter().all(|word| {
            let bare = word.trim_matches(['.', ',']);
            !bare.is_empty()
                && bare.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’' | '.'))
                && (bare.chars().next().is_some_and(char::is_uppercase)
                    || matches!(
                        bare,
                        "von" | "van" | "de" | "der" | "den" | "la" | "del" | "bin" | "binti" | "al"
                    ))
        })
        && !is_title(text)
        && !is_company(text)
}

/// Whether text is the title of a document or of a part of it.
pub(crate) fn is_title(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().map(fold).filter(|word| !word.is_empty()).collect();
    let titles = words.iter().filter(|word| TITLES.contains(&format!(" {word} "))).count();
    !words.is_empty() && titles * 2 >= words.len()
}

/// The country at the end of text, as written.
pub(crate) fn country(text: &str) -> Option<&str> {
    let bare = text.trim().trim_end_matches(['.', ',']);
    let folded = fold(bare);
    COUNTRIES.split(',').any(|country| country == folded).then_some(bare)
}

/// A postal code: its first word, its number of words, and whether codes of its kind precede the town.
pub(crate) fn postal(words: &[&str]) -> Option<(usize, usize)> {
    let bare =
        |word: &str| word.trim_matches(|c: char| matches!(c, ',' | '.' | ';' | '·' | '(' | ')')).to_owned();
    for (at, word) in words.iter().enumerate() {
        let text = bare(word);
        let body = text
            .split_once('-')
            .filter(|(land, _)| (1..=2).contains(&land.len()) && land.chars().all(char::is_alphabetic))
            .map_or(text.as_str(), |(_, code)| code);
        let digits = body.bytes().all(|byte| byte.is_ascii_digit());
        if digits
            && (body.len() == 5
                || body.len() == 4 && at + 1 < words.len()
                || body.len() == 6
                    && at > 0
                    && words[at - 1].chars().any(char::is_alphabetic)
                    && !words[at - 1].ends_with(':'))
            && !body.is_empty()
        {
            return Some((at, 1));
        }
        if text.len() == 10
            && text.split_once('-').is_some_and(|(a, b)| {
                a.len() == 5 && b.len() == 4 && (a.to_owned() + b).bytes().all(|byte| byte.is_ascii_digit())
            })
        {
            return Some((at, 1));
        }
        // `BS1 4DJ`, `K1A 0B1`, `1012 AB`
        if let Some(next) = words.get(at + 1) {
            let next = bare(next);
            let kind = |text: &str| {
                text.chars()
                    .map(|c| {
                        if c.is_ascii_digit() {
                            '9'
                        } else if c.is_ascii_uppercase() {
                            'A'
                        } else {
                            '?'
                        }
                    })
                    .collect::<String>()
            };
            let outward = kind(&text);
            let is_british = next.len() == 3
                && kind(&next) == "9AA"
                && (2..=4).contains(&text.len())
                && outward.starts_with('A')
                && !outward.contains('?')
                && outward.contains('9');
            let is_canadian = kind(&next) == "9A9" && outward == "A9A";
            let is_dutch = outward == "9999" && kind(&next) == "AA";
            if is_british || is_canadian || is_dutch {
                return Some((at, 2));
            }
        }
    }
    None
}

/// Whether a span is worth being a name: it has letters and is no number, mail or address of the web.
pub(crate) fn is_wordy(view: &View<'_>, span: Span) -> bool {
    let text = view.text(span);
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    letters >= 2
        && letters * 2 >= text.chars().filter(|c| !c.is_whitespace()).count()
        && !text.contains('@')
        && !text.to_lowercase().contains("www.")
}
