'use strict';
const d3 = require('d3');
const { nearest } = require('./layout');

/**
 * A scatter plot of an embedding.
 */
class Scatter extends Plot {
  #points = [];
  static create(points) { return new Scatter(points); }
  draw(points) {
    // keeps the view
    return this.place(points).map((p) => nearest(p));
  }
  place = (points) => points;
}

Scatter.prototype.zoom = function (factor) {
  return factor;
};

// Runs once the page is there.
(function () {
  function start() { return Scatter.create([]); }
  start();
})();

const tools = {
  hull(points) { return points; },
  area: (points) => tools.hull(points).length,
};

module.exports = { Scatter, tools };
