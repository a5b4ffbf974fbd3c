"use strict";
// Draws the figures of the page, gives them the colours of the theme, and answers the pointer.
// Everything shown is set as text, never as markup.
(() => {
  const report = JSON.parse(document.getElementById("report").textContent);
  const byId = (id) => document.getElementById(id);
  const roots = new Map();

  // --- themes -----------------------------------------------------------------------------------

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const print = matchMedia("print");
  const viewOf = (model) => Bokeh.index.find_one_by_id(model.id);

  function paint(onPaper) {
    const name = dark.matches && !onPaper ? "dark" : "light";
    const theme = report.themes[name];
    document.documentElement.dataset.theme = name;
    document.documentElement.classList.toggle("on-paper", onPaper);
    for (const root of roots.values()) {
      const models = [...root.references()];
      for (const model of models) {
        for (const tag of model.tags ?? []) {
          if (typeof tag !== "string") continue;
          const [property, role] = tag.split(":");
          model[property] = theme[role];
        }
      }
      // at once: a printer does not wait for the next frame
      for (const model of models) if (model.type === "Figure") viewOf(model)?.paint?.();
    }
  }

  const within = ({ x_range, y_range }, x, y) =>
    x_range.start <= x && x <= x_range.end && y_range.start <= y && y <= y_range.end;

  // --- texts beside the pointer -----------------------------------------------------------------

  function answerPointer(id, pointer) {
    const plot = roots.get(id).select_one(pointer.plot);
    const mark = Object.keys(pointer.mark).length ? roots.get(id).select_one("mark") : null;
    const frame = byId(id).parentElement;
    const tip = frame.querySelector(".tip");

    function show(event) {
      const { x, y } = event;
      const here = pointer.along === "y" ? y : x;
      const at = pointer.start.findIndex((start, i) => start <= here && here <= pointer.stop[i]);
      if (at < 0 || !within(plot, x, y)) return hide();
      tip.textContent = pointer.texts[at];
      tip.hidden = false;
      place(tip, frame, plot, event);
      if (mark) {
        mark.data = Object.fromEntries(
          Object.entries(pointer.mark).map(([name, column]) => [name, [column[at]]]),
        );
      }
    }

    function hide() {
      tip.hidden = true;
      if (mark) mark.data = Object.fromEntries(Object.keys(pointer.mark).map((name) => [name, []]));
    }

    plot.on_event("mousemove", show);
    plot.on_event("tap", show);
    plot.on_event("mouseleave", hide);
  }

  function place(tip, frame, plot, event) {
    const room = frame.clientWidth - tip.offsetWidth;
    const left = event.sx + 16 <= room ? event.sx + 16 : event.sx - tip.offsetWidth - 16;
    tip.style.left = `${Math.max(0, Math.min(left, room))}px`;
    tip.style.top = `${Math.max(0, offsetOf(plot, frame) + event.sy - tip.offsetHeight - 10)}px`;
  }

  // Where a plot begins within a frame that holds several, one below the other.
  function offsetOf(plot, frame) {
    const view = viewOf(plot);
    return view ? view.el.getBoundingClientRect().top - frame.getBoundingClientRect().top : 0;
  }

  // --- tables that are sorted by a click ---------------------------------------------------------

  function letSort(table) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    const value = (row, column) => {
      const text = row.cells[column].textContent;
      return column ? Number(text.replaceAll(",", "").replace("−", "-").replace("∞", "Infinity")) : text;
    };
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const falling = head.ariaSort === "ascending";
        for (const other of heads) other.ariaSort = null;
        head.ariaSort = falling ? "descending" : "ascending";
        const keyed = [...body.rows].map((row) => [value(row, column), row]);
        const order = ([a], [b]) => (column ? a - b : a.localeCompare(b)) * (falling ? -1 : 1);
        body.append(...keyed.sort(order).map(([, row]) => row));
      });
    });
  }

  // --- parameters and their curves --------------------------------------------------------------

  function explore(spec) {
    const plane = roots.get(spec.plane).select_one("plane");
    const points = plane.select_one("points");
    const chosen = plane.select_one("chosen");
    const theta = spec.parameters.map((_, i) => points.data[`theta${i}`]);
    const bands = spec.bands.map((id) => {
      const plot = roots.get(id);
      return {
        figure: byId(id).closest("figure"),
        x: plot.select_one("grid").data.x,
        steps: plot.select_one("steps").data.steps,
        curve: plot.select_one("curve"),
      };
    });
    const sliders = [...document.querySelectorAll(".slider")];
    const readout = byId("readout");
    const release = byId("release");
    let shown = null;
    let pinned = null;

    const pvalue = (i) => (spec.ranks.m - points.data.rank[i] + 1) / spec.ranks.m;
    const inside = (i) =>
      spec.ranks.low <= points.data.rank[i] && points.data.rank[i] <= spec.ranks.high;

    function nearest(x, y) {
      const { x_range, y_range } = plane;
      const wide = x_range.end - x_range.start;
      const high = theta.length > 1 ? y_range.end - y_range.start : Infinity;
      let best = 0;
      let least = Infinity;
      for (let i = 0; i < theta[0].length; i++) {
        const across = (points.data.x[i] - x) / wide;
        const up = (points.data.y[i] - y) / high;
        const distance = across * across + up * up;
        if (distance < least) [best, least] = [i, distance];
      }
      return best;
    }

    function values(i) {
      return spec.parameters.map(({ name, digits }, j) => {
        const text = Number(theta[j][i].toFixed(digits)).toString().replace("-", "−");
        return `${name} = ${text}`;
      });
    }

    function sentence(i) {
      const p = Number(pvalue(i).toPrecision(4));
      const { m } = spec.ranks;
      const place = inside(i) ? "in the region" : "outside the region";
      return `${values(i).join(", ")}: rank ${points.data.rank[i]} of ${m}, p-value ${p}, ${place}.`;
    }

    function show(i) {
      if (i === shown) return;
      shown = i;
      for (const { x, steps, curve } of bands) {
        const size = i === null ? 0 : x.length;
        const y = Array.from({ length: size }, (_, k) => steps[i * x.length + k] / 65535);
        curve.data = { x: Array.from(x).slice(0, size), y };
      }
      mark(i);
    }

    function mark(i) {
      const { x, y } = points.data;
      chosen.data = i === null ? { x: [], y: [] } : { x: [x[i]], y: [y[i]] };
      if (i !== null) moveSliders(i);
    }

    function writeReadout() {
      release.disabled = pinned === null;
      readout.classList.toggle("in", shown !== null && inside(shown));
      readout.classList.toggle("out", shown !== null && !inside(shown));
      readout.textContent =
        shown === null ? spec.hint : (pinned === null ? "" : "Kept: ") + sentence(shown);
    }

    function moveSliders(i) {
      let rest = i;
      for (let k = sliders.length - 1; k >= 0; k--) {
        const position = rest % spec.sliders[k];
        rest = (rest - position) / spec.sliders[k];
        sliders[k].value = position;
        sliders[k].setAttribute("aria-valuetext", sentence(i));
      }
    }

    function slide() {
      pinned = sliders.reduce((at, slider, k) => at * spec.sliders[k] + Number(slider.value), 0);
      show(pinned);
      writeReadout();
    }

    function releasePoint() {
      pinned = null;
      show(null);
      writeReadout();
    }

    plane.on_event("mousemove", ({ x, y }) => {
      if (pinned !== null) return;
      show(within(plane, x, y) ? nearest(x, y) : null);
      writeReadout();
    });
    plane.on_event("mouseleave", () => {
      if (pinned !== null) return;
      show(null);
      writeReadout();
    });
    plane.on_event("tap", ({ x, y }) => {
      if (!within(plane, x, y)) return;
      const here = nearest(x, y);
      pinned = pinned === here ? null : here;
      show(here);
      writeReadout();
    });
    for (const slider of sliders) slider.addEventListener("input", slide);
    release.addEventListener("click", releasePoint);
    addEventListener("keydown", (event) => event.key === "Escape" && releasePoint());

    if (spec.pairs) choosePair();
    if (bands.length > 1) chooseBand();

    function choosePair() {
      const best = plane.select_one("best");
      const axes = { x: 1, y: 2 };
      const update = () => {
        for (const [name, axis, range] of [
          ["x", plane.below[0], plane.x_range],
          ["y", plane.left[0], plane.y_range],
        ]) {
          const { limits } = spec.parameters[axes[name]];
          [range.start, range.end] = limits;
          axis.axis_label = axis.tags.filter((tag) => typeof tag !== "string")[axes[name]];
        }
        points.data = { ...points.data, x: theta[axes.x], y: theta[axes.y] };
        best.data = {
          x: [spec.parameters[axes.x].best],
          y: [spec.parameters[axes.y].best],
        };
        mark(shown);
      };
      for (const [name, id] of [["x", "across"], ["y", "up"]]) {
        byId(id).addEventListener("change", (event) => {
          axes[name] = Number(event.target.value);
          update();
        });
      }
    }

    function chooseBand() {
      const update = () => {
        const at = Number(byId("along").value);
        bands.forEach(({ figure }, i) => figure.classList.toggle("put-by", i !== at));
      };
      byId("along").addEventListener("change", update);
      update();
    }
  }

  // --- start ------------------------------------------------------------------------------------

  async function start() {
    for (const { id, item } of report.figures) {
      await Bokeh.embed.embed_item(item, id);
      roots.set(id, Bokeh.documents.at(-1).roots()[0]);
    }
    paint(print.matches);
    dark.addEventListener("change", () => paint(print.matches));
    print.addEventListener("change", () => paint(print.matches));
    addEventListener("beforeprint", () => paint(true));
    addEventListener("afterprint", () => paint(false));
    for (const { id, pointers } of report.figures) {
      for (const pointer of pointers) answerPointer(id, pointer);
    }
    for (const table of document.querySelectorAll(".sortable")) letSort(table);
    if (report.explorer) explore(report.explorer);
    document.documentElement.dataset.ready = "yes";
  }

  start();
})();
