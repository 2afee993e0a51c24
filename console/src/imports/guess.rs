//! Which field a column of a foreign file probably is: by its name, by the label of a field, by the words of CRM systems
//! and spreadsheets in several languages.

use openapi_core::contacts::ContactFields;

use super::columns::{CUSTOM, Columns};
use super::header::{Header, folded};

/// Names that programs give to the columns of fields, folded.
const SYNONYMS: [(&str, &[&str]); 12] = [
    (
        "primaryEmail",
        &[
            "email",
            "mail",
            "emailaddress",
            "mailaddress",
            "primaryemailaddress",
            "email1",
            "emailprimary",
            "workemail",
            "emailadresse",
            "courriel",
            "adresseemail",
            "correo",
            "correoelectrónico",
            "posta",
            "adresemail",
            "epost",
            "eposta",
        ],
    ),
    (
        "primaryPhone",
        &[
            "phone",
            "phonenumber",
            "telephone",
            "tel",
            "mobile",
            "mobilephone",
            "cell",
            "cellphone",
            "telefon",
            "telefonnummer",
            "handy",
            "mobil",
            "téléphone",
            "portable",
            "teléfono",
            "móvil",
            "telefono",
            "cellulare",
            "telefone",
            "telefoon",
            "puhelin",
        ],
    ),
    ("primaryPhoneCode", &["phonecode", "dialcode", "dialingcode", "vorwahl"]),
    (
        "firstName",
        &[
            "givenname",
            "forename",
            "first",
            "vorname",
            "prénom",
            "nombre",
            "nome",
            "voornaam",
            "imię",
            "förnamn",
            "fornavn",
        ],
    ),
    ("middleName", &["middle", "secondname", "zweitername"]),
    (
        "lastName",
        &[
            "surname",
            "familyname",
            "last",
            "nachname",
            "familienname",
            "nom",
            "nomdefamille",
            "apellido",
            "apellidos",
            "cognome",
            "sobrenome",
            "achternaam",
            "nazwisko",
            "efternamn",
            "etternavn",
        ],
    ),
    ("salutation", &["prefix", "anrede", "civilité", "aanhef", "tratamiento"]),
    (
        "dob",
        &[
            "dateofbirth",
            "birthdate",
            "birthday",
            "born",
            "geburtsdatum",
            "geburtstag",
            "datedenaissance",
            "fechadenacimiento",
            "datadinascita",
            "geboortedatum",
        ],
    ),
    ("gender", &["sex", "geschlecht", "sexe", "sexo", "sesso", "geslacht"]),
    (
        "fullAddress",
        &[
            "address",
            "postaladdress",
            "mailingaddress",
            "streetaddress",
            "adresse",
            "anschrift",
            "dirección",
            "indirizzo",
            "endereço",
            "adres",
        ],
    ),
    ("tags", &["tag", "labels", "groups", "categories", "schlagwörter", "étiquettes", "etiquetas"]),
    (
        "externalReferenceId",
        &[
            "id",
            "externalid",
            "externalreference",
            "contactid",
            "customerid",
            "customernumber",
            "crmid",
            "recordid",
            "kundennummer",
            "reference",
            "referenceid",
        ],
    ),
];

/// The longest name of a custom field that is offered.
const MAX_NAME: usize = 40;

/// Guesses the fields of columns.
pub struct Guess<'a> {
    columns: &'a Columns,
    header: Header<'a>,
}

impl<'a> Guess<'a> {
    /// Over the columns of an agent.
    #[must_use]
    pub fn new(columns: &'a Columns) -> Self {
        Guess { columns, header: Header::unmapped(columns) }
    }

    /// The field that a column names.
    fn exact(&self, column: &str) -> Option<String> {
        self.header.named(column).ok().filter(|field| is_given(field))
    }

    /// The field that a column probably is.
    #[must_use]
    pub fn field(&self, column: &str) -> Option<String> {
        if let Some(exact) = self.exact(column) {
            return Some(exact);
        }
        let name = folded(column);
        if name.is_empty() {
            return None;
        }
        let mut labelled =
            self.columns.labels().iter().filter(|(label, field)| folded(label) == name && is_given(field));
        if let (Some((_, field)), None) = (labelled.next(), labelled.next()) {
            return Some(field.clone());
        }
        // What differs from a name in points and brackets alone: `E-Mail (primary)`, `Tel.`.
        let letters: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect();
        let known = SYNONYMS.iter().find(|(_, words)| words.contains(&letters.as_str()));
        known.and_then(|(field, _)| self.header.named(field).ok())
    }

