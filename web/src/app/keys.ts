/**
 * Keys. A page declares what its keys do, as long as it is shown; the frame listens, and the help lists them.
 *
 *     useKeys([{ press: "j", does: "the next job", act: next }]);
 */

import { useEffect, useRef } from "react";

export type Key = {
  /** A key as the browser calls it, `j` or `Enter`; or two, one after the other: `g j`. */
  press: string;
  /** What it does, in a few words for the help. */
  does: string;
  act: () => void;
};

/** Keys of a page come before keys that work everywhere. */
export type Reach = "here" | "everywhere";

type Declared = { current: Key[] };

const declared: Record<Reach, Set<Declared>> = { here: new Set(), everywhere: new Set() };

/** How long the first of two keys waits for the second. */
export const SECOND_KEY_MS = 1000;

/** Let these keys work while this component is shown. */
export function useKeys(keys: Key[], reach: Reach = "here"): void {
  const newest = useRef(keys);
  useEffect(() => {
    newest.current = keys;
  });
  useEffect(() => {
    declared[reach].add(newest);
    return () => {
      declared[reach].delete(newest);
    };
  }, [reach]);
}

/** The keys that work now. */
export function declaredKeys(reach: Reach): Key[] {
  return [...declared[reach]].flatMap((each) => each.current);
}

/** Listen to the keys of everything that is shown. Only the frame does this. */
export function useKeyboard(): void {
  useEffect(() => {
    const press = listening();
    window.addEventListener("keydown", press);
    return () => {
      window.removeEventListener("keydown", press);
    };
  }, []);
}

/** What hears each key, and remembers the one before. */
export function listening(): (event: KeyboardEvent) => void {
  let first = { key: "", at: -Infinity };
  return (event) => {
    const before = event.timeStamp - first.at < SECOND_KEY_MS ? first.key : "";
    first = { key: "", at: -Infinity };
    if (event.ctrlKey || event.metaKey || event.altKey || isMeantForElement(event)) {
      return;
    }
    const known = [...declaredKeys("here"), ...declaredKeys("everywhere")];
    const found =
      known.find((each) => each.press === `${before} ${event.key}`) ?? known.find((each) => each.press === event.key);
    if (found !== undefined) {
      event.preventDefault();
      found.act();
    } else {
      first = { key: event.key, at: event.timeStamp };
    }
  };
}

const TYPED_INTO = "input, textarea, select, [contenteditable], dialog[open]";
const PRESSED_WITH = ["Enter", " "];

/** True while somebody types, has a dialog open, or presses what has the focus. */
function isMeantForElement(event: KeyboardEvent): boolean {
  // Of what lives in a shadow tree, as the editor does, the target is only the host.
  const within = event.composedPath().filter((each) => each instanceof Element);
  const isPressed = PRESSED_WITH.includes(event.key) && within.some((each) => each.matches("a, button, summary"));
  return isPressed || within.some((each) => each.matches(TYPED_INTO));
}
