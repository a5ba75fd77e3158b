"use strict";
(() => {
  const root = document.documentElement;
  const charts = JSON.parse(document.getElementById("charts").textContent);
  /* The buttons are named one by one because the library's own choice includes one that uploads the data. */
  const config = {
    responsive: true,
    displaylogo: false,
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d", "resetScale2d"]],
    plotlyServerURL: "",
  };
  const drawn = new Set();

  /* Charts name colours of the style sheet, so that light, dark and paper are decided in one place. */
  function resolved(value, style) {
    if (typeof value === "string") {
      return value.startsWith("var(") ? style.getPropertyValue(value.slice(4, -1)).trim() : value;
    }
    if (Array.isArray(value)) {
      return typeof value[0] === "object" && value[0] !== null ? value.map((each) => resolved(each, style)) : value;
    }
    if (value === null || typeof value !== "object") {
      return value;
    }
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolved(each, style)]));
  }

  const CHARACTER_PX = 7.5;
  const BETWEEN_LABELS_PX = 12;
  const LINE_PX = 18;

  /* Labels that would touch one another are left out; those that are named first stay. */
  function thinned(axis, lengthPx, isAcross) {
    const [low, high] = axis.range;
    const kept = [];
    axis.tickvals.forEach((value, place) => {
      const text = String(axis.ticktext[place]);
      const at = ((axis.type === "log" ? Math.log10(value) : value) - low) / (high - low) * lengthPx;
      const sizePx = isAcross ? text.length * CHARACTER_PX : LINE_PX;
      const touches = (other) => Math.abs(other.at - at) < (other.sizePx + sizePx) / 2 + BETWEEN_LABELS_PX;
      if (at >= -1 && at <= lengthPx + 1 && !kept.some(touches)) {
        kept.push({ at, sizePx, value, text });
      }
    });
    axis.tickvals = kept.map((each) => each.value);
    axis.ticktext = kept.map((each) => each.text);
  }

  /* Names keep both ends, as many differ only in one of them; the whole name is where the mouse is. */
  function shortened(text, most) {
    const characters = String(text).match(/&#?\w+;|[^]/gu) ?? [];
    if (characters.length <= most) {
      return text;
    }
    const tail = Math.floor((most - 1) / 2);
    return [...characters.slice(0, most - 1 - tail), "…", ...characters.slice(characters.length - tail)].join("");
  }

  const ROW_NAME_SHARE = 0.36;
  const LEGEND_MARK_PX = 60;

  function fitNames({ data, layout }, widthPx) {
    const most = Math.floor(widthPx * ROW_NAME_SHARE / CHARACTER_PX);
    if (layout.yaxis?.ticktext) {
      layout.yaxis.ticktext = layout.yaxis.ticktext.map(
        (each) => each.split("<br>").map((line) => shortened(line, most)).join("<br>"),
      );
    }
    for (const trace of data.filter((each) => each.name)) {
      trace.name = shortened(trace.name, Math.floor((widthPx / 2 - LEGEND_MARK_PX) / CHARACTER_PX));
    }
  }

  /* A title that is wider than its axis goes on below. */
  function wrapped(text, most) {
    const lines = [""];
    for (const word of String(text).split(" ")) {
      const line = `${lines.at(-1)} ${word}`.trim();
      if (line.length > most && lines.at(-1) !== "") {
        lines.push(word);
      } else {
        lines[lines.length - 1] = line;
      }
    }
    return lines.join("<br>");
  }

  function fit(layout, widthPx, heightPx) {
    const rows = layout.yaxis?.type === "log" ? [] : layout.yaxis?.ticktext ?? [];
    const longest = Math.max(6, ...rows.flatMap((each) => String(each).split("<br>")).map((line) => line.length));
    const acrossPx = widthPx - longest * CHARACTER_PX - 32;
    for (const [name, axis] of Object.entries(layout)) {
      if (/^xaxis/.test(name) && axis.title?.text) {
        axis.title.text = wrapped(axis.title.text, acrossPx / CHARACTER_PX);
      }
      if (/^xaxis/.test(name) && axis.tickvals && axis.range) {
        thinned(axis, acrossPx, true);
      } else if (/^yaxis/.test(name) && axis.tickvals && axis.type === "log") {
        const [bottom, top] = axis.domain ?? [0, 1];
        thinned(axis, (heightPx - 90) * (top - bottom), false);
      }
    }
  }

  const places = () => [...document.querySelectorAll(".chart")];
  const isVisible = (place) => place.closest("[hidden]") === null;

  const LEGEND_LINE_PX = 30;
  const heightsPx = new Map(places().map((place) => [place, parseFloat(place.style.height)]));

  /* A legend of several lines takes its room from the page, not from what is drawn. */
  function grow(place) {
    const legend = place.querySelector(".legend .bg");
    const extraPx = legend === null ? 0 : legend.getBBox().height - LEGEND_LINE_PX;
    if (extraPx <= 0 || !isVisible(place)) {
      return place;
    }
    place.style.height = `${Math.ceil(heightsPx.get(place) + extraPx)}px`;
    return Plotly.relayout(place, { height: place.clientHeight });
  }

  function draw(place) {
    const key = place.id.slice("chart-".length);
    const figure = resolved(charts[key], getComputedStyle(root));
    place.style.height = `${heightsPx.get(place)}px`;
    fitNames(figure, place.clientWidth);
    fit(figure.layout, place.clientWidth, place.clientHeight);
    if ("paper" in root.dataset) {
      figure.layout.width = place.clientWidth;
    }
    drawn.add(place);
    return Plotly.react(place, figure.data, figure.layout, config).then(grow);
  }

  function tabs(panels) {
    const choices = [...panels.children];
    if (choices.length < 2) {
      return;
    }
    const bar = document.createElement("div");
    bar.className = "tabs";
    const buttons = choices.map((panel, chosen) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = panel.dataset.label;
      button.addEventListener("click", () => choose(chosen));
      bar.append(button);
      return button;
    });
    function choose(chosen) {
      choices.forEach((panel, place) => {
        panel.hidden = place !== chosen;
        buttons[place].setAttribute("aria-pressed", String(place === chosen));
      });
      for (const place of choices[chosen].querySelectorAll(".chart")) {
        draw(place);
      }
    }
    panels.prepend(bar);
    choices.forEach((panel, place) => {
      panel.hidden = place !== 0;
      buttons[place].setAttribute("aria-pressed", String(place === 0));
    });
  }

  document.querySelectorAll(".panels").forEach(tabs);

  /* All at once, before the page counts as loaded: whoever takes a picture of the whole page never scrolls. */
  places().filter(isVisible).forEach(draw);

  function redraw() {
    for (const place of drawn) {
      if (isVisible(place)) {
        draw(place);
      } else {
        drawn.delete(place);
      }
    }
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  /* The library fits the drawing to a new width; which labels have room is decided here. */
  let resizing = 0;
  let widthPx = innerWidth;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => {
      if (innerWidth !== widthPx && !("paper" in root.dataset)) {
        widthPx = innerWidth;
        redraw();
      }
    }, 150);
  });

  const SMALLEST = 0.4;
  const tables = () => [...document.querySelectorAll(".scroll > table")];

  /* Paper does not scroll: what is too wide becomes smaller. */
  function shrink(table) {
    const share = table.parentElement.clientWidth / table.offsetWidth;
    table.style.zoom = share < 1 ? Math.max(SMALLEST, share) : "";
  }

  addEventListener("beforeprint", () => {
    root.dataset.paper = "";
    tables().forEach(shrink);
    places().forEach(draw);
  });
  addEventListener("afterprint", () => {
    delete root.dataset.paper;
    tables().forEach((table) => {
      table.style.zoom = "";
    });
    /* From scratch: a drawing keeps the width it was once given. */
    drawn.forEach((place) => Plotly.purge(place));
    redraw();
  });
})();
