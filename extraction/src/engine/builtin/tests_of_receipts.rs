//! Rows of receipts, whose arithmetic says which number is what, and who issues them.

use proptest::prelude::*;

use super::tests::values;

const ITEMS: &str = r#""items": { "type": "array", "description": "Purchased items", "items": { "type": "object",
    "properties": { "name": { "type": "string", "description": "Item name" },
    "quantity": { "type": "number", "description": "Quantity" },
    "unit_price": { "type": "number", "description": "Price of one" },
    "price": { "type": "number", "description": "Price of the line" } } } }"#;

/// The rows of a receipt.
fn rows(text: &str) -> String {
    values(text, &format!("{{ {ITEMS} }}"))
}

const NAMES: [&str; 6] =
    ["Plum jam", "Rye crackers", "Blue Stilton", "Ginger cordial", "Beeswax candle", "Garden twine"];

fn money(cents: u32) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// Money as JSON has it.
fn number(cents: u32) -> String {
    let text = money(cents);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// One thing in one of the ways in which receipts write it.
fn written(layout: usize, name: &str, quantity: u32, cents: u32) -> String {
    let (unit, total) = (money(cents), money(quantity * cents));
    match layout {
        0 => format!("{name}    {quantity} x {unit}    {total}"),
        1 => format!("{quantity} x {unit}  {name}    {total}"),
        2 => format!("{name}\n  {quantity} @ {unit}    {total}"),
        3 => format!("{name}    @ {unit}    {quantity}    {total} B"),
        4 => format!("{name}    {quantity} pcs    {unit}    {total}"),
        5 => format!("{name}    {total}\n  ({quantity} x {unit})"),
        6 => format!("{name}\n  880{quantity}0071 002   {quantity} St. x {unit}   {total}"),
        _ => format!("{quantity} {name} {unit} {total}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever the order of quantity, price and name is, and whatever the sum below is called.
    #[test]
    fn arithmetic_tells_the_numbers_of_a_row(
        rows in prop::collection::vec((0..NAMES.len(), 2..20_u32, 25..4_000_u32), 2..6),
        layout in 0..8_usize,
        sum in prop::sample::select(vec!["Comes to", "Subtotal", "Goods in all", "Total"]),
        taken_back in any::<bool>(),
    ) {
        let mut text = "Hollow Lane Stores\n\n".to_owned();
        let mut expected = Vec::new();
        let mut total = 0;
        for (name, quantity, cents) in &rows {
            text.push_str(&written(layout, NAMES[*name], *quantity, *cents));
            text.push('\n');
            total += quantity * cents;
            expected.push(format!(
                r#"{{"name":"{}","quantity":{quantity},"unit_price":{},"price":{}}}"#,
                NAMES[*name], number(*cents), number(quantity * cents)
            ));
        }
        if taken_back {
            let (name, quantity, cents) = &rows[0];
            text.push_str(&format!("Returned {}    -{}\n", NAMES[*name], money(quantity * cents)));
            total -= quantity * cents;
        }
        text.push_str(&format!("{sum}    {}\n", money(total)));
        prop_assert_eq!(self::rows(&text), format!(r#"{{"items":[{}]}}"#, expected.join(",")), "{}", text);
    }
}

#[test]
fn what_is_weighed_has_a_quantity_and_a_price() {
    for (line, quantity, unit, price) in [
        ("Apricots\n  0.615 kg @ 3.20/kg    1.97", "0.615", "3.2", "1.97"),
        ("Apricots   1,350 kg x 2,80 EUR/kg   3,78", "1.35", "2.8", "3.78"),
        ("Apricots   2.40 m x 1.25    3.00", "2.4", "1.25", "3"),
        ("Apricots @1.50 3.00\n2", "2", "1.5", "3"),
        ("3x Apricots @1.50 4.50", "3", "1.5", "4.5"),
    ] {
        let rest = "Lemonade    9.00\nTotal    99.00";
        let rest = if line.contains(',') { rest.replace('.', ",") } else { rest.to_owned() };
        let text = format!("Hollow Lane Stores\n\n{line}\n{rest}");
        let first = format!(
            r#"{{"items":[{{"name":"Apricots","quantity":{quantity},"unit_price":{unit},"price":{price}}},"#
        );
        let found = rows(&text);
        assert!(found.starts_with(&first), "{line}: {found}");
    }
}

#[test]
fn the_head_of_a_column_may_have_any_word() {
    let text = "Thing    Qty    Price    Worth\nLantern    3    4.10    12.30\nRope    1    7.00    7.00\n";
    let expected = r#"{"items":[{"name":"Lantern","quantity":3,"unit_price":4.1,"price":12.3},{"name":"Rope","quantity":1,"unit_price":7,"price":7}]}"#;
    assert_eq!(rows(text), expected);
}

#[test]
fn the_sum_of_the_rows_is_the_total_whatever_its_word() {
    let fields = format!(r#"{{ {ITEMS}, "total": {{ "type": "number" }} }}"#);
    let text =
        "Hollow Lane Stores\n\nPlum jam    4.10\nGarden twine    2.35\nSumme EUR    6.45\nHanded    10.00\n";
    let found = values(text, &fields);
    assert!(found.ends_with(r#""price":2.35}],"total":6.45}"#), "{found}");
    // An amount that is no sum is no total.
    let text = "Hollow Lane Stores\n\nPlum jam    4.10\nGarden twine    2.35\nHanded    10.00\n";
    let found = values(text, &fields);
    assert!(found.ends_with(r#""total":null}"#), "{found}");
}

#[test]
fn the_kind_of_a_shop_ends_the_name_above_it() {
    for (text, company) in [
        (
            "RECEIPT\nBLUE HERON BICYCLE PARTS\nTRADING\n9, Jalan Kenari 4, 47100 Puchong\n",
            "BLUE HERON BICYCLE PARTS TRADING",
        ),
        ("Marrow & Thyme\nRestaurant\nTotal 12.00", "Marrow & Thyme Restaurant"),
        // It has nothing above it.
        ("RESTAURANT SDN BHD\nTotal 12.00", "RESTAURANT SDN BHD"),
    ] {
        let found = values(text, r#"{ "company": { "type": "string" } }"#);
        assert_eq!(found, format!(r#"{{"company":"{company}"}}"#), "{text}");
    }
}

#[test]
fn a_line_of_the_head_of_a_bill_is_no_part_of_an_address() {
    let text = "Hollow Lane Stores Ltd\n4 Hollow Lane\nEX1 2AB Exeter\nTable 14\nTea 2.00\nTotal 2.00";
    let found = values(text, r#"{ "address": { "type": "string", "description": "Address of the shop" } }"#);
    assert_eq!(found, r#"{"address":"4 Hollow Lane\nEX1 2AB Exeter"}"#);
}

#[test]
fn the_document_in_a_description_names_no_amount() {
    let about = "Total gross amount of the order or invoice";
    let field = format!(r#"{{ "gross_amount": {{ "type": "number", "description": "{about}" }} }}"#);
    let text = "Order    5512\nInvoice    7718204\nTotals    14    $2,400.00\n";
    assert_eq!(values(text, &field), r#"{"gross_amount":2400}"#);
    assert_eq!(values("Order    5512\nInvoice    7718204\n", &field), r#"{"gross_amount":null}"#);
}

#[test]
fn a_percentage_is_no_name() {
    let fields = r#"{ "agency": { "type": "string" } }"#;
    let text = "Agency fee 15%    120.00\nAgency    Larch Placement\n";
    assert_eq!(values(text, fields), r#"{"agency":"Larch Placement"}"#);
}

#[test]
fn words_of_one_family_name_each_other() {
    for (name, label) in [
        ("departed", "Departure"),
        ("approved_by_board", "Approval by board"),
        ("translator", "Translation"),
        ("embarked", "Embarking"),
    ] {
        let field = format!(r#"{{ "{name}": {{ "type": "date" }}, "printed": {{ "type": "date" }} }}"#);
        let text = format!("{label}: 3 March 2027\nOther: 4 April 2028\nMore: 5 April 2029");
        let found = values(&text, &field);
        assert_eq!(found, format!(r#"{{"{name}":"2027-03-03","printed":null}}"#), "{label}");
    }
    // Words with the same beginning are others.
    let found =
        values("Communion: 3 March 2027\nOther: 4 April 2028", r#"{ "community": { "type": "string" } }"#);
    assert_eq!(found, r#"{"community":null}"#);
}
