//! Boxes to tick that a page draws, ticked or not, become words.

use hayro::kurbo::{Point, Rect};

use super::collect::{Collected, Glyph};
use super::symbols::is_tick;

/// Sides of such boxes, in points.
const CHECKBOX_SIDE_PT: std::ops::RangeInclusive<f64> = 5.0..=18.0;
/// A page of more small boxes is no form.
const BOXES: usize = 300;

/// Puts a `☐` or `☒` where a box to tick is drawn, in place of what ticks it.
pub(super) fn find(page: &mut Collected) {
    let mut boxes: Vec<Rect> = Vec::new();
    for painted in &page.boxes {
        let rect = painted.rect;
        let is_square = CHECKBOX_SIDE_PT.contains(&rect.width())
            && CHECKBOX_SIDE_PT.contains(&rect.height())
            && (rect.width() / rect.height()).max(rect.height() / rect.width()) < 1.3;
        // Borders are drawn twice, one box in the other.
        let again = boxes.iter().any(|known| known.contains(rect.center()) || rect.contains(known.center()));
        if is_square && !painted.filled && !again {
            boxes.push(rect);
        }
    }
    if boxes.len() > BOXES {
        return;
    }
    for rect in boxes.clone() {
        // Boxes side by side are for one letter each.
        let reach = rect.inflate(1.5, 1.5);
        if boxes.iter().any(|other| *other != rect && other.overlaps(reach)) {
            continue;
        }
        let inside: Vec<usize> = (0..page.glyphs.len())
            .filter(|index| {
                rect.contains(page.glyphs[*index].center()) && !page.glyphs[*index].text.trim().is_empty()
            })
            .collect();
        if inside.iter().any(|index| !is_tick(&page.glyphs[*index].text)) {
            continue;
        }
        let fills = |mark: &Rect| {
            rect.contains(mark.center())
                && mark.width().max(mark.height()) > 0.4 * rect.width()
                && mark.area() <= rect.area() * 2.5
        };
        let ticked = !inside.is_empty()
            || page.marks.iter().any(fills)
            || page.boxes.iter().any(|painted| painted.filled && painted.is_dark() && fills(&painted.rect));
        for index in inside {
            page.glyphs[index].text.clear();
        }
        page.glyphs.push(glyph(rect, ticked));
    }
}

/// The word for a box.
pub(super) fn glyph(rect: Rect, ticked: bool) -> Glyph {
    let size = rect.height().clamp(6.0, 14.0);
    let base = rect.center().y + 0.27 * size;
    Glyph::standing_for(if ticked { "☒" } else { "☐" }, Point::new(rect.x0, base), rect.width(), size)
}
