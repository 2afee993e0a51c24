//! Words of the documents: names, places, labels in five languages. People and companies are made up of parts.

use super::random::Random;

pub const FIRST: [&str; 16] = [
    "Mara", "Jonas", "Elif", "Tomas", "Ines", "Luca", "Noor", "Petra", "Samir", "Greta", "Pablo", "Aiko",
    "Marta", "Felix", "Chiara", "Oskar",
];
pub const LAST: [&str; 16] = [
    "Lindqvist",
    "Okoye",
    "Farkas",
    "Moretti",
    "Delgado",
    "Brandt",
    "Novotny",
    "Leclerc",
    "Haddad",
    "Tanaka",
    "Weber",
    "Rossi",
    "Ortega",
    "Fischer",
    "Dubois",
    "Keller",
];
pub const COMPANY: [&str; 14] = [
    "Nordlicht",
    "Bluefield",
    "Atlas Werkzeug",
    "Cortijo Verde",
    "Maison Perle",
    "Granite Peak",
    "Fontana",
    "Silverbrook",
    "Kupfer & Sohn",
    "Riverbend",
    "Tres Rios",
    "Halle 9",
    "Quarzwerk",
    "Lumen",
];
pub const STREETS: [&str; 10] = [
    "Gartenstraße 12",
    "48 Mill Road",
    "9 Rue du Port",
    "Calle Mayor 31",
    "Via Garibaldi 7",
    "Am Markt 3",
    "215 Oak Avenue",
    "17 Avenue Foch",
    "Calle del Sol 4",
    "Via Verdi 88",
];
pub const TOWNS: [(&str, &str, &str); 10] = [
    ("50667", "Köln", "Germany"),
    ("28013", "Madrid", "Spain"),
    ("69002", "Lyon", "France"),
    ("20121", "Milano", "Italy"),
    ("LS1 4AB", "Leeds", "United Kingdom"),
    ("97204", "Portland", "United States"),
    ("1010", "Wien", "Austria"),
    ("8001", "Zürich", "Switzerland"),
    ("33000", "Bordeaux", "France"),
    ("41001", "Sevilla", "Spain"),
];
pub const GOODS: [&str; 14] = [
    "Copper pipe 15 mm",
    "Desk lamp",
    "Printer paper A4",
    "Hex bolts M8",
    "Coffee beans 1 kg",
    "Network cable 5 m",
    "Safety goggles",
    "Wall paint white",
    "USB adapter",
    "Garden hose",
    "Office chair",
    "Steel shelf",
    "Battery pack",
    "Door handle",
];
pub const DISHES: [&str; 10] = [
    "Espresso",
    "Tomato soup",
    "Club sandwich",
    "Iced tea",
    "Apple cake",
    "Green salad",
    "Chicken wrap",
    "Lemonade",
    "Pasta al forno",
    "Cappuccino",
];
pub const TESTS: [(&str, &str); 10] = [
    ("Haemoglobin", "g/dL"),
    ("Glucose", "mg/dL"),
    ("Creatinine", "mg/dL"),
    ("Sodium", "mmol/L"),
    ("Potassium", "mmol/L"),
    ("Ferritin", "ng/mL"),
    ("Calcium", "mmol/L"),
    ("Albumin", "g/L"),
    ("Leukocytes", "10^9/L"),
    ("Urea", "mg/dL"),
];
pub const SKILLS: [&str; 12] = [
    "Rust",
    "Accounting",
    "Team leadership",
    "SQL",
    "Carpentry",
    "Photography",
    "Logistics",
    "Data analysis",
    "First aid",
    "Negotiation",
    "Public speaking",
    "Machine maintenance",
];
pub const JOBS: [&str; 8] = [
    "Warehouse manager",
    "Software engineer",
    "Nurse",
    "Sales representative",
    "Electrician",
    "Data analyst",
    "Head chef",
    "Project coordinator",
];
pub const LAWS: [&str; 8] =
    ["England and Wales", "Oregon", "New York", "Bavaria", "Ireland", "Ontario", "Delaware", "Scotland"];

/// A language of labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Language {
    English,
    German,
    French,
    Spanish,
    Italian,
}

use Language::{English, French, German, Italian, Spanish};

impl Language {
    pub fn any(random: &mut Random) -> Self {
        *random.pick(&[English, English, German, French, Spanish, Italian])
    }

