//! Functions of many numbers, without branches, so that the compiler computes several at a time.

/// The exponential function, within 2 in 10,000,000 of it.
fn exponential(x: f32) -> f32 {
    // Adding this number rounds to a whole one, which then stands in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    // ln 2 in two parts, the first of which is exact.
    let rest = x - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
    let series = 1.0
        + rest
            * (1.0
                + rest
                    * (0.5
                        + rest
                            * (0.166_666_66
                                + rest * (0.041_665_8 + rest * (0.008_333_33 + rest * 0.001_388_9)))));
    let power = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    series * f32::from_bits(power)
}

/// The error function, within 5 in 10,000,000 of it: a quotient of polynomials, as Eigen has it.
fn error_function(x: f32) -> f32 {
    let x = x.clamp(-4.0, 4.0);
    let s = x * x;
    let above = ((((((-2.726_142_3e-10 * s + 2.770_681_4e-8) * s - 2.101_024e-6) * s - 5.692_506_4e-5) * s
        - 7.349_906e-4)
        * s
        - 2.954_6e-3)
        * s
        - 1.609_603_3e-2)
        * x;
    let below =
        (((-1.456_607_2e-5 * s - 2.133_740_6e-4) * s - 1.682_827e-3) * s - 7.373_329e-3) * s - 1.426_473_9e-2;
    above / below
}

/// The activation of the transformer (GELU) of each number.
pub(crate) fn activate(numbers: &mut [f32]) {
    for number in numbers {
        *number *= 0.5 * (1.0 + error_function(*number * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// Makes weights of a row of scores: positive numbers of the sum 1.
pub(crate) fn softmax(row: &mut [f32], scale: f32) {
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for number in row.iter_mut() {
        *number = exponential((*number - most) * scale);
    }
    let sum: f32 = row.iter().sum();
    for number in row.iter_mut() {
        *number /= sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_near_the_functions() {
        for step in -8_000..=800 {
            let x = step as f32 / 100.0;
            let (near, exact) = (exponential(x), x.exp());
            assert!((near - exact).abs() <= exact * 5e-7, "{x}: {near} {exact}");
        }
        for (x, exact) in [
            (0.0, 0.0),
            (0.1, 0.112_462_916),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (1.5, 0.966_105_15),
            (2.0, 0.995_322_3),
            (3.0, 0.999_977_9),
            (9.0, 1.0),
        ] {
            assert!((error_function(x) - exact).abs() < 1e-6, "{x}: {}", error_function(x));
            assert!((error_function(-x) + exact).abs() < 1e-6, "-{x}");
        }
    }

    #[test]
    fn weights_have_the_sum_one() {
        for mut row in [vec![0.0], vec![1.0, 2.0, 3.0], vec![-1e30, 1e30], vec![5.0; 512]] {
            softmax(&mut row, 0.5);
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{row:?}");
        }
    }
}
