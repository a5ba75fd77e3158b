import { useMemo, useState } from "react";

import { type Line, places } from "./logBook";

export type Search = {
  wanted: string;
  /** The place of the line that is looked at, among all lines; null when nothing is found. */
  current: number | null;
  found: number;
  /** Which of those that were found it is, counted from 0. */
  which: number;
  look: (wanted: string) => void;
  move: (by: number) => void;
};

export function useLogSearch(lines: Line[]): Search {
  const [wanted, setWanted] = useState("");
  const [chosen, setChosen] = useState<number | null>(null);
  const found = useMemo(() => places(lines, wanted), [lines, wanted]);
  // The newest is shown first, as it is next to what one looks at.
  const at = found.findIndex((place) => lines[place]?.number === chosen);
  const which = at < 0 ? found.length - 1 : at;
  return {
    wanted,
    current: found[which] ?? null,
    found: found.length,
    which,
    look: (text) => {
      setWanted(text);
      setChosen(null);
    },
    move: (by) => {
      const place = found[(which + by + found.length) % found.length];
      setChosen(place === undefined ? null : (lines[place]?.number ?? null));
    },
  };
}

export function LogSearch({ search }: { search: Search }) {
  const { wanted, found, which, look, move } = search;
  return (
    <span className="row log-search">
      <input
        type="search"
        aria-label="Search the output"
        placeholder="search the output"
        value={wanted}
        onChange={(event) => {
          look(event.target.value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            move(event.shiftKey ? 1 : -1);
          }
        }}
      />
      <button
        aria-label="Previous line that was found"
        disabled={found === 0}
        onClick={() => {
          move(-1);
        }}
      >
        ↑
      </button>
      <button
        aria-label="Next line that was found"
        disabled={found === 0}
        onClick={() => {
          move(1);
        }}
      >
        ↓
      </button>
      <span className="soft small count" role="status">
        {wanted === "" ? "" : found === 0 ? "not found" : `${which + 1} of ${found}`}
      </span>
    </span>
  );
}
