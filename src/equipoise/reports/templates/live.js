(function () {
  "use strict";
  var charts = JSON.parse(document.getElementById("charts").textContent);
  var views = {};

  // A chart of several panels takes as many in a row as the page has room for.
  function fitted(chart, width, less) {
    var spec = JSON.parse(JSON.stringify(chart.spec)), fit = chart.fit;
    if (!fit) return spec;
    var labels = Math.min(fit.labels, width * 0.34), gap = 22;
    var columns = Math.floor((width - labels) / (fit.narrowest + gap));
    columns = Math.max(1, Math.min(fit.columns, columns));
    columns = Math.ceil(fit.columns / Math.ceil(fit.columns / columns));
    spec.columns = columns;
    var cell = Math.min(fit.widest, Math.floor((width - labels) / columns - gap)) - Math.ceil(less / columns);
    spec.spec.width = Math.max(90, cell);
    spec.config.axisY.labelLimit = Math.min(spec.config.axisY.labelLimit, labels);
    spec.facet.header.labelLimit = spec.spec.width;
    var room = width - labels, longest = Math.min(spec.config.legend.labelLimit, room - 60, 7 * fit.longest);
    spec.config.legend.labelLimit = longest;
    spec.config.legend.columns = Math.max(1, Math.min(4, Math.floor(room / (longest + 45))));
    return spec;
  }

  function embed(chart, live, width, less) {
    var options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, tooltip: { theme: "light" } };
    return window.vegaEmbed(live, fitted(chart, width, less), options).then(function (made) {
      var drawn = live.querySelector("svg"), over = drawn ? drawn.getBoundingClientRect().width - width : 0;
      if (!chart.fit || less || over <= 0) return made;
      made.finalize();
      return embed(chart, live, width, over + 2);
    });
  }

  // To a screen reader a chart is one picture with one description; its numbers are in the tables.
  function describe(drawn, words) {
    [drawn.parentNode].concat(Array.from(drawn.querySelectorAll("*"))).forEach(function (part) {
      ["role", "aria-roledescription", "aria-label"].forEach(function (name) { part.removeAttribute(name); });
    });
    drawn.setAttribute("role", "img");
    drawn.setAttribute("aria-label", words);
  }

  function draw(chart) {
    var figure = document.getElementById(chart.id);
    var live = figure.querySelector(".live"), width = figure.clientWidth;
    if (views[chart.id] && views[chart.id].width === width) return Promise.resolve();
    figure.classList.add("drawn");
    return embed(chart, live, width, 0).then(function (made) {
      describe(live.querySelector("svg"), figure.querySelector("img").alt);
      if (views[chart.id]) views[chart.id].finalize();
      views[chart.id] = { width: width, finalize: made.finalize };
    }, function (problem) {
      figure.classList.remove("drawn");
      throw problem;
    });
  }

  function drawAll() {
    return charts.reduce(function (before, chart) {
      return before.then(function () { return draw(chart); });
    }, Promise.resolve()).then(function () { document.documentElement.setAttribute("data-charts", "drawn"); });
  }

  var waiting;
  window.addEventListener("resize", function () {
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 200);
  });
  drawAll();
})();