    /// The ending of companies.
    pub fn ending(self) -> &'static str {
        match self {
            English => "Ltd",
            German => "GmbH",
            French => "SARL",
            Spanish => "S.L.",
            Italian => "S.r.l.",
        }
    }

    /// Whether a comma stands before the decimals.
    pub fn comma(self) -> bool {
        self != English
    }

    pub fn months(self) -> [&'static str; 12] {
        match self {
            English => [
                "January",
                "February",
                "March",
                "April",
                "May",
                "June",
                "July",
                "August",
                "September",
                "October",
                "November",
                "December",
            ],
            German => [
                "Januar",
                "Februar",
                "März",
                "April",
                "Mai",
                "Juni",
                "Juli",
                "August",
                "September",
                "Oktober",
                "November",
                "Dezember",
            ],
            French => [
                "janvier",
                "février",
                "mars",
                "avril",
                "mai",
                "juin",
                "juillet",
                "août",
                "septembre",
                "octobre",
                "novembre",
                "décembre",
            ],
            Spanish => [
                "enero",
                "febrero",
                "marzo",
                "abril",
                "mayo",
                "junio",
                "julio",
                "agosto",
                "septiembre",
                "octubre",
                "noviembre",
                "diciembre",
            ],
            Italian => [
                "gennaio",
                "febbraio",
                "marzo",
                "aprile",
                "maggio",
                "giugno",
                "luglio",
                "agosto",
                "settembre",
                "ottobre",
                "novembre",
                "dicembre",
            ],
        }
    }

    /// A label, one of several that say the same.
    pub fn label(self, of: &str, random: &mut Random) -> &'static str {
        let all = LABELS.iter().find(|(name, _)| *name == of).map(|(_, labels)| labels);
        let Some(all) = all else { return "" };
        let at = match self {
            English => 0,
            German => 1,
            French => 2,
            Spanish => 3,
            Italian => 4,
        };
        random.pick::<&str>(all[at])
    }
}

type Labels = [&'static [&'static str]; 5];

