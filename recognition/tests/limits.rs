//! What an image may take: its size, and when reading ends.

use recognition::{Image, Letters, Recogniser, RecognitionError, Threads, Weights};

const WEIGHTS: Weights = Weights {
    detector: recognition_weights::DETECTOR,
    recogniser: recognition_weights::RECOGNISER,
    characters: recognition_weights::CHARACTERS,
};

fn recogniser() -> Recogniser {
    Recogniser::new(&WEIGHTS, &Threads::start()).expect("the project's weights")
}

fn letters() -> Letters {
    Letters::of(&["eng"]).expect("Latin letters")
}

/// Dark bars with gaps on white, which look like lines of text.
fn bars(width: u32, height: u32) -> Vec<u8> {
    let dark = |x: u32, y: u32| {
        y % 60 > 30 && x > 40 && x + 40 < width && x % 14 < 8 && !(x / 14 + y / 7).is_multiple_of(5)
    };
    (0..width * height).map(|at| if dark(at % width, at / width) { 20 } else { 250 }).collect()
}

#[test]
fn images_without_pixels_with_too_many_or_with_others_than_their_sides_say_are_refused() {
    let recogniser = recogniser();
    let pixels = vec![255; 40_008_000];
    for (width, height, length) in [
        (0, 0, 0),
        (0, 10, 0),
        (10, 0, 0),
        (10, 10, 99),
        (10, 10, 101),
        (8_000, 5_001, 40_008_000),
        (u32::MAX, u32::MAX, 1),
    ] {
        let image = Image { width, height, pixels: &pixels[..length] };
        let refused = Err(RecognitionError::Image { width, height });
        assert_eq!(recogniser.find(image), refused, "{width} × {height}");
        assert_eq!(recogniser.is_on_its_side(image).map(|_| Vec::new()), refused);
        assert_eq!(recogniser.read_lines(image, &[], &letters(), &mut || true).map(|_| Vec::new()), refused);
    }
}

/// Sides of one pixel and of millions are the extremes of what a file may say.
#[test]
fn images_of_extreme_shapes_are_read() {
    let recogniser = recogniser();
    for (width, height) in [(1, 1), (1, 3_000_000), (3_000_000, 1), (2, 40_000), (40_000, 2)] {
        let pixels = bars(width, height);
        let image = Image { width, height, pixels: &pixels };
        assert!(recogniser.read(image, &letters(), &mut || true).is_ok(), "{width} × {height}");
    }
}

#[test]
fn reading_ends_before_the_line_at_which_it_is_not_to_go_on() {
    let recogniser = recogniser();
    let pixels = bars(600, 400);
    let image = Image { width: 600, height: 400, pixels: &pixels };
    let lines = recogniser.find(image).expect("an image");
    assert!(lines.len() > 2, "{lines:?}");
    for most in 0..lines.len() {
        let mut asked = 0;
        let mut goes_on = || {
            asked += 1;
            asked <= most
        };
        let read = recogniser.read_lines(image, &lines, &letters(), &mut goes_on).expect("an image");
        assert_eq!(asked, most + 1, "it is asked before each line, and no more after the first no");
        assert!(most > 0 || read.is_empty());
    }
}
