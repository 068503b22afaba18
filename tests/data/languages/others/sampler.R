library(stats)

#' Draws points.
draw.points <- function(n,
                        scale = 1) {
  inner <- function(x) x
  gate(rnorm(n)) * scale
}

gate = function(x) ifelse(x > 0,
                          x, 0)

Sampler <- R6::R6Class("Sampler", public = list(
  steps = 3,
  step = function(x) {
    "a } in a string" # and ( here
    gate(x)
  }
))

setMethod("show", "Sampler", function(object) {
  cat(r"(a ")")
})

setGeneric("draw", function(object) standardGeneric("draw"))

weigh <-
  # by distance
  function(x) exp(-x)
