/** Dark or light: as the system is, unless somebody chose. */

import { useSyncExternalStore } from "react";

const CHOICE = "muster.theme";
export type Theme = "light" | "dark";

const listeners = new Set<() => void>();
const system = matchMedia("(prefers-color-scheme: dark)");

export function theme(): Theme {
  const chosen = localStorage.getItem(CHOICE);
  if (chosen === "light" || chosen === "dark") {
    return chosen;
  }
  return system.matches ? "dark" : "light";
}

/** The theme, also when the system changes while the page is open. */
export function useTheme(): Theme {
  return useSyncExternalStore(listen, theme);
}

/** Show the page in its theme, from now on. */
export function startTheme(): void {
  system.addEventListener("change", apply);
  apply();
}

export function turnTheme(): void {
  localStorage.setItem(CHOICE, theme() === "dark" ? "light" : "dark");
  apply();
}

function apply(): void {
  document.documentElement.dataset["theme"] = theme();
  listeners.forEach((listener) => {
    listener();
  });
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}
