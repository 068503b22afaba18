"""
Annealed sampling on a temperature ladder.
"""
module Annealing

using LinearAlgebra
import Base: show
include("ladder.jl")

abstract type Proposal{T} end

"A random walk with a fixed width."
struct Walk{T<:Real} <: Proposal{T}
    width::T
    Walk(width) = new{Float64}(width)
end

const LOWEST = 1e-3

"""
    anneal(target, x; steps=10)

Moves `x` through the ladder.
"""
function anneal(target, x::AbstractVector{T}; steps=10) where {T}
    for temperature in ladder(steps)
        x = accept.(propose(Walk(1.0), x), temperature)  # one sweep
    end
    return x
end

# A symmetric proposal.
propose(w::Walk, x)::Vector = x .+ w.width
accept(x::T, temperature) where {T} = x / max(temperature, LOWEST)
(w::Walk)(x) = propose(w, x)
Base.show(io::IO, w::Walk) = print(io, "walk")
@inline function fast(x)
    x
end

macro repeated(ex)
    ex
end

module Inner
halve(x) = x / 2
end

end
