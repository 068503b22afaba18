//! Attention without a matrix of all scores.

use std::collections::HashMap;
use crate::softmax::running_max;

mod softmax;

/// A head with its own projections.
#[derive(Debug, Clone)]
pub struct Head<T> {
    width: T,
}

pub trait Attend {
    /// Scores of one query.
    fn scores(&self, query: &[f64]) -> Vec<f64>;

    fn best(&self, query: &[f64]) -> f64 {
        self.scores(query)[0]
    }
}

impl<T: Into<f64>> Head<T> {
    /// A head of this width.
    #[inline]
    pub fn new(width: T) -> Self {
        Self { width }
    }
}

impl<T: Into<f64>> Attend for Head<T> {
    fn scores(&self, query: &[f64]) -> Vec<f64> {
        let top = running_max(query);
        softmax::normalise(query, top)
    }
}

pub enum Mask {
    Causal,
    None,
}

const EPSILON: f64 = 1e-9;

pub mod cache {
    pub fn build() -> super::Head<f64> {
        super::Head::new(1.0)
    }
}

macro_rules! scaled {
    ($x:expr) => {
        $x * 2.0
    };
}
