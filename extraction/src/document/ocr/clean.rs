//! Noise and uneven light.

use super::raster::Raster;

/// Spread of the ground, in shades, from which on it is noise.
const NOISY: f64 = 5.0;
/// Sides of the squares in which the ground is looked for, in pixels.
const BLOCK: usize = 32;
/// Darker than this against a levelled ground is ink.
const INK: u8 = 150;

/// Takes noise out, if there is any.
pub(super) fn denoise(raster: &mut Raster) {
    if noise(raster) > NOISY {
        median(raster);
    }
}

/// How much the ground varies from pixel to pixel, in shades.
fn noise(raster: &Raster) -> f64 {
    let (width, height) = (raster.width as usize, raster.height as usize);
    const SIDE: usize = 12;
    let mut spreads = Vec::new();
    for top in (0..height.saturating_sub(SIDE)).step_by(SIDE * 2) {
        for left in (0..width.saturating_sub(SIDE)).step_by(SIDE * 2) {
            // Differences of neighbours: even light that falls off does not count.
            let mut sum = 0.0;
            for y in top..top + SIDE {
                let row = &raster.pixels[y * width + left..][..SIDE];
                sum += row
                    .windows(2)
                    .map(|pair| f64::from(i32::from(pair[0]) - i32::from(pair[1])).powi(2))
                    .sum::<f64>();
            }
            spreads.push((sum / (SIDE * (SIDE - 1)) as f64 / 2.0).sqrt());
        }
    }
    if spreads.is_empty() {
        return 0.0;
    }
    // Squares without text are the calm ones.
    let middle = spreads.len() * 3 / 10;
    *spreads.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The median of each pixel and its eight neighbours, by a network of comparisons.
fn median(raster: &mut Raster) {
    let (width, height) = (raster.width as usize, raster.height as usize);
    if width < 3 || height < 3 {
        return;
    }
    let source = raster.pixels.clone();
    for y in 1..height - 1 {
        let rows = [y - 1, y, y + 1].map(|row| &source[row * width..][..width]);
        let target = &mut raster.pixels[y * width..][..width];
        for x in 1..width - 1 {
            let mut p = [
                rows[0][x - 1],
                rows[0][x],
                rows[0][x + 1],
                rows[1][x - 1],
                rows[1][x],
                rows[1][x + 1],
                rows[2][x - 1],
                rows[2][x],
                rows[2][x + 1],
            ];
            let mut order = |a: usize, b: usize| {
                let (low, high) = (p[a].min(p[b]), p[a].max(p[b]));
                (p[a], p[b]) = (low, high);
            };
            for (a, b) in [
                (1, 2),
                (4, 5),
                (7, 8),
                (0, 1),
                (3, 4),
                (6, 7),
                (1, 2),
                (4, 5),
                (7, 8),
                (0, 3),
                (5, 8),
                (4, 7),
                (3, 6),
                (1, 4),
                (2, 5),
                (4, 7),
                (4, 2),
                (6, 4),
                (4, 2),
            ] {
                order(a, b);
            }
            target[x] = p[4];
        }
    }
}

/// Divides by the background, which the brightest tenth of each square determines, so that paper is white everywhere.
pub(super) fn level_ground(raster: &mut Raster) {
    let (width, height) = (raster.width as usize, raster.height as usize);
    let (columns, rows) = (width.div_ceil(BLOCK), height.div_ceil(BLOCK));
    let mut ground = vec![0.0_f32; columns * rows];
    for row in 0..rows {
        for column in 0..columns {
            let mut histogram = [0_u32; 256];
            let mut count = 0;
            for y in row * BLOCK..((row + 1) * BLOCK).min(height) {
                let line =
                    &raster.pixels[y * width + column * BLOCK..y * width + ((column + 1) * BLOCK).min(width)];
                for pixel in line {
                    histogram[usize::from(*pixel)] += 1;
                }
                count += line.len() as u32;
            }
            let mut left = count / 10;
            let bright = (0..256).rev().find(|shade| {
                let there = histogram[*shade];
                let found = there > left;
                left = left.saturating_sub(there);
                found
            });
            // Where all is dark there is no paper to see.
            ground[row * columns + column] = bright.unwrap_or(255).max(48) as f32;
        }
    }
    let ground = smooth(&ground, columns, rows);
    let location = |at: usize, count: usize| {
        let position = ((at as f32 + 0.5) / BLOCK as f32 - 0.5).clamp(0.0, (count - 1) as f32);
        let low = position as usize;
        (low, (low + 1).min(count - 1), position - low as f32)
    };
    let across: Vec<(usize, usize, f32)> = (0..width).map(|x| location(x, columns)).collect();
    for y in 0..height {
        let (above, below, part) = location(y, rows);
        let line: Vec<f32> = (0..columns)
            .map(|column| {
                ground[above * columns + column] * (1.0 - part) + ground[below * columns + column] * part
            })
            .collect();
        for (pixel, (left, right, part)) in raster.pixels[y * width..][..width].iter_mut().zip(&across) {
            let ground = line[*left] * (1.0 - part) + line[*right] * part;
            *pixel = (f32::from(*pixel) * 255.0 / ground).min(255.0) as u8;
        }
    }
}

/// The mean of each square and its neighbours.
fn smooth(ground: &[f32], columns: usize, rows: usize) -> Vec<f32> {
    let mut smoothed = Vec::with_capacity(ground.len());
    for row in 0..rows {
        for column in 0..columns {
            let (mut sum, mut count) = (0.0, 0.0);
            for y in row.saturating_sub(1)..(row + 2).min(rows) {
                for x in column.saturating_sub(1)..(column + 2).min(columns) {
                    sum += ground[y * columns + x];
                    count += 1.0;
                }
            }
            smoothed.push(sum / count);
        }
    }
    smoothed
}

/// Whether a pixel of a levelled image is ink.
pub(super) fn is_ink(pixel: u8) -> bool {
    pixel < INK
}

/// The usual height of letters, in pixels: of what hangs together and has the shape of one. `None` if there are few.
pub(super) fn letter_height(raster: &Raster) -> Option<f64> {
    let (width, height) = (raster.width as usize, raster.height as usize);
    let mut parts = Parts::default();
    let mut above: Vec<(usize, usize, usize)> = Vec::new();
    for y in 0..height {
        let line = &raster.pixels[y * width..][..width];
        let mut runs = Vec::new();
        let mut x = 0;
        let mut near = 0;
        while x < width {
            if !is_ink(line[x]) {
                x += 1;
                continue;
            }
            let begin = x;
            while x < width && is_ink(line[x]) {
                x += 1;
            }
            let part = parts.begin(begin, x, y);
            while near < above.len() && above[near].1 < begin {
                near += 1;
            }
            for (from, _, other) in above[near..].iter().take_while(|(from, _, _)| *from <= x) {
                let _ = from;
                parts.join(part, *other);
            }
            runs.push((begin, x, part));
        }
        above = runs;
    }
    let mut heights = parts.heights();
    if heights.len() < 20 {
        return None;
    }
    let middle = heights.len() / 2;
    Some(*heights.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// What hangs together, while it is found.
#[derive(Default)]
struct Parts {
    parent: Vec<usize>,
    bounds: Vec<[usize; 4]>,
}

impl Parts {
    fn begin(&mut self, left: usize, right: usize, y: usize) -> usize {
        self.parent.push(self.parent.len());
        self.bounds.push([left, right, y, y + 1]);
        self.parent.len() - 1
    }

    fn root(&mut self, mut part: usize) -> usize {
        while self.parent[part] != part {
            self.parent[part] = self.parent[self.parent[part]];
            part = self.parent[part];
        }
        part
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        let (keep, gone) = (a.min(b), a.max(b));
        self.parent[gone] = keep;
        let [left, right, top, bottom] = self.bounds[gone];
        let retained = &mut self.bounds[keep];
        *retained =
            [retained[0].min(left), retained[1].max(right), retained[2].min(top), retained[3].max(bottom)];
    }

    fn heights(&self) -> Vec<f64> {
        (0..self.parent.len())
            .filter(|part| self.parent[*part] == *part)
            .filter_map(|part| {
                let [left, right, top, bottom] = self.bounds[part];
                let (wide, high) = ((right - left) as f64, (bottom - top) as f64);
                let is_letter =
                    (4.0..=160.0).contains(&high) && wide >= 2.0 && wide / high < 3.0 && high / wide < 8.0;
                is_letter.then_some(high)
            })
            .collect()
    }
}
