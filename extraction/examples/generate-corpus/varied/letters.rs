//! Kinds with a layout of their own: bills, tickets, statements of accounts, agreements, resumes.

use serde_json::{Value, json};

use super::values::{Style, any, company, hundredths, label, person};
use crate::kinds::Kind;
use crate::pieces::{Document, Piece};
use crate::random::Random;

pub const KINDS: [Kind; 5] = [
    Kind { name: "bill", make: bill },
    Kind { name: "ticket", make: ticket },
    Kind { name: "account", make: account },
    Kind { name: "agreement", make: agreement },
    Kind { name: "cv", make: cv },
];

fn address(random: &mut Random) -> (String, String) {
    let town = any("town", random);
    (any("street", random).to_owned(), town.replace(", ", " "))
}

/// Lines of things: names, quantities, prices, and their sum.
fn lines(random: &mut Random, style: &Style) -> (Vec<Vec<String>>, Vec<Value>, u64) {
    let (mut rows, mut items, mut net) = (Vec::new(), Vec::new(), 0);
    for _ in 0..random.range(2, 7) {
        let (thing, count) = (any("goods", random), random.range(1, 12));
        let price = if random.chance(5) { 0 } else { random.range(90, 40_000) };
        net += count * price;
        rows.push(vec![
            thing.to_owned(),
            count.to_string(),
            style.number(price),
            style.number(count * price),
        ]);
        if random.chance(12) {
            rows.push(vec![
                format!("({})", random.pick(&["as agreed", "see our offer", "colour: sand"])),
                String::new(),
                String::new(),
                String::new(),
            ]);
        }
        items.push(json!({ "description": thing, "quantity": count, "unit_price": hundredths(price), "line_total": hundredths(count * price) }));
    }
    (rows, items, net)
}

fn items_field(document: &mut Document, items: Vec<Value>) {
    let properties = [
        ("description", "string"),
        ("quantity", "number"),
        ("unit_price", "number"),
        ("line_total", "number"),
    ]
    .map(|(name, kind)| json!({ "name": name, "type": kind }));
    document.defined(
        json!({ "name": "line_items", "type": "array", "description": "Lines of the bill", "items": { "type": "object", "properties": properties } }),
        items.into(),
    );
}

fn bill(random: &mut Random) -> Document {
    let style = Style::any(random);
    let mut document = Document::default();
    let (seller, buyer) = (company(random), company(random));
    let (street, town) = address(random);
    document.line(seller.as_str());
    document.line(format!("{street}, {town}"));
    document.blank();
    document.pieces.push(Piece::Title(label("bill title", style.language, random).to_owned()));
    let (number, number_value) = style.value("code", random);
    let (day, day_value) = style.date(random);
    let due = random.chance(70).then(|| style.date(random));
    document.pair(label("bill number", style.language, random), number);
    document.pair(label("bill date", style.language, random), day);
    if let Some((written, _)) = &due {
        document.pair(label("bill due", style.language, random), written.as_str());
    }
    document.pair(label("bill buyer", style.language, random), buyer.as_str());
    document.blank();
    let heads = label("bill heads", style.language, random).split(", ").map(str::to_owned).collect();
    let (mut rows, items, net) = lines(random, &style);
    rows.insert(0, heads);
    document.pieces.push(Piece::Table(rows, vec![false, true, true, true]));
    let tax = net / 5;
    document.pair(label("bill net", style.language, random), style.money(net));
    document.pair(label("bill tax", style.language, random), style.money(tax));
    document.pair(label("bill total", style.language, random), style.money(net + tax));
    document.blank();
    document.line(format!("{seller}, {street}. IBAN DE02120300000000202051"));
    document.field("invoice_number", "string", "Number of the invoice", number_value);
    document.field("invoice_date", "date", "Date of issue", day_value.into());
    document.field(
        "due_date",
        "date",
        "Last day for payment",
        due.map_or(Value::Null, |(_, day)| day.into()),
    );
    document.field("seller", "string", "Company that issues the invoice", seller.into());
    document.field("buyer", "string", "Customer", buyer.into());
    document.field("net", "number", "Total without tax", hundredths(net));
    document.field("tax", "number", "Tax amount", hundredths(tax));
    document.field("total", "number", "Total to pay, with tax", hundredths(net + tax));
    items_field(&mut document, items);
    document
}

