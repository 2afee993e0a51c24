//! Ruling lines: they are no characters, and OCR stumbles over them. Tables are read by them.

use super::clean::is_ink;
use super::raster::Raster;
use crate::document::layout::Rule;

/// The minimum length of a line, in heights of a letter.
const LONG: f64 = 6.0;

/// Removes horizontal and vertical lines from an image with letters of this height, and returns their positions.
pub(super) fn remove(raster: &mut Raster, letters: f64) -> Vec<Rule> {
    let long = (letters * LONG).max(40.0) as usize;
    let thick = (letters * 0.35).clamp(3.0, 12.0) as usize;
    let (width, height) = (raster.width as usize, raster.height as usize);
    let mut rules = Vec::new();
    let mut white: Vec<usize> = Vec::new();
    let ink = |at: usize| is_ink(raster.pixels[at]);
    for y in 0..height {
        for (from, to) in runs(width, long, |x| ink(y * width + x)) {
            let thin = |x: usize| {
                let up = (1..=thick).take_while(|step| y >= *step && ink((y - step) * width + x)).count();
                let down =
                    (1..=thick).take_while(|step| y + step < height && ink((y + step) * width + x)).count();
                up + down < thick
            };
            let before = white.len();
            white.extend((from..to).filter(|x| thin(*x)).map(|x| y * width + x));
            if (white.len() - before) * 2 > to - from {
                rules.push(Rule { x0: from as f64, y0: y as f64, x1: to as f64, y1: y as f64 });
            }
        }
    }
    for x in 0..width {
        for (from, to) in runs(height, long, |y| ink(y * width + x)) {
            let thin = |y: usize| {
                let left = (1..=thick).take_while(|step| x >= *step && ink(y * width + x - step)).count();
                let right =
                    (1..=thick).take_while(|step| x + step < width && ink(y * width + x + step)).count();
                left + right < thick
            };
            let before = white.len();
            white.extend((from..to).filter(|y| thin(*y)).map(|y| y * width + x));
            if (white.len() - before) * 2 > to - from {
                rules.push(Rule { x0: x as f64, y0: from as f64, x1: x as f64, y1: to as f64 });
            }
        }
    }
    for at in white {
        raster.pixels[at] = 255;
    }
    rules
}

/// Runs of ink of at least this length, small breaks allowed: from, to.
fn runs(length: usize, long: usize, ink: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    const BREAK: usize = 2;
    let mut runs = Vec::new();
    let mut at = 0;
    while at < length {
        if !ink(at) {
            at += 1;
            continue;
        }
        let begin = at;
        let mut end = at + 1;
        while at < length && at < end + BREAK {
            if ink(at) {
                end = at + 1;
            }
            at += 1;
        }
        if end - begin >= long {
            runs.push((begin, end));
        }
    }
    runs
}
