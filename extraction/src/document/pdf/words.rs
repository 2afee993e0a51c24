//! Glyphs become words, for each direction in which a page is written.

use std::collections::BTreeMap;

use hayro::kurbo::{Point, Rect, Vec2};

use super::collect::Glyph;
use crate::document::layout::{Piece, Rule};
use crate::document::words::{is_unseen, normal};

/// In how many directions a page may be written; text on curves has more and is read so far.
const DIRECTIONS: usize = 12;
/// Dots or lines in a row that lead from a label to its value.
const LEADER: usize = 4;

/// The words of one direction, rotated so that they run to the right.
pub(super) struct Direction {
    pub(super) pieces: Vec<Piece>,
    pub(super) frame: Frame,
}

/// How a direction is turned.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    along: Vec2,
}

impl Frame {
    fn new(degrees: i32) -> Self {
        let (sin, cos) = f64::from(degrees).to_radians().sin_cos();
        Self { along: Vec2::new(cos, sin) }
    }

    fn down(self) -> Vec2 {
        Vec2::new(-self.along.y, self.along.x)
    }

    fn turn(self, point: Point) -> (f64, f64) {
        (point.to_vec2().dot(self.along), point.to_vec2().dot(self.down()))
    }

    fn turn_back(self, x: f64, y: f64) -> Point {
        (self.along * x + self.down() * y).to_point()
    }

    /// A box of the turned page, on the page as it is shown.
    pub(super) fn turn_back_rect(self, rect: Rect) -> Rect {
        let corners = [(rect.x0, rect.y0), (rect.x1, rect.y0), (rect.x1, rect.y1), (rect.x0, rect.y1)]
            .map(|(x, y)| self.turn_back(x, y));
        Rect::from_points(corners[0], corners[2]).union(Rect::from_points(corners[1], corners[3]))
    }

    /// A line of the page, turned.
    pub(super) fn rule(self, rule: Rect) -> Rule {
        let (x0, y0) = self.turn(Point::new(rule.x0, rule.y0));
        let (x1, y1) = self.turn(Point::new(rule.x1, rule.y1));
        Rule { x0: x0.min(x1), y0: y0.min(y1), x1: x0.max(x1), y1: y0.max(y1) }
    }

    /// Whether lines of the page stay horizontal and vertical.
    pub(super) fn is_upright(self) -> bool {
        self.along.x.abs() < 1e-6 || self.along.y.abs() < 1e-6
    }
}

/// The words of a page by direction, the one with most of the text first.
pub(super) fn directions(glyphs: &[Glyph]) -> Vec<Direction> {
    let mut groups: BTreeMap<i32, Vec<&Glyph>> = BTreeMap::new();
    for glyph in glyphs {
        let degrees = glyph.direction.atan2().to_degrees().round() as i32;
        groups.entry(degrees.rem_euclid(360)).or_default().push(glyph);
    }
    let mut groups: Vec<(i32, Vec<&Glyph>)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, glyphs)| std::cmp::Reverse(glyphs.len()));
    groups
        .into_iter()
        .take(DIRECTIONS)
        .map(|(degrees, glyphs)| {
            let frame = Frame::new(degrees);
            Direction { pieces: words(&glyphs, frame), frame }
        })
        .filter(|direction| !direction.pieces.is_empty())
        .collect()
}

/// A word while it grows.
struct Growing {
    piece: Piece,
    base: f64,
    /// Where each of its characters ends.
    ends: Vec<f64>,
    last: String,
}

fn words(glyphs: &[&Glyph], frame: Frame) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut growing: Option<Growing> = None;
    let mut spaced = false;
    for glyph in glyphs {
        let (x, base) = frame.turn(glyph.origin);
        if glyph.text.chars().all(|character| character.is_whitespace() || is_unseen(character)) {
            let is_space = glyph.text.chars().any(char::is_whitespace);
            if is_space && let Some(word) = growing.take() {
                finish(word, &mut pieces);
            }
            spaced |= is_space;
            continue;
        }
        let end = x + glyph.advance;
        if let Some(word) = &mut growing {
            let size = word.piece.size.max(glyph.size);
            let gap = x - word.piece.x1;
            let same_line = (base - word.base).abs() < 0.2 * size;
            if same_line && word.last == glyph.text && (end - word.piece.x1).abs() < 0.12 * size {
                // The same again, a little aside: drawn bold.
                word.piece.bold = true;
                continue;
            }
            if same_line && gap < 0.17 * size && gap > -0.4 * size {
                for character in glyph.text.chars().filter(|character| !is_unseen(*character)) {
                    word.piece.text.push(character);
                    word.ends.push(end);
                }
                word.piece.x1 = word.piece.x1.max(end);
                word.last.clone_from(&glyph.text);
                continue;
            }
        }
        if let Some(word) = growing.take() {
            finish(word, &mut pieces);
        }
        let text: String = glyph.text.chars().filter(|character| !is_unseen(*character)).collect();
        growing = Some(Growing {
            ends: vec![end; text.chars().count()],
            piece: Piece {
                text,
                x0: x,
                x1: end,
                top: base - 0.76 * glyph.size,
                bottom: base + 0.22 * glyph.size,
                size: glyph.size,
                bold: glyph.bold,
                confidence: if glyph.invisible { 0.9 } else { 1.0 },
                spaced: std::mem::take(&mut spaced),
                row: None,
            },
            base,
            last: glyph.text.clone(),
        });
    }
    if let Some(word) = growing {
        finish(word, &mut pieces);
    }
    pieces
}

/// Ends a word: leaders (`Total ........ 12.00`) are cut out of it, lines to write on stand for themselves.
fn finish(word: Growing, pieces: &mut Vec<Piece>) {
    let characters: Vec<char> = word.piece.text.chars().collect();
    let is_leader = |character: char| matches!(character, '.' | '_' | '…' | '·');
    let mut begin = 0;
    let mut from = word.piece.x0;
    let mut spaced = word.piece.spaced;
    let mut push = |characters: &[char], from: f64, to: f64, spaced: bool| {
        if !characters.is_empty() {
            let text: String = characters.iter().collect();
            pieces.push(Piece {
                text: normal(&text),
                x0: from,
                x1: to.max(from),
                spaced,
                ..word.piece.clone()
            });
        }
    };
    let mut index = 0;
    while index < characters.len() {
        let run = characters[index..].iter().take_while(|character| **character == characters[index]).count();
        if is_leader(characters[index]) && run >= LEADER {
            let start = index.checked_sub(1).map_or(word.piece.x0, |before| word.ends[before]);
            push(&characters[begin..index], from, start, spaced);
            if characters[index] == '_' {
                push(&characters[index..index + run], start, word.ends[index + run - 1], true);
            }
            spaced = true;
            begin = index + run;
            from = word.ends[begin - 1];
        }
        index += run;
    }
    push(&characters[begin..], from, word.piece.x1, spaced);
}
