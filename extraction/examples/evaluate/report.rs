//! The figures: by set, by type, of absent fields, of confidence and of time.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::calibration;
use crate::compare::{Counts, compare, is_empty};
use crate::machine;
use crate::manifest::Entry;

#[derive(Default)]
pub struct Report {
    errors: usize,
    documents: usize,
    failed: usize,
    all: Counts,
    sets: BTreeMap<String, Counts>,
    types: BTreeMap<String, Counts>,
    fields: BTreeMap<String, Counts>,
    absent: (u32, u32),
    outcomes: BTreeMap<String, Vec<(f64, bool)>>,
    reading: Vec<Duration>,
    extracting: Vec<Duration>,
    /// The processor's time of the documents of each set, that of OCR with them.
    processor: BTreeMap<String, Vec<Duration>>,
}

impl Report {
    pub fn new(errors: usize) -> Self {
        Report { errors, ..Report::default() }
    }

    pub fn add(&mut self, entry: &Entry, found: &Map<String, Value>, failed: bool, times: &Times) {
        self.documents += 1;
        self.failed += usize::from(failed);
        self.reading.push(times.reading);
        self.extracting.push(times.extracting);
        if let Some(processor) = times.processor {
            self.processor.entry(entry.set.clone()).or_default().push(processor);
        }
        for field in &entry.schema {
            let Some(gold) = entry.expected.get(&field.name) else { continue };
            let answer = found.get(&field.name);
            let value = answer.and_then(|answer| answer.get("value")).unwrap_or(&Value::Null);
            let confidence = answer.and_then(|answer| answer.get("confidence")).and_then(Value::as_f64);
            let counts = compare(field, gold, value);
            self.all.add(counts);
            self.sets.entry(entry.set.clone()).or_default().add(counts);
            self.types.entry(field.kind.clone()).or_default().add(counts);
            self.fields.entry(format!("{}.{}", entry.set, field.name)).or_default().add(counts);
            let right = counts.wrong == 0 && counts.missed == 0;
            if is_empty(gold) {
                self.absent.0 += u32::from(is_empty(value));
                self.absent.1 += 1;
            }
            if let Some(confidence) = confidence.filter(|_| !is_empty(value)) {
                let good = right || matches!(field.kind.as_str(), "array" | "object") && counts.f1() >= 0.9;
                for key in ["all", entry.set.as_str()] {
                    self.outcomes.entry(key.to_owned()).or_default().push((confidence, good));
                }
            }
            if !right && self.errors > 0 {
                self.errors -= 1;
                let short = |value: &Value| value.to_string().chars().take(200).collect::<String>();
                println!(
                    "{} {}: expected {} found {} {}",
                    entry.id,
                    field.name,
                    short(gold),
                    short(value),
                    confidence.unwrap_or(0.0)
                );
            }
        }
    }

    pub fn print(&self, with_fields: bool) {
        println!("{} documents, {} without an answer", self.documents, self.failed);
        println!("{:36}{:>10}{:>8}{:>8}{:>8}", "", "precision", "recall", "F1", "values");
        let line = |name: &str, counts: &Counts| {
            println!(
                "{name:36}{:10.3}{:8.3}{:8.3}{:8}",
                counts.precision(),
                counts.recall(),
                counts.f1(),
                counts.right + counts.missed
            );
        };
        line("all", &self.all);
        for (prefix, group) in [("set", &self.sets), ("type", &self.types)] {
            for (name, counts) in group {
                line(&format!("{prefix} {name}"), counts);
            }
        }
        if with_fields {
            for (name, counts) in &self.fields {
                line(name, counts);
            }
        }
        println!("macro F1 over sets {:.3}", self.macro_f1());
        println!(
            "absent fields left empty: {} of {} = {:.3}",
            self.absent.0,
            self.absent.1,
            self.left_empty()
        );
        for (name, outcomes) in &self.outcomes {
            let Some(figures) = calibration::of(outcomes) else { continue };
            let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
            println!(
                "confidence {name:16} values {:5} right {:.3} mean {:.3} ECE {:.3} AUROC {} at 0.8: precision {} coverage {:.2}",
                figures.count,
                figures.accuracy,
                figures.mean,
                figures.error,
                shown(figures.order),
                shown(figures.precision),
                figures.coverage,
            );
        }
        let line = |name: &str, times: &[Duration]| {
            let mut times = times.to_vec();
            times.sort_unstable();
            let at = |share: f64| {
                let nth = ((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1));
                times.get(nth).copied().unwrap_or_default().as_secs_f64() * 1e3
            };
            println!(
                "{name} ms: half within {:.1}, 95 of 100 within {:.1}, all within {:.1}",
                at(0.5),
                at(0.95),
                at(1.0)
            );
        };
        line("reading", &self.reading);
        line("extraction", &self.extracting);
        for (set, times) in &self.processor {
            line(&format!("processor {set}"), times);
        }
        if let Some(bytes) = machine::most_memory() {
            println!("memory of this process at most {} MiB", bytes >> 20);
        }
    }

    fn macro_f1(&self) -> f64 {
        self.sets.values().map(|counts| counts.f1()).sum::<f64>() / self.sets.len().max(1) as f64
    }

    fn left_empty(&self) -> f64 {
        f64::from(self.absent.0) / f64::from(self.absent.1.max(1))
    }

    /// A figure by its name in `--require`.
    pub fn figure(&self, name: &str) -> Option<f64> {
        let confidence = || calibration::of(self.outcomes.get("all")?);
        match name {
            "all" => Some(self.all.f1()),
            "macro" => Some(self.macro_f1()),
            "absent" => (self.absent.1 > 0).then(|| self.left_empty()),
            "ece" => Some(confidence()?.error),
            "auroc" => confidence()?.order,
            "precision" => confidence()?.precision,
            "coverage" => Some(confidence()?.coverage),
            _ => {
                let (group, name) = name.split_once(':')?;
                let group = match group {
                    "set" => &self.sets,
                    "type" => &self.types,
                    _ => return None,
                };
                group.get(name).map(|counts| counts.f1())
            }
        }
    }
}

/// How long a document took.
pub struct Times {
    pub reading: Duration,
    pub extracting: Duration,
    /// Of this process and the ones it started; to 10 ms.
    pub processor: Option<Duration>,
}
