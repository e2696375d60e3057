(function () {
  "use strict";
  var charts = JSON.parse(document.getElementById("charts").textContent);
  var views = {};

  function dark() { return window.matchMedia("(prefers-color-scheme: dark)").matches; }

  // A chart of several panels takes as many in a row as the page has room for.
  function fitted(chart, width, less) {
    var spec = JSON.parse(JSON.stringify(chart.spec)), fit = chart.fit;
    if (!fit) {
      // A single plot that is wider than the screen is drawn narrower; narrow columns have their names turned.
      var wide = Math.min(spec.width, width - 90) - less;
      if (wide < spec.width) {
        spec.width = Math.max(150, wide);
        spec.config.legend.columns = width < 500 ? 1 : 2;
        spec.config.axisY.labelLimit = Math.min(spec.config.axisY.labelLimit, width * 0.3);
        narrowGrid(spec);
      }
      return spec;
    }
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

  // A grid names its columns in the parameter "columns"; where they are narrow, names are read upwards.
  function narrowGrid(spec) {
    var columns = spec.params.filter(function (one) { return one.name === "columns"; })[0];
    if (!columns || !spec.layer) return;
    spec.width = Math.max(spec.width, 27 * columns.value.length);
    var cell = spec.width / columns.value.length;
    var longest = Math.max.apply(null, columns.value.map(function (name) {
      return Math.max.apply(null, [].concat(name).map(function (line) { return String(line).length; }));
    }));
    if (cell > 64 && cell > 6.5 * longest) return;
    spec.layer.forEach(function (layer) {
      var axis = layer.encoding.x && layer.encoding.x.axis;
      if (layer.mark.type === "text" && cell < 42) layer.mark.fontSize = 9;
      var legend = layer.encoding.color && layer.encoding.color.legend;
      if (legend && legend.columns) legend.columns = 2;
      if (axis && axis.orient === "top") {
        Object.assign(axis, { labelAngle: -90, labelAlign: "left", labelBaseline: "middle", labelLimit: 120 });
      }
    });
  }

  function embed(chart, live, width, less, tries) {
    var options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, tooltip: { theme: dark() ? "dark" : "light" } };
    return window.vegaEmbed(live, fitted(chart, width, less), options).then(function (made) {
      var drawn = live.querySelector("svg"), over = drawn ? drawn.getBoundingClientRect().width - width : 0;
      if (over <= 0 || tries > 2) return made;
      made.finalize();
      return embed(chart, live, width, less + over + 2, tries + 1);
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
    if (!width) return Promise.resolve(); // folded away: drawn when it is opened
    if (views[chart.id] && views[chart.id].width === width) return Promise.resolve();
    figure.classList.add("drawn");
    return embed(chart, live, width, 0, 0).then(function (made) {
      describe(live.querySelector("svg"), figure.querySelector("img").alt);
      if (views[chart.id]) views[chart.id].finalize();
      views[chart.id] = { width: width, finalize: made.finalize };
    }, function (problem) {
      figure.classList.remove("drawn");
      throw problem;
    });
  }

  // One after another, so that no chart is drawn twice at once.
  var queue = Promise.resolve();
  function drawAll() {
    queue = queue.catch(function () {}).then(function () {
      return charts.reduce(function (before, chart) {
        return before.then(function () { return draw(chart); });
      }, Promise.resolve()).then(function () { document.documentElement.setAttribute("data-charts", "drawn"); });
    });
    return queue;
  }

  // What is folded opens when a link leads to it, when everything is asked for, and for paper.
  function folds() { return Array.from(document.querySelectorAll("details.fold")); }

  function reveal() {
    var target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    var fold = target && target.querySelector("details.fold");
    if (fold && !fold.open) {
      fold.open = true;
      target.scrollIntoView();
    }
  }

  function showLevel(level) {
    folds().forEach(function (fold) { fold.open = level === "detail" || fold.hasAttribute("data-essential"); });
    document.querySelectorAll(".switch button").forEach(function (button) {
      button.setAttribute("aria-pressed", String(button.getAttribute("data-level") === level));
    });
    drawAll();
  }

  document.querySelectorAll(".switch").forEach(function (group) {
    group.hidden = false;
    group.querySelectorAll("button").forEach(function (button) {
      button.addEventListener("click", function () { showLevel(button.getAttribute("data-level")); });
    });
  });
  folds().forEach(function (fold) { fold.addEventListener("toggle", drawAll); });
  window.addEventListener("hashchange", reveal);
  document.addEventListener("click", function (event) {
    var link = event.target.closest && event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) reveal();
  });
  var closed = [];
  window.addEventListener("beforeprint", function () {
    closed = Array.from(document.querySelectorAll("details:not([open])"));
    closed.forEach(function (part) { part.open = true; });
  });
  window.addEventListener("afterprint", function () {
    closed.forEach(function (part) { part.open = false; });
  });

  var waiting;
  window.addEventListener("resize", function () {
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 200);
  });
  reveal();
  drawAll();
})();
