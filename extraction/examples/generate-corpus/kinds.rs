//! The kinds of documents.

use serde_json::{Value, json};

use super::bills::{Style, address, amount, code, company, email, person};
use super::pieces::{Document, Piece};
use super::random::Random;
use super::words::{any, list};

/// A kind with what makes a document of it.
#[derive(Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    pub make: fn(&mut Random) -> Document,
}

pub const KINDS: [Kind; 6] = [
    Kind { name: "invoice", make: invoice },
    Kind { name: "receipt", make: receipt },
    Kind { name: "lab", make: lab },
    Kind { name: "resume", make: resume },
    Kind { name: "contract", make: contract },
    Kind { name: "form", make: form },
];

fn invoice(random: &mut Random) -> Document {
    let style = Style::any(random);
    let language = style.language;
    let mut document = Document::default();
    let (seller, buyer, number) = (company(&style, random), company(&style, random), code(random));
    let (lines, parts) = address(random);
    document.pieces.push(Piece::Title(seller.clone()));
    for line in &lines {
        document.line(line.as_str());
    }
    let mail = random.chance(70).then(|| email(random));
    if let Some(mail) = &mail {
        document.pair(language.label("email", random), mail.as_str());
    }
    document.blank();
    document.pieces.push(Piece::Title(language.label("invoice", random).to_owned()));
    document.pair(language.label("invoice number", random), number.as_str());
    let (written, issued) = style.date(random);
    document.pair(language.label("invoice date", random), written);
    let due = random.chance(60).then(|| style.date(random));
    if let Some((written, _)) = &due {
        document.pair(language.label("due date", random), written.as_str());
    }
    document.pair(language.label("customer", random), buyer.as_str());
    document.blank();
    let mut rows = vec![
        ["description", "quantity", "unit price", "line total"]
            .map(|name| language.label(name, random).to_owned())
            .to_vec(),
    ];
    let (mut net, mut items) = (0, Vec::new());
    for _ in 0..random.range(1, 6) {
        let (thing, quantity, price) = (any("goods", random), random.range(1, 20), random.range(150, 90_000));
        net += quantity * price;
        rows.push(vec![
            thing.to_owned(),
            quantity.to_string(),
            style.number(price),
            style.number(quantity * price),
        ]);
        items.push(json!({ "description": thing, "quantity": quantity, "unitPrice": amount(price), "amount": amount(quantity * price) }));
    }
    document.pieces.push(Piece::Table(rows, vec![false, true, true, true]));
    let tax = net * *random.pick(&[7, 10, 19, 20]) / 100;
    document.pair(language.label("net", random), style.money(net));
    document.pair(language.label("tax", random), style.money(tax));
    document.pair(language.label("total", random), style.money(net + tax));
    document.field("invoiceNumber", "string", "Invoice number as printed", number.into());
    document.field("issueDate", "date", "Date of issue", issued.into());
    document.field("dueDate", "date", "Last day for payment", due.map_or(Value::Null, |(_, due)| due.into()));
    document.field("vendorName", "string", "Issuing company", seller.into());
    document.field("vendorEmail", "email", "Vendor's address", mail.map_or(Value::Null, Value::from));
    document.field("buyerName", "string", "Customer who is billed", buyer.into());
    document.field("subtotal", "number", "Total before tax", amount(net));
    document.field("tax", "number", "Tax amount", amount(tax));
    document.field("total", "number", "Amount payable", amount(net + tax));
    document.field("deliveryNote", "string", "Number of the delivery note, if any", Value::Null);
    document.defined(address_field("vendorAddress", "Address of the vendor"), parts);
    document.defined(
        json!({ "name": "lineItems", "type": "array", "description": "Lines of the invoice", "items": { "type": "object", "properties": [
            { "name": "description", "type": "string" }, { "name": "quantity", "type": "number" },
            { "name": "unitPrice", "type": "number" }, { "name": "amount", "type": "number" } ] } }),
        items.into(),
    );
    document
}

fn address_field(name: &str, description: &str) -> Value {
    let parts =
        ["street", "postal_code", "city", "country"].map(|name| json!({ "name": name, "type": "string" }));
    json!({ "name": name, "type": "object", "description": description, "properties": parts })
}

