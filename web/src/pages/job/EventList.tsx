import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { LogEvent } from "../../api/client";
import { queries } from "../../api/queries";
import { Loaded } from "../../parts/Loaded";
import { Time } from "../../parts/Time";
import { inWords } from "../../words/states";

const SHOWN = 50;
const COMMON = ["version", "at", "kind", "job", "team", "user", "by"];

/** The events of the job as the log has them, the newest first. */
export function EventList({ job }: { job: string }) {
  const events = useQuery(queries.events(job));
  const [shown, setShown] = useState(SHOWN);
  return (
    <details className="sheet">
      <summary>
        <h2>Events</h2>
      </summary>
      <Loaded query={events}>
        {(found) => (
          <>
            <table className="events">
              <tbody>
                {found.toReversed().slice(0, shown).map((event) => (
                  <tr key={event.version}>
                    <td className="when">
                      <Time at={event.at} />
                    </td>
                    <td>
                      {inWords(event.kind)} {event.by !== null && <span className="soft">by {event.by}</span>}
                      <div className="mono small soft">{details(event)}</div>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            {found.length > shown && (
              <button
                onClick={() => {
                  setShown(shown + SHOWN);
                }}
              >
                {found.length - shown} older ones
              </button>
            )}
          </>
        )}
      </Loaded>
    </details>
  );
}

function details(event: LogEvent): string {
  return Object.entries(event)
    .filter(([key, value]) => !COMMON.includes(key) && value !== null)
    .map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("  ");
}
