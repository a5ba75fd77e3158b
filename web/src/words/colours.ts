/**
 * Colours that people who see red and green alike can tell apart: the eight of Okabe and Ito, as far as they are legible
 * on light and dark ground.
 */

const TONES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8f7cc3", "#9a7d4f"];
/** The same colour as it is, darker, and lighter: for the ninth name and all after it. */
const SHADES = [0, -0.28, 0.38];
const COLOURS = TONES.length * SHADES.length;

/** The colour of the line or area at this place of a chart. */
export function colourAt(place: number): string {
  const tone = TONES[place % TONES.length] ?? "#0072b2";
  return shaded(tone, SHADES[Math.floor(place / TONES.length) % SHADES.length] ?? 0);
}

/** A colour for each name, the same on every page and in every browser. */
export function colourOf(name: string): string {
  return colourAt(placeOf(name));
}

/** Colours for names that are told apart by them: as `colourOf`, but no two alike while there are enough. */
export function coloursOf(names: string[]): string[] {
  const taken = new Set<number>();
  return names.map((name) => {
    let place = placeOf(name);
    while (taken.has(place) && taken.size < COLOURS) {
      place = (place + 1) % COLOURS;
    }
    taken.add(place);
    return colourAt(place);
  });
}

function placeOf(name: string): number {
  let sum = 0;
  for (const letter of name) {
    sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) >>> 0;
  }
  return sum % COLOURS;
}

/** A colour moved towards white, or towards black when `by` is negative. */
function shaded(tone: string, by: number): string {
  const goal = by > 0 ? 255 : 0;
  const parts = [1, 3, 5].map((place) => {
    const value = parseInt(tone.slice(place, place + 2), 16);
    return Math.round(value + (goal - value) * Math.abs(by));
  });
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}
