"use strict";
/* Draws the charts of the report as SVG: lines, steps, marks and bars on linear or logarithmic axes.

   Strings of a chart only ever become text of an element, never markup. A chart is drawn from its values each time; what
   a reader did to it (zoom, hidden traces) is kept beside its place. */
const Charts = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const CHARACTER_PX = 7.7;
  const LINE_PX = 17;
  const BETWEEN_LABELS_PX = 12;
  const NAME_SHARE = 0.36;
  const REACH_PX = 28;
  const DRAGGED_PX = 6;
  const BETWEEN_MARKS_PX = 120;
  const DASHES = {
    solid: "", dash: "8 5", dot: "2 4", dashdot: "9 4 2 4", longdash: "15 5", longdashdot: "15 4 2 4",
  };
  const views = new WeakMap();

  const element = (name, attributes = {}, text = "") => {
    const made = document.createElementNS(SVG, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.textContent = text;
    return made;
  };

  /* Both ends of a name stay, as many names differ only in one of them. */
  function shortened(text, most) {
    const characters = [...text];
    if (characters.length <= most) {
      return text;
    }
    const tail = Math.floor((most - 1) / 2);
    return [...characters.slice(0, most - 1 - tail), "…", ...characters.slice(characters.length - tail)].join("");
  }

  const isLog = (axis) => axis.type === "log";
  const onScale = (axis, value) => (isLog(axis) ? Math.log10(value) : value);

  /* The range of an axis on its scale: as given, or around all values of the traces that use it. */
  function rangeOf(axis, values) {
    if (axis.range) {
      return axis.range;
    }
    const known = values.filter((value) => value !== null).map((value) => onScale(axis, value));
    const low = axis.rangemode === "tozero" ? 0 : known.reduce((a, b) => Math.min(a, b), Infinity);
    const high = known.reduce((a, b) => Math.max(a, b), -Infinity);
    return known.length === 0 ? [0, 1] : [low, high + (high - low || 1) * 0.06];
  }

  /* Round steps, so many that labels do not touch. */
  function roundTicks(axis, [from, to], most) {
    const span = Math.abs(to - from) || 1;
    const least = span / Math.max(most, 3);
    const power = 10 ** Math.floor(Math.log10(least));
    let step = axis.dtick ?? [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= least * 0.999);
    while (span / step > most + 1) {
      step *= 2;
    }
    if (axis.tickformat === ",d") {
      step = Math.max(1, Math.ceil(step));
    }
    const first = Math.ceil(Math.min(from, to) / step - 1e-9);
    const last = Math.floor(Math.max(from, to) / step + 1e-9);
    return Array.from({ length: last - first + 1 }, (_, place) => (first + place) * step)
      .map((value) => ({ value, text: tickText(axis, value, step) }));
  }

  function tickText(axis, value, step) {
    const isShare = axis.tickformat === ".0%";
    const shown = isShare ? value * 100 : value;
    const digits = Math.max(0, -Math.floor(Math.log10(isShare ? step * 100 : step) + 1e-9));
    const number = shown.toLocaleString("en", { maximumFractionDigits: digits + (step / 10 ** -digits % 1 ? 1 : 0) });
    return `${number}${isShare ? " %" : axis.ticksuffix ?? ""}`;
  }

  /* Labels that would touch one another are left out; those that are named first stay. */
  function namedTicks(axis, [from, to], lengthPx, isAcross) {
    const kept = [];
    axis.tickvals.forEach((value, place) => {
      const text = String(axis.ticktext[place]);
      const at = (onScale(axis, value) - from) / (to - from) * lengthPx;
      const sizePx = isAcross ? text.length * CHARACTER_PX : text.split("\n").length * LINE_PX - BETWEEN_LABELS_PX;
      const touches = (other) => Math.abs(other.at - at) < (other.sizePx + sizePx) / 2 + BETWEEN_LABELS_PX;
      if (at >= -1 && at <= lengthPx + 1 && (text === "" || !kept.some(touches))) {
        kept.push({ at, sizePx: text === "" ? -LINE_PX : sizePx, value, text });
      }
    });
    return kept;
  }

  function ticksOf(axis, range, lengthPx, isAcross) {
    const found = axis.tickvals ? namedTicks(axis, range, lengthPx, isAcross) : [];
    const isPlain = !axis.tickvals || (found.length < 3 && !isLog(axis) && isAcross);
    return isPlain ? roundTicks(axis, range, Math.max(3, Math.floor(lengthPx / (isAcross ? 64 : 40)))) : found;
  }

  /* A scale maps values to pixels and back. */
  function scaleOf(axis, range, fromPx, toPx) {
    const [from, to] = range;
    const factor = (toPx - fromPx) / (to - from || 1);
    return {
      axis, range, fromPx, toPx,
      px: (value) => fromPx + (onScale(axis, value) - from) * factor,
      back: (px) => from + (px - fromPx) / factor,
    };
  }

  const markPaths = {
    circle: (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
    square: (x, y, r) => `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
    diamond: (x, y, r) => `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`,
    "triangle-up": (x, y, r) => `M${x} ${y - r}l${r} ${1.8 * r}h${-2 * r}z`,
    "triangle-down": (x, y, r) => `M${x} ${y + r}l${r} ${-1.8 * r}h${-2 * r}z`,
    cross: (x, y, r) => `M${x - r} ${y - r}l${2 * r} ${2 * r}M${x + r} ${y - r}l${-2 * r} ${2 * r}`,
    plus: (x, y, r) => `M${x - r} ${y}h${2 * r}M${x} ${y - r}v${2 * r}`,
    "line-ns": (x, y, r) => `M${x} ${y - r}v${2 * r}`,
  };
  const STROKED = ["cross", "plus", "line-ns"];

  function marksOf(marker, points) {
    const symbol = marker.symbol ?? "circle";
    const shape = symbol.replace("-open", "");
    const isOpen = symbol.endsWith("-open") || STROKED.includes(shape);
    const radius = (marker.size ?? 7) / 2;
    return element("path", {
      d: points.map(([x, y]) => markPaths[shape](x, y, radius)).join(""),
      fill: isOpen ? "none" : marker.color,
      stroke: isOpen ? marker.color : "none",
      "stroke-width": isOpen ? marker.line?.width || 2 : 0,
      opacity: marker.opacity ?? 1,
    });
  }

  const rounded = (px) => Math.round(px * 10) / 10;

  /* Points in pixels; a gap in the values is a gap in the line. */
  function pixels(trace, x, y) {
    return trace.x.map((value, place) =>
      value === null || trace.y[place] === null ? null : [rounded(x.px(value)), rounded(y.px(trace.y[place]))]);
  }

  function linePath(points, isStepped) {
    let before = null;
    return points.map((point) => {
      const move = point === null ? "" : before === null ? `M${point}` : isStepped ? `H${point[0]}V${point[1]}` : `L${point}`;
      before = point;
      return move;
    }).join("");
  }

  /* Points of a line at about equal distances, for the marks of readers who cannot tell colours or dashes apart. */
  function spaced(points, shift) {
    let untilPx = shift * BETWEEN_MARKS_PX;
    return points.filter((point, place) => {
      const [x, y] = points[Math.max(place - 1, 0)];
      untilPx -= Math.abs(point[0] - x) + Math.abs(point[1] - y);
      const isDue = untilPx <= 0;
      untilPx = isDue ? BETWEEN_MARKS_PX : untilPx;
      return isDue;
    });
  }

  function linesOf(trace, x, y) {
    const points = pixels(trace, x, y);
    const line = trace.line ?? {};
    const path = linePath(points, line.shape === "hv");
    const known = points.filter((point) => point !== null);
    const made = [];
    if (trace.fill === "tozeroy" && known.length > 0) {
      const ground = rounded(y.px(0));
      const area = `${path}V${ground}H${known[0][0]}z`;
      made.push(element("path", { d: area, fill: line.color, opacity: 0.35, stroke: "none" }));
    }
    made.push(element("path", {
      d: path, fill: "none", stroke: line.color, "stroke-width": line.width ?? 2,
      "stroke-dasharray": DASHES[line.dash ?? "solid"], "stroke-linejoin": "round", opacity: trace.opacity ?? 1,
    }));
    if (trace.marker && !trace.mode.includes("markers")) {
      made.push(marksOf(trace.marker, spaced(known, trace.marker.shift)));
    }
    return made;
  }

  function barsOf(trace, x, y) {
    const path = trace.x.map((length, place) => {
      const left = rounded(x.px(trace.base[place]));
      const right = rounded(x.px(trace.base[place] + length));
      const top = rounded(y.px(trace.y[place] - trace.width[place] / 2));
      const bottom = rounded(y.px(trace.y[place] + trace.width[place] / 2));
      return `M${left} ${top}H${right}V${bottom}H${left}z`;
    });
    const { color, line } = trace.marker;
    return [element("path", { d: path.join(""), fill: color, stroke: line.color, "stroke-width": line.width })];
  }

  function traceOf(trace, x, y) {
    if (trace.type === "bar") {
      return barsOf(trace, x, y);
    }
    const made = trace.mode.includes("lines") ? linesOf(trace, x, y) : [];
    if (trace.mode.includes("markers")) {
      made.push(marksOf(trace.marker, pixels(trace, x, y).filter((point) => point !== null)));
    }
    return made;
  }

  const keyOf = (trace) => trace.legendgroup ?? trace.name;

  function sample(trace) {
    const icon = element("svg", { width: 30, height: 14, "aria-hidden": "true" });
    const colour = trace.line?.color ?? trace.marker.color;
    if (trace.type === "bar" || trace.fill) {
      icon.append(element("path", { d: "M4 2h22v10h-22z", fill: colour }));
    } else if (trace.mode.includes("lines")) {
      const dash = DASHES[trace.line?.dash ?? "solid"];
      icon.append(element("path", { d: "M0 7h30", stroke: colour, "stroke-width": 2.4, "stroke-dasharray": dash }));
    }
    if (trace.marker && trace.type !== "bar") {
      icon.append(marksOf({ ...trace.marker, size: Math.min(trace.marker.size ?? 7, 11), opacity: 1 }, [[15, 7]]));
    }
    return icon;
  }

  function legend(figure, view, again) {
    const bar = document.createElement("div");
    bar.className = "legend";
    for (const trace of figure.data.filter((each) => each.name && each.showlegend !== false)) {
      const button = document.createElement("button");
      const key = keyOf(trace);
      button.type = "button";
      button.title = trace.name;
      button.setAttribute("aria-pressed", String(!view.hidden.has(key)));
      button.append(sample(trace), trace.name);
      button.addEventListener("click", () => {
        view.hidden[view.hidden.has(key) ? "delete" : "add"](key);
        again();
      });
      bar.append(button);
    }
    return bar;
  }

  function frame(figure, view, widthPx, heightPx) {
    const { layout } = figure;
    const names = layout.yaxis.tickvals && !isLog(layout.yaxis) ? layout.yaxis.ticktext : [];
    const most = Math.floor(widthPx * NAME_SHARE / CHARACTER_PX);
    const lines = names.flatMap((each) => each.split("\n")).map((line) => Math.min([...line].length, most));
    const leftPx = layout.yaxis.title.text || lines.length === 0
      ? 74 : Math.max(20, Math.max(...lines) * CHARACTER_PX + 14);
    const rightPx = widthPx - 18;
    const bottomPx = heightPx - (layout.xaxis.title.text ? 46 : 26);
    const shown = figure.data.filter((trace) => !view.hidden.has(keyOf(trace)));
    const on = (name) => shown.filter((trace) => (trace.yaxis ?? "y") === name);
    const acrossRange = view.zoom?.x ?? rangeOf(layout.xaxis, shown.flatMap((trace) => trace.x));
    const x = scaleOf(layout.xaxis, acrossRange, leftPx, rightPx);
    const ys = {};
    for (const name of ["y", "y2"]) {
      const axis = layout[name === "y" ? "yaxis" : "yaxis2"];
      if (axis) {
        const [low, high] = axis.domain ?? [0, 1];
        const range = view.zoom?.[name] ?? rangeOf(axis, on(name).flatMap((trace) => trace.y));
        const depthPx = bottomPx - 10;
        ys[name] = scaleOf(axis, range, bottomPx - low * depthPx, bottomPx - high * depthPx);
      }
    }
    return { x, ys, shown, leftPx, rightPx, bottomPx, most };
  }

  function drawAxes(svg, { x, ys, leftPx, rightPx, bottomPx, most }, colours) {
    const label = (text, attributes) => svg.append(element("text", { fill: colours.text, "font-size": 13, ...attributes }, text));
    for (const { value, text } of ticksOf(x.axis, x.range, rightPx - leftPx, true)) {
      const at = rounded(x.px(value));
      for (const y of x.axis.showgrid === false ? [] : Object.values(ys)) {
        svg.append(element("path", { d: `M${at} ${y.fromPx}V${y.toPx}`, stroke: colours.grid }));
      }
      label(text, { class: "tick", x: at, y: bottomPx + 18, "text-anchor": "middle" });
    }
    label(x.axis.title.text, { class: "axis-title", x: (leftPx + rightPx) / 2, y: bottomPx + 39, "text-anchor": "middle" });
    for (const y of Object.values(ys)) {
      for (const { value, text } of ticksOf(y.axis, y.range, Math.abs(y.fromPx - y.toPx), false)) {
        const at = rounded(y.px(value));
        if (y.axis.showgrid !== false) {
          svg.append(element("path", { d: `M${leftPx} ${at}H${rightPx}`, stroke: colours.grid }));
        }
        const rows = text.split("\n");
        rows.forEach((line, place) => label(shortened(line, most), {
          class: "tick", x: leftPx - 8, y: at + 4.5 + (place - (rows.length - 1) / 2) * LINE_PX, "text-anchor": "end",
          "font-size": y.axis.tickfont?.size ?? 13, ...(place > 0 && { fill: colours.muted }),
        }));
      }
      const middle = (y.fromPx + y.toPx) / 2;
      label(y.axis.title.text, { class: "axis-title", transform: `translate(15 ${middle}) rotate(-90)`, "text-anchor": "middle" });
      svg.append(element("path", { d: `M${leftPx} ${y.toPx}V${y.fromPx}H${rightPx}`, stroke: colours.rule, fill: "none" }));
    }
  }

  function drawShapes(svg, layout, { x, ys, bottomPx }) {
    const topPx = Math.min(...Object.values(ys).map((y) => y.toPx));
    const onPaper = (share) => bottomPx + (topPx - bottomPx) * share;
    for (const { x0, x1, y0, y1, yref, line } of layout.shapes ?? []) {
      const down = yref === "paper" ? onPaper : ys.y.px;
      svg.append(element("path", {
        d: `M${x.px(x0)} ${down(y0)}L${x.px(x1)} ${down(y1)}`,
        stroke: line.color, "stroke-width": line.width, "stroke-dasharray": DASHES[line.dash],
      }));
    }
    for (const each of layout.annotations ?? []) {
      const anchor = each.xanchor === "left" ? "start" : "end";
      const gapPx = anchor === "start" ? 5 : -5;
      svg.append(element("text", {
        class: "annotation", x: x.px(each.x) + gapPx, y: onPaper(each.y) + 4, "text-anchor": anchor, fill: each.font.color, "font-size": 12,
      }, each.text));
    }
  }

  const decimal = (value) => value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) >= 100 ? 0 : 1 });
  const LENGTHS_S = [[172800, 86400, "days"], [3600, 3600, "h"], [60, 60, "min"], [0, 1, "s"]];
  const WORDS = {
    count: (value) => value.toLocaleString("en", { maximumFractionDigits: 0 }),
    percent: (value) => `${(100 * value).toFixed(value > 0 && value < 0.01 ? 2 : 1)} %`,
    ratio: (value) => (value >= 100 ? decimal(value) : value.toFixed(2)),
    duration: (seconds) => {
      const [, unit, name] = LENGTHS_S.find(([from]) => seconds >= from);
      return `${decimal(seconds / unit)} ${name}`;
    },
  };

  /* What is said of a point: a text of its own, or one text for all points with the places of their values. */
  function said(trace, place) {
    return typeof trace.hovertext === "string"
      ? trace.hovertext.replace(/\{(x|y):(\w+)\}/g, (_, axis, word) => WORDS[word](trace[axis][place]))
      : trace.hovertext[place];
  }

  const nameless = (trace) => !trace.hovertext;

  function nearestPoint(parts, [atX, atY]) {
    let best = { far: REACH_PX };
    for (const trace of parts.shown.filter((each) => !nameless(each))) {
      const { x } = parts;
      const y = parts.ys[trace.yaxis ?? "y"];
      trace.x.forEach((value, place) => {
        const isBar = trace.type === "bar";
        const left = x.px(isBar ? trace.base[place] : value);
        const right = isBar ? x.px(trace.base[place] + value) : left;
        const half = isBar ? Math.abs(y.px(trace.width[place]) - y.px(0)) / 2 : 0;
        const beside = Math.max(left - atX, atX - right, 0);
        const above = Math.max(Math.abs(y.px(trace.y[place]) - atY) - half, 0);
        const far = Math.hypot(beside, above);
        if (far < best.far) {
          best = { far, x: (left + right) / 2, y: y.px(trace.y[place]), lines: [said(trace, place)] };
        }
      });
    }
    return best.lines ? best : null;
  }

  /* What all traces are at the moment below the pointer. */
  function wholeMoment(parts, layout, [atX]) {
    const { x } = parts;
    const value = x.back(atX);
    const lines = [];
    for (const trace of parts.shown.filter((each) => !nameless(each))) {
      let place = trace.x.findIndex((each) => each > value) - 1;
      place = place === -2 ? trace.x.length - 1 : Math.max(place, 0);
      lines.push(said(trace, place));
    }
    const moment = value.toLocaleString("en", { maximumFractionDigits: 2 });
    return lines.length === 0 ? null : { x: atX, y: null, lines: [`${layout.xaxis.hoverprefix ?? ""}${moment}`, ...lines] };
  }

  function hover(place, svg, figure, parts, colours) {
    const tip = place.querySelector(".tip");
    const mark = element("path", { fill: "none", stroke: colours.text, "stroke-width": 1.5, "pointer-events": "none" });
    svg.append(mark);
    const find = figure.layout.hovermode === "x unified"
      ? (at) => wholeMoment(parts, figure.layout, at) : (at) => nearestPoint(parts, at);
    const leave = () => {
      tip.hidden = true;
      mark.setAttribute("d", "");
    };
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const at = [event.clientX - box.left, event.clientY - box.top];
      const isInside = at[0] >= parts.leftPx - 4 && at[0] <= parts.rightPx + 4 && at[1] <= parts.bottomPx + 4;
      const found = isInside && !event.buttons ? find(at) : null;
      if (!found) {
        leave();
        return;
      }
      tip.textContent = found.lines.join("\n");
      tip.hidden = false;
      const beside = found.x + 14 + tip.offsetWidth > svg.clientWidth ? found.x - 14 - tip.offsetWidth : found.x + 14;
      const top = found.y ?? at[1];
      tip.style.left = `${Math.max(0, beside)}px`;
      tip.style.top = `${place.querySelector(".legend").offsetHeight + Math.max(0, top - tip.offsetHeight / 2)}px`;
      mark.setAttribute("d", found.y === null ? `M${found.x} 10V${parts.bottomPx}` : markPaths.circle(found.x, found.y, 6));
    });
  }

  /* Dragging over the chart shows that part of it; a double click shows all again. */
  function zooming(svg, view, parts, again, colours) {
    let from = null;
    const band = element("rect", { fill: colours.muted, opacity: 0.18, "pointer-events": "none" });
    const position = (event) => {
      const box = svg.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const within = (y, px) => px <= y.fromPx + 2 && px >= y.toPx - 2;
    svg.append(band);
    svg.addEventListener("pointerdown", (event) => {
      from = event.pointerType === "mouse" && event.button === 0 ? position(event) : null;
    });
    svg.addEventListener("pointermove", (event) => {
      if (from !== null && event.buttons) {
        const to = position(event);
        const box = { x: Math.min(from[0], to[0]), y: Math.min(from[1], to[1]), width: Math.abs(from[0] - to[0]), height: Math.abs(from[1] - to[1]) };
        Object.entries(box).forEach(([name, px]) => band.setAttribute(name, px));
      }
    });
    svg.addEventListener("pointerup", (event) => {
      const to = position(event);
      if (from !== null && Math.abs(from[0] - to[0]) > DRAGGED_PX) {
        const zoom = { ...view.zoom, x: [parts.x.back(Math.min(from[0], to[0])), parts.x.back(Math.max(from[0], to[0]))] };
        for (const [name, y] of Object.entries(parts.ys)) {
          if (within(y, from[1]) && Math.abs(from[1] - to[1]) > REACH_PX) {
            const ends = [y.back(from[1]), y.back(to[1])].sort((a, b) => a - b);
            zoom[name] = y.range[0] > y.range[1] ? ends.reverse() : ends;
          }
        }
        view.zoom = zoom;
        again();
      }
      from = null;
      band.setAttribute("width", 0);
    });
    svg.addEventListener("dblclick", () => {
      view.zoom = null;
      again();
    });
  }

  /* Draws a figure whose colours are resolved into its place, from nothing. */
  function draw(place, figure, colours, heightPx) {
    const view = views.get(place) ?? { hidden: new Set(), zoom: null };
    views.set(place, view);
    const again = () => draw(place, figure, colours, heightPx);
    const widthPx = Math.max(place.clientWidth, 240);
    const parts = frame(figure, view, widthPx, heightPx);
    const title = place.closest("figure").querySelector("figcaption").textContent;
    const svg = element("svg", { width: widthPx, height: heightPx, role: "img", "aria-label": title, "font-family": "system-ui, sans-serif" });
    const clip = `clip-${place.id}`;
    const inside = { x: parts.leftPx - 1, y: 0, width: parts.rightPx - parts.leftPx + 8, height: parts.bottomPx + 1 };
    const area = element("clipPath", { id: clip });
    area.append(element("rect", inside));
    svg.append(area);
    drawAxes(svg, parts, colours);
    const drawing = element("g", { "clip-path": `url(#${clip})` });
    for (const trace of parts.shown) {
      const group = element("g", { class: "trace" });
      group.append(...traceOf(trace, parts.x, parts.ys[trace.yaxis ?? "y"]));
      drawing.append(group);
    }
    drawShapes(drawing, figure.layout, parts);
    svg.append(drawing);
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    place.traces = parts.shown;
    place.replaceChildren(legend(figure, view, again), svg, tip);
    hover(place, svg, figure, parts, colours);
    zooming(svg, view, parts, again, colours);
  }

  return { draw };
})();
