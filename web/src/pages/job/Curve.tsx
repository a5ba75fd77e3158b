import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { queries } from "../../api/queries";
import { Choice } from "../../parts/Choice";
import { Empty } from "../../parts/Loaded";
import { LineChart } from "../../parts/LineChart";
import { series } from "./series";

/** The loss of a training over its steps, or another value that it hands over. */
export function Curve({ job }: { job: string }) {
  const asked = useQuery(queries.measures(job));
  const measures = asked.data ?? [];
  const names = [...new Set(measures.flatMap((each) => Object.keys(each.values)))].sort();
  const [chosen, setChosen] = useState("loss");
  const name = names.includes(chosen) ? chosen : names[0];
  return (
    <section className={asked.isPending ? "sheet curve-to-come" : "sheet"} aria-label="Progress">
      <div className="row">
        <h2>Progress</h2>
        {names.length > 1 && (
          <Choice label="What is drawn" value={name ?? ""} options={names} onChoose={setChosen} />
        )}
      </div>
      {asked.isPending ? null : name === undefined ? (
        <Empty>It hands over no values: `checkpoints.step(step, state, loss=loss)` does.</Empty>
      ) : (
        <LineChart label={name} {...series(measures, name)} />
      )}
    </section>
  );
}
