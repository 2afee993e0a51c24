//! The word lists of the rules. Words are in their folded form: lower case, without accents.

/// Words, separated by spaces.
#[derive(Clone, Copy)]
pub(super) struct Words(pub(super) &'static str);

impl Words {
    pub(super) const NONE: Words = Words("");

    pub(super) fn has(self, word: &str) -> bool {
        !word.is_empty() && self.0.split(' ').any(|known| known == word)
    }

    /// Whether the list has one of some words.
    pub(super) fn has_any<'w>(self, words: impl IntoIterator<Item = &'w str>) -> bool {
        words.into_iter().any(|word| self.has(word))
    }

    /// Whether text has words, and all of them are in the list.
    pub(super) fn has_all(self, text: &str) -> bool {
        let mut words = text.split_whitespace().peekable();
        words.peek().is_some() && words.all(|word| self.has(&super::view::fold(word)))
    }
}

/// Parts of words and phrases, separated by bars; a space at an end is part of one.
#[derive(Clone, Copy)]
pub(super) struct Fragments(&'static str);

impl Fragments {
    pub(super) fn occur_in(self, text: &str) -> bool {
        self.0.split('|').any(|fragment| text.contains(fragment))
    }

    pub(super) fn has(self, text: &str) -> bool {
        self.0.split('|').any(|phrase| phrase == text)
    }
}

// Terms of the lexicon.

/// Terms of a single date that also name the document's own date.
pub(super) const OWN_DATE: Words = Words(
    "date invoice order receipt contract document issue purchase time effective report buyer sale company",
);
/// Terms of amounts of money.
pub(super) const MONEY: Words = Words(
    "total amount tax net gross subtotal price charge discount cash change rent deposit salary paid payment",
);
/// Terms of parties that are companies.
pub(super) const COMPANY_ROLES: Words = Words("company seller buyer advertiser agency registrant principal");
/// Terms of parties that are people.
pub(super) const PERSON_ROLES: Words = Words(
    "patient claimant candidate signer physician adjuster holder contact tenant landlord guarantor person cashier",
);
/// Parties that a section may be about.
pub(super) const PARTIES: Words = Words(
    "seller buyer customer patient landlord tenant claimant physician delivery bank agency advertiser registrant \
     principal candidate signer adjuster guarantor holder",
);
/// Companies that are not the issuer of a document.
pub(super) const OTHER_COMPANIES: Words = Words("buyer customer agency advertiser principal registrant");
/// People who are not the author of a resume.
pub(super) const OTHER_PEOPLE: Words =
    Words("patient claimant tenant landlord signer physician adjuster guarantor contact");
/// Parties whose e-mail address is not that of another one.
pub(super) const EMAIL_OWNERS: Words = Words("seller buyer landlord tenant adjuster physician bank");
/// What the thing on a line of a table is called.
pub(super) const THINGS: Words = Words("description item product name test");
/// Terms of the lines after a table.
pub(super) const TABLE_ENDS: Words =
    Words("subtotal total tax net gross rounding cash change payment discount grand service");
/// Terms of labels in the head of a bill.
pub(super) const BILL_HEAD: Words =
    Words("date time phone cashier invoice table tax number vat customer order receipt");
/// Terms of the documents that a date after their number belongs to.
pub(super) const DATED: Words = Words("invoice order contract receipt document credit");

// Names.

/// Endings and words that make a name that of an organisation.
pub(super) const COMPANY_WORDS: Words = Words(
    "inc incorporated corp corporation ltd limited llc llp lp plc gmbh ag kg ohg gbr ug mbh kgaa e.k ek e.v sa s.a sas \
     sarl s.a.r.l sasu srl s.r.l spa s.p.a bv b.v nv n.v oy ab aps as bhd sdn pte pty co company gesellschaft verein \
     stiftung restaurant restaurants hotel trading enterprise enterprises shop store stores market mart supermarket \
     pharmacy clinic hospital school university bank bakery cafe coffee hardware bookstore books group holdings \
     holding association foundation institute agency committee partners associates services solutions industries \
     logistics works supplies atelier verlag praxis klinik apotheke autohaus werkstatt elektron handel versicherung \
     versicherungen stadtwerke verkehrsbetriebe",
);
/// Words that make up the ending of a company's name.
pub(super) const COMPANY_ENDINGS: Words =
    Words("sdn bhd ltd limited inc llc gmbh ag co corp plc kg pte sa sarl srl spa bv");
/// Legal forms at the end of a company's name.
pub(super) const LEGAL_FORMS: Words = Words(
    "bhd ltd limited inc llc llp gmbh ag a.g co corp plc kg ohg pte sa s.a sarl sas srl s.r.l spa s.p.a bv b.v nv n.v oy \
     ab aps e.v ek e.k ug",
);
/// Words after the name of a party and its comma.
pub(super) const NAME_SUFFIXES: Words =
    Words("inc llc ltd corp l.p lp co n.a plc gmbh ag s.a llp jr sr incorporated limited l.l.c");
/// How people and companies are addressed.
pub(super) const SALUTATIONS: Words =
    Words("herrn herr frau firma mr mrs ms messrs monsieur madame mme sig señor señora sra sr an dhr mevr");
/// Lower-case words within the names of people.
pub(super) const NAME_PARTICLES: Words = Words("von van de der den la del bin binti al");
/// Lower-case words within the names of parties.
pub(super) const PARTY_PARTICLES: Words = Words("of & de la von for");
/// Words that name a side of an agreement instead of a party.
pub(super) const SIDES: Fragments = Fragments(
    "employee|company|recipient|receiving party|disclosing party|employer|executive|consultant|party|parties|discloser|\
     buyer|seller|background|agreement|effective date",
);
/// Words of titles of documents.
pub(super) const TITLES: Words = Words(
    "invoice tax receipt rechnung facture factura fattura bill statement order confirmation purchase agreement contract \
     lease tenancy residential report laboratory lab claim form insurance resume curriculum vitae cv lebenslauf quotation \
     quote delivery note page copy original duplicate welcome cash simplified official gutschrift angebot lieferschein \
     vertrag non-disclosure confidentiality exhibit results bewerbung certificate",
);
/// Countries by their names in several languages.
pub(super) const COUNTRIES: Fragments = Fragments(
    "germany|deutschland|allemagne|alemania|germania|france|frankreich|francia|spain|espana|spanien|espagne|italy|italia|\
     italien|italie|united kingdom|uk|great britain|england|scotland|wales|ireland|irland|united states|\
     united states of america|usa|us|u.s.a|canada|kanada|mexico|brazil|brasil|argentina|austria|osterreich|autriche|\
     switzerland|schweiz|suisse|svizzera|belgium|belgien|belgique|belgie|netherlands|niederlande|nederland|pays-bas|\
     the netherlands|luxembourg|luxemburg|portugal|poland|polen|polska|czech republic|czechia|ceska republika|tschechien|\
     slovakia|hungary|ungarn|romania|bulgaria|greece|griechenland|turkey|turkei|sweden|schweden|sverige|norway|norwegen|\
     norge|denmark|danemark|danmark|finland|finnland|suomi|estonia|latvia|lithuania|ukraine|russia|china|japan|korea|\
     south korea|india|indonesia|malaysia|singapore|thailand|vietnam|philippines|australia|new zealand|south africa|\
     nigeria|kenya|egypt|morocco|israel|united arab emirates|uae|saudi arabia|chile|colombia|peru",
);

// Addresses.

/// What lines after an address contain.
pub(super) const ADDRESS_ENDS: Fragments = Fragments(
    "tel|phone|fax|gst|vat|e-mail|email|www.|@|reg.|reg no|ust-id|steuernummer|iban|invoice|date|hotline|roc",
);
/// What lines of an address contain, between spaces.
pub(super) const ADDRESS_PARTS: Fragments = Fragments(
    "street| st | st.|road| rd|avenue| ave|lane|jalan|jln| jl.|strasse|str.|rue |calle|via |weg |platz|taman|tmn|drive|\
     boulevard|blvd|lot |no.|suite|floor|p.o. box|postfach|plaza|gasse|allee|lorong|bandar",
);
/// What the names of streets contain, between spaces.
pub(super) const STREETS: Fragments = Fragments(
    "strasse|str |str.|street| st | ave|avenue|road| rd |lane| drive| rue | via | calle |weg |platz |allee|gasse|boulevard|\
     jalan| blvd| court| way ",
);

// Numbers.

/// Currencies by their ISO 4217 codes, with their signs and names.
pub(super) const CURRENCIES: [(&str, Words); 19] = [
    ("USD", Words("us$ usd $")),
    ("EUR", Words("€ eur euro")),
    ("GBP", Words("£ gbp")),
    ("CHF", Words("chf sfr")),
    ("MYR", Words("rm myr")),
    ("IDR", Words("idr rp")),
    ("JPY", Words("¥ jpy")),
    ("CNY", Words("cny")),
    ("INR", Words("₹ inr")),
    ("AUD", Words("a$ aud")),
    ("CAD", Words("c$ cad")),
    ("SGD", Words("s$ sgd")),
    ("HKD", Words("hk$")),
    ("SEK", Words("sek")),
    ("NOK", Words("nok")),
    ("DKK", Words("dkk")),
    ("PLN", Words("pln")),
    ("CZK", Words("czk")),
    ("BRL", Words("brl")),
];

// Sentences.

/// Words for an absent value.
pub(super) const ABSENT: Words = Words("n/a na nil none tbd keine keiner entfällt aucun ninguno nessuno");
/// Words between a document's number and its date.
pub(super) const BEFORE_DATE: Words = Words("vom dated du del of");
/// Words that say that a law governs.
pub(super) const GOVERNING: Words = Words(
    "governed governing construed interpreted accordance unterliegt regi regira regolato subject enforced",
);
/// Words between `law of` and the name of a jurisdiction.
pub(super) const BEFORE_JURISDICTION: Words =
    Words("the state commonwealth province of republic federal la el estado");
/// Words that no jurisdiction has.
pub(super) const NO_JURISDICTION: Words = Words("not and or to for with this which shall agreement covenant");
/// Years as a unit.
pub(super) const YEARS: Words = Words("years year jahre ans anos anni yrs jahren");
/// Experience.
pub(super) const EXPERIENCE: Words =
    Words("experience erfahrung berufserfahrung experiencia esperienza d'experience");
/// Words before the parties of an agreement.
pub(super) const BETWEEN: Words = Words("between among zwischen entre tra");
/// Words between two parties.
pub(super) const AND: Words = Words("and und et y e &");
/// Words with a capital that begin no name.
pub(super) const NO_NAME: Words = Words("the each whereas now this a an on");
/// Words after the parties of an agreement.
pub(super) const AFTER_PARTIES: Words = Words("whereas recitals witnesseth hereby background");
/// Units of time.
pub(super) const UNITS_OF_TIME: Words = Words(
    "year years month months week weeks day days jahr jahre jahren monat monate monaten woche wochen tag tage tagen an ans \
     annee annees mois semaine semaines jour jours ano anos mes meses semana semanas dia dias anno anni mese mesi settimana \
     settimane giorno giorni",
);
/// Words between a number and its unit of time.
pub(super) const BEFORE_UNIT: Words = Words("full calendar consecutive volle vollen");
/// The term of an agreement.
pub(super) const TERM: Words = Words("term laufzeit");
/// What a covenant forbids.
pub(super) const FORBIDDEN: Words = Words("compete competing solicit soliciting solicitation hire recruit");
/// What a duty of secrecy is about.
pub(super) const SECRECY: Words = Words("disclose disclosed reveal use information confidential secret");
/// Words after a period that an event ends.
pub(super) const LOOKING_BACK: Words = Words("thereafter preceding prior earlier");
/// Words between a period and the event that begins it.
pub(super) const AFTER_EVENT: Words = Words("following after from");
/// Events that begin a period.
pub(super) const ENDS_OF_EMPLOYMENT: Words = Words("termination employment separation resignation");
