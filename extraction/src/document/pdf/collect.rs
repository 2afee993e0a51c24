//! Collects what a page draws: glyphs with their positions, rules, boxes, images. It renders no pixels.

use hayro::hayro_interpret::font::{Glyph as DrawnGlyph, GlyphRun};
use hayro::hayro_interpret::hayro_cmap::BfString;
use hayro::hayro_interpret::{
    BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, Paint, SoftMask,
};
use hayro::kurbo::{Affine, BezPath, PathEl, Point, Rect, Shape, Vec2};

use super::symbols;

/// How many lines and boxes of a page are looked at.
const SHAPES: usize = 20_000;
/// Thinner boxes are lines.
const THIN: f64 = 3.0;

/// One glyph, in points from the top left corner of the page as it is shown.
#[derive(Clone, Debug)]
pub(super) struct Glyph {
    /// Its characters; empty if they are unknown.
    pub(super) text: String,
    /// Where it begins on its base line.
    pub(super) origin: Point,
    /// Which way it is written, of length 1.
    pub(super) direction: Vec2,
    /// How far it reaches that way.
    pub(super) advance: f64,
    /// Height of its type.
    pub(super) size: f64,
    pub(super) bold: bool,
    /// Whether it belongs to unpainted text, such as the OCR layer of a scan.
    pub(super) invisible: bool,
    /// Whether its colour, size or position makes it invisible.
    pub(super) hidden: bool,
    color: Option<[f32; 3]>,
    /// What was drawn before it.
    order: usize,
}

impl Glyph {
    /// A glyph that represents something else on the page.
    pub(super) fn standing_for(text: &str, origin: Point, advance: f64, size: f64) -> Self {
        Self {
            text: text.to_owned(),
            origin,
            direction: Vec2::new(1.0, 0.0),
            advance,
            size,
            bold: false,
            invisible: false,
            hidden: false,
            color: None,
            order: 0,
        }
    }

    /// The middle of its body.
    pub(super) fn center(&self) -> Point {
        let up = Vec2::new(self.direction.y, -self.direction.x);
        self.origin + self.direction * (self.advance * 0.5) + up * (self.size * 0.3)
    }
}

/// A box, painted as an area or as a border.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaintedBox {
    pub(super) rect: Rect,
    pub(super) filled: bool,
    color: Option<[f32; 3]>,
    opaque: bool,
    order: usize,
}

impl PaintedBox {
    pub(super) fn is_dark(&self) -> bool {
        self.color.is_some_and(|color| color.iter().sum::<f32>() < 1.2)
    }
}

/// What a page draws.
pub(super) struct Collected {
    pub(super) glyphs: Vec<Glyph>,
    /// Horizontal and vertical lines, as boxes without thickness.
    pub(super) rules: Vec<Rect>,
    pub(super) boxes: Vec<PaintedBox>,
    /// Short strokes that are neither: crosses and ticks.
    pub(super) marks: Vec<Rect>,
    pub(super) images: Vec<Rect>,
    /// How many glyphs have no character.
    pub(super) unmapped: usize,
    /// Whether the page draws more glyphs than a document may have characters.
    pub(super) overfull: bool,
    most: usize,
    page: Rect,
    clips: Vec<Rect>,
    groups: Vec<f32>,
    order: usize,
}

impl Collected {
    /// A collector for a page of this size, with at most so many glyphs.
    pub(super) fn new(width: f64, height: f64, most: usize) -> Self {
        Self {
            glyphs: Vec::new(),
            rules: Vec::new(),
            boxes: Vec::new(),
            marks: Vec::new(),
            images: Vec::new(),
            unmapped: 0,
            overfull: false,
            most,
            page: Rect::new(0.0, 0.0, width, height),
            clips: Vec::new(),
            groups: Vec::new(),
            order: 0,
        }
    }

