//! The connected parts of a map of probabilities, and the least rectangle around each.

/// A cell that is more probable than this belongs to a line.
const LINE: f32 = 0.2;
/// A rectangle whose mean is not above this is none.
const MEAN: f32 = 0.4;
/// By how much a rectangle grows: the map shows the middle of lines.
const GROWTH: f32 = 1.4;
/// Cells of the shorter side of the least rectangle, before and after it has grown.
const THIN: f32 = 3.0;
const THIN_GROWN: f32 = 5.0;
/// Lines of a map at most. More are noise, or an image that is to take time.
const LINES: usize = 1_000;

/// A line of text: a rectangle about (`x`, `y`), turned by `angle` so that its length slopes down to the right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) length: f32,
    pub(crate) height: f32,
    /// In radians, from −π/4 to π/4.
    pub(crate) angle: f32,
}

impl Region {
    /// The same on an image that is so many times as wide and as high.
    pub(crate) fn scaled(self, wide: f32, high: f32) -> Self {
        let Region { x, y, length, height, angle } = self;
        Self { x: x * wide, y: y * high, length: length * wide, height: height * high, angle }
    }

    /// Whether the middle of each is within the height of the other.
    pub(crate) fn is_level_with(&self, other: &Self) -> bool {
        (self.y - other.y).abs() < self.height.min(other.height) / 2.0
    }

    /// Whether a point of the image is in it.
    #[must_use]
    pub fn contains(&self, x: f32, y: f32) -> bool {
        let (sin, cos) = self.angle.sin_cos();
        let (dx, dy) = (x - self.x, y - self.y);
        (dx * cos + dy * sin).abs() <= self.length / 2.0 && (dy * cos - dx * sin).abs() <= self.height / 2.0
    }

    fn corners(&self) -> [(f32, f32); 4] {
        let (sin, cos) = self.angle.sin_cos();
        let (along, across) = (self.length / 2.0, self.height / 2.0);
        [(-along, -across), (along, -across), (along, across), (-along, across)]
            .map(|(a, b)| (self.x + a * cos - b * sin, self.y + a * sin + b * cos))
    }
}

/// The lines of a map of this width, those with more cells first, at most [`LINES`].
pub(crate) fn regions(map: &[f32], width: usize) -> Vec<Region> {
    let Some(rows) = map.len().checked_div(width) else { return Vec::new() };
    // Whole rows.
    let map = &map[..rows * width];
    let mut found: Vec<(usize, Region)> = Vec::new();
    for part in parts(dilated(map, width), width) {
        let Some(region) = least_rectangle(&hull(&part.spans)) else { continue };
        if region.length.min(region.height) < THIN || mean(map, width, &region) <= MEAN {
            continue;
        }
        let grown = GROWTH * region.length * region.height / (2.0 * (region.length + region.height));
        let (length, height) = (region.length + 2.0 * grown, region.height + 2.0 * grown);
        if length.min(height) >= THIN_GROWN {
            found.push((part.cells, Region { length, height, ..region }));
        }
    }
    found.sort_by_key(|(cells, _)| std::cmp::Reverse(*cells));
    found.into_iter().take(LINES).map(|(_, region)| region).collect()
}

/// The cells of lines, each with those on its right and below.
fn dilated(map: &[f32], width: usize) -> Vec<bool> {
    let mut cells = vec![false; map.len()];
    for (at, _) in map.iter().enumerate().filter(|(_, value)| **value > LINE) {
        let is_last = at % width + 1 == width;
        for near in
            [Some(at), (!is_last).then_some(at + 1), Some(at + width), (!is_last).then_some(at + width + 1)]
        {
            if let Some(cell) = near.and_then(|near| cells.get_mut(near)) {
                *cell = true;
            }
        }
    }
    cells
}

/// A connected part: how many cells it has, and for each of its rows the first and the last.
struct Part {
    cells: usize,
    spans: Vec<(usize, usize, usize)>,
}

