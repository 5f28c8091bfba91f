// Draws the curves with Plotly, and redraws them when a control or the colour scheme changes.
(() => {
  "use strict";

  const study = JSON.parse(document.getElementById("study").textContent);
  const form = document.getElementById("controls");
  const panels = document.getElementById("panels");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)").matches;
  const MEASURES = { objective: "Objective", test_error: "Test error" };
  const DASHES = ["dash", "dashdot", "dot"];
  const CONFIG = {
    responsive: true,
    showTips: false,
    displaylogo: false,
    displayModeBar: touch, // on touch screens dragging scrolls, so buttons zoom
    modeBarButtons: [["zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };

  function chosen(name) {
    const input = form.querySelector(`input[name=${name}]:checked`);
    return input ? input.value : "0";
  }

  function shownAlgorithms() {
    const boxes = [...form.querySelectorAll("input[data-algorithm]:checked")];
    const ticked = new Set(boxes.map((box) => box.dataset.algorithm));
    return study.algorithms.filter((algorithm) => ticked.has(algorithm.name));
  }

  function css(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function colourOf(algorithm) {
    let count = 0;
    while (css(`--series-${count}`)) count += 1;
    return css(`--series-${study.algorithms.indexOf(algorithm) % count}`);
  }

  function seeThrough(hex) {
    const parts = [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
    return `rgba(${parts.join(",")},0.15)`;
  }

  // Plotly interprets some HTML tags in text; labels must be shown literally.
  function plain(text) {
    return text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  }

  // The full matrix takes tens of times longer than the others, whose curves a linear axis would squeeze to its left end.
  function isUneven(dataset, algorithms, axis) {
    const ends = algorithms.map((one) => dataset.curves[one.name][axis].at(-1)).filter((end) => end > 0);
    return axis === "seconds" && ends.length > 0 && Math.max(...ends) > 10 * Math.min(...ends);
  }

  function xValues(curve, axis, uneven) {
    return curve[axis].map((x) => (uneven && !(x > 0) ? null : x));
  }

  function line(algorithm, curve, x, measure, axis) {
    const extras = study.algorithms.filter((one) => one.extra);
    const half = curve[measure].high.map((high, k) => (high === null ? 0 : high - curve[measure].mean[k]));
    return {
      x,
      y: curve[measure].mean,
      customdata: half,
      meta: algorithm.name,
      name: plain(algorithm.label),
      mode: "lines",
      line: {
        color: colourOf(algorithm),
        width: algorithm.extra ? 1.6 : 2.2,
        dash: algorithm.extra ? DASHES[extras.indexOf(algorithm) % DASHES.length] : "solid",
      },
      hovertemplate: `<b>%{fullData.name}</b><br>%{y:.4~g} ± %{customdata:.2~g}<br>${axis} %{x:.3~g}<extra></extra>`,
    };
  }

  function band(algorithm, curve, x, measure) {
    const { low, high } = curve[measure];
    const known = low.map((_, k) => k).filter((k) => ![x[k], low[k], high[k]].includes(null));
    const back = known.slice().reverse();
    return {
      x: known.concat(back).map((k) => x[k]),
      y: known.map((k) => high[k]).concat(back.map((k) => low[k])),
      meta: `${algorithm.name} band`,
      mode: "none",
      fill: "toself",
      fillcolor: seeThrough(colourOf(algorithm)),
      hoverinfo: "skip",
    };
  }

  function xAxis(dataset, axis, uneven) {
    if (axis === "epoch") return { range: [0, dataset.horizon], title: { text: "epochs", standoff: 6 } };
    const title = { text: uneven ? "seconds (log)" : "seconds", standoff: 6 };
    return { type: uneven ? "log" : "linear", minorloglabels: "none", title };
  }

  // Ticks at powers of ten if there are several, otherwise also at 2 and 5: Plotly's default crowds a small panel.
  function logAxis(dataset, algorithms, zoomed) {
    const values = algorithms.flatMap((one) => dataset.curves[one.name].objective.mean).filter((value) => value > 0);
    const decades = Math.log10(Math.max(...values) / Math.min(...values));
    const ticks = { tickmode: zoomed ? "auto" : "linear", tick0: 0, dtick: decades > 2 ? 1 : "D2" };
    return { type: "log", minorloglabels: "complete", ...ticks };
  }

  // A zoomed range may contain no power of ten, so Plotly chooses its ticks.
  function chooseTicksOnZoom(plot) {
    plot.on("plotly_relayout", (change) => {
      if (plot.layout.yaxis.type !== "log") return;
      if ("yaxis.range[0]" in change) Plotly.relayout(plot, { "yaxis.tickmode": "auto" });
      if (change["yaxis.autorange"]) Plotly.relayout(plot, { "yaxis.tickmode": "linear" });
    });
  }

  function layout(plot, dataset, algorithms, measure, uneven) {
    const axis = chosen("axis");
    const log = measure === "objective" && chosen("scale") === "log";
    const view = `${axis} ${uneven} ${log}`;
    const zoomed = plot.layout && plot.layout.uirevision === view && plot.layout.yaxis.autorange === false;
    const lines = { gridcolor: css("--line"), linecolor: css("--line"), zeroline: false };
    const look = { ...lines, automargin: true, exponentformat: "none" };
    const optimum = {
      type: "line", xref: "paper", x0: 0, x1: 1, y0: dataset.optimum, y1: dataset.optimum,
      line: { color: css("--ink"), width: 1.2, dash: "dot" },
    };
    return {
      autosize: true,
      margin: { l: 44, r: 12, t: 8, b: 40 },
      showlegend: false,
      hovermode: "closest",
      dragmode: touch ? false : "zoom",
      uirevision: view, // keep the zoom when algorithms are shown or hidden
      font: { color: css("--ink"), family: "system-ui, sans-serif", size: 12 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--quiet"), activecolor: css("--accent") },
      hoverlabel: { bgcolor: css("--panel"), bordercolor: css("--line"), font: { color: css("--ink") } },
      xaxis: { ...look, showgrid: false, ...xAxis(dataset, axis, uneven) },
      yaxis: { ...look, ...(log ? logAxis(dataset, algorithms, zoomed) : { type: "linear", rangemode: "tozero" }) },
      shapes: measure === "objective" && dataset.optimum !== null ? [optimum] : [],
    };
  }

  function traces(dataset, algorithms, measure, uneven) {
    const axis = chosen("axis");
    const lines = [];
    const bands = [];
    for (const algorithm of algorithms) {
      const curve = dataset.curves[algorithm.name];
      const x = xValues(curve, axis, uneven);
      lines.push(line(algorithm, curve, x, measure, axis));
      if (chosen("spread") === "band") bands.push(band(algorithm, curve, x, measure));
    }
    return [...bands, ...lines];
  }

  function drawPlot(plot, dataset) {
    const measure = plot.dataset.measure;
    const axis = chosen("axis");
    const algorithms = shownAlgorithms().filter((one) => one.name in dataset.curves);
    const uneven = isUneven(dataset, algorithms, axis);
    const isNew = !plot.data;
    const against = axis === "epoch" ? "epochs" : "seconds";
    plot.setAttribute("aria-label", `${MEASURES[measure]} against ${against} on ${dataset.name}`);
    const drawn = traces(dataset, algorithms, measure, uneven);
    Plotly.react(plot, drawn, layout(plot, dataset, algorithms, measure, uneven), CONFIG);
    if (isNew) chooseTicksOnZoom(plot);
  }

  function draw() {
    const choice = study.datasets.length > 1 ? chosen("dataset") : "0";
    panels.classList.toggle("many", choice === "all");
    study.datasets.forEach((dataset, k) => {
      const pair = panels.children[k];
      pair.hidden = choice !== "all" && choice !== String(k);
      if (!pair.hidden) for (const plot of pair.querySelectorAll(".plot")) drawPlot(plot, dataset);
    });
  }

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function makePanels() {
    for (const dataset of study.datasets) {
      const plots = Object.entries(MEASURES).map(([measure, title]) =>
        element("figure", {}, element("figcaption", {}, title),
          element("div", { class: "plot", role: "img", "data-measure": measure, "data-dataset": dataset.name })));
      const sideBySide = element("div", { class: "plots" }, ...plots);
      panels.append(element("div", { class: "card pair" }, element("h3", {}, dataset.name), sideBySide));
    }
  }

  makePanels();
  form.hidden = false;
  document.getElementById("curves-hint").hidden = false;
  document.getElementById("zoom-hint").hidden = touch;
  const all = form.querySelector("input[data-dataset-choice=all]");
  if (all && innerWidth >= 900) all.checked = true; // small screens start with one data set
  form.addEventListener("change", draw);
  form.addEventListener("submit", (event) => event.preventDefault());
  dark.addEventListener("change", draw);
  draw();
})();
