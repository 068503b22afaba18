classdef Sampler < handle
  properties
    steps
  end
  methods
    function obj = Sampler(steps)
      obj.steps = steps;
    end
    % One step.
    function y = step(obj, x)
      y = gate(x);
    end
  end
end