fn ticket(random: &mut Random) -> Document {
    let style = Style::any(random);
    let mut document = Document::default();
    let shop = if random.chance(50) { company(random) } else { any("firm", random).to_owned() };
    let (street, town) = address(random);
    document.line(shop.as_str());
    document.line(street.as_str());
    document.line(town.as_str());
    let (day, day_value) = style.date(random);
    document.line(format!(
        "{day}  {:02}:{:02}  #{}",
        random.range(8, 22),
        random.range(0, 59),
        random.range(100, 9_999)
    ));
    document.blank();
    let mut sum = 0;
    for _ in 0..random.range(2, 6) {
        let (count, price) = (random.range(1, 3), random.range(150, 3_500));
        sum += count * price;
        document.line(format!("{count} {}   {}", any("meal", random), style.number(count * price)));
    }
    let has_total = random.chance(90);
    if has_total {
        if random.chance(40) {
            document.line(format!(
                "{}   {}",
                random.pick(&["Items sold", "Points today", "You saved"]),
                random.range(2, 9)
            ));
        }
        document.line(format!("{}   {}", label("bill total", style.language, random), style.money(sum)));
        let paid = sum.div_ceil(1000) * 1000;
        document.line(format!("Cash   {}", style.money(paid)));
        document.line(format!("Change   {}", style.money(paid - sum)));
    }
    if random.chance(40) {
        document.line(format!("To: {}", company(random)));
    }
    document.field("company", "string", "Name of the shop", shop.into());
    document.field("address", "string", "Full address of the shop", format!("{street}\n{town}").into());
    document.field("date", "date", "Date of purchase", day_value.into());
    document.field(
        "total",
        "number",
        "Total amount to pay",
        if has_total { hundredths(sum) } else { Value::Null },
    );
    document
}

fn account(random: &mut Random) -> Document {
    let style = Style::any(random);
    let mut document = Document::default();
    let (holder, bank) = (person(random), company(random));
    document.line(bank);
    document.pieces.push(Piece::Title(
        (*random.pick(&["Statement of account", "Your account", "Movements"])).to_owned(),
    ));
    document.pair(random.pick::<&str>(&["Account holder", "Held by", "In the name of"]), holder.as_str());
    document.blank();
    let mut balance = random.range(100_000, 900_000);
    let mut rows = vec![["Date", "Description", "Debit", "Credit", "Balance"].map(str::to_owned).to_vec()];
    let mut items = Vec::new();
    for _ in 0..random.range(3, 9) {
        let (day, day_value) = style.date(random);
        let (thing, amount, is_debit) = (any("firm", random), random.range(100, 60_000), random.chance(60));
        balance = if is_debit { balance.saturating_sub(amount) } else { balance + amount };
        let (debit, credit) = if is_debit {
            (style.number(amount), String::new())
        } else {
            (String::new(), style.number(amount))
        };
        rows.push(vec![day, thing.to_owned(), debit, credit, style.number(balance)]);
        let part = |is_so: bool| if is_so { hundredths(amount) } else { Value::Null };
        items.push(json!({ "date": day_value, "description": thing, "debit": part(is_debit), "credit": part(!is_debit), "balance": hundredths(balance) }));
    }
    document.pieces.push(Piece::Table(rows, vec![false, false, true, true, true]));
    document.field("account_holder", "string", "Name of the account holder", holder.into());
    let properties = [
        ("date", "date"),
        ("description", "string"),
        ("debit", "number"),
        ("credit", "number"),
        ("balance", "number"),
    ]
    .map(|(name, kind)| json!({ "name": name, "type": kind }));
    document.defined(
        json!({ "name": "transactions", "type": "array", "description": "Movements of the account", "items": { "type": "object", "properties": properties } }),
        items.into(),
    );
    document
}

fn agreement(random: &mut Random) -> Document {
    let mut style = Style::any(random);
    style.language = 0;
    let mut document = Document::default();
    let (landlord, tenant, law) = (company(random), person(random), any("law", random));
    let (day, day_value) = style.date(random);
    let (rent, bond) = (random.range(40_000, 900_000), random.range(50_000, 900_000));
    let (pets, months) = (random.chance(50), random.range(6, 48));
    let is_named_first = random.chance(50);
    document.pieces.push(Piece::Title(
        (*random.pick(&["Lease of premises", "Agreement to let", "Letting contract"])).to_owned(),
    ));
    document.blank();
    let parties = if is_named_first {
        format!(
            "This agreement is made on {day} between {landlord} (the \"Landlord\") and {tenant} (the \"Tenant\")."
        )
    } else {
        format!(
            "On {day} {landlord}, having its seat at {}, hereinafter called (\"Landlord\"), and {tenant} (\"Tenant\") have agreed as follows.",
            any("street", random)
        )
    };
    let pets_text = match (pets, random.below(2)) {
        (true, 0) => "Pets are permitted in the premises.",
        (true, _) => "The keeping of pets is allowed.",
        (false, 0) => "Pets are not permitted in the premises.",
        (false, _) => "The keeping of pets is prohibited.",
    };
    for text in [
        parties,
        format!("1. The Tenant shall pay the Landlord a monthly rent of {} in advance.", style.money(rent)),
        format!(
            "2. Before moving in the Tenant leaves a deposit of {} with the Landlord.",
            style.money(bond)
        ),
        format!("3. The term of this agreement is {months} months from the date above."),
        format!("4. {pets_text}"),
        format!("5. This agreement is governed by the laws of {law}."),
    ] {
        document.pieces.push(Piece::Paragraph(text));
        document.blank();
    }
    document.field("landlord", "string", "Name of the landlord", landlord.clone().into());
    document.field("tenant", "string", "Name of the tenant", tenant.clone().into());
    document.field("effective_date", "date", "Date of the agreement", day_value.into());
    document.field("monthly_rent", "number", "Monthly rent", hundredths(rent));
    document.field("deposit", "number", "Deposit", hundredths(bond));
    document.field("pets_allowed", "boolean", "Whether pets are allowed", pets.into());
    document.field("governing_law", "string", "State or country whose law governs", law.into());
    document.field(
        "term",
        "string",
        "Length of the agreement as a number and a unit",
        format!("{months} months").into(),
    );
    document.field("guarantor", "string", "Name of the guarantor, if any", Value::Null);
    document.defined(
        json!({ "name": "parties", "type": "array", "description": "Parties to the agreement", "items": { "type": "string" } }),
        json!([landlord, tenant]),
    );
    document
}