fn receipt(random: &mut Random) -> Document {
    let style = Style::any(random);
    let language = style.language;
    let mut document = Document::default();
    let shop = company(&style, random);
    document.line(shop.as_str());
    let (lines, _) = address(random);
    for line in &lines[..2] {
        document.line(line.as_str());
    }
    document.line(format!(
        "{} 0{} {}",
        language.label("phone", random),
        random.range(20, 99),
        random.range(100_000, 999_999)
    ));
    let (written, day) = style.date(random);
    document.line(format!("{written} {:02}:{:02}", random.range(8, 21), random.range(0, 59)));
    document.blank();
    let (mut sum, mut items, mut rows) = (0, Vec::new(), Vec::new());
    for _ in 0..random.range(1, 7) {
        let (thing, quantity, price) = (any("dish", random), random.range(1, 4), random.range(90, 2_900));
        sum += quantity * price;
        rows.push(vec![quantity.to_string(), thing.to_owned(), style.number(quantity * price)]);
        items.push(json!({ "name": thing, "quantity": quantity, "price": amount(quantity * price) }));
    }
    let labels = [
        language.label("quantity", random),
        language.label("description", random),
        language.label("line total", random),
    ];
    if random.chance(50) {
        rows.insert(0, labels.map(str::to_owned).to_vec());
        document.pieces.push(Piece::Table(rows, vec![true, false, true]));
    } else {
        for row in rows {
            document.line(format!("{} {}   {}", row[0], row[1], row[2]));
        }
    }
    document.pair(language.label("total", random), style.money(sum));
    document.field("merchant", "string", "Shop name", shop.into());
    document.field("date", "date", "Date of purchase", day.into());
    document.field("total", "number", "Amount paid", amount(sum));
    document.field("discount", "number", "Discount, if any", Value::Null);
    document.defined(
        json!({ "name": "items", "type": "array", "description": "Lines of the receipt", "items": { "type": "object", "properties": [
            { "name": "name", "type": "string" }, { "name": "quantity", "type": "number" }, { "name": "price", "type": "number", "description": "Price of the line" } ] } }),
        items.into(),
    );
    document
}

fn lab(random: &mut Random) -> Document {
    let style = Style::any(random);
    let language = style.language;
    let mut document = Document::default();
    document.pieces.push(Piece::Title("Medlab Central".to_owned()));
    document.blank();
    let (patient, doctor) = (person(random), format!("Dr. {}", person(random)));
    let ((born_written, born), (taken_written, taken)) = (style.date(random), style.date(random));
    document.pair(language.label("patient", random), patient.as_str());
    document.pair(language.label("birth", random), born_written);
    document.pair(language.label("collected", random), taken_written);
    document.pair(language.label("physician", random), doctor.as_str());
    let fasting = random.chance(50);
    let answer = if random.chance(40) {
        if fasting { "[x]" } else { "[ ]" }.to_owned()
    } else {
        yes_or_no(&style, fasting).to_owned()
    };
    document.pair(language.label("fasting", random), answer);
    document.blank();
    let mut rows =
        vec![["test", "result", "unit"].map(|name| language.label(name, random).to_owned()).to_vec()];
    let mut results = Vec::new();
    let tests = list("test with unit");
    let first = random.below(tests.len() as u64) as usize;
    for at in 0..random.range(2, 6) as usize {
        let [test, unit] = tests[(first + at) % tests.len()][..] else { continue };
        let value = random.range(50, 30_000);
        rows.push(vec![test.to_owned(), style.number(value), unit.to_owned()]);
        results.push(json!({ "test": test, "value": amount(value), "unit": unit }));
    }
    document.pieces.push(Piece::Table(rows, vec![false, true, false]));
    document.field("patientName", "string", "Full name of the patient", patient.into());
    document.field("dateOfBirth", "date", "Date of birth", born.into());
    document.field("collectionDate", "date", "When the sample was taken", taken.into());
    document.field("physician", "string", "Physician who ordered the tests", doctor.into());
    document.field("fasting", "boolean", "Whether the patient was fasting", fasting.into());
    document.field("email", "email", "Patient's email address", Value::Null);
    document.defined(
        json!({ "name": "results", "type": "array", "description": "Test results", "items": { "type": "object", "properties": [
            { "name": "test", "type": "string", "description": "Name of the test" }, { "name": "value", "type": "number", "description": "Measured value" }, { "name": "unit", "type": "string", "description": "Unit" } ] } }),
        results.into(),
    );
    document
}

fn yes_or_no(style: &Style, yes: bool) -> &'static str {
    style.language.words(if yes { "yes" } else { "no" })[0]
}

