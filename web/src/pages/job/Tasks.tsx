import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import type { Job } from "../../api/client";
import { queries } from "../../api/queries";
import { Choice } from "../../parts/Choice";
import { Loaded } from "../../parts/Loaded";
import { JobStateBadge } from "../../parts/State";
import { Time } from "../../parts/Time";
import { inWords } from "../../words/states";
import { TaskBar } from "../jobs/TaskBar";

const SHOWN = 100;

/** The tasks of an array. */
export function Tasks({ job }: { job: Job }) {
  const tasks = useQuery(queries.tasks(job.id));
  const [state, setState] = useState("");
  const [shown, setShown] = useState(SHOWN);
  const states = ["", ...Object.keys(job.tasks ?? {}).filter((each) => (job.tasks?.[each] ?? 0) > 0)];
  return (
    <section className="sheet" aria-label="Tasks">
      <div className="row">
        <h2>Tasks</h2>
        <TaskBar job={job} />
        <Choice label="State" value={state} options={states} shown={(each) => inWords(each) || "in any state"} onChoose={setState} />
      </div>
      <Loaded query={tasks}>
        {({ items, next }) => {
          const found = items.filter((task) => state === "" || task.state === state);
          return (
            <>
              <table>
                <tbody>
                  {found.slice(0, shown).map((task) => (
                    <tr key={task.id}>
                      <td>
                        <Link to="/jobs/$job" params={{ job: task.id }}>
                          {task.id}
                        </Link>
                      </td>
                      <td>
                        <JobStateBadge job={task} />
                      </td>
                      <td>{task.exit_code !== null && `exit code ${task.exit_code}`}</td>
                      <td className="number">
                        <Time at={task.ended ?? task.started} />
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
                  {found.length - shown} more
                </button>
              )}
              {next !== null && <p className="soft small">These are the first {items.length} tasks.</p>}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}
