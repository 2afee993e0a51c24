//! The word lists of the rules. Words are in their folded form: lower case, without accents.

/// Words, separated by spaces.
#[derive(Clone, Copy)]
pub(super) struct Words(pub(super) &'static str);

impl Words {
    pub(super) const NONE: Words = Words("");

    pub(super) fn has(self, word: &str) -> bool {
        !word.is_empty() && self.0.split(' ').any(|known| known == word)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.split(' ')
    }

    /// Whether the list has one of some words.
    pub(super) fn has_any<'w>(self, words: impl IntoIterator<Item = &'w str>) -> bool {
        words.into_iter().any(|word| self.has(word))
    }

    /// Whether there are words, and all are in the list.
    pub(super) fn has_all_of<'w>(self, words: impl IntoIterator<Item = &'w str>) -> bool {
        let mut words = words.into_iter().peekable();
        words.peek().is_some() && words.all(|word| self.has(word))
    }

    /// Whether text has words, and all of them are in the list.
    pub(super) fn has_all(self, text: &str) -> bool {
        let mut words = text.split_whitespace().peekable();
        words.peek().is_some() && words.all(|word| self.has(&super::letters::fold(word)))
    }
}

/// Parts of words and phrases, separated by bars; a space at an end is part of one.
#[derive(Clone, Copy)]
pub(super) struct Fragments(&'static str);

impl Fragments {
    pub(super) fn occur_in(self, text: &str) -> bool {
        self.0.split('|').any(|fragment| text.contains(fragment))
    }

    pub(super) fn occur_at_start(self, text: &str) -> bool {
        self.0.split('|').any(|fragment| text.starts_with(fragment))
    }

    pub(super) fn has(self, text: &str) -> bool {
        self.0.split('|').any(|phrase| phrase == text)
    }
}

// Terms of the lexicon.

/// Terms of a single date that also name the document's own date.
pub(super) const OWN_DATE: Words = Words(
    "date invoice order receipt contract document issue purchase time effective report buyer sale company letter",
);
/// Terms of kinds of documents.
pub(super) const DOCUMENT_WORDS: Words =
    Words("invoice order receipt contract document claim report policy estimate bill");
/// Terms of amounts of money.
pub(super) const MONEY: Words = Words(
    "total amount tax net gross subtotal price charge discount cash change rent deposit salary paid payment",
);
/// Terms of labels whose total is not the one to be paid.
pub(super) const NO_TOTALS: Words = Words(
    "saving savings saved quantity item items summary point points count member discount rounding change deposit",
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
/// Terms of the sums after the rows of a table.
pub(super) const SUMS: Words =
    Words("subtotal total tax net gross rounding change discount grand service charge");
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
     versicherungen stadtwerke verkehrsbetriebe s.r.o a.s d.o.o kft zrt a/s oyj bvba ltda lda ооо оао ао пао зао ип тов пат прат фоп tbk pt cv sp.z.o.o z.o.o o.o s.l s.l.u sl sti επε α.ε ικε οε a.e \
     srls asa",
);
/// Words before the name of who receives a document.
pub(super) const TO_BUYER: Words =
    Words("to bill sold attn attention an kunde customer client empfanger destinataire");
/// Words before a colon and the name of who sends a document, or gets it.
pub(super) const SENDERS: Words = Words("from von de van fra fran od dari من מאת");
pub(super) const RECEIVERS: Words = Words("to an a aan til till do per kepada إلى الى");
/// Words that make up the ending of a company's name.
pub(super) const COMPANY_ENDINGS: Words =
    Words("sdn bhd ltd limited inc llc gmbh ag co corp plc kg pte sa sarl srl spa bv");
/// Legal forms at the end of a company's name.
pub(super) const LEGAL_FORMS: Words = Words(
    "bhd ltd limited inc llc llp gmbh ag a.g co corp plc kg ohg pte sa s.a sarl sas srl s.r.l spa s.p.a bv b.v nv n.v oy \
     ab aps e.v ek e.k ug s.r.o a.s d.o.o kft zrt a/s oyj bvba ltda lda tbk z.o.o sp.z.o.o o.o s.l s.l.u s.a.s s.p.a sti επε α.ε asa srls",
);
/// Names of companies with legal forms of scripts without blanks.
pub(super) const UNSPACED_FORMS: Fragments = Fragments(
    "株式会社|有限会社|合同会社|合資会社|有限公司|股份公司|有限责任公司|주식회사|유한회사|(주)|בע\"מ|בע״מ|شركة|المحدودة",
);
/// Words after the name of a party and its comma.
pub(super) const NAME_SUFFIXES: Words = Words(
    "inc llc ltd corp l.p lp co n.a plc gmbh ag s.a llp jr sr incorporated limited l.l.c s.r.o b.v s.r.l s.p.a sarl",
);
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
     buyer|seller|background|agreement|effective date|first party|second party|the undersigned|undersigned|individual|\
     contractor|tenant|landlord|licensee|licensor|borrower|lender|participant",
);
/// Words of titles of documents.
pub(super) const TITLES: Words = Words(
    "invoice tax receipt rechnung facture factura fattura bill statement order confirmation purchase agreement contract \
     lease tenancy residential report laboratory lab claim form insurance resume curriculum vitae cv lebenslauf quotation \
     quote delivery note page copy original duplicate welcome cash simplified official gutschrift angebot lieferschein \
     vertrag non-disclosure confidentiality exhibit results bewerbung certificate thank thanks",
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
pub(super) const CURRENCIES: [(&str, Words); 38] = [
    ("USD", Words("us$ usd $")),
    ("EUR", Words("€ eur euro")),
    ("GBP", Words("£ gbp")),
    ("CHF", Words("chf sfr")),
    ("MYR", Words("rm myr")),
    ("IDR", Words("idr rp")),
    ("JPY", Words("¥ ￥ jpy 円")),
    ("CNY", Words("cny rmb 元 人民币")),
    ("INR", Words("₹ inr")),
    ("AUD", Words("a$ au$ aud")),
    ("CAD", Words("c$ ca$ cad")),
    ("SGD", Words("s$ sgd")),
    ("HKD", Words("hk$ hkd")),
    ("SEK", Words("sek kr")),
    ("NOK", Words("nok")),
    ("DKK", Words("dkk")),
    ("PLN", Words("pln zł")),
    ("CZK", Words("czk kč")),
    ("BRL", Words("brl r$")),
    ("HUF", Words("huf")),
    ("RON", Words("ron lei")),
    ("TRY", Words("try tl ₺")),
    ("KRW", Words("krw ₩ 원")),
    ("NZD", Words("nzd nz$")),
    ("RUB", Words("rub ₽ руб р")),
    ("UAH", Words("uah ₴ грн")),
    ("THB", Words("thb ฿")),
    ("ILS", Words("ils ₪ ש\"ח ₪")),
    ("PHP", Words("php ₱")),
    ("VND", Words("vnd ₫")),
    ("MXN", Words("mxn mx$")),
    ("AED", Words("aed د.إ درهم")),
    ("ZAR", Words("zar")),
    ("ISK", Words("isk")),
    ("SAR", Words("sar ر.س")),
    ("EGP", Words("egp ج.م")),
    ("TWD", Words("twd nt$")),
    ("BGN", Words("bgn лв")),
];

/// The endings by which English forms one word from another, the longest of those that overlap first.
pub(super) const ENDINGS: Words = Words("ment ance ence ure ion ing ive al er or ed es e s y");
/// Signs between a quantity and a price, and those next to a quantity alone.
pub(super) const TIMES: Words = Words("x X @ * × á à a = -");
pub(super) const MULTIPLIES: Words = Words("x X * ×");
/// Units of things, and of what is weighed or measured, in a folded form.
pub(super) const COUNTED: Words = Words(
    "pc pcs piece pieces ea each st stk stck stuck stuks un und uds ud unit units szt ks kpl db buc adet qty",
);
pub(super) const MEASURED: Words = Words("kg g gr gram lb lbs oz l lt ltr ml cl m cm mtr qm m2 std h");
/// Words after a number that multiply it, with the factor's zeroes.
pub(super) const SCALES: [(u32, Words); 3] = [
    (3, Words("thousand tausend tsd mille mil mila k")),
    (6, Words("million millions mio mln mn millionen millones milioni miljoen milhoes m")),
    (9, Words("billion billions bn bln mrd milliarde milliarden milliard milliards miliardi mld b")),
];
/// Answers at the end of a line.
pub(super) const ANSWERS: Words = Words("yes no ja nein oui non si sim nao nee true false");
/// Articles before the name of an amount.
pub(super) const ARTICLES: Words = Words("a an the eine einen einer une un una uno");
/// Words for a percentage.
pub(super) const PERCENT: Words = Words("percent prozent pct pourcent procent percento % per-cent");

// Sentences.

/// Words for an absent value.
pub(super) const ABSENT: Words = Words("n/a na nil none tbd keine keiner entfällt aucun ninguno nessuno");
/// Words for an absent value that are surnames as well.
pub(super) const ABSENT_AS_NAME: Words = Words("na nil");
/// Phrases for an absent value.
pub(super) const ABSENT_PHRASES: Fragments = Fragments(
    "not applicable|not available|not provided|not specified|not stated|not given|none given|see attached|see attachment|\
     see above|see below|see enclosed|as above|to be determined|to be confirmed|to be advised|to be agreed|unknown|\
     not yet known|siehe anlage|siehe oben|siehe unten|nicht zutreffend|nicht bekannt|entfallt|entfällt|folgt|sans objet|\
     voir annexe|voir ci-dessous|non applicable|non communique|no aplica|ver anexo|no disponible|non applicabile|\
     vedi allegato|non disponibile|niet van toepassing|zie bijlage|nao aplicavel|nie dotyczy|ej tillampligt",
);
/// How the text of a form begins that asks for a value.
pub(super) const PROMPTS: Fragments = Fragments(
    "click here to|click or tap|tap here to|choose an item|choose a date|select an item|please enter|please fill|enter your|\
     enter the|type here|insert here|insert your|insert the|klicken sie|bitte ausf|bitte eintr|hier eingeben|\
     wahlen sie|wählen sie|cliquez ici|saisissez|haga clic|escriba aqu|fare clic|inserire qui|your name here",
);
/// How letters begin.
pub(super) const GREETINGS: Fragments = Fragments(
    "dear |hello|hi |good morning|good day|to whom it may|sehr geehrte|liebe |lieber |guten tag|hallo|cher |chère |\
     bonjour|madame, monsieur|estimad|querid|hola|gentile |egregi|spettabile|buongiorno|geachte |beste |prezad",
);
/// Words between a time and its date.
pub(super) const BEFORE_DATE_OF_TIME: Words = Words(
    "on am an den le el il der of the uhr hrs hours h o'clock monday tuesday wednesday thursday friday saturday sunday mon \
     tue wed thu fri sat sun montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi \
     samedi dimanche",
);
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
/// Words between the name of a party and another one that it uses.
pub(super) const TRADING_AS: Words = Words("d/b/a dba f/k/a fka a/k/a aka t/a");
/// Documents that an agreement may mention, and the words before the name of the document itself and of others.
pub(super) const DOCUMENTS: Words = Words(
    "agreement agreements plan letter lease contract deed vertrag mietvertrag contrat contrato contratto",
);
pub(super) const THIS: Words = Words("this dieser dieses diesem present presente ce cet este questo");
pub(super) const OTHERS: Words = Words("the a an that certain such der des dem einem einen le un el il del");
/// Words of agreeing, before the list of the parties.
pub(super) const AGREES: Words = Words(
    "agreement contract amendment lease made entered executed agreed vertrag vereinbarung geschlossen contrat accord conclu \
     contrato acuerdo celebrado contratto accordo stipulato overeenkomst",
);
/// The offices of those who sign for a company.
pub(super) const OFFICES: Words = Words(
    "title its president vice chief officer director secretary treasurer manager counsel chairman partner ceo cfo coo",
);
/// Words between two parties.
pub(super) const AND: Words = Words("and und et y e &");
/// Words with a capital that begin no name.
pub(super) const NO_NAME: Words = Words("the each whereas now this a an on");
/// Words after the parties of an agreement.
pub(super) const AFTER_PARTIES: Words = Words("whereas recitals witnesseth hereby background");
/// Terms of fields whose value is a period that a sentence names.
pub(super) const SPOKEN_OF: Words = Words("notice period probation");
/// Words of paying, and those before the last day for it.
pub(super) const PAYS: Words = Words(
    "pay payable paid payment settle remit transfer uberweisen uberweisung zahlen zahlbar bezahlen begleichen zahlung payer \
     regler reglement verser pagar abonar pago pagare saldare pagamento betalen overmaken",
);
pub(super) const DAY_BEFORE: Words =
    Words("by before until till latest bis zum spatestens avant au antes hasta entro voor uiterlijk");
/// How letters end, before the name of who signs.
pub(super) const CLOSINGS: Fragments = Fragments(
    "yours |sincerely|kind regards|best regards|warm regards|regards|respectfully|with best wishes|mit freundlich|\
     mit besten|freundliche gr|viele gr|hochachtungsvoll|cordialement|bien cordialement|veuillez agr|je vous prie|\
     atentamente|un cordial saludo|saludos|distinti saluti|cordiali saluti|met vriendelijke|hoogachtend|atenciosamente",
);
/// What may be said of a thing, as terms of a field.
pub(super) const STATED: Words = Words("allowed permitted included allow required possible is are");
/// Words after which something is to follow.
pub(super) const LOOSE_ENDS: Words = Words(
    "of the and to by for in with und der die das von zu mit et de la du le y el di e en van a an or oder ou",
);
/// What is said of a thing that is so, and of one that is not.
pub(super) const PERMITTED: Words = Words(
    "permitted allowed included accepted welcome authorised authorized required mandatory possible available erlaubt \
     gestattet zulassig inbegriffen enthalten moglich erforderlich autorises autorise permis inclus compris admis permitidas \
     permitidos permitido permitida incluido incluida ammessi ammesso consentito incluso toegestaan inbegrepen",
);
pub(super) const PROHIBITED: Words = Words(
    "prohibited forbidden excluded banned disallowed verboten untersagt ausgeschlossen interdits interdit exclus prohibido \
     prohibidas prohibidos excluido vietato vietati escluso verboden",
);
/// Verbs and words that deny.
pub(super) const IS: Words = Words(
    "is are be was were may shall will can ist sind wird werden darf durfen est sont es son estan e sono zijn not nicht pas no non niet",
);
pub(super) const DENIED: Words = Words(
    "not no never neither nor cannot nicht kein keine nie pas jamais aucun non ninguna ningun nunca niet geen",
);
/// Words before who signs for a company.
pub(super) const SIGNS: Words = Words("by per signed signature name for title its durch par por da");
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
/// What an agreement does for as long as it lasts, and how it ends.
pub(super) const LASTING: Words = Words(
    "remain remains continue continues effect force valid expire expires terminate terminates survive survives bound binding \
     lasts lauft gilt gultig endet dauert vigueur valable expire dure vigor valido vence dura vigore termina scade",
);
/// What a covenant forbids.
pub(super) const FORBIDDEN: Words = Words("compete competing solicit soliciting solicitation hire recruit");
/// What a duty of secrecy is about.
pub(super) const SECRECY: Words = Words("disclose disclosed reveal use information confidential secret");
/// Words that begin an exception.
pub(super) const EXCEPTIONS: Words = Words("unless except if");
/// Words after a period that an event ends.
pub(super) const LOOKING_BACK: Words = Words("thereafter preceding prior earlier");
/// Words between a period and the event that begins it.
pub(super) const AFTER_EVENT: Words = Words("following after from");
/// Events that begin a period.
pub(super) const ENDS_OF_EMPLOYMENT: Words = Words("termination employment separation resignation");

// Resumes.

/// What a section is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    Work,
    Studies,
    Other,
}

