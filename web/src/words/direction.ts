/**
 * Signs that turn the direction of reading make a text look like another one, and what stands after it, too. They are
 * written out, as on the command line: `\u202e`. Arabic and Hebrew need none of them.
 */

/** The signs that `printable.py` of the package writes out, too. */
export const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text in which nothing is turned. */
export function unturned(text: string): string {
  return text.replace(TURNS, (sign) => writtenOut(sign));
}

/** The same for a JSON document. It stays valid: such signs are only in its texts. */
export function unturnedJson(document: string): string {
  return document.replace(TURNS, (sign) => `\\${writtenOut(sign)}`);
}

/** One sign as it is written in JSON. */
export function writtenOut(sign: string): string {
  return `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