const LABELS: [(&str, Labels); 29] = [
    ("invoice", [&["Invoice", "Tax invoice"], &["Rechnung"], &["Facture"], &["Factura"], &["Fattura"]]),
    (
        "invoice number",
        [
            &["Invoice number", "Invoice no.", "Invoice #", "Inv. No."],
            &["Rechnungsnummer", "Rechnungs-Nr.", "Rechnung Nr."],
            &["Numéro de facture", "Facture n°"],
            &["Número de factura", "Factura nº"],
            &["Numero fattura", "Fattura n."],
        ],
    ),
    (
        "invoice date",
        [
            &["Invoice date", "Date", "Date of issue"],
            &["Rechnungsdatum", "Datum"],
            &["Date de facture", "Date d'émission"],
            &["Fecha de factura", "Fecha"],
            &["Data fattura", "Data"],
        ],
    ),
    (
        "due date",
        [
            &["Due date", "Payment due", "Pay by"],
            &["Fällig am", "Zahlbar bis", "Fälligkeitsdatum"],
            &["Échéance", "Date d'échéance"],
            &["Vencimiento", "Fecha de vencimiento"],
            &["Scadenza", "Data di scadenza"],
        ],
    ),
    (
        "customer",
        [
            &["Bill to", "Customer", "Buyer"],
            &["Kunde", "Rechnungsempfänger"],
            &["Client", "Facturé à"],
            &["Cliente"],
            &["Cliente"],
        ],
    ),
    (
        "net",
        [
            &["Subtotal", "Net total", "Total excl. VAT"],
            &["Zwischensumme", "Nettobetrag", "Summe netto"],
            &["Sous-total", "Total HT"],
            &["Subtotal", "Base imponible"],
            &["Imponibile", "Subtotale"],
        ],
    ),
    ("tax", [&["VAT", "Tax", "VAT amount"], &["MwSt.", "Umsatzsteuer", "USt"], &["TVA"], &["IVA"], &["IVA"]]),
    (
        "total",
        [
            &["Total", "Total due", "Amount due", "Grand total"],
            &["Gesamtbetrag", "Rechnungsbetrag", "Gesamtsumme"],
            &["Total TTC", "Net à payer"],
            &["Total", "Total a pagar"],
            &["Totale", "Totale fattura"],
        ],
    ),
    (
        "description",
        [
            &["Description", "Item"],
            &["Bezeichnung", "Artikel"],
            &["Désignation", "Description"],
            &["Descripción", "Concepto"],
            &["Descrizione"],
        ],
    ),
    (
        "quantity",
        [
            &["Qty", "Quantity"],
            &["Menge", "Anzahl"],
            &["Quantité", "Qté"],
            &["Cantidad", "Cant."],
            &["Quantità", "Qtà"],
        ],
    ),
    (
        "unit price",
        [
            &["Unit price", "Price"],
            &["Einzelpreis", "Preis"],
            &["Prix unitaire", "P.U."],
            &["Precio unitario", "Precio"],
            &["Prezzo unitario", "Prezzo"],
        ],
    ),
    (
        "line total",
        [
            &["Amount", "Line total", "Total"],
            &["Gesamtpreis", "Betrag", "Gesamt"],
            &["Montant", "Total"],
            &["Importe", "Total"],
            &["Importo", "Totale"],
        ],
    ),
    (
        "email",
        [&["Email", "E-mail"], &["E-Mail"], &["Courriel", "E-mail"], &["Correo", "E-mail"], &["E-mail"]],
    ),
    (
        "phone",
        [
            &["Phone", "Tel."],
            &["Telefon", "Tel."],
            &["Téléphone", "Tél."],
            &["Teléfono", "Tel."],
            &["Telefono", "Tel."],
        ],
    ),
    (
        "patient",
        [
            &["Patient", "Patient name"],
            &["Patient", "Name des Patienten"],
            &["Patient", "Nom du patient"],
            &["Paciente"],
            &["Paziente"],
        ],
    ),
    (
        "birth",
        [
            &["Date of birth", "DOB", "Born"],
            &["Geburtsdatum", "geb. am"],
            &["Date de naissance"],
            &["Fecha de nacimiento"],
            &["Data di nascita"],
        ],
    ),
    (
        "collected",
        [
            &["Collected", "Collection date", "Sample date"],
            &["Entnahmedatum", "Abnahme"],
            &["Prélèvement", "Date de prélèvement"],
            &["Fecha de toma"],
            &["Data prelievo"],
        ],
    ),
    (
        "physician",
        [
            &["Physician", "Ordering physician", "Requested by"],
            &["Arzt", "Einsender Arzt"],
            &["Médecin"],
            &["Médico"],
            &["Medico"],
        ],
    ),
    (
        "fasting",
        [&["Fasting", "Patient fasting"], &["Nüchtern"], &["À jeun"], &["En ayunas"], &["A digiuno"]],
    ),
    ("test", [&["Test", "Analyte"], &["Untersuchung", "Parameter"], &["Analyse"], &["Prueba"], &["Esame"]]),
    ("result", [&["Result", "Value"], &["Ergebnis", "Wert"], &["Résultat"], &["Resultado"], &["Risultato"]]),
    ("unit", [&["Unit", "Units"], &["Einheit"], &["Unité"], &["Unidad"], &["Unità"]]),
    (
        "skills",
        [
            &["Skills", "Key skills"],
            &["Kenntnisse", "Fähigkeiten"],
            &["Compétences"],
            &["Habilidades"],
            &["Competenze"],
        ],
    ),
    ("tenant", [&["Tenant", "Lessee"], &["Mieter"], &["Locataire"], &["Arrendatario"], &["Conduttore"]]),
    ("landlord", [&["Landlord", "Lessor"], &["Vermieter"], &["Bailleur"], &["Arrendador"], &["Locatore"]]),
    (
        "rent",
        [
            &["Monthly rent", "Rent per month"],
            &["Monatsmiete", "Miete"],
            &["Loyer mensuel", "Loyer"],
            &["Renta mensual", "Alquiler mensual"],
            &["Canone mensile"],
        ],
    ),
    (
        "deposit",
        [
            &["Deposit", "Security deposit"],
            &["Kaution", "Mietkaution"],
            &["Dépôt de garantie", "Caution"],
            &["Fianza"],
            &["Deposito", "Cauzione deposito"],
        ],
    ),
    (
        "end",
        [
            &["End date", "Lease ends", "Valid until"],
            &["Mietende", "Gültig bis"],
            &["Date de fin"],
            &["Fecha de fin"],
            &["Data di fine", "Fine"],
        ],
    ),
    (
        "pets",
        [
            &["Pets allowed", "Pets"],
            &["Haustiere erlaubt", "Haustiere"],
            &["Animaux autorisés"],
            &["Mascotas permitidas"],
            &["Animali ammessi"],
        ],
    ),
];
