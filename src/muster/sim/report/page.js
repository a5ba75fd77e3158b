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

  function draw(place) {
    const key = place.id.slice("chart-".length);
    const figure = resolved(charts[key], getComputedStyle(root));
    if ("paper" in root.dataset) {
      figure.layout.width = place.clientWidth;
    }
    drawn.add(place);
    return Plotly.react(place, figure.data, figure.layout, config);
  }

  const places = () => [...document.querySelectorAll(".chart")];
  const isVisible = (place) => place.closest("[hidden]") === null;

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

  const onSight = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting && !drawn.has(entry.target)) {
          draw(entry.target);
        }
      }
    },
    { rootMargin: "1200px" },
  );
  places().forEach((place) => onSight.observe(place));

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

  addEventListener("beforeprint", () => {
    root.dataset.paper = "";
    places().forEach(draw);
  });
  addEventListener("afterprint", () => {
    delete root.dataset.paper;
    redraw();
  });
})();