/// The words of headings, of which a heading has one; the first that fits decides.
pub(super) const HEADINGS: [(Topic, &str); 5] = [
    (
        Topic::Other,
        "skills skill projects project certifications certificates certificate awards achievements languages interests \
         hobbies references publications objective declaration strengths responsibilities courses volunteering volunteer \
         links patents memberships kenntnisse fahigkeiten sprachen interessen referenzen projekte competences langues \
         loisirs centres habilidades idiomas proyectos competenze lingue progetti vaardigheden talen hobbys",
    ),
    (
        Topic::Studies,
        "education educational academic academics qualification qualifications schooling studies ausbildung bildung \
         bildungsweg studium schulbildung formation etudes diplomes educacion formacion estudios istruzione formazione \
         studi opleiding opleidingen onderwijs utbildning educacao formacao wyksztalcenie",
    ),
    (
        Topic::Work,
        "experience experiences employment internship internships appointments berufserfahrung berufspraxis werdegang \
         laufbahn praktika erfahrung professionnelle professionnelles experiencia laboral esperienza esperienze \
         lavorativa lavorative werkervaring ervaring arbetslivserfarenhet profissional doswiadczenie",
    ),
    (Topic::Work, "positions roles jobs history"),
    (Topic::Other, "summary profile details information about contact personal training additional profil"),
];
/// Further words of headings.
pub(super) const HEADING_FILLERS: Words = Words(
    "work working professional career history relevant details background and & of my previous past job profile \
     summary selected other key current organisational organizational industry practical chronological credentials \
     records training held qualifications certification certifications beruflicher berufliche beruf praktische schulische \
     akademische und schule parcours et experience experiences scolaire profesional academica y e la professionale \
     personal personales en teilnahme",
);
/// Words for an end that has not come.
pub(super) const NOW: Words = Words(
    "present current currently now today date ongoing heute jetzt aktuell laufend aujourd'hui actuel present actualidad \
     actual presente oggi attuale heden nu atual obecnie",
);
/// Words between the ends of a period.
pub(super) const RANGE: Words = Words("to until till through bis a au al hasta fino tot ate do thru");
/// Words of job titles.
pub(super) const JOBS: Words = Words(
    "engineer developer manager analyst consultant assistant director associate executive lead leader intern officer \
     specialist administrator coordinator nurse teacher lecturer professor architect designer programmer technician \
     supervisor accountant clerk cashier driver chef cook waiter waitress sales representative agent advisor adviser \
     auditor banker buyer planner operator mechanic electrician plumber carpenter trainer trainee apprentice tutor \
     researcher scientist editor writer journalist translator lawyer attorney paralegal secretary receptionist head \
     president vp ceo cto cfo coo founder owner partner partnerships recruiter tester qa sysadmin devops freelancer \
     freelance staff member foreman superintendent inspector therapist physician surgeon dentist pharmacist counselor \
     counsellor librarian photographer producer strategist economist statistician controller treasurer steward guard \
     worker labourer laborer helper caregiver instructor coach principal dean fellow expert support delegate \
     ingenieur entwickler entwicklerin leiter leiterin berater beraterin kaufmann kauffrau sachbearbeiter assistent \
     assistentin praktikant praktikantin werkstudent geschaftsfuhrer buchhalter buchhalterin techniker lehrer lehrerin \
     pflegefachkraft verkaufer verkauferin projektleiter developpeur directeur directrice responsable charge chargee \
     stagiaire comptable vendeur vendeuse ingeniero ingeniera desarrollador desarrolladora gerente jefe jefa analista \
     asistente becario contable ingegnere sviluppatore responsabile impiegato tirocinante contabile infirmiere",
);
/// Words of schools.
pub(super) const SCHOOLS: Words = Words(
    "university universities college institute school academy polytechnic faculty seminary conservatory iit nit iim \
     universitat hochschule fachhochschule gymnasium realschule berufsschule schule akademie universite ecole lycee iut \
     institut universidad escuela colegio instituto facultad universita scuola liceo istituto politecnico universiteit \
     hogeschool universitetet universitet universidade faculdade uniwersytet politechnika vidyalaya vidyapeeth \
     vishwavidyalaya",
);
/// Words of degrees and certificates of schools; full stops within them do not count.
pub(super) const DEGREES: Words = Words(
    "bachelor bachelors bachelor's master masters master's doctor doctorate phd dphil mphil mba bba bca mca btech mtech \
     be me bsc msc ba ma bcom mcom bs ms bfa mfa llb llm mbbs md beng meng bed med pgdm pgd diploma degree associate \
     graduate graduation postgraduate hsc ssc sslc cbse icse matriculation intermediate baccalaureate gcse ged a-levels \
     certificate minor major honours honors bachelorstudium masterstudium diplom abitur fachabitur magister promotion \
     staatsexamen mittlere lehre licence baccalaureat bts dut maitrise licenciatura licenciado grado maestria doctorado \
     bachillerato laurea diploma maturita dottorato 10th 12th xth xiith high-school",
);
/// Labels of employers, and of schools and degrees.
pub(super) const ORGANISATION_LABELS: Words = Words(
    "company organisation organization employer firm client firma arbeitgeber unternehmen entreprise empresa azienda",
);
pub(super) const STUDY_LABELS: Words = Words(
    "university college institute institution school degree qualification course universitat hochschule schule abschluss \
     ecole diplome universidad titulo universita titolo",
);
/// Terms of fields that ask for employers, schools, degrees and job titles.
pub(super) const EMPLOYER_FIELDS: Words =
    Words("company employer firm organisation organization workplace arbeitgeber employeur empleador");
pub(super) const SCHOOL_FIELDS: Words = Words(
    "college school university institution institute academy universitat hochschule ecole universite universidad escuela \
     universita scuola",
);
pub(super) const DEGREE_FIELDS: Words =
    Words("degree qualification diploma abschluss diplome titulacion laurea certificate");
pub(super) const JOB_FIELDS: Words = Words("title job position designation role post");
/// Terms of fields that ask for a position or a course of study as a whole.
pub(super) const WORK_FIELDS: Words =
    Words("work experience employment job position history career company employer berufserfahrung");
pub(super) const STUDY_FIELDS: Words =
    Words("education study academic school degree college university qualification ausbildung");
