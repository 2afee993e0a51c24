//! Documents as a scanner or a camera sees them: a printed page, a little turned, on grey paper, with noise; as PNG, as
//! JPEG, or as a PDF whose page is an image. Some lie on a side or stand on their head.

use std::io::Cursor;

use hayro::hayro_interpret::InterpreterSettings;
use hayro::hayro_syntax::Pdf as Printed;
use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::{PixmapSettings, RenderCache, RenderSettings, render};
use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, GrayImage, ImageFormat, Luma, imageops};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref};

use super::random::Random;

/// An upright page of A4 in points.
const WIDTH: f32 = 595.0;
const HEIGHT: f32 = 842.0;
/// The shade of what is outside of the page.
const OUTSIDE: f32 = 235.0;

/// An image of a printed page.
pub struct Scan {
    /// The ending of its file.
    pub format: &'static str,
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
    /// Whether it does not stand upright.
    pub turned: bool,
}

/// Scans a printed page.
pub fn scan(printed: Vec<u8>, random: &mut Random) -> Result<Scan, Box<dyn std::error::Error>> {
    let dpi = *random.pick(&[150.0, 200.0, 200.0, 300.0]);
    let page = worn(&drawn(printed, dpi)?, random);
    let quality = random.range(55, 90) as u8;
    let sort = random.below(3);
    let turn = *random.pick(&[0, 0, 0, 0, 0, 0, 90, 180, 270]);
    let page = match turn {
        90 => imageops::rotate90(&page),
        180 => imageops::rotate180(&page),
        270 => imageops::rotate270(&page),
        _ => page,
    };
    let (format, media_type, bytes) = match sort {
        0 => {
            let mut bytes = Cursor::new(Vec::new());
            page.write_to(&mut bytes, ImageFormat::Png)?;
            ("png", "image/png", bytes.into_inner())
        }
        1 => ("jpg", "image/jpeg", jpeg(&page, quality)?),
        _ => ("pdf", "application/pdf", imaged(&page, quality)?),
    };
    Ok(Scan { format, media_type, bytes, turned: turn != 0 })
}

/// The page in shades of grey.
fn drawn(printed: Vec<u8>, dpi: f32) -> Result<GrayImage, Box<dyn std::error::Error>> {
    let printed = Printed::new(printed).map_err(|error| format!("{error:?}"))?;
    let page = printed.pages().first().ok_or("no page")?;
    let scale = dpi / 72.0;
    let settings = PixmapSettings { x_scale: scale, y_scale: scale, bg_color: WHITE };
    let pixmap = render(
        page,
        &RenderCache::new(),
        &InterpreterSettings::default(),
        &RenderSettings::default(),
        &settings,
    );
    let pixels = pixmap.data_as_u8_slice().chunks_exact(4).map(|pixel| pixel[1]).collect();
    GrayImage::from_raw(u32::from(pixmap.width()), u32::from(pixmap.height()), pixels)
        .ok_or_else(|| "an image of another size".into())
}

/// The page as it comes out of a machine: turned by up to 1.5 degrees, blurred by the turning, grey paper with light
/// that falls off to one side, ink that is not black, noise.
fn worn(page: &GrayImage, random: &mut Random) -> GrayImage {
    let angle = (random.below(3001) as f32 - 1500.0) / 1000.0;
    let (sine, cosine) = angle.to_radians().sin_cos();
    let (width, height) = (page.width() as f32, page.height() as f32);
    let paper = random.range(205, 250) as f32;
    let ink = random.range(10, 60) as f32;
    let falls_off = random.range(0, 40) as f32;
    let noise = random.range(0, 14) as f32;
    GrayImage::from_fn(page.width(), page.height(), |x, y| {
        let (across, down) = (x as f32 - width / 2.0, y as f32 - height / 2.0);
        let from_x = across * cosine + down * sine + width / 2.0;
        let from_y = down * cosine - across * sine + height / 2.0;
        let shade = between(page, from_x, from_y);
        let light = paper - falls_off * (x as f32 / width);
        let grain = noise * (random.below(2001) as f32 - 1000.0) / 1000.0;
        let shade = ink + (light - ink) * shade / 255.0 + grain;
        Luma([shade.clamp(0.0, 255.0) as u8])
    })
}

/// The shade between four pixels.
fn between(page: &GrayImage, x: f32, y: f32) -> f32 {
    let (left, top) = (x.floor(), y.floor());
    let at = |x: f32, y: f32| {
        let inside = x >= 0.0 && y >= 0.0 && x < page.width() as f32 && y < page.height() as f32;
        if inside { f32::from(page.get_pixel(x as u32, y as u32).0[0]) } else { OUTSIDE }
    };
    let (right, down) = (x - left, y - top);
    let above = at(left, top) * (1.0 - right) + at(left + 1.0, top) * right;
    let below = at(left, top + 1.0) * (1.0 - right) + at(left + 1.0, top + 1.0) * right;
    above * (1.0 - down) + below * down
}

fn jpeg(page: &GrayImage, quality: u8) -> Result<Vec<u8>, image::ImageError> {
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, quality);
    encoder.encode(page.as_raw(), page.width(), page.height(), ExtendedColorType::L8)?;
    Ok(bytes)
}

/// A PDF whose only page is an image, as scanners make it.
fn imaged(page: &GrayImage, quality: u8) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let bytes = jpeg(page, quality)?;
    let (catalog, tree, sheet, stream, image) =
        (Ref::new(1), Ref::new(2), Ref::new(3), Ref::new(4), Ref::new(5));
    let lies = page.width() > page.height();
    let (width, height) = if lies { (HEIGHT, WIDTH) } else { (WIDTH, HEIGHT) };
    let mut content = Content::new();
    content.save_state();
    content.transform([width, 0.0, 0.0, height, 0.0, 0.0]);
    content.x_object(Name(b"Im1"));
    content.restore_state();
    let content = content.finish();
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(tree);
    pdf.pages(tree).kids([sheet]).count(1);
    let mut writer = pdf.page(sheet);
    writer.parent(tree).media_box(Rect::new(0.0, 0.0, width, height)).contents(stream);
    writer.resources().x_objects().pair(Name(b"Im1"), image);
    writer.finish();
    pdf.stream(stream, &content);
    let mut image = pdf.image_xobject(image, &bytes);
    image.filter(Filter::DctDecode);
    image.width(i32::try_from(page.width())?).height(i32::try_from(page.height())?);
    image.color_space().device_gray();
    image.bits_per_component(8);
    image.finish();
    Ok(pdf.finish())
}