    /// What part of the page images cover, from 0 to 1; the largest one counts.
    pub(super) fn image_share(&self) -> f64 {
        let page = self.page.area().max(1.0);
        self.images.iter().map(|image| image.intersect(self.page).area() / page).fold(0.0, f64::max)
    }

    /// Marks glyphs that the paint below or above them makes invisible.
    pub(super) fn hide_covered(&mut self) {
        let boxes: Vec<&PaintedBox> =
            self.boxes.iter().filter(|painted| painted.filled && painted.opaque).collect();
        for glyph in &mut self.glyphs {
            if glyph.hidden || glyph.invisible {
                continue;
            }
            let Some(color) = glyph.color else { continue };
            let center = glyph.center();
            let mut ground = Some([1.0; 3]);
            for painted in &boxes {
                if !painted.rect.contains(center) {
                    continue;
                }
                if painted.order < glyph.order {
                    ground = painted.color;
                } else if painted.rect.height() > glyph.size * 0.6 {
                    glyph.hidden = true;
                }
            }
            // Over an image or a pattern every colour may be seen.
            let over_image = self.images.iter().any(|image| image.contains(center));
            if let (Some(ground), false) = (ground, over_image) {
                glyph.hidden |= color.iter().zip(ground).all(|(a, b)| (a - b).abs() < 0.04);
            }
        }
    }

    fn clip(&self) -> Rect {
        self.clips.last().copied().unwrap_or(self.page)
    }

    fn push_clip(&mut self, rect: Rect) {
        self.clips.push(self.clip().intersect(rect));
    }

    fn opacity(&self) -> f32 {
        self.groups.iter().product()
    }

    fn rule(&mut self, from: Point, to: Point) {
        let (width, height) = ((to.x - from.x).abs(), (to.y - from.y).abs());
        let rect = Rect::from_points(from, to);
        if width.min(height) < 1.0 && width.max(height) >= 4.0 {
            let visible = rect.inflate(0.5, 0.5).intersect(self.clip());
            if self.rules.len() < SHAPES && visible.width().max(visible.height()) >= 4.0 {
                let middle = rect.center();
                self.rules.push(if width > height {
                    Rect::new(visible.x0, middle.y, visible.x1, middle.y)
                } else {
                    Rect::new(middle.x, visible.y0, middle.x, visible.y1)
                });
            }
        } else if width.max(height) < 30.0 && width.max(height) > 1.0 && self.marks.len() < SHAPES {
            self.marks.push(rect);
        }
    }

    fn painted_box(&mut self, rect: Rect, paint: &Paint<'_>, opaque: bool, filled: bool) {
        if filled && rect.width().min(rect.height()) < THIN {
            let middle = rect.center();
            if rect.width() > rect.height() {
                self.rule(Point::new(rect.x0, middle.y), Point::new(rect.x1, middle.y));
            } else {
                self.rule(Point::new(middle.x, rect.y0), Point::new(middle.x, rect.y1));
            }
            return;
        }
        if !filled {
            let [a, b, c, d] = corners(rect);
            for (from, to) in [(a, b), (b, c), (c, d), (d, a)] {
                self.rule(from, to);
            }
        }
        if self.boxes.len() < SHAPES {
            let color = color(paint).map(|(color, _)| color);
            let rect = rect.intersect(self.clip());
            self.boxes.push(PaintedBox { rect, filled, color, opaque, order: self.order });
        }
    }

    fn path(&mut self, path: &BezPath, props: &DrawProps<'_>, mode: &DrawMode) {
        self.order += 1;
        let alpha = color(&props.paint).map_or(1.0, |(_, alpha)| alpha) * self.opacity();
        if alpha < 0.05 {
            return;
        }
        let opaque =
            alpha > 0.95 && props.soft_mask.is_none() && matches!(props.blend_mode, BlendMode::Normal);
        let filled = !matches!(mode, DrawMode::Stroke(_));
        let mut subpath: Vec<Point> = Vec::new();
        let mut curved = false;
        let transform = props.transform;
        for element in path.elements().iter().take(SHAPES) {
            match element {
                PathEl::MoveTo(point) => {
                    self.subpath(&subpath, curved, props, opaque, filled);
                    subpath.clear();
                    subpath.push(transform * *point);
                    curved = false;
                }
                PathEl::LineTo(point) => subpath.push(transform * *point),
                PathEl::QuadTo(_, point) | PathEl::CurveTo(_, _, point) => {
                    subpath.push(transform * *point);
                    curved = true;
                }
                PathEl::ClosePath => {
                    if let Some(first) = subpath.first().copied() {
                        subpath.push(first);
                    }
                }
            }
        }
        self.subpath(&subpath, curved, props, opaque, filled);
    }

