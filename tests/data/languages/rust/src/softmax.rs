/// Largest value so far.
pub fn running_max(values: &[f64]) -> f64 {
    values.iter().cloned().fold(f64::MIN, f64::max)
}

pub fn normalise(values: &[f64], top: f64) -> Vec<f64> {
    values.iter().map(|v| (v - top).exp()).collect()
}
