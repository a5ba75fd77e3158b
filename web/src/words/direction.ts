/**
 * Signs that turn the direction of reading make a text look like another one, and what stands after it, too. They are
 * written out, as on the command line: `\u202e`. Arabic and Hebrew need none of them.
 */

const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;

/** A text in which nothing is turned. */
export function unturned(text: string): string {
  return text.replace(TURNS, (sign) => `\\${hex(sign)}`);
}

/** The same for a JSON document. It stays valid: such signs are only in its texts. */
export function unturnedJson(document: string): string {
  return document.replace(TURNS, (sign) => `\\\\${hex(sign)}`);
}

function hex(sign: string): string {
  return `u${sign.charCodeAt(0).toString(16)}`;
}