    fn subpath(&mut self, points: &[Point], curved: bool, props: &DrawProps<'_>, opaque: bool, filled: bool) {
        if points.len() < 2 {
            return;
        }
        let bounds = points
            .iter()
            .fold(Rect::from_points(points[0], points[0]), |bounds, point| bounds.union_pt(*point));
        if !bounds.is_finite() {
            return;
        }
        let on_border = |point: &Point| {
            ((point.x - bounds.x0).abs() < 0.5 || (point.x - bounds.x1).abs() < 0.5)
                && ((point.y - bounds.y0).abs() < 0.5 || (point.y - bounds.y1).abs() < 0.5)
        };
        let is_box = !curved && (4..=6).contains(&points.len()) && points.iter().all(on_border);
        if is_box && bounds.width() > 0.0 && bounds.height() > 0.0
            || filled && !curved && points.iter().all(on_border)
        {
            self.painted_box(bounds, &props.paint, opaque, filled);
        } else if curved || filled {
            if bounds.width().max(bounds.height()) < 30.0 && self.marks.len() < SHAPES {
                self.marks.push(bounds);
            }
        } else {
            for pair in points.windows(2) {
                self.rule(pair[0], pair[1]);
            }
        }
    }
}

fn corners(rect: Rect) -> [Point; 4] {
    [
        Point::new(rect.x0, rect.y0),
        Point::new(rect.x1, rect.y0),
        Point::new(rect.x1, rect.y1),
        Point::new(rect.x0, rect.y1),
    ]
}

/// Colour and opacity of a paint; `None` for a pattern.
fn color(paint: &Paint<'_>) -> Option<([f32; 3], f32)> {
    match paint {
        Paint::Color(color) => {
            let [red, green, blue, alpha] = color.to_rgba().components();
            Some(([red, green, blue], alpha))
        }
        Paint::Pattern(_) => None,
    }
}

impl<'a> Device<'a> for Collected {
    fn draw_path(&mut self, path: &BezPath, props: DrawProps<'a>, mode: &DrawMode) {
        self.path(path, &props, mode);
    }

    fn push_clip_path(&mut self, clip: &ClipPath) {
        self.push_clip(clip.path.bounding_box());
    }

    fn push_clip_rect(&mut self, rect: &Rect) {
        self.push_clip(*rect);
    }

    fn pop_clip(&mut self) {
        self.clips.pop();
    }

    fn push_transparency_group(&mut self, opacity: f32, _: Option<SoftMask<'a>>, _: BlendMode) {
        self.groups.push(opacity);
    }

    fn pop_transparency_group(&mut self) {
        self.groups.pop();
    }