    /// The fields of all columns; the first of two columns that are the same field has it.
    #[must_use]
    pub fn fields(&self, names: &[String]) -> Vec<Option<String>> {
        let mut fields: Vec<Option<String>> = Vec::new();
        for name in names {
            let field = self.field(name).filter(|field| !fields.contains(&Some(field.clone())));
            fields.push(field);
        }
        // A column with the exact name of a field comes before one that is only similar.
        for (at, name) in names.iter().enumerate() {
            let Some(exact) = self.exact(name) else { continue };
            if fields[at].is_some()
                || names[..at].iter().any(|other| self.exact(other).as_ref() == Some(&exact))
            {
                continue;
            }
            for field in &mut fields {
                if field.as_ref() == Some(&exact) {
                    *field = None;
                }
            }
            fields[at] = Some(exact);
        }
        fields
    }

    /// The custom field that a column of another name can become: `customFields.shoeSize` of `Shoe size`.
    #[must_use]
    pub fn custom(column: &str) -> Option<String> {
        let mut name = String::new();
        for word in column.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let mut letters = word.chars();
            let first = letters.next()?;
            if name.is_empty() {
                name.extend(first.to_lowercase());
            } else {
                name.extend(first.to_uppercase());
            }
            name.extend(letters);
        }
        let name: String = name.chars().take(MAX_NAME).collect();
        (!name.is_empty()).then(|| format!("{CUSTOM}.{name}"))
    }
}

/// Whether files may have a field. The service sets the others: `id` of another program is an external id.
fn is_given(field: &str) -> bool {
    ContactFields::NAMES.contains(&field) || field.starts_with(CUSTOM)
}

#[cfg(test)]
mod tests {
    use openapi_core::schema::ContactSchema;
    use openapi_core::values::Timestamp;

    use super::*;

    fn fields(names: &[&str]) -> Vec<Option<String>> {
        let schema = ContactSchema::builtin("acme".parse().unwrap(), Timestamp::from_millis(0));
        let columns = Columns::of(&schema);
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Guess::new(&columns).fields(&names)
    }

    #[test]
    fn columns_are_guessed_in_many_languages_and_no_field_twice() {
        let found =
            fields(&["E-Mail", "Vorname", "Nachname", "Tel.", "Shoe size", "first_name", "", "Email"]);
        let found: Vec<&str> = found.iter().map(|field| field.as_deref().unwrap_or("-")).collect();
        assert_eq!(found, ["primaryEmail", "-", "lastName", "primaryPhone", "-", "firstName", "-", "-"]);
        // An export has both.
        let found = fields(&["id", "createdAt", "externalReferenceId", "tags"]);
        let found: Vec<&str> = found.iter().map(|field| field.as_deref().unwrap_or("-")).collect();
        assert_eq!(found, ["-", "-", "externalReferenceId", "tags"]);
        let found = fields(&["ada@example.com", "Ada", "1"]);
        assert_eq!(found, [None, None, None]);
    }

    /// A synonym of a field that does not exist would never be found, and of two fields by chance.
    #[test]
    fn every_synonym_is_folded_and_of_one_field() {
        let mut all = Vec::new();
        for (field, words) in SYNONYMS {
            for word in words {
                assert_eq!(folded(word), *word);
                assert_eq!(fields(&[word]), [Some(field.to_owned())], "{word}");
                all.push(*word);
            }
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn other_columns_become_custom_fields() {
        assert_eq!(Guess::custom("Shoe size (EU)").as_deref(), Some("customFields.shoeSizeEU"));
        assert_eq!(Guess::custom(" Größe ").as_deref(), Some("customFields.größe"));
        assert_eq!(Guess::custom("--"), None);
        assert_eq!(Guess::custom(&"a".repeat(300)).map(|name| name.len()), Some(MAX_NAME + 13));
    }
}
