import { memo } from "react";

import type { Node } from "../../api/client";
import { colourOf } from "../../words/colours";
import { CONDITION_COLOURS, type Paint } from "./paint";
import { seatsOf } from "./placement";

const SHOWN = 12;

type Shown = { paint: Paint; nodes: Node[]; onSeek: (text: string) => void };

/** What the colours mean. A job or a team is highlighted when one presses its name. */
export const Legend = memo(function Legend({ paint, nodes, onSeek }: Shown) {
  if (paint === "health") {
    return (
      <Keys>
        {Object.entries(CONDITION_COLOURS).map(([name, colour]) => (
          <Key key={name} colour={colour} name={name} />
        ))}
      </Keys>
    );
  }
  if (paint === "use") {
    return (
      <Keys>
        <Key colour="var(--free)" name="free" />
        <Key colour="color-mix(in srgb, var(--map-busy) 50%, var(--free))" name="half given to jobs" />
        <Key colour="var(--map-busy)" name="wholly given to jobs" />
        <Key colour="" name="out of service" isOut />
      </Keys>
    );
  }
  const found = largest(nodes, paint);
  return (
    <Keys>
      <Key colour="var(--free)" name="free" />
      <Key colour="" name="out of service" isOut />
      {found.slice(0, SHOWN).map(([key, name]) => (
        <button
          key={key}
          className="key plain-key"
          onClick={() => {
            onSeek(name);
          }}
        >
          <span className="swatch" style={{ background: colourOf(key) }} />
          {name}
        </button>
      ))}
      {found.length > SHOWN && <span className="soft">and {found.length - SHOWN} more</span>}
    </Keys>
  );
});

function Keys({ children }: { children: React.ReactNode }) {
  return (
    <div className="legend" aria-label="What the colours mean" role="group">
      {children}
    </div>
  );
}

function Key({ colour, name, isOut = false }: { colour: string; name: string; isOut?: boolean }) {
  return (
    <span className="key">
      <span className={isOut ? "swatch cell out" : "swatch"} style={isOut ? undefined : { background: colour }} />
      {name}
    </span>
  );
}

/** What has the most GPUs first: the key of its colour, and its name. */
function largest(nodes: Node[], paint: "job" | "team"): [string, string][] {
  const counts = new Map<string, { name: string; count: number }>();
  for (const seat of nodes.flatMap((node) => seatsOf(node).flat()).filter((each) => each.job !== "")) {
    const key = paint === "job" ? seat.job : seat.team;
    const entry = counts.get(key) ?? { name: paint === "job" ? seat.name : seat.team, count: 0 };
    entry.count += seat.share;
    counts.set(key, entry);
  }
  return [...counts].sort(([, one], [, other]) => other.count - one.count).map(([key, { name }]) => [key, name]);
}