    fn draw_image(&mut self, image: Image<'a, '_>, props: ImageDrawProps<'a>) {
        self.order += 1;
        let unit = Rect::new(0.0, 0.0, f64::from(image.width()), f64::from(image.height()));
        let position = props.transform.transform_rect_bbox(unit).intersect(self.clip());
        if position.is_finite() && position.area() > 0.0 && self.images.len() < SHAPES {
            self.images.push(position);
        }
    }

    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, mode: &DrawMode) {
        self.order += 1;
        let invisible = matches!(mode, DrawMode::Invisible);
        let (color, alpha) = match color(&props.paint) {
            Some((color, alpha)) => (Some(color), alpha),
            None => (None, 1.0),
        };
        let faint = alpha * self.opacity() < 0.05 && !invisible;
        let clip = self.clip();
        // A run is of one font.
        let font = run.glyphs().first().and_then(|glyph| match &**glyph {
            DrawnGlyph::Outline(glyph) => glyph.font_data(),
            DrawnGlyph::Type3(_) => None,
        });
        let bold = font.as_ref().is_some_and(|font| {
            let named = font.postscript_name.as_deref().is_some_and(is_bold_name);
            named || font.weight.is_some_and(|weight| weight >= 600)
        });
        let symbol_font =
            font.as_ref().and_then(|font| font.postscript_name.as_deref()).and_then(symbols::font);
        let first = self.glyphs.len();
        let mut cut = Vec::new();
        for (index, glyph) in run.glyphs().iter().enumerate() {
            if self.glyphs.len() >= self.most {
                self.overfull = true;
                return;
            }
            let transform = props.transform * glyph.transform();
            let next =
                run.glyphs().get(index + 1).map(|next| props.transform * next.transform() * Point::ZERO);
            let Some((origin, direction, advance, size)) = metrics(glyph, transform, font.is_some(), next)
            else {
                continue;
            };
            let text = match symbol_font.and_then(|font| symbols::character(font, glyph.char_code())) {
                Some(character) => character.to_string(),
                None => match glyph.as_unicode() {
                    Some(BfString::Char(character)) => symbols::plain(character).to_string(),
                    Some(BfString::String(text)) => text,
                    None => String::new(),
                },
            };
            if text.is_empty()
                || text.chars().any(|character| matches!(character, '\u{e000}'..='\u{f8ff}' | '\u{fffd}'))
            {
                self.unmapped += 1;
            }
            let text = if text == "\u{0}" { String::new() } else { text };
            let mut glyph = Glyph {
                text,
                origin,
                direction,
                advance,
                size,
                bold,
                invisible,
                hidden: false,
                color,
                order: self.order,
            };
            let center = glyph.center();
            glyph.hidden = faint || size < 1.0 || !self.page.contains(center);
            if !clip.inflate(size, size).contains(center) {
                cut.push(self.glyphs.len());
            }
            self.glyphs.push(glyph);
        }
        // The end of a text that is too long for its cell belongs to what is seen of it; what is cut off whole does not.
        if cut.len() == self.glyphs.len() - first {
            for index in cut {
                self.glyphs[index].hidden = true;
            }
        }
    }
}

/// The origin, direction, advance and type size of a glyph; `None` if it has no position.
fn metrics(
    glyph: &DrawnGlyph<'_>,
    transform: Affine,
    embedded: bool,
    next: Option<Point>,
) -> Option<(Point, Vec2, f64, f64)> {
    let origin = transform * Point::ZERO;
    let along = transform * Point::new(1.0, 0.0) - origin;
    let up = transform * Point::new(0.0, 1.0) - origin;
    let size = up.hypot() * 1000.0;
    let direction = along / along.hypot();
    if !(origin.is_finite() && size.is_finite() && direction.is_finite()) {
        return None;
    }
    let width = match glyph {
        DrawnGlyph::Outline(glyph) => glyph.advance_width(),
        DrawnGlyph::Type3(glyph) => glyph.advance_width(),
    };
    // A substitute font is stretched to the widths of the original: `along` includes the stretch.
    let unit = if embedded { along.hypot() } else { up.hypot() };
    let mut advance = unit * f64::from(width.unwrap_or(500.0));
    if let Some(step) = next.map(|next| (next - origin).dot(direction)) {
        let unknown = width.is_none_or(|width| width <= 0.0);
        if step > 0.0 && (unknown || !embedded && step < advance) {
            advance = step.min(size);
        }
    }
    Some((origin, direction, advance.max(0.0), size))
}

fn is_bold_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["bold", "black", "heavy"].iter().any(|word| name.contains(word))
}