fn resume(random: &mut Random) -> Document {
    let style = Style::any(random);
    let language = style.language;
    let mut document = Document::default();
    let (name, mail, job) = (person(random), email(random), any("job", random));
    let phone =
        format!("+{} {} {}", random.range(31, 49), random.range(100, 999), random.range(100_000, 999_999));
    let years = random.range(2, 30);
    document.pieces.push(Piece::Title(name.clone()));
    document.line(job);
    document.blank();
    if random.chance(50) {
        document.line(format!("{mail} | {phone}"));
    } else {
        document.pair(language.label("email", random), mail.as_str());
        document.pair(language.label("phone", random), phone.as_str());
    }
    document.blank();
    document
        .pieces
        .push(Piece::Paragraph(format!("{job} with {years} years of experience in teams of several sizes.")));
    let mut skills: Vec<&str> = Vec::new();
    for _ in 0..random.range(2, 6) {
        let skill = any("skill", random);
        if !skills.contains(&skill) {
            skills.push(skill);
        }
    }
    let label = language.label("skills", random);
    if random.chance(50) {
        document
            .pieces
            .push(Piece::Bullets(label.to_owned(), skills.iter().map(|&skill| skill.to_owned()).collect()));
    } else {
        document.pair(label, skills.join(", "));
    }
    document.field("name", "string", "Full name", name.into());
    document.field("email", "email", "Email address", mail.into());
    document.field("phone", "string", "Telephone number", phone.into());
    document.field("jobTitle", "string", "Current job title", job.into());
    document.field("yearsOfExperience", "number", "Total years of work", years.into());
    document.field("dateOfBirth", "date", "Date of birth", Value::Null);
    document.defined(
        json!({ "name": "skills", "type": "array", "description": "Skills", "items": { "type": "string" } }),
        json!(skills),
    );
    document
}

fn contract(random: &mut Random) -> Document {
    let style = Style::any(random);
    let mut document = Document::default();
    let (first, second) = (
        format!(
            "{} Inc.",
            company(&style, random).trim_end_matches(style.language.words("legal form")[0]).trim()
        ),
        person(random),
    );
    let day = format!(
        "{} {}, {}",
        ["January", "March", "June", "October"][random.below(4) as usize],
        random.range(1, 28),
        random.range(2008, 2026)
    );
    let months = [("January", "01"), ("March", "03"), ("June", "06"), ("October", "10")];
    let mut words = day.split([' ', ',']).filter(|word| !word.is_empty());
    let (month, date, year) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let month = months.iter().find(|(name, _)| *name == month).map_or("", |(_, number)| number);
    let iso = format!("{year}-{month}-{date:0>2}");
    let (law, term) = (any("law", random), random.range(1, 5));
    document.pieces.push(Piece::Title("NON-DISCLOSURE AGREEMENT".to_owned()));
    document.blank();
    let opening = *random.pick(&["is made as of", "is entered into as of", "is dated as of"]);
    document.pieces.push(Piece::Paragraph(format!("This Non-Disclosure Agreement {opening} {day} by and between {first} (the \"Discloser\") and {second} (the \"Recipient\").")));
    document.pieces.push(Piece::Paragraph("The Recipient keeps all information that it receives secret and uses it for the purpose of this agreement only.".to_owned()));
    let with_term = random.chance(75);
    if with_term {
        let unit = if term == 1 { "year" } else { "years" };
        document.pieces.push(Piece::Paragraph(format!(
            "The term of this agreement is {term} {unit} from the date above."
        )));
    }
    document.pieces.push(Piece::Paragraph(format!(
        "This agreement is governed by the laws of {law}, without regard to its rules on conflicts."
    )));
    document.field("effectiveDate", "date", "Start of the contract", iso.into());
    document.field("governingLaw", "string", "State or country whose law governs", law.into());
    let unit = if term == 1 { "year" } else { "years" };
    document.field(
        "term",
        "string",
        "Length as a number and a unit, e.g. '2 years'",
        if with_term { format!("{term} {unit}").into() } else { Value::Null },
    );
    document.defined(json!({ "name": "parties", "type": "array", "description": "Names of the parties", "items": { "type": "string" } }), json!([first, second]));
    document
}

fn form(random: &mut Random) -> Document {
    let style = Style::any(random);
    let language = style.language;
    let mut document = Document::default();
    let (tenant, landlord) = (person(random), company(&style, random));
    let (rent, deposit) = (random.range(40_000, 400_000), random.range(50_000, 900_000));
    let (end_written, end) = style.date(random);
    let pets = random.chance(50);
    document.pair(language.label("landlord", random), landlord.as_str());
    document.pair(language.label("tenant", random), tenant.as_str());
    document.pair(language.label("end", random), end_written);
    document.pair(language.label("rent", random), style.money(rent));
    document.pair(language.label("deposit", random), style.money(deposit));
    document.pair(language.label("pets", random), yes_or_no(&style, pets));
    document.field("landlord", "string", "Landlord", landlord.into());
    document.field("tenant", "string", "Tenant", tenant.into());
    document.field("end_date", "date", "Date the lease ends", end.into());
    document.field("monthly_rent", "number", "Rent per month", amount(rent));
    document.field("deposit", "number", "Deposit", amount(deposit));
    document.field("pets_allowed", "boolean", "Whether pets are allowed", pets.into());
    document.field("guarantor", "string", "Guarantor, if any", Value::Null);
    document
}