fn cv(random: &mut Random) -> Document {
    let mut document = Document::default();
    let name = person(random);
    let town = any("town", random).split(", ").nth(1).unwrap_or_default();
    document.pieces.push(Piece::Title(name.clone()));
    document.line(format!(
        "{town}, {} - {}@mail.example",
        random.pick(&["Devon", "Tirol", "Skåne", "Colorado"]),
        any("given", random).to_lowercase()
    ));
    document.blank();
    document.line(*random.pick(&[
        "WORK EXPERIENCE",
        "Employment history",
        "Professional experience",
        "Positions held",
    ]));
    let layout = random.below(4);
    let (mut firms, mut posts) = (Vec::new(), Vec::new());
    let mut year = 2026;
    for nth in 0..random.range(1, 4) {
        let (firm, post, seat) = (
            company(random),
            any("post", random),
            any("town", random).split(", ").nth(1).unwrap_or_default(),
        );
        let from = year - random.range(1, 4);
        let end = if nth == 0 && random.chance(50) { "Present".to_owned() } else { format!("March {year}") };
        year = from;
        let period = format!(
            "{} {from} {} {end}",
            random.pick(&["May", "June", "October"]),
            random.pick(&["to", "-", "–"])
        );
        match layout {
            0 => {
                document.line(post);
                document.line(format!("{firm} - {seat}"));
                document.line(period);
            }
            1 => {
                document.line(format!("{period}   {post}"));
                document.line(format!("{firm}, {seat}"));
            }
            2 => document.line(format!("{post}, {firm} ({period})")),
            _ => {
                document.line(format!("{firm}   {period}"));
                document.line(post);
            }
        }
        document.line("• Kept the books in order and answered the telephone.");
        document.blank();
        if !firms.contains(&firm) {
            firms.push(firm);
        }
        if !posts.contains(&post) {
            posts.push(post);
        }
    }
    document.line(*random.pick(&["EDUCATION", "Education and training", "Studies", "Academic background"]));
    let (mut schools, mut studies) = (Vec::new(), Vec::new());
    for nth in 0..random.range(1, 2) {
        let (school, study) = (any("school", random), any("study", random));
        if schools.contains(&school) || studies.contains(&study) {
            continue;
        }
        match layout {
            0 | 1 => {
                document.line(study);
                document.line(format!("{school} - {town}"));
                document.line(format!("{} to {}", 2012 - nth * 4, 2015 - nth * 4));
            }
            2 => document.line(format!("{study}, {school}, {}", 2014 - nth * 3)),
            _ => {
                document.line(format!("{school}   {}", 2014 - nth * 3));
                document.line(study);
            }
        }
        document.blank();
        schools.push(school);
        studies.push(study);
    }
    let abilities: Vec<&str> = (0..3).map(|_| any("ability", random)).fold(Vec::new(), |mut all, ability| {
        if !all.contains(&ability) {
            all.push(ability);
        }
        all
    });
    document.pieces.push(Piece::Bullets(
        (*random.pick(&["SKILLS", "Skills"])).to_owned(),
        abilities.iter().map(|&it| it.to_owned()).collect(),
    ));
    document.field("name", "string", "Full name of the candidate", name.into());
    document.field("location", "string", "City where the candidate lives", town.into());
    let list = |name: &str, description: &str| json!({ "name": name, "type": "array", "description": description, "items": { "type": "string" } });
    document.defined(list("companies", "Companies the candidate worked for"), json!(firms));
    document.defined(list("job_titles", "Positions held"), json!(posts));
    document.defined(list("colleges", "Schools the candidate attended"), json!(schools));
    document.defined(list("degrees", "Degrees obtained"), json!(studies));
    document.defined(list("skills", "Skills"), json!(abilities));
    document
}
