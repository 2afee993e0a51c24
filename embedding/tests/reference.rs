//! The vectors are those of the whole model: of another engine, over all pieces of the vocabulary.

use embedding::{Model, Role};

/// How alike a vector and that of the whole model are at least. Its engine rounds what goes through the layers to bytes.
const ALIKE: f32 = 0.99;

fn model() -> Model {
    Model::new(embedding_weights::WEIGHTS).expect("weights")
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    let product =
        |one: &[f32], other: &[f32]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f32>();
    product(one, other) / (product(one, one) * product(other, other)).sqrt()
}

struct Reference {
    role: Role,
    language: String,
    text: String,
    vector: Vec<f32>,
}

fn references() -> Vec<Reference> {
    let mut lines = include_str!("reference.txt").lines().filter(|line| !line.starts_with('#'));
    let mut references = Vec::new();
    while let (Some(text), Some(vector)) = (lines.next(), lines.next()) {
        let [role, language, text] = text.splitn(3, '|').collect::<Vec<_>>()[..] else { panic!("{text}") };
        let byte = |at: usize| u8::from_str_radix(&vector[at..at + 2], 16).expect("hexadecimal") as i8;
        references.push(Reference {
            role: if role == "question" { Role::Question } else { Role::Passage },
            language: language.to_owned(),
            text: text.replace("\\n", "\n"),
            vector: (0..vector.len()).step_by(2).map(|at| f32::from(byte(at))).collect(),
        });
    }
    references
}

#[test]
fn vectors_are_those_of_the_whole_model() {
    let model = model();
    let references = references();
    let mut languages: Vec<&str> = references.iter().map(|reference| reference.language.as_str()).collect();
    languages.sort_unstable();
    languages.dedup();
    assert_eq!(languages, ["ar", "de", "en", "es", "fr", "he", "it", "ja", "nl", "pl", "pt", "tr", "zh"]);
    let mut least: (f32, &str) = (1.0, "");
    for Reference { role, text, vector, .. } in &references {
        let own = model.embed(*role, &[text]).remove(0);
        assert!((own.iter().map(|number| number * number).sum::<f32>() - 1.0).abs() < 1e-4, "{text}");
        let alike = cosine(&own, vector);
        println!("{alike:.4} {text}");
        if alike < least.0 {
            least = (alike, text);
        }
    }
    assert!(least.0 >= ALIKE, "{least:?}");
}

/// The engine of the reference leaves ligatures as they are, which the vocabulary does not have.
#[test]
fn letters_in_another_form_change_nothing() {
    let texts = ["Wie \u{fb01}nde ich die  richtige Größe?", "Wie finde ich die richtige Größe?"];
    let vectors = model().embed(Role::Question, &texts);
    assert!(cosine(&vectors[0], &vectors[1]) > 0.999_9);
}

#[test]
fn a_text_has_the_same_vector_in_any_company() {
    let model = model();
    let references = references();
    let texts: Vec<&str> = references.iter().map(|reference| reference.text.as_str()).collect();
    for (text, together) in texts.iter().zip(model.embed(Role::Passage, &texts)) {
        let alone = model.embed(Role::Passage, &[text]).remove(0);
        assert!(cosine(&alone, &together) > 0.999_9, "{text}");
    }
}

#[test]
fn a_question_is_most_like_what_answers_it_in_any_language() {
    let model = model();
    let passages = model.embed(
        Role::Passage,
        &[
            "Returns: items that were not worn can be sent back within 30 days.",
            "The shop is open from Monday to Saturday, from nine to six.",
            "Delivery within the country takes two to three working days.",
        ],
    );
    for (question, answer) in [
        ("Can I give it back if I do not like it?", 0),
        ("Wann habt ihr geöffnet?", 1),
        ("¿Cuándo llega mi paquete?", 2),
        ("返品できますか", 0),
        ("מתי אתם פתוחים?", 1),
        ("كم يستغرق التوصيل؟", 2),
    ] {
        let question_vector = model.embed(Role::Question, &[question]).remove(0);
        let alike: Vec<f32> = passages.iter().map(|passage| cosine(&question_vector, passage)).collect();
        let best = (0..3).max_by(|one, other| alike[*one].total_cmp(&alike[*other]));
        assert_eq!(best, Some(answer), "{question}: {alike:?}");
    }
}

#[test]
fn any_text_has_a_vector() {
    let model = model();
    let long = "word ".repeat(20_000);
    let texts = [
        "",
        " ",
        "\u{0}",
        "\u{10ffff}\u{fe0f}",
        "\u{2581}\u{2581}",
        "<s></s>",
        long.as_str(),
        &"あ".repeat(3_000),
    ];
    for vector in model.embed(Role::Passage, &texts) {
        assert!(vector.len() == 384 && vector.iter().all(|number| number.is_finite()));
    }
    assert!(model.embed(Role::Question, &[]).is_empty());
}
