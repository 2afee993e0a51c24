//! The first row of a table: which column is which field.

use super::characters::is_unsafe;
use super::columns::{CUSTOM, Columns, Target};

/// A column that the caller assigns to a field: `E-Mail=primaryEmail`, or to none: `Notes=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    column: String,
    field: String,
}

impl std::str::FromStr for Mapping {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // The name of a field has no equals sign.
        let (column, field) =
            text.rsplit_once('=').ok_or("write COLUMN=FIELD, or COLUMN= to leave a column out")?;
        if folded(column).is_empty() {
            return Err("write COLUMN=FIELD, or COLUMN= to leave a column out");
        }
        Ok(Mapping { column: column.trim().to_owned(), field: field.trim().to_owned() })
    }
}

/// Assigns columns to fields.
pub struct Header<'a> {
    columns: &'a Columns,
    names: Vec<String>,
    mappings: &'a [Mapping],
}

impl<'a> Header<'a> {
    /// Over the columns of an agent.
    ///
    /// # Errors
    /// When a mapping names a field that does not exist.
    pub fn new(columns: &'a Columns, mappings: &'a [Mapping]) -> Result<Self, String> {
        let header = Header { columns, names: columns.names(), mappings };
        for (at, mapping) in mappings.iter().enumerate() {
            let Mapping { column, field } = mapping;
            if !field.is_empty() && header.field(field).is_none() {
                let near = header.suggested(field);
                return Err(format!("--map '{column}={field}': there is no field '{field}'{near}"));
            }
            if mappings[..at].iter().any(|other| folded(&other.column) == folded(column)) {
                return Err(format!("--map names the column '{column}' twice"));
            }
        }
        Ok(header)
    }

    /// Over the columns of an agent, without mappings.
    #[must_use]
    pub fn unmapped(columns: &'a Columns) -> Self {
        Header { columns, names: columns.names(), mappings: &[] }
    }

    /// The field of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(&self, name: &str) -> Result<String, String> {
        let near = || self.suggested(name);
        self.field(name).ok_or_else(|| {
            format!("there is no field '{name}'{}; data of your own has names such as {CUSTOM}.plan", near())
        })
    }

    /// Whether a column of this name has a field or a mapping.
    pub fn is_known(&self, column: &str) -> bool {
        self.mapping(column).is_some() || self.field(column).is_some()
    }

    /// The targets of the columns that a row names.
    ///
    /// # Errors
    /// What the caller has to decide, once for all columns.
    pub fn targets(&self, row: &[String]) -> Result<Vec<Target>, String> {
        let mut problems = Vec::new();
        for Mapping { column, .. } in self.mappings {
            if !row.iter().any(|name| folded(name) == folded(column)) {
                problems.push(format!("--map names the column '{column}', which the file does not have"));
            }
        }
        let mut targets: Vec<Target> = Vec::new();
        let mut unknown = Vec::new();
        for name in row {
            let target = match self.mapping(name) {
                _ if folded(name).is_empty() => Target::Unnamed,
                Some(mapping) if mapping.field.is_empty() => Target::LeftOut,
                Some(mapping) => self.field(&mapping.field).map_or(Target::Unnamed, Target::Field),
                None => self.field(name).map_or(Target::Unnamed, Target::Field),
            };
            if target == Target::Unnamed && !folded(name).is_empty() {
                unknown.push(name.trim());
            }
            if let Target::Field(field) = &target
                && let Some(other) = targets.iter().position(|other| *other == target)
            {
                problems.push(format!(
                    "the columns '{}' and '{}' are both the field {field}; leave one out with --map 'COLUMN=', or remove \
                     it",
                    row[other].trim(),
                    name.trim()
                ));
            }
            targets.push(target);
        }
        if !unknown.is_empty() {
            let listed: Vec<String> =
                unknown.iter().map(|name| format!("'{name}'{}", self.suggested(name))).collect();
            problems.push(format!(
                "{} not the name of a field: {}; assign a column with --map '{}=FIELD', or leave it out with --map '{}='",
                if unknown.len() == 1 { "one column is".to_owned() } else { format!("{} columns are", unknown.len()) },
                listed.join(", "),
                unknown[0],
                unknown[0],
            ));
        }
        if targets.iter().all(|target| *target == Target::Unnamed) && problems.is_empty() {
            problems.push("the first row names no fields".to_owned());
        }
        if problems.is_empty() { Ok(targets) } else { Err(problems.join("\n")) }
    }

    fn mapping(&self, column: &str) -> Option<&Mapping> {
        self.mappings.iter().find(|mapping| folded(&mapping.column) == folded(column))
    }

    /// The name of the field that a column names, in any case and with any separators.
    fn field(&self, column: &str) -> Option<String> {
        let column = column.trim().trim_start_matches('\u{feff}');
        if let Some(exact) = self.names.iter().find(|name| *name == column) {
            return Some(exact.clone());
        }
        let mut same = self.names.iter().filter(|name| folded(name) == folded(column));
        match (same.next(), same.next()) {
            (Some(one), None) => return Some(one.clone()),
            (Some(_), Some(_)) => return None,
            (None, _) => {}
        }
        let (prefix, rest) = column.split_once('.')?;
        let is_custom = folded(prefix) == folded(CUSTOM) && !rest.trim().is_empty();
        is_custom.then(|| format!("{CUSTOM}.{}", rest.trim()))
    }

    /// The fields that a column may mean, as a question.
    fn suggested(&self, column: &str) -> String {
        let column = folded(column);
        let similarity = |name: &str| {
            let name = folded(name.strip_prefix("customFields.").unwrap_or(name));
            let is_part = column.chars().count() >= 3 && (name.contains(&column) || column.contains(&name));
            strsim::sorensen_dice(&column, &name).max(if is_part { 0.8 } else { 0.0 })
        };
        let labels = self.columns.labels().iter().map(|(label, name)| (similarity(label), name));
        let mut similar: Vec<(f64, &String)> =
            self.names.iter().map(|name| (similarity(name), name)).chain(labels).collect();
        similar.retain(|(similarity, name)| *similarity >= 0.5 && *name != CUSTOM);
        similar.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut near: Vec<&str> = Vec::new();
        for (_, name) in similar {
            if !near.contains(&name.as_str()) && near.len() < 2 {
                near.push(name);
            }
        }
        if near.is_empty() { String::new() } else { format!(" (did you mean {}?)", near.join(" or ")) }
    }
}

