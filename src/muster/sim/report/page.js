"use strict";
(() => {
  const root = document.documentElement;
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const COLOURS = ["text", "muted", "rule", "grid"];
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

  const places = () => [...document.querySelectorAll(".chart")];
  const isVisible = (place) => place.closest("[hidden]") === null;
  const heightsPx = new Map(places().map((place) => [place, parseFloat(place.style.minHeight)]));

  function draw(place) {
    const style = getComputedStyle(root);
    const figure = resolved(charts[place.id.slice("chart-".length)], style);
    const colours = Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    drawn.add(place);
    Charts.draw(place, figure, colours, heightsPx.get(place));
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
    const first = Math.max(choices.findIndex((panel) => "first" in panel.dataset), 0);
    choices.forEach((panel, place) => {
      panel.hidden = place !== first;
      buttons[place].setAttribute("aria-pressed", String(place === first));
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
    redraw();
  });
})();
