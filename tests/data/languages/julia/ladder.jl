# Geometric temperatures, the highest first.
function ladder(steps)
    return [2.0^(-k) for k in 0:steps]
end