/// A name without case, blanks and separators.
pub(super) fn folded(name: &str) -> String {
    let is_left_out = |letter: &char| {
        letter.is_whitespace() || matches!(letter, '_' | '-' | '\u{2010}'..='\u{2015}') || is_unsafe(*letter)
    };
    name.to_lowercase().chars().filter(|letter| !is_left_out(letter)).collect()
}

#[cfg(test)]
mod tests {
    use openapi_core::schema::ContactSchema;
    use openapi_core::values::Timestamp;

    use super::*;

    fn targets(row: &[&str], mappings: &[&str]) -> Result<Vec<String>, String> {
        let agent = "acme".parse().unwrap();
        let columns = Columns::of(&ContactSchema::builtin(agent, Timestamp::from_millis(0)));
        let mappings: Vec<Mapping> = mappings.iter().map(|text| text.parse().unwrap()).collect();
        let row: Vec<String> = row.iter().map(|name| (*name).to_owned()).collect();
        let targets = Header::new(&columns, &mappings)?.targets(&row)?;
        let shown = |target: Target| match target {
            Target::Field(name) => name,
            Target::LeftOut => "left out".to_owned(),
            Target::Unnamed => "unnamed".to_owned(),
        };
        Ok(targets.into_iter().map(shown).collect())
    }

    #[test]
    fn names_ignore_case_and_separators() {
        let row =
            ["primary_email", " First Name ", "LAST-NAME", "customfields.Plan", "Custom Fields", "", "dob"];
        let expected =
            ["primaryEmail", "firstName", "lastName", "customFields.Plan", "customFields", "unnamed", "dob"];
        assert_eq!(targets(&row, &[]).unwrap(), expected);
        let row = ["E-Mail", "Notes", "Vorname = Rufname"];
        let mapped = ["e mail=Primary Email", "Notes=", "Vorname = Rufname=firstName"];
        assert_eq!(targets(&row, &mapped).unwrap(), ["primaryEmail", "left out", "firstName"]);
    }

    #[test]
    fn what_is_unclear_is_said_once_with_suggestions() {
        let error = targets(&["Email", "colour", "Date of birth", "firstName"], &[]).unwrap_err();
        assert_eq!(error.lines().count(), 1, "{error}");
        for part in [
            "3 columns",
            "'Email' (did you mean primaryEmail?)",
            "'colour',",
            "did you mean dob",
            "--map 'Email=FIELD'",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
        for (row, mappings, expected) in [
            (
                &["firstName", "First Name"][..],
                &[][..],
                "'firstName' and 'First Name' are both the field firstName",
            ),
            (&["primaryEmail", "E-Mail"], &["E-Mail=primaryEmail"], "both the field primaryEmail"),
            (&["primaryEmail"], &["E-Mail=firstName"], "'E-Mail', which the file does not have"),
            (
                &["primaryEmail"],
                &["primaryEmail=mail"],
                "there is no field 'mail' (did you mean primaryEmail?)",
            ),
            (&["", " "], &[], "names no fields"),
        ] {
            let error = targets(row, mappings).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert!(
            targets(&["E-Mail", "firstName"], &["E-Mail=lastName", "e mail=dob"])
                .unwrap_err()
                .contains("twice")
        );
        "primaryEmail".parse::<Mapping>().unwrap_err();
        "=primaryEmail".parse::<Mapping>().unwrap_err();
    }
}