fn parts(mut cells: Vec<bool>, width: usize) -> Vec<Part> {
    let height = cells.len() / width;
    let mut parts = Vec::new();
    let mut open = Vec::new();
    for start in 0..cells.len() {
        if !std::mem::take(&mut cells[start]) {
            continue;
        }
        // The first cell that is met is in the uppermost row.
        let top = start / width;
        let mut spans: Vec<(usize, usize, usize)> = Vec::new();
        let mut count = 0;
        open.push(start);
        while let Some(cell) = open.pop() {
            let (x, y) = (cell % width, cell / width);
            count += 1;
            while spans.len() <= y - top {
                spans.push((top + spans.len(), usize::MAX, 0));
            }
            let span = &mut spans[y - top];
            (span.1, span.2) = (span.1.min(x), span.2.max(x));
            for near_y in y.saturating_sub(1)..=(y + 1).min(height - 1) {
                for near_x in x.saturating_sub(1)..=(x + 1).min(width - 1) {
                    let near = near_y * width + near_x;
                    if std::mem::take(&mut cells[near]) {
                        open.push(near);
                    }
                }
            }
        }
        parts.push(Part { cells: count, spans });
    }
    parts
}

/// The convex hull of a part, counter-clockwise by the monotone chain.
fn hull(spans: &[(usize, usize, usize)]) -> Vec<(f32, f32)> {
    let mut points: Vec<(f32, f32)> = spans
        .iter()
        .flat_map(|(y, first, last)| [(*first as f32, *y as f32), (*last as f32, *y as f32)])
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.dedup();
    if points.len() < 3 {
        return points;
    }
    let turns =
        |a: (f32, f32), b: (f32, f32), c: (f32, f32)| (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0);
    let mut hull: Vec<(f32, f32)> = Vec::new();
    for half in [points.clone(), points.into_iter().rev().collect()] {
        let start = hull.len();
        for point in half {
            while hull.len() >= start + 2 && turns(hull[hull.len() - 2], hull[hull.len() - 1], point) <= 0.0 {
                hull.pop();
            }
            hull.push(point);
        }
        hull.pop();
    }
    hull
}

/// The rectangle of least area around a hull: one of its sides lies on a side of the hull. All pairs of corners are cheap:
/// a convex polygon of whole numbers below n has fewer than 4 n^(2/3) corners, 548 on a map of 1,600 cells.
fn least_rectangle(hull: &[(f32, f32)]) -> Option<Region> {
    if hull.len() < 3 {
        return None;
    }
    let mut least: Option<(f32, Region)> = None;
    for (at, from) in hull.iter().enumerate() {
        let to = hull[(at + 1) % hull.len()];
        // Any of the four directions of a rectangle does: the one that is nearest to level.
        let quarter = std::f32::consts::FRAC_PI_2;
        let angle = (to.1 - from.1).atan2(to.0 - from.0);
        let angle = angle - (angle / quarter).round() * quarter;
        let (sin, cos) = angle.sin_cos();
        let (mut along, mut across) = ((f32::MAX, f32::MIN), (f32::MAX, f32::MIN));
        for (x, y) in hull {
            let (a, b) = (x * cos + y * sin, y * cos - x * sin);
            along = (along.0.min(a), along.1.max(a));
            across = (across.0.min(b), across.1.max(b));
        }
        let (length, height) = (along.1 - along.0, across.1 - across.0);
        let area = length * height;
        if least.is_none_or(|(most, _)| area < most) {
            let (a, b) = ((along.0 + along.1) / 2.0, (across.0 + across.1) / 2.0);
            let region = Region { x: a * cos - b * sin, y: a * sin + b * cos, length, height, angle };
            least = Some((area, region));
        }
    }
    least.map(|(_, region)| region)
}

/// The mean of the cells in a rectangle.
fn mean(map: &[f32], width: usize, region: &Region) -> f32 {
    let corners = region.corners();
    let end = |value: f32, most: usize| (value.max(0.0) as usize).min(most);
    let (left, right) =
        corners.iter().fold((f32::MAX, 0.0_f32), |(low, high), (x, _)| (low.min(*x), high.max(*x)));
    let (top, bottom) =
        corners.iter().fold((f32::MAX, 0.0_f32), |(low, high), (_, y)| (low.min(*y), high.max(*y)));
    let (sin, cos) = region.angle.sin_cos();
    let (mut sum, mut count) = (0.0, 0.0_f32);
    for y in end(top, map.len() / width)..end(bottom.ceil() + 1.0, map.len() / width) {
        for x in end(left, width)..end(right.ceil() + 1.0, width) {
            let (dx, dy) = (x as f32 - region.x, y as f32 - region.y);
            let is_inside = (dx * cos + dy * sin).abs() <= region.length / 2.0 + 0.01
                && (dy * cos - dx * sin).abs() <= region.height / 2.0 + 0.01;
            if is_inside {
                sum += map[y * width + x];
                count += 1.0;
            }
        }
    }
    sum / count.max(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WIDTH: usize = 200;

    /// A map on which these regions are lines.
    fn map(drawn: &[Region]) -> Vec<f32> {
        let inside = |x: usize, y: usize, region: &Region| {
            let (sin, cos) = region.angle.sin_cos();
            let (dx, dy) = (x as f32 - region.x, y as f32 - region.y);
            (dx * cos + dy * sin).abs() <= region.length / 2.0
                && (dy * cos - dx * sin).abs() <= region.height / 2.0
        };
        let cell = |at: usize| drawn.iter().any(|region| inside(at % WIDTH, at / WIDTH, region));
        (0..WIDTH * WIDTH).map(|at| if cell(at) { 0.9 } else { 0.05 }).collect()
    }

    proptest! {
        #[test]
        fn a_line_is_found_where_it_was_drawn(
            x in 80.0_f32..120.0, y in 60.0_f32..140.0, length in 50.0_f32..120.0, height in 8.0_f32..16.0,
            angle in -0.3_f32..0.3,
        ) {
            let drawn = Region { x, y, length, height, angle };
            let found = regions(&map(&[drawn]), WIDTH);
            prop_assert_eq!(found.len(), 1);
            let found = found[0];
            let grown = 2.0 * GROWTH * length * height / (2.0 * (length + height));
            prop_assert!((found.x - x).abs() < 2.0 && (found.y - y).abs() < 2.0, "{:?} of {:?}", found, drawn);
            prop_assert!((found.angle - angle).abs() < 0.08, "{:?} of {:?}", found, drawn);
            prop_assert!((found.length - length - grown).abs() < 6.0, "{:?} of {:?}", found, drawn);
            prop_assert!((found.height - height - grown).abs() < 6.0, "{:?} of {:?}", found, drawn);
        }

        #[test]
        fn any_map_has_regions_of_finite_size(
            cells in proptest::collection::vec(prop_oneof![Just(0.0_f32), Just(0.9), any::<f32>()], 0..400),
            width in 0_usize..30,
        ) {
            for region in regions(&cells, width) {
                prop_assert!(region.length >= 0.0 && region.length < 1_000.0 && region.angle.is_finite(), "{:?}", region);
            }
        }
    }

    #[test]
    fn a_map_of_many_specks_has_a_thousand_lines_the_larger_first() {
        // 1,764 squares of 5 cells, three cells apart, and one that is larger.
        let width = 42 * 8 + 16;
        let speck = |at: usize| {
            at < width * (width - 16) && at % width < 42 * 8 && at % width % 8 < 5 && at / width % 8 < 5
        };
        let large = |at: usize| at / width >= width - 14 && at / width < width - 4 && at % width < 100;
        let map: Vec<f32> =
            (0..width * width).map(|at| if speck(at) || large(at) { 0.9 } else { 0.0 }).collect();
        let found = regions(&map, width);
        assert_eq!(found.len(), LINES);
        assert!(
            found[0].length > 90.0 && found[1..].iter().all(|region| region.length < 20.0),
            "{:?}",
            found[0]
        );
    }

    #[test]
    fn what_is_faint_or_thin_is_no_line() {
        let faint = map(&[Region { x: 100.0, y: 100.0, length: 80.0, height: 10.0, angle: 0.0 }]);
        let faint: Vec<f32> = faint.iter().map(|value| value * 0.4).collect();
        assert_eq!(regions(&faint, WIDTH), []);
        assert_eq!(
            regions(&map(&[Region { x: 100.0, y: 100.0, length: 80.0, height: 0.5, angle: 0.0 }]), WIDTH),
            []
        );
    }
}
